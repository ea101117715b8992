//! Why a pod of a DaemonSet has not started, or why there is none: in the words of the kubelet, the scheduler and the DaemonSet
//! controller, as kubelet and controllers of Kubernetes 1.36.3 write them (recorded).

use jiff::{SignedDuration, Timestamp};

use super::{api, looping, pods, text, ways};
use crate::check::{Evidence, EvidenceSource, Way};
use crate::cluster::Cluster;
use crate::longhorn::{
    ConditionStatus, ContainerStatus, DaemonSet, Event, Pod, PodPhase, Taint, Waiting, condition,
};

/// How much of a message is repeated.
const LONGEST: usize = 240;
/// What the kubelet repeats for as long as it holds; later the spam filter of its events may keep it silent for five minutes.
const RECENT: SignedDuration = SignedDuration::from_mins(10);

/// A scheduler looks at a new pod within milliseconds; one that restarts takes over its Lease within 15 s (client-go leaderelection).
const UNSEEN: SignedDuration = SignedDuration::from_mins(2);

/// Why there is no running container.
#[derive(Debug, Clone)]
pub struct NotStarted {
    /// What kind of reason, and what to do about it: of a DaemonSet that is named as the workload, where there is no pod.
    pub way: &'static Way,
    /// In words, for a headline.
    pub text: String,
    /// What the machine itself says; empty where it says nothing.
    said: String,
    /// The objects that say so.
    pub evidence: Vec<Evidence>,
}

impl NotStarted {
    fn new(way: &'static Way, text: impl Into<String>) -> Self {
        NotStarted { way, text: text.into(), said: String::new(), evidence: Vec::new() }
    }

    fn said(self, said: &str) -> Self {
        NotStarted { said: said.to_owned(), ..self }
    }

    /// The evidence, if it says more than what is known.
    pub fn beyond(&self, known: &str) -> Vec<Evidence> {
        if self.said == known { Vec::new() } else { evidence(self) }
    }

    /// True where an image is refused by name.
    pub fn is_of_image(&self) -> bool {
        [&ways::IMAGE, &ways::OTHER_REGISTRY].contains(&self.way)
            || OF_IMAGES.iter().any(|(_, way)| *way == self.way)
    }

    /// True where an object states a refusal, which does not pass with time alone.
    pub fn is_definite(&self) -> bool {
        self.way != &ways::WAITING
    }
}

/// Why the container of a pod has not been started.
pub fn of_pod(cluster: &Cluster, pod: &Pod, container: &str) -> NotStarted {
    rejected(pod)
        .or_else(|| unseen(cluster, pod))
        .or_else(|| of_init(cluster, pod))
        .or_else(|| of_container(cluster, pod, pod.container_status(container)?))
        .or_else(|| by_event(cluster, pod))
        .unwrap_or_else(|| NotStarted::new(&ways::WAITING, waits(pod, container)))
}

/// The same, where kubelet, container runtime or registry say what it takes.
pub fn said_by_kubelet(cluster: &Cluster, pod: &Pod) -> Option<NotStarted> {
    let container = pod.spec.containers.first()?;
    let waits = pod.container_status(&container.name).is_some_and(|status| status.running_since().is_none());
    let why =
        (waits || pod.status.container_statuses.is_empty()).then(|| of_pod(cluster, pod, &container.name))?;
    ways::KUBELET_SAYS.contains(&why.way).then_some(why)
}

/// Why a DaemonSet has no pod on a node, where an object says so.
pub fn no_pod(cluster: &Cluster, set: &str, node: &str, since: Option<Timestamp>) -> Option<NotStarted> {
    let refused = refusal(cluster, set).filter(|event| {
        // one from before is over: others may have got their pods since
        let slack = SignedDuration::from_mins(1);
        since.zip(event.last_seen()).is_none_or(|(since, seen)| since.duration_since(seen) <= slack)
    });
    if let Some(event) = refused {
        return Some(by_refusal("DaemonSet", set, &event.message));
    }
    let Some(taint) = untolerated(cluster, set, node) else { return unselected(cluster, set, node) };
    let value = if taint.value.is_empty() { String::new() } else { format!("={}", taint.value) };
    let text = format!("it does not tolerate taint {}{value}:{}", taint.key, taint.effect);
    let mut found = NotStarted::new(&ways::TAINT, text);
    found.evidence.extend(taint_eviction(cluster, set));
    Some(found)
}

