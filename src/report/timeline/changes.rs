//! What was changed, as far as objects, Events and the history say it.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::fold::Places;
use crate::cluster::Cluster;
use crate::edits::{Edit, things};
use crate::facts::nodes::cordoned_since;
use crate::facts::text::shortened;
use crate::happened::{Entry, What};
use crate::history::GonePod;
use crate::longhorn::{
    ConditionStatus, ContainerStatus, Kind, KindVisitor, KubeNode, Objects, Pod, Store, Terminated, Write,
    Written, condition, visit_kinds,
};

/// An object gets all of its fields when it is made: what was written then is no change.
const MADE: SignedDuration = SignedDuration::from_secs(5);
/// After so long the pods of an installation are there.
pub(super) const INSTALLED: SignedDuration = SignedDuration::from_mins(10);
/// The taint of a cordon, which is told as that.
const CORDON: &str = "node.kubernetes.io/unschedulable";
/// Two ways to see one edit differ by no more.
pub(super) const SAME: SignedDuration = SignedDuration::from_secs(60);
/// Containers that do not end on their own while all is well.
const ALWAYS_RUN: [&str; 5] =
    ["longhorn-manager", "instance-manager", "share-manager", "longhorn-csi-plugin", "backing-image-manager"];
/// A message of a container may be long.
pub(super) const LONGEST: usize = 120;

/// What objects and the history tell since a moment, in no order.
pub fn of(cluster: &Cluster, from: Option<Timestamp>) -> Collect<'_> {
    let objects = &cluster.objects;
    let mut collect =
        Collect { objects, from, entries: Vec::new(), places: Places::new(), latest: BTreeMap::new() };
    seen(cluster, &mut collect);
    visit_kinds(&mut collect);
    collect.created(&objects.kube_nodes);
    collect.created(&objects.longhorn_nodes);
    collect.created(&objects.engine_images);
    collect.created(&objects.backup_targets);
    collect.created(&objects.recurring_jobs);
    let installed = objects.settings.iter().filter_map(|setting| setting.metadata.created()).min();
    collect.came(&objects.network_policies, installed);
    collect.came(&objects.pod_disruption_budgets, installed);
    collect.came(&objects.storage_classes, installed);
    collect.came(&objects.priority_classes, installed);
    objects.kube_nodes.iter().for_each(|node| collect.node(cluster, node));
    objects.pods.iter().for_each(|pod| collect.pod(pod));
    cluster.history.gone_pods().for_each(|gone| collect.vanished(gone));
    collect
}

/// The changes, as they are found.
pub struct Collect<'a> {
    objects: &'a Objects,
    from: Option<Timestamp>,
    pub(super) entries: Vec<Entry>,
    /// Of what ended, by its text.
    pub(super) places: Places,
    /// When each subject and field was last changed, by what was pushed.
    latest: BTreeMap<(String, String), Timestamp>,
}

/// What managed fields tell of each kind.
impl KindVisitor for Collect<'_> {
    fn visit<T: Kind>(&mut self) {
        if T::RESOURCE.keeps_writes() {
            self.written(T::store(self.objects));
        }
    }
}

/// What an exporter saw: it knows what was before.
fn seen(cluster: &Cluster, collect: &mut Collect<'_>) {
    let from = collect.from;
    for edited in cluster.history.edits().filter(|edited| Some(edited.at) >= from) {
        let entry = Entry::edited(Some(edited.at), edited.edit.clone(), Some(edited.by.clone()));
        collect.push(entry.or_earlier(edited.or_earlier));
    }
}

/// The field as edits call it.
fn called(field: Written) -> &'static str {
    match field {
        Written::Value => "",
        Written::Unschedulable => "cordoned",
        Written::Taints => "taints",
        Written::AllowScheduling => "scheduling",
        Written::EvictionRequested => "eviction requested",
        Written::Disks => "disks",
        Written::NumberOfReplicas => "replicas",
        Written::BackupTargetUrl => "URL",
        Written::CredentialSecret => "credential secret",
        Written::Template => "manifest",
    }
}

