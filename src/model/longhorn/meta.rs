//! Object metadata as far as it is read, and conditions.

use std::ops::Deref;
use std::sync::LazyLock;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer};

use super::lenient::{Compact, StringMap, Time, narrow, open_enum};
use super::look::{Look, Step};
use super::shared_text::SharedText;
use super::writes::Writes;

narrow! {
    /// `metadata` of any object. Finalizers, most annotations and most managed fields are not kept.
    pub struct Meta {
        pub name: SharedText as name,
        pub namespace: SharedText as name,
        pub uid: SharedText as name,
        /// Read for the watch, which takes it away before the object is stored.
        pub resource_version: SharedText,
        pub creation_timestamp: Time,
        pub deletion_timestamp: Time,
        pub labels: StringMap as labels,
        pub annotations: BoxedAnnotations,
        pub managed_fields: Writes,
    }

    /// The annotations that are read.
    pub struct Annotations {
        /// What the setting taint-toleration said when Longhorn made the object, as JSON (longhorn-manager v1.3.3 to v1.12.1
        /// types/types.go LastAppliedTolerationAnnotationKeySuffix).
        pub last_applied_tolerations: SharedText = "longhorn.io/last-applied-tolerations",
        /// The Helm release that an object belongs to.
        pub helm_release_name: SharedText as name = "meta.helm.sh/release-name",
        /// The application of Argo CD, and the object as it tracks it: `APP:GROUP/KIND:NAMESPACE/NAME`.
        pub argocd_tracking_id: SharedText as name = "argocd.argoproj.io/tracking-id",
        /// The addresses that Multus gave a pod, as JSON (longhorn-manager v1.4.4 to v1.12.1 datastore/kubernetes.go
        /// GetStorageIPFromPod).
        pub network_status: SharedText = "k8s.v1.cni.cncf.io/network-status",
        /// The same as older releases of Multus wrote it, which Longhorn reads where the other is missing.
        pub networks_status: SharedText = "k8s.v1.cni.cncf.io/networks-status",
        /// `enabled` on a pod whose connections Istio's ambient mesh takes over (istio cni/pkg/util/podutil.go).
        pub ambient_redirection: SharedText = "ambient.istio.io/redirection",
        /// Whether a StorageClass is the default: `true` or `false`.
        pub is_default_class: SharedText = "storageclass.kubernetes.io/is-default-class",
        /// The manifest that the manager made the StorageClass `longhorn` of (longhorn-manager v1.3.3 to v1.12.1
        /// controller/kubernetes_configmap_controller.go).
        pub last_applied_configmap: SharedText = "longhorn.io/last-applied-configmap",
        /// `true` on a node that Harvester is to drain, for maintenance.
        pub drain_requested: SharedText as name = "harvesterhci.io/drain-requested",
        /// That kured reboots a node (kured 1.16 cmd/kured/main.go KuredRebootInProgressAnnotation).
        pub kured_reboot: SharedText = "weave.works/kured-reboot-in-progress",
    }

    /// A condition of a Longhorn or Kubernetes object.
    pub struct Condition {
        pub kind: SharedText = "type",
        pub status: ConditionStatus,
        pub reason: SharedText,
        pub message: SharedText,
        pub last_transition_time: Time,
    }
}

open_enum! {
    /// Status of a condition. Longhorn treats an absent condition as Unknown
    /// (longhorn-manager v1.12.1 types/condition.go GetCondition).
    pub enum ConditionStatus {
        True = "True",
        False = "False",
        Unknown = "Unknown",
    }
}

/// The annotations of an object, in a box: most objects have none of those that are read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BoxedAnnotations(Option<Box<Annotations>>);

static NO_ANNOTATIONS: LazyLock<Annotations> = LazyLock::new(Annotations::default);

impl Deref for BoxedAnnotations {
    type Target = Annotations;

    fn deref(&self) -> &Annotations {
        self.0.as_deref().unwrap_or(&NO_ANNOTATIONS)
    }
}

impl<'de> Deserialize<'de> for BoxedAnnotations {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = Annotations::deserialize(deserializer)?;
        Ok(BoxedAnnotations((read != *NO_ANNOTATIONS).then(|| Box::new(read))))
    }
}

impl Compact for BoxedAnnotations {
    fn compact(&mut self) {
        self.0.iter_mut().for_each(|annotations| annotations.compact());
    }

    fn tidy(&mut self) {
        self.0.iter_mut().for_each(|annotations| annotations.tidy());
    }
}

impl Look for BoxedAnnotations {
    fn look(&self, steps: &[Step], see: &mut dyn FnMut(&str)) {
        (**self).look(steps, see);
    }
}

impl Meta {
    /// Value of a label, if set.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.labels.get(key).map(SharedText::as_str)
    }

    /// True while deletion is under way.
    pub fn is_deleting(&self) -> bool {
        self.deletion_timestamp.is_set()
    }

    /// When the object was created, if written.
    pub fn created(&self) -> Option<Timestamp> {
        self.creation_timestamp.get()
    }
}

/// Looks up a condition by type, ignoring case: Longhorn 1.3 wrote volume condition types in lower
/// case (longhorn-manager v1.3.3 k8s/pkg/apis/longhorn/v1beta2/volume.go).
pub fn condition<'a>(conditions: &'a [Condition], kind: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.kind.eq_ignore_ascii_case(kind))
}

/// Status of the condition of this type; `Unknown` when it is absent, as Longhorn itself reads it.
pub fn status(conditions: &[Condition], kind: &str) -> ConditionStatus {
    match condition(conditions, kind).map(|condition| condition.status) {
        None | Some(ConditionStatus::Unset) => ConditionStatus::Unknown,
        Some(status) => status,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_take_a_box_only_where_one_of_them_is_read() {
        let meta = |annotations: &str| -> Meta {
            serde_json::from_str(&format!(r#"{{"annotations": {annotations}}}"#)).unwrap()
        };
        for none in
            ["null", "{}", r#"{"kubectl.kubernetes.io/restartedAt": "now", "meta.helm.sh/release-name": ""}"#]
        {
            let read = meta(none);
            assert_eq!(
                (read.annotations.0.is_none(), read.annotations.helm_release_name.as_str()),
                (true, ""),
                "{none}"
            );
        }
        assert_eq!(meta(r#"{"meta.helm.sh/release-name": "lh"}"#).annotations.helm_release_name, "lh");
    }
}