/// A label that the nodeSelector of a DaemonSet asks for and the node does not have.
fn unselected(cluster: &Cluster, set: &str, node: &str) -> Option<NotStarted> {
    let wanted = &cluster.objects.daemon_sets.get(set)?.spec.template.spec.node_selector;
    let node = &cluster.objects.kube_nodes.get(node)?.metadata;
    let (key, value) = wanted.iter().find(|(key, value)| node.label(key) != Some(value.as_str()))?;
    let text = format!("the node lacks label {key}={value}");
    Some(NotStarted::new(&ways::LABEL, text))
}

/// Why a DaemonSet gets no pods at all, as the API server told its controller within the last hour.
pub fn refused(cluster: &Cluster, set: &str) -> Option<NotStarted> {
    refusal(cluster, set).map(|event| by_refusal("DaemonSet", set, &event.message))
}

/// The same for a node on which the DaemonSet wants a pod, as far as taints and nodeSelector say.
pub fn refused_on(cluster: &Cluster, set: &str, node: &str) -> Option<NotStarted> {
    let is_kept_away = untolerated(cluster, set, node).is_some() || unselected(cluster, set, node).is_some();
    refused(cluster, set).filter(|_| !is_kept_away)
}

/// The same of a Deployment, whose ReplicaSets are the ones that are refused.
pub fn refused_deployment(cluster: &Cluster, deployment: &str) -> Option<NotStarted> {
    let of_it = |set: &str| {
        let hash = set.strip_prefix(deployment).and_then(|rest| rest.strip_prefix('-'));
        hash.is_some_and(|hash| !hash.contains('-'))
    };
    let event = last_refusal(cluster, |kind, name| kind == "ReplicaSet" && of_it(name))?;
    Some(by_refusal("ReplicaSet", &event.involved_object.name, &event.message))
}

/// What the DaemonSet controller was refused within the last hour.
fn refusal<'a>(cluster: &'a Cluster, set: &str) -> Option<&'a Event> {
    last_refusal(cluster, |kind, name| kind == "DaemonSet" && name == set)
}

/// What a manager logs of a pod that the API server rejects (longhorn-manager v1.10.1 to v1.12.1, and v1.3.3 to v1.10.0
/// controller/instance_manager_controller.go handlePod, syncInstanceManager).
const NOT_CREATED: [&str; 2] =
    ["failed to create pod for instance manager", "failed to sync instance manager for"];
/// Whether a line of a manager's log tells of a pod that the API server rejects.
pub fn is_rejection(line: &str) -> bool {
    let rejects = denies(line) || is_of_all(line);
    rejects && NOT_CREATED.iter().any(|part| line.contains(part))
}

/// What webhooks say of a policy, and a ValidatingAdmissionPolicy.
fn denies(said: &str) -> bool {
    said.contains("denied the request") || said.contains("denied request")
}

/// What the API server says of a ResourceQuota: it leaves no room, or the pod lacks what it counts (kubernetes
/// staging/src/k8s.io/apiserver/pkg/admission/plugin/resourcequota/controller.go).
pub fn is_of_quota(said: &str) -> bool {
    said.contains("exceeded quota") || said.contains("failed quota")
}

/// What the API server says of a pod whose PriorityClass it does not have (kubernetes plugin/pkg/admission/priority/admission.go).
pub const NO_PRIORITY_CLASS: &str = "no PriorityClass with name ";