impl Collect<'_> {
    pub(super) fn is_of_interest(&self, at: Timestamp) -> bool {
        self.from.is_none_or(|from| at >= from)
    }

    pub(super) fn push(&mut self, entry: Entry) {
        if let Some((key, at)) = key(&entry).zip(entry.at) {
            let latest = self.latest.entry(key).or_insert(at);
            *latest = at.max(*latest);
        }
        self.entries.push(entry);
    }

    /// Adds what no exporter saw, or did not see so well.
    pub(super) fn add(&mut self, entry: Entry) {
        let latest = key(&entry).and_then(|key| self.latest.get(&key));
        if latest.zip(entry.at).is_none_or(|(latest, at)| at.duration_since(*latest) > SAME) {
            self.push(entry);
        }
    }

    fn written<T: Kind>(&mut self, store: &Store<T>) {
        for object in store.iter() {
            let meta = object.meta();
            let made = meta.created();
            for write in meta.managed_fields.iter() {
                let Some(at) = write.at.get().filter(|at| self.is_of_interest(*at)) else { continue };
                if made.is_some_and(|made| at.duration_since(made) <= MADE) {
                    continue;
                }
                for field in write.fields().filter(|field| *field != Written::Unschedulable) {
                    self.add(written(object, write, field, at));
                }
            }
        }
    }

    /// Objects that are new, and did not come with the first of their kind.
    fn created<T: Kind>(&mut self, store: &Store<T>) {
        let Some(first) = store.iter().filter_map(|object| object.meta().created()).min() else { return };
        for object in store.iter() {
            let Some(at) = object.meta().created().filter(|at| self.is_of_interest(*at)) else { continue };
            if at.duration_since(first) <= INSTALLED {
                continue;
            }
            let Some((subject, _)) = things(object).into_iter().next() else { continue };
            self.add(Entry::edited(Some(at), thing(subject), None));
        }
    }

    /// Objects that Longhorn does not need, and that others brought after its installation.
    fn came<T: Kind>(&mut self, store: &Store<T>, installed: Option<Timestamp>) {
        for meta in store.iter().map(Kind::meta) {
            let at = meta.created().filter(|at| self.is_of_interest(*at));
            // Longhorn makes a budget for each instance manager, again and again
            let is_own = meta.name.starts_with("instance-manager-");
            let Some(at) = at
                .filter(|_| !is_own)
                .zip(installed)
                .filter(|(at, first)| at.duration_since(*first) > INSTALLED)
            else {
                continue;
            };
            self.add(Entry::edited(
                Some(at.0),
                thing(format!("{} {}", T::RESOURCE.info().kind, meta.name)),
                None,
            ));
        }
    }

    fn node(&mut self, cluster: &Cluster, node: &KubeNode) {
        let name = &node.metadata.name;
        let writes = || node.metadata.managed_fields.iter();
        if node.spec.unschedulable {
            let by = writes().find(|write| write.has(Written::Unschedulable));
            let at = cordoned_since(cluster, name).or_else(|| by?.at.get());
            if at.is_none_or(|at| self.is_of_interest(at)) {
                self.add(cordon(name, at, true, by));
            }
        }
        for taint in node.spec.taints.iter().filter(|taint| taint.key != CORDON) {
            let Some(at) = taint.time_added.get().filter(|at| self.is_of_interest(*at)) else { continue };
            let after = Some(taint.to_string());
            let edit = Edit { subject: format!("node {name}"), field: "taint".into(), before: None, after };
            self.add(Entry::edited(Some(at), edit, None));
        }
    }

    fn pod(&mut self, pod: &Pod) {
        let all = pod.status.init_container_statuses.iter().chain(&pod.status.container_statuses);
        for status in all {
            let ends = [&status.last_state, &status.state].map(|state| state.terminated.as_ref());
            for end in ends.into_iter().flatten() {
                self.end(pod, status, end);
            }
        }
    }

    fn end(&mut self, pod: &Pod, status: &ContainerStatus, end: &Terminated) {
        let Some(at) = end.finished_at.get().filter(|at| self.is_of_interest(*at)) else { return };
        let runs_always = ALWAYS_RUN.contains(&status.name.as_str());
        if end.exit_code == 0 && !runs_always {
            return;
        }
        let name = &pod.metadata.name;
        let why = match end.reason.as_str() {
            _ if end.exit_code == 0 => ", although it must always be running".to_owned(),
            "" | "Error" if end.exit_code == 137 => " (killed, not OOM)".to_owned(),
            "" | "Error" => String::new(),
            reason => format!(" ({})", shortened(reason, LONGEST)),
        };
        let how = format!("ended with exit code {}{why}", end.exit_code);
        let text = format!("container {} of pod {name}{} {how}", status.name, place(pod));
        self.places.insert(text.clone(), (pod.spec.node_name.to_string(), how));
        let after = Some(format!("exit code {}{why}", end.exit_code));
        let edit = Edit {
            subject: format!("pod {name}"),
            field: status.name.to_string().into(),
            before: None,
            after,
        };
        self.push(Entry { edit: Some(edit), ..Entry::new(What::PodEnded, Some(at), text) });
    }

    fn vanished(&mut self, gone: &GonePod) {
        let meta = &gone.last.metadata;
        let is_of_job =
            ["job-name", "batch.kubernetes.io/job-name"].iter().any(|label| meta.label(label).is_some());
        if is_of_job || !self.is_of_interest(gone.at) {
            return;
        }
        let became = match evicted(&gone.last) {
            Some(evicted) => evicted,
            None if gone.replaced_by.is_empty() => "was deleted",
            None => "was replaced",
        };
        let text = format!("pod {}{} {became}", meta.name, place(&gone.last));
        let many = became.strip_prefix("was ").map_or(became.to_owned(), |became| format!("were {became}"));
        self.places.insert(text.clone(), (gone.last.spec.node_name.to_string(), many));
        let edit = Edit {
            subject: format!("pod {}", meta.name),
            field: "".into(),
            before: Some(String::new()),
            after: None,
        };
        self.push(Entry { edit: Some(edit), ..Entry::new(What::PodGone, Some(gone.at), text) });
    }
}

