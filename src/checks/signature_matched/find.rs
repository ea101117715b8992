//! Where a signature matches.

use crate::check::signatures::{Field, Pattern, Place};
use crate::check::*;
use crate::facts::text::shortened;
use crate::longhorn::{
    DaemonSet, Event, Kind, KindVisitor, Look, Pod, Resource, Step, log_line, visit_kinds,
};

/// A place at which a signature matches.
pub struct Match {
    pub object: ObjectRef,
    pub node: String,
    pub volume: String,
    pub fact: Evidence,
}

/// The part of a line or a message that is quoted.
const QUOTED: usize = 240;

/// All places, in the order of the objects.
pub fn all(cluster: &Cluster, place: &Place) -> Vec<Match> {
    match place {
        Place::Release => vec![Match {
            object: cluster.object::<DaemonSet>("longhorn-manager"),
            node: String::new(),
            volume: String::new(),
            fact: "the managers run it".into(),
        }],
        Place::Log(pattern) => logs(cluster, pattern),
        Place::Event { kind, reason, message } => {
            let events = cluster.objects.events.iter();
            let is_meant = |event: &&Event| {
                kind.as_ref().is_none_or(|kind| event.involved_object.kind == kind.as_str())
                    && reason.as_ref().is_none_or(|reason| event.reason == reason.as_str())
                    && message.as_ref().is_none_or(|pattern| pattern.is_match(event.said()))
            };
            let mut found: Vec<Match> =
                events.filter(is_meant).map(|event| of_event(cluster, event)).collect();
            // one object may have many
            found.sort_by(|a, b| a.object.cmp(&b.object));
            found.dedup_by(|a, b| a.object == b.object);
            found
        }
        Place::Object { kind, fields } => {
            let mut objects = Objects { cluster, kind: *kind, fields, found: Vec::new() };
            visit_kinds(&mut objects);
            objects.found
        }
    }
}

fn logs(cluster: &Cluster, pattern: &Pattern) -> Vec<Match> {
    let mut found: Vec<Match> = Vec::new();
    for log in cluster.history.logs() {
        let mut lines = log.text.lines().rev().map(log_line::message);
        let Some(line) = lines.find(|line| pattern.is_match(line)) else { continue };
        let pod = cluster.objects.pods.get(&log.pod);
        let object = cluster.object::<Pod>(&log.pod);
        if found.last().is_some_and(|last| last.object == object) {
            continue;
        }
        let line = shortened(line.trim(), QUOTED);
        found.push(Match {
            object,
            node: pod.map(|pod| pod.spec.node().to_string()).unwrap_or_default(),
            volume: String::new(),
            fact: EvidenceSource::Log.says(format!("{}: {line}", log.container)).quoting(&line),
        });
    }
    found
}

fn of_event(cluster: &Cluster, event: &Event) -> Match {
    let about = &event.involved_object;
    let kind = Resource::of("longhorn.io/v1beta2", &about.kind)
        .or_else(|| Resource::all().find(|kind| kind.info().kind == about.kind.as_str()));
    let object = match kind {
        Some(kind) => cluster.object_of(kind, &about.name),
        None => cluster.object::<Event>(&event.metadata.name),
    };
    let is_node = matches!(kind, Some(Resource::LonghornNodes | Resource::KubeNodes));
    let of_pod = || cluster.objects.pods.get(&about.name).map(|pod| pod.spec.node().to_string());
    Match {
        node: if is_node { about.name.to_string() } else { of_pod().unwrap_or_default() },
        volume: if kind == Some(Resource::Volumes) { about.name.to_string() } else { String::new() },
        fact: EvidenceSource::Event
            .says(format!("{}: {}", event.reason, shortened(event.said(), QUOTED)))
            .quoting(event.said()),
        object,
    }
}

struct Objects<'a> {
    cluster: &'a Cluster,
    kind: Resource,
    fields: &'a [Field],
    found: Vec<Match>,
}

impl KindVisitor for Objects<'_> {
    fn visit<T: Kind>(&mut self) {
        if T::RESOURCE != self.kind {
            return;
        }
        for object in T::store(&self.cluster.objects).iter() {
            if !self.fields.iter().all(|field| field.holds(object)) {
                continue;
            }
            let name = object.meta().name.as_str();
            let is_node = matches!(T::RESOURCE, Resource::LonghornNodes | Resource::KubeNodes);
            let first =
                |paths: &[[&str; 2]]| paths.iter().find_map(|path| text(object, path)).unwrap_or_default();
            let fields: Vec<String> = self.fields.iter().map(Field::to_string).collect();
            self.found.push(Match {
                object: self.cluster.object::<T>(name),
                node: if is_node {
                    name.to_owned()
                } else {
                    first(&[["spec", "nodeID"], ["spec", "nodeName"], ["status", "ownerID"]])
                },
                volume: if T::RESOURCE == Resource::Volumes {
                    name.to_owned()
                } else {
                    first(&[["spec", "volumeName"]])
                },
                fact: fields.join(", ").into(),
            });
        }
    }
}

fn text(object: &impl Look, path: &[&str]) -> Option<String> {
    let steps: Vec<Step> = path.iter().map(|name| Step::Field((*name).to_owned())).collect();
    let mut found = None;
    object.look(&steps, &mut |text| found = Some(text.to_owned()));
    found
}