/// A refusal that is not about one pod alone.
fn is_of_all(said: &str) -> bool {
    ["failed calling webhook", "PodSecurity", NO_PRIORITY_CLASS].iter().any(|part| said.contains(part))
        || is_of_quota(said)
}

/// Why the API server rejects the pod of this instance manager, in the words of the manager's log or of a policy engine's Event (Kyverno
/// pkg/event/events.go, Gatekeeper pkg/webhook/policy.go), and whether it is a policy that does.
pub fn denied<'a>(
    cluster: &'a Cluster,
    name: &str,
    log: Option<&'a str>,
) -> Option<(EvidenceSource, &'a str, bool)> {
    let mut lines = log.unwrap_or_default().lines().rev();
    if let Some(line) = lines.find(|line| is_rejection(line) && line.contains(name)) {
        return Some((EvidenceSource::Log, line, denies(line)));
    }
    let about = |event: &&Event| {
        let said = event.said();
        ["PolicyViolation", "FailedAdmission"].contains(&event.reason.as_str())
            && said.contains(name)
            && (said.contains("(blocked)") || said.contains("denied"))
            && event.last_seen().is_some_and(|at| cluster.age(at) < RECENT)
    };
    let event = cluster.objects.events.iter().filter(about).max_by_key(|event| event.last_seen())?;
    Some((EvidenceSource::Event, event.said(), true))
}

/// A refusal of the last minutes that holds for any pod of the namespace.
pub fn refused_by_all(cluster: &Cluster) -> Option<&Event> {
    let refused = last_refusal(cluster, |_, _| true)?;
    let now = refused.last_seen().is_some_and(|at| cluster.age(at) < RECENT);
    let here = refused.metadata.namespace == cluster.namespace;
    (now && here && is_of_all(&refused.message)).then_some(refused)
}

fn last_refusal(cluster: &Cluster, whose: impl Fn(&str, &str) -> bool) -> Option<&Event> {
    let about = |event: &&Event| {
        let object = &event.involved_object;
        event.reason == "FailedCreate"
            && whose(&object.kind, &object.name)
            && event.last_seen().is_some_and(|at| cluster.age(at) < SignedDuration::from_hours(1))
    };
    cluster.objects.events.iter().filter(about).max_by_key(|event| event.last_seen())
}

/// A refusal of the API server in a few words.
fn by_refusal(kind: &str, set: &str, message: &str) -> NotStarted {
    let way = way_of(message).unwrap_or(&ways::ADMISSION);
    let text = if way == &ways::ADMISSION { "the API server rejects its pods" } else { way.briefly };
    let mut found = NotStarted::new(way, text);
    found.evidence.push(pods::not_created(kind, set, message));
    found
}

/// What kind of refusal a message of the API server is, where it says so itself. What Longhorn's own webhook denies is no policy.
pub fn way_of(said: &str) -> Option<&'static Way> {
    match () {
        () if said.contains("PodSecurity") => Some(&ways::POD_SECURITY),
        () if said.contains("failed quota") => Some(&ways::QUOTA_LIMITS),
        () if is_of_quota(said) => Some(&ways::QUOTA),
        () if denies(said) && !said.contains(".longhorn.io") => Some(&ways::DENIED),
        () => None,
    }
}

/// Rejected by the kubelet before it ran, or without a place.
fn rejected(pod: &Pod) -> Option<NotStarted> {
    if pod.status.phase == PodPhase::Failed && !pod.status.reason.is_empty() {
        let text = format!("the kubelet rejects the pod ({})", pod.status.reason);
        return Some(NotStarted::new(&ways::NO_PLACE, text).said(&pod.status.message));
    }
    let placed = condition(&pod.status.conditions, "PodScheduled")?;
    (placed.status == ConditionStatus::False).then(|| match all_cordoned(&placed.message) {
        true => NotStarted::new(&ways::ALL_CORDONED, ways::ALL_CORDONED.briefly).said(&placed.message),
        false => {
            let text = format!("the pod cannot be scheduled ({})", placed.reason);
            NotStarted::new(&ways::NO_PLACE, text).said(&placed.message)
        }
    })
}

