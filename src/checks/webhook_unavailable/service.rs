//! The Services of the webhooks: which there should be, who should serve them, and who does.

use jiff::{SignedDuration, Timestamp};

use super::pods;
use crate::cluster::{Cluster, Readability};
use crate::facts::releases::{manager_release, release_of};
use crate::facts::{endpoints, start};
use crate::longhorn::{ADMISSION_LABEL, Meta, Pod, Release, Resource};
use crate::word_enum::word_enum;

word_enum! {
    /// A Service that managers (up to 1.4: Deployments of its name) serve.
    pub enum WebhookRole {
        /// Validates and mutates Longhorn's objects; every release from 1.3 on.
        Admission = "admission",
        /// Converts between API versions; 1.3 to 1.9.
        Conversion = "conversion",
        /// No webhook, but served by the same pods: state of NFS clients of RWX volumes; from 1.4 on.
        RecoveryBackend = "recovery_backend",
    }
}

/// Who serves a Service.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ServiceEndpoints {
    /// Pods that take requests.
    pub ready: usize,
    /// Those among them that are about to crash, as they did before.
    pub unsteady: usize,
    /// Pods that are listed and do not.
    pub not_ready: usize,
    /// True when a recording has no EndpointSlices, so that the pods themselves were counted.
    pub from_pods: bool,
}

