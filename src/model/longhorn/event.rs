//! Events of the core API.

use super::lenient::{Int, Time, narrow};
use super::meta::Meta;
use super::shared_text::SharedText;

narrow! {
    /// An event of the core API.
    pub struct Event {
        pub metadata: Meta,
        pub involved_object: InvolvedObject,
        pub reason: SharedText,
        pub message: SharedText,
        pub kind: SharedText = "type",
        pub count: Int,
        pub first_timestamp: Time,
        pub last_timestamp: Time,
        pub event_time: Time,
        pub series: Option<EventSeries>,
        pub source: EventSource,
    }

    /// What an event is about.
    pub struct InvolvedObject {
        pub kind: SharedText as name,
        pub name: SharedText as name,
        pub namespace: SharedText as name,
        pub uid: SharedText as name,
        pub field_path: SharedText,
    }

    /// Repetitions of an event in the newer form.
    pub struct EventSeries {
        pub count: Int,
        pub last_observed_time: Time,
    }

    /// Who wrote an event.
    pub struct EventSource {
        pub component: SharedText as name,
        pub host: SharedText as name,
    }
}

/// An event about a Kubernetes node, as node-problem-detector and kubelets write it.
#[derive(Debug, Clone, Default, PartialEq, serde::Deserialize)]
#[serde(transparent)]
pub struct NodeEvent(Event);

/// What the monitors that we deliver for node-problem-detector report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeTrouble {
    /// The kernel lost an iSCSI connection: `detected conn error (1020)`.
    IscsiConnError,
    /// containerd lost a shim: `shim disconnected`.
    ShimDisconnected,
}

impl super::Compact for NodeEvent {
    fn compact(&mut self) {
        self.0.compact();
    }

    fn tidy(&mut self) {
        self.0.tidy();
    }
}

impl std::ops::Deref for NodeEvent {
    type Target = Event;

    fn deref(&self) -> &Event {
        &self.0
    }
}

impl std::ops::DerefMut for NodeEvent {
    fn deref_mut(&mut self) -> &mut Event {
        &mut self.0
    }
}

impl NodeEvent {
    /// What it reports; `None` for all that others report about nodes.
    pub fn trouble(&self) -> Option<NodeTrouble> {
        match self.reason.as_str() {
            "LonghornISCSIConnError" => Some(NodeTrouble::IscsiConnError),
            "LonghornShimDisconnected" => Some(NodeTrouble::ShimDisconnected),
            _ => None,
        }
    }

    /// True where the kernel killed the process of an instance manager for lack of memory of the whole node: the kubelet writes no Event of
    /// an OOM within a limit (kubernetes pkg/kubelet/oom/oom_watcher_linux.go), and the kernel cuts names after 15 characters. An engine or a
    /// replica is `longhorn`, and does not end its pod.
    pub fn is_oom_of_instance_manager(&self) -> bool {
        const VICTIM: &str = "victim process: longhorn-instan,";
        self.reason == "SystemOOM" && self.message.contains(VICTIM)
    }

    /// True where its kubelet cannot read or write the system disk, by the errors of its own rounds, such as ContainerGCFailed (kubernetes
    /// v1.34 pkg/kubelet/kubelet.go StartGarbageCollection).
    pub fn is_disk_error(&self) -> bool {
        let kubelets =
            ["ContainerGCFailed", "ImageGCFailed", "FreeDiskSpaceFailed", "FailedNodeAllocatableEnforcement"];
        kubelets.contains(&self.reason.as_str()) && self.message.contains("input/output error")
    }

    /// True for what the kubelet writes when it finds another boot id.
    pub fn is_reboot(&self) -> bool {
        self.reason == "Rebooted"
    }

    /// True for what a kubelet writes when its process starts, on K3s and RKE2 with the server around it.
    pub fn is_kubelet_start(&self) -> bool {
        self.reason == "Starting" && self.message.starts_with("Starting kubelet")
    }

    /// True for what Kubernetes' node controller writes when it no longer hears of a kubelet.
    pub fn is_lost(&self) -> bool {
        self.reason == "NodeNotReady"
    }

    /// Whether the kubelet says that its node was cordoned or uncordoned; `None` of all else.
    pub fn cordons(&self) -> Option<bool> {
        match self.reason.as_str() {
            "NodeNotSchedulable" => Some(true),
            "NodeSchedulable" => Some(false),
            _ => None,
        }
    }
}

impl Event {
    /// True where the taint manager deletes a pod. `Cancelling deletion of Pod …` has the same reason and means that it does not:
    /// so it says of each pod of a node that joins or comes back.
    pub fn is_taint_eviction(&self) -> bool {
        self.reason == "TaintManagerEviction" && self.said().starts_with("Marking for deletion")
    }

    /// What it says. Of many Events that differ in their text only the API client makes one.
    pub fn said(&self) -> &str {
        const COMBINED: &str = "(combined from similar events): ";
        self.message.strip_prefix(COMBINED).unwrap_or(&self.message)
    }

    /// When it was first seen, in whichever form the event is written.
    pub fn first_seen(&self) -> Option<jiff::Timestamp> {
        [self.first_timestamp.get(), self.event_time.get(), self.metadata.created()]
            .into_iter()
            .flatten()
            .min()
    }

    /// When it was last seen, in whichever form the event is written.
    pub fn last_seen(&self) -> Option<jiff::Timestamp> {
        [
            self.series.as_ref().and_then(|series| series.last_observed_time.get()),
            self.last_timestamp.get(),
            self.event_time.get(),
            self.first_timestamp.get(),
            self.metadata.created(),
        ]
        .into_iter()
        .flatten()
        .max()
    }

    /// How often it was seen.
    pub fn occurrences(&self) -> u64 {
        let series = self.series.as_ref().map_or(0, |series| series.count.0);
        u64::try_from(series.max(self.count.0).max(1)).unwrap_or(1)
    }
}