/// `0/3 nodes are available: 3 node(s) were unschedulable.` (kubernetes v1.34 pkg/scheduler/framework/types.go FitError)
fn all_cordoned(message: &str) -> bool {
    let Some((all, why)) = message.split_once(" nodes are available: ") else { return false };
    let all = all.rsplit('/').next().unwrap_or_default();
    why.strip_prefix(all).is_some_and(|rest| rest.starts_with(" node(s) were unschedulable"))
}

/// A pod that no scheduler has looked at: it would have a node, or the condition why not.
fn unseen(cluster: &Cluster, pod: &Pod) -> Option<NotStarted> {
    let waits = pod.status.phase == PodPhase::Pending && pod.spec.node_name.is_empty();
    let unseen = waits && condition(&pod.status.conditions, "PodScheduled").is_none();
    let old = pod.metadata.created().is_some_and(|made| cluster.age(made) >= UNSEEN);
    (unseen && old && !pod.metadata.is_deleting())
        .then(|| NotStarted::new(&ways::NO_SCHEDULER, ways::NO_SCHEDULER.briefly))
}

fn of_init(cluster: &Cluster, pod: &Pod) -> Option<NotStarted> {
    pod.status.init_container_statuses.iter().find_map(|status| {
        let name = &status.name;
        if status.running_since().is_some() {
            let text = format!("init container {name} is still running");
            return Some(NotStarted::new(&ways::WAITING, text));
        }
        let end = looping::last_end(status).filter(|end| end.exit_code != 0);
        let loops = status.state.waiting.as_ref().is_none_or(|one| one.reason == "CrashLoopBackOff");
        match end.filter(|_| loops) {
            Some(end) => {
                let text = format!("init container {name} exits with code {}", end.exit_code);
                Some(NotStarted::new(&ways::INIT, text))
            }
            None => of_container(cluster, pod, status),
        }
    })
}

/// A container that waits with a reason of its own.
fn of_container(cluster: &Cluster, pod: &Pod, status: &ContainerStatus) -> Option<NotStarted> {
    const IMAGE: [&str; 5] =
        ["ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError"];
    let Waiting { reason, message } = status.state.waiting.as_ref()?;
    if ["", "ContainerCreating", "PodInitializing"].contains(&reason.as_str()) {
        return None;
    }
    let name = &status.name;
    if IMAGE.contains(&reason.as_str()) {
        // in its pauses a kubelet may leave out why
        let why = || pulling(cluster, pod, name).filter(|_| !message.contains("rpc error"));
        let message = why().unwrap_or(message);
        let way = shown(message, OF_IMAGES, &ways::IMAGE);
        if way == &ways::REGISTRY_UNREACHABLE
            && let Some((here, there)) = other_registry(cluster, pod, name)
        {
            let text = format!("its image comes from {here}, not {there}");
            return Some(NotStarted::new(&ways::OTHER_REGISTRY, text).said(message));
        }
        let text = match way == &ways::RUNTIME_DAMAGED {
            true => way.briefly.to_owned(),
            false => format!("its image cannot be pulled ({reason})"),
        };
        return Some(NotStarted::new(way, text).said(message));
    }
    let message = match looping::last_end(status).filter(|_| message.is_empty()) {
        Some(end) => end.message.as_str(),
        None => message,
    };
    let text = format!("its container fails ({reason})");
    Some(NotStarted::new(&ways::NODE_LACKS, text).said(message))
}

/// The registry of a container's image, and the one that all images of Longhorn's running pods come from, where they differ.
fn other_registry<'a>(cluster: &'a Cluster, pod: &'a Pod, container: &str) -> Option<(&'a str, &'a str)> {
    let here = registry(&pod.spec.container(container)?.image);
    let running = cluster.objects.pods.iter().filter(|other| other.is_ready());
    let mut there = running.flat_map(|other| &other.spec.containers).map(|one| registry(&one.image));
    let first = there.next()?;
    (first != here && there.all(|one| one == first)).then_some((here, first))
}