impl WebhookRole {
    /// Name of the Service, and up to 1.4 of the Deployment and its container.
    pub fn service(self) -> &'static str {
        match self {
            WebhookRole::Admission => ADMISSION_LABEL.1,
            WebhookRole::Conversion => "longhorn-conversion-webhook",
            WebhookRole::RecoveryBackend => "longhorn-recovery-backend",
        }
    }

    /// True when a Deployment of its own serves it, as up to 1.4.
    pub fn has_deployment(self, cluster: &Cluster) -> bool {
        match manager_release(cluster) {
            Some(release) => release.has_webhook_deployments(),
            None => cluster.objects.deployments.get(self.service()).is_some(),
        }
    }

    /// Name of the container that serves it.
    pub fn container(self, cluster: &Cluster) -> &'static str {
        if self.has_deployment(cluster) { self.service() } else { "longhorn-manager" }
    }

    /// True when the Service exists.
    pub fn exists(self, cluster: &Cluster) -> bool {
        cluster.objects.services.get(self.service()).is_some()
    }

    /// True when this release needs it for every request and it is therefore judged.
    pub fn is_needed(self, cluster: &Cluster) -> bool {
        match self {
            WebhookRole::Admission => true,
            WebhookRole::Conversion => match manager_release(cluster) {
                Some(release) => (release.major, release.minor) < (1, 10),
                None => self.exists(cluster),
            },
            WebhookRole::RecoveryBackend => false,
        }
    }

    /// How many pods should serve it; zero when Longhorn does not run here.
    pub fn expected(self, cluster: &Cluster) -> usize {
        let set = cluster.manager_daemon_set();
        let (meta, wanted) = if self.is_undeployed(cluster) {
            (set.map(|set| &set.metadata), Some(1))
        } else if self.has_deployment(cluster) {
            let deployment = cluster.objects.deployments.get(self.service());
            deployment.map(|deployment| (&deployment.metadata, deployment.spec.replicas.unwrap_or(1))).unzip()
        } else {
            set.map(|set| (&set.metadata, set.status.desired_number_scheduled.0)).unzip()
        };
        // what is being uninstalled serves no one any more
        if meta.is_some_and(Meta::is_deleting) {
            return 0;
        }
        usize::try_from(wanted.unwrap_or(0)).unwrap_or(0).max(self.pods(cluster).count())
    }

    /// True when its Deployment was deleted while the managers still wait for it.
    pub fn is_undeployed(self, cluster: &Cluster) -> bool {
        self.has_deployment(cluster)
            && cluster.objects.deployments.get(self.service()).is_none()
            && cluster.manager_daemon_set().is_some()
            && cluster.knows_all(Resource::Deployments)
    }

    /// Pods that could serve it, whether they carry the labels of the Service or not.
    pub fn pods(self, cluster: &Cluster) -> impl Iterator<Item = &Pod> {
        let live = |pod: &&Pod| !pod.metadata.is_deleting();
        cluster.pods_of(self.app(cluster)).filter(live)
    }

    /// When the first of the pods that are about to go was asked to. `deletionTimestamp` is the end of its grace period, of which
    /// no manifest of Longhorn's says anything else than Kubernetes' 30 s.
    pub fn told_to_go(self, cluster: &Cluster) -> Option<Timestamp> {
        const GRACE: SignedDuration = SignedDuration::from_secs(30);
        let ends = cluster.pods_of(self.app(cluster)).filter_map(|pod| pod.metadata.deletion_timestamp.get());
        ends.min()?.checked_sub(GRACE).ok()
    }

    fn app(self, cluster: &Cluster) -> &'static str {
        if self.has_deployment(cluster) { self.service() } else { "longhorn-manager" }
    }

    /// Who serves it; `None` when this cluster has no such Service.
    pub fn endpoints(self, cluster: &Cluster) -> Option<ServiceEndpoints> {
        if cluster.readability(Resource::EndpointSlices) == Readability::NotRecorded {
            return (self.is_needed(cluster) || self.exists(cluster)).then(|| self.ready_pods(cluster));
        }
        let listed = endpoints::each(cluster, self.service());
        // that of this Service may be the one that could not be decoded
        if listed.is_none() && !cluster.decoded_all(Resource::EndpointSlices) {
            return None;
        }
        let judged = listed.is_some() || self.is_needed(cluster) || self.exists(cluster);
        let mut endpoints = ServiceEndpoints::default();
        for (pod, ready) in listed.unwrap_or_default() {
            let pod = cluster.objects.pods.get(pod);
            endpoints.count(self, cluster, pod, ready);
        }
        judged.then_some(endpoints)
    }

    /// Pods that have been Ready for so long, fit the selector, and are not listed as ready. `None` where one of these facts is not known.
    pub fn not_listed(self, cluster: &Cluster, settled: SignedDuration) -> Option<usize> {
        let known =
            [Resource::EndpointSlices, Resource::Services].into_iter().all(|kind| cluster.knows_all(kind));
        // Kubernetes lists no pods of a Service without selector
        let service =
            cluster.objects.services.get(self.service()).filter(|service| !service.spec.selector.is_empty());
        if !known || service.is_none() {
            return None;
        }
        let listed = endpoints::each(cluster, self.service()).unwrap_or_default();
        let missing = |pod: &&Pod| {
            pod.is_ready()
                && self.selects(cluster, pod)
                && pods::ready_changed(pod).is_some_and(|since| cluster.age(since) >= settled)
                && !listed.contains(&(pod.metadata.name.as_str(), true))
        };
        Some(self.pods(cluster).filter(missing).count())
    }

    /// What the EndpointSlices would say, by the pods and the selector of the Service.
    fn ready_pods(self, cluster: &Cluster) -> ServiceEndpoints {
        let mut endpoints = ServiceEndpoints { from_pods: true, ..ServiceEndpoints::default() };
        for pod in self.pods(cluster).filter(|pod| self.selects(cluster, pod)) {
            endpoints.count(self, cluster, Some(pod), pod.is_ready());
        }
        endpoints
    }

    fn selects(self, cluster: &Cluster, pod: &Pod) -> bool {
        if let Some(service) = cluster.objects.services.get(self.service()) {
            return service.spec.selector.iter().all(|(key, value)| pod.metadata.label(key) == Some(value));
        }
        let by_label = release_of(cluster, pod).is_some_and(Release::labels_webhook_pods);
        !by_label || self != WebhookRole::Admission || has_admission_label(pod)
    }
}

impl ServiceEndpoints {
    /// True when someone takes requests and will do so in a moment.
    pub fn is_served(self) -> bool {
        self.ready > self.unsteady
    }

    fn count(&mut self, webhook: WebhookRole, cluster: &Cluster, pod: Option<&Pod>, ready: bool) {
        let starts = |pod| webhook == WebhookRole::Admission && start::is_ready_too_early(cluster, pod);
        if !ready || pod.is_some_and(starts) {
            self.not_ready += 1;
            return;
        }
        self.ready += 1;
        if pod.is_some_and(|pod| pods::is_about_to_crash(cluster, pod, webhook.container(cluster))) {
            self.unsteady += 1;
        }
    }
}

/// True when a pod takes part in the admission Service from 1.7 on.
pub fn has_admission_label(pod: &Pod) -> bool {
    pod.metadata.label(ADMISSION_LABEL.0) == Some(ADMISSION_LABEL.1)
}