/// What was changed, for a comparison.
fn key(entry: &Entry) -> Option<(String, String)> {
    entry.subject().map(|(subject, field)| (subject.to_owned(), field.to_owned()))
}

fn place(pod: &Pod) -> String {
    match pod.spec.node_name.as_str() {
        "" => String::new(),
        node => format!(" on {node}"),
    }
}

/// Who made the pod go, as its condition says from Kubernetes 1.26 on.
fn evicted(pod: &Pod) -> Option<&'static str> {
    let disrupted = condition(&pod.status.conditions, "DisruptionTarget")?;
    match disrupted.reason.as_str() {
        _ if disrupted.status != ConditionStatus::True => None,
        "EvictionByEvictionAPI" => Some("was evicted through the API, as a drain does"),
        "TerminationByKubelet" => Some("was evicted by the kubelet"),
        "DeletionByTaintManager" => Some("was evicted because of a taint"),
        "PreemptionByScheduler" => Some("was preempted by a pod of a higher priority"),
        _ => None,
    }
}

pub(super) fn thing(subject: String) -> Edit {
    Edit { subject, field: "".into(), before: None, after: Some(String::new()) }
}

pub(super) fn cordon(node: &str, at: Option<Timestamp>, cordoned: bool, by: Option<&Write>) -> Entry {
    let after = Some(if cordoned { "yes" } else { "no" }.to_owned());
    let edit = Edit { subject: format!("node {node}"), field: "cordoned".into(), before: None, after };
    Entry::edited(at, edit, by.map(|write| write.manager.to_string()))
}

fn written<T: Kind>(object: &T, write: &Write, field: Written, at: Timestamp) -> Entry {
    let name = called(field);
    let own = things(object).into_iter().next();
    let (subject, fields) =
        own.unwrap_or_else(|| (format!("{} {}", T::RESOURCE.info().kind, object.meta().name), Vec::new()));
    let value = fields.into_iter().find(|(known, _)| *known == name).map(|(_, value)| value);
    // a setting's value may be nothing, and then it was emptied, not added
    let after = value.map(|value| if value.is_empty() { "unset".to_owned() } else { value });
    let edit = Edit { subject, field: name.into(), before: None, after };
    // a manifest has many fields, and any of them is a change of it
    let or_earlier = field != Written::Template && !write.is_of_one_field();
    Entry::edited(Some(at), edit, Some(write.manager.to_string())).or_earlier(or_earlier)
}