/// The host in front of an image's name; without any it is Docker's.
fn registry(image: &str) -> &str {
    let host = image.split_once('/').map(|(host, _)| host);
    host.filter(|host| host.contains(['.', ':'])).unwrap_or("docker.io")
}

/// What a message contains, and the way that it shows; the first that fits.
type Words = (&'static [&'static str], &'static Way);

/// What a kubelet, containerd and registries say of an image.
const OF_IMAGES: &[Words] = &[
    (&["toomanyrequests", "429 Too Many"], &ways::RATE_LIMITED),
    (&["no space left on device"], &ways::DISK_FULL),
    (&["failed to prepare extraction snapshot", "failed to extract layer"], &ways::RUNTIME_DAMAGED),
    (&["x509: ", "certificate has expired"], &ways::REGISTRY_CERTIFICATE),
    (
        &[
            "no such host", "server misbehaving", "i/o timeout", "no route to host", "connection refused",
            "proxyconnect", "TLS handshake timeout", "context deadline exceeded", "network is unreachable",
        ],
        &ways::REGISTRY_UNREACHABLE,
    ),
    (
        &["unauthorized", "401 ", "403 ", "authentication required", "authorization failed", "access denied"],
        &ways::PULL_REFUSED,
    ),
    (&["not found", "manifest unknown", "no match for platform"], &ways::NO_SUCH_IMAGE),
];

/// What a kubelet, containerd and CNI plugins say of a pod's sandbox and containers.
const OF_SANDBOXES: &[Words] = &[
    // systemd refuses the slice of a new pod while no disk is full (k3s issue 8919)
    (&["unable to start unit"], &ways::NO_CGROUP),
    (&["no space left on device"], &ways::DISK_FULL),
    (&["is reserved for"], &ways::NAME_RESERVED),
    (
        &[
            "no IP addresses available",
            "no addresses available",
            "Could not allocate IP",
            "failed to allocate for range",
            "per host block limit",
            "failed to assign an IP address to container",
        ],
        &ways::NO_ADDRESS,
    ),
    (
        &["network-attachment-definition", "failed to lookup master", "Link not found"],
        &ways::NO_STORAGE_NETWORK,
    ),
    (&["cni", "CNI", "failed to setup network", "plugin type=", "NetworkNotReady"], &ways::NO_POD_NETWORK),
    (&["deadline exceeded", "DeadlineExceeded", "containerd.sock", "crio.sock"], &ways::RUNTIME_HANGS),
];

/// The way that a message shows.
fn shown(message: &str, words: &[Words], otherwise: &'static Way) -> &'static Way {
    let fits = |(parts, _): &&Words| parts.iter().any(|part| message.contains(part));
    words.iter().find(fits).map_or(otherwise, |(_, way)| way)
}

fn said(reason: &str, message: &str) -> String {
    match message.trim() {
        "" => reason.to_owned(),
        message => format!("{reason}: \"{}\"", text::both_ends(message, LONGEST)),
    }
}

/// Why the image of a container was not pulled, by its Event. A pod of managers has a second container, which only fetches the image of
/// the share managers (longhorn deploy/longhorn.yaml v1.7.0 to v1.12.1).
fn pulling<'a>(cluster: &'a Cluster, pod: &Pod, container: &str) -> Option<&'a str> {
    let its = format!("{{{container}}}");
    let failed = |event: &&Event| {
        let path = event.involved_object.field_path.as_str();
        event.reason == "Failed"
            && event.message.starts_with("Failed to pull image")
            && (path.is_empty() || path.ends_with(&its))
    };
    let newest = newest(cluster, pod, failed)?;
    Some(newest.message.as_str())
}

