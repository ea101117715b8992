//! The readiness probe of managers.

use std::fmt;

use jiff::{SignedDuration, Timestamp};

use super::releases::release_of;
use crate::cluster::Cluster;
use crate::longhorn::{Event, Pod, Release};

/// A readiness probe of another release than that of the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForeignProbe {
    /// The port that it asks.
    pub port: i64,
    /// The port by which the release becomes Ready.
    pub own: i64,
    release: Release,
}

impl fmt::Display for ForeignProbe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ForeignProbe { port, own, release } = self;
        write!(
            f,
            "the readiness probe checks port {port}, but {release} serves readiness on port {own}: manifest and image are from different releases"
        )
    }
}

/// The readiness probe asks a port on which this release serves nothing before it needs to be Ready: its own wait for
/// the Service of its webhook then fails every time (longhorn deploy/longhorn.yaml: 9500 up to v1.4.4, 9501 from v1.5.0
/// on, 9502 from v1.10.0 on).
pub fn foreign(cluster: &Cluster, pod: &Pod) -> Option<ForeignProbe> {
    let release = release_of(cluster, pod)?;
    let container = pod.spec.container("longhorn-manager").or_else(|| cluster.manager_container())?;
    let probe = container.readiness_probe.as_ref()?;
    let port =
        probe.http_get.as_ref().map(|get| &get.port).or(probe.tcp_socket.as_ref().map(|tcp| &tcp.port))?;
    let named = container.ports.iter().find(|one| one.name == port.0).map(|one| one.container_port.0);
    let port = named.or_else(|| port.0.parse().ok())?;
    let own = match (release.major, release.minor) {
        (1, ..5) => 9500,
        (1, ..10) => 9501,
        _ => 9502,
    };
    (port != own && [9500, 9501, 9502].contains(&port)).then_some(ForeignProbe { port, own, release })
}

/// The same in a headline.
pub const WRONG_PORT: &str = "its readiness probe's port is wrong";

/// How the readiness probe of a manager failed lately, as the kubelet's last event about it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failed {
    /// When it failed last.
    pub at: Timestamp,
    /// Nothing listens: the manager does not serve its webhook.
    pub refused: bool,
}

/// The last failure of the readiness probe within a minute; a pod that is not Ready has one every few seconds.
pub fn failed_lately(cluster: &Cluster, pod: &Pod) -> Option<Failed> {
    const RECENT: SignedDuration = SignedDuration::from_secs(60);
    failed_last(cluster, pod).filter(|failed| cluster.age(failed.at) <= RECENT)
}

/// The last failure that its kubelet wrote: after some of them it keeps quiet, so later ones may be missing.
pub fn failed_last(cluster: &Cluster, pod: &Pod) -> Option<Failed> {
    readiness_failures(cluster, pod)
        .filter_map(|event| {
            Some(Failed { at: event.last_seen()?, refused: event.message.contains("connection refused") })
        })
        .max_by_key(|failed| failed.at)
}

/// What the kubelet wrote of failures of the readiness probe.
pub fn readiness_failures<'a>(cluster: &'a Cluster, pod: &Pod) -> impl Iterator<Item = &'a Event> {
    cluster.events_about(&pod.metadata.name).filter(|event| {
        event.reason == "Unhealthy"
            && event.involved_object.kind == "Pod"
            && event.message.starts_with("Readiness probe failed")
    })
}