/// What holds a container up whose status says nothing: a volume, the pod network.
fn by_event(cluster: &Cluster, pod: &Pod) -> Option<NotStarted> {
    const REASONS: [&str; 6] = [
        "FailedMount", "FailedAttachVolume", "FailedMapVolume", "FailedCreatePodSandBox", "NetworkNotReady",
        "FailedCreatePodContainer",
    ];
    // written of every pod at its end, and no obstacle
    let noise = |event: &Event| event.message.contains("kube-root-ca.crt\" not registered");
    let held = |event: &&Event| REASONS.contains(&event.reason.as_str()) && !noise(event);
    let event = newest(cluster, pod, held)?;
    let text = format!("its pod cannot start ({})", event.reason);
    let words =
        if event.reason.starts_with("Failed") && event.reason.contains("Pod") { OF_SANDBOXES } else { &[] };
    let mut found = NotStarted::new(shown(&event.message, words, &ways::NODE_LACKS), text);
    let said = said(&event.reason, &event.message);
    found.evidence.push(EvidenceSource::Event.says(said).quoting(&event.message));
    Some(found)
}

fn newest<'a>(cluster: &'a Cluster, pod: &Pod, wanted: impl Fn(&&Event) -> bool) -> Option<&'a Event> {
    let lately = |event: &&Event| event.last_seen().is_some_and(|at| cluster.age(at) < RECENT);
    let same = |event: &&Event| {
        let (of, uid) = (&event.involved_object.uid, &pod.metadata.uid);
        of.is_empty() || uid.is_empty() || of == uid
    };
    let about = cluster.events_about(&pod.metadata.name).filter(lately).filter(same);
    about.filter(wanted).max_by_key(|event| event.last_seen())
}

fn waits(pod: &Pod, container: &str) -> String {
    let waiting = pod.container_status(container).and_then(|status| status.state.waiting.as_ref());
    match waiting.filter(|waiting| !waiting.reason.is_empty()) {
        Some(waiting) => format!("its pod is in {}", waiting.reason),
        None => format!("the pod is in phase {}", pod.status.phase.as_str()),
    }
}

/// A taint of the node that keeps pods of a DaemonSet away: NoSchedule or NoExecute, and neither of the node's own, which such
/// pods tolerate, nor tolerated by its template.
fn untolerated<'a>(cluster: &'a Cluster, set: &str, node: &str) -> Option<&'a Taint> {
    let set: &DaemonSet = cluster.objects.daemon_sets.get(set)?;
    let tolerations = &set.spec.template.spec.tolerations;
    let tolerated = |taint: &Taint| {
        tolerations.iter().any(|one| {
            (one.key.is_empty() || one.key == taint.key)
                && (one.value.is_empty() || one.value == taint.value)
                && (one.effect.is_empty() || one.effect == taint.effect)
        })
    };
    let taints = &cluster.objects.kube_nodes.get(node)?.spec.taints;
    taints.iter().find(|taint| {
        ["NoSchedule", "NoExecute"].contains(&taint.effect.as_str())
            && !taint.key.starts_with("node.kubernetes.io/")
            && !tolerated(taint)
    })
}

/// The taint manager says of each pod that it deletes it, and why only in the node.
fn taint_eviction(cluster: &Cluster, set: &str) -> Option<Evidence> {
    let of_set = |event: &&Event| {
        event.reason == "TaintManagerEviction"
            && event.involved_object.name.starts_with(set)
            && event.last_seen().is_some_and(|at| cluster.age(at) < SignedDuration::from_hours(1))
    };
    let event = cluster.objects.events.iter().filter(of_set).max_by_key(|event| event.last_seen())?;
    Some(EvidenceSource::Event.says(format!("event {}: \"{}\"", event.reason, event.message.trim())))
}

/// The reason as evidence where none of its objects is.
pub fn evidence(found: &NotStarted) -> Vec<Evidence> {
    match found.evidence.is_empty() {
        true => vec![api(said(&found.text, &found.said)).quoting(&found.said)],
        false => found.evidence.clone(),
    }
}
