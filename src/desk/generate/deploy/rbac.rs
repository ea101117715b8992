//! Access rules, from the kinds that are watched and from what the checks do with them.
//!
//! A right is what can be denied by itself: a switch of the chart, with the checks that then know less. Rights of one
//! reach are granted by one role, so that an installation has one Role per namespace and one ClusterRole.

use std::fmt;

use k8s_openapi::api::rbac::v1::{PolicyRule, RoleRef, Subject};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::json;

use crate::check::Check;
use crate::generate::yaml;
use crate::longhorn::Resource;
use crate::longhorn::resource::{Scope, TABLE};
use crate::plan::conditions;

#[derive(Debug, Clone)]
pub struct Right {
    /// File name and, in camelCase, switch in the chart.
    pub id: &'static str,
    pub reach: Reach,
    pub purpose: String,
    /// What happens where it is not granted, in one or more sentences.
    pub without: String,
    pub rules: Vec<PolicyRule>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    Longhorn,
    /// In this namespace, wherever Longhorn is.
    Namespace(&'static str),
    Cluster,
}

impl fmt::Display for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reach::Longhorn => f.write_str("Longhorn's namespace"),
            Reach::Namespace(namespace) => write!(f, "namespace {namespace}"),
            Reach::Cluster => f.write_str("the whole cluster"),
        }
    }
}

/// Every right, in the order of the table of kinds; those that are no watch come last.
pub fn rights(checks: &[&Check]) -> Vec<Right> {
    let mut rights: Vec<Right> = Vec::new();
    for info in TABLE {
        let (id, purpose) = right_of(info.resource);
        let (reach, name) = match info.scope {
            Scope::Namespaced => (Reach::Longhorn, None),
            Scope::InNamespace { namespace, .. } => (Reach::Namespace(namespace), None),
            Scope::Cluster | Scope::ClusterLabelled(_) => (Reach::Cluster, None),
            Scope::ClusterNamed(name) => (Reach::Cluster, Some(name)),
        };
        // nothing is ever read one by one
        let rule = PolicyRule {
            resource_names: name.map(|name| owned(&[name])),
            ..rule(info.group, info.plural, &["list", "watch"])
        };
        match rights.iter_mut().find(|right| right.id == id) {
            Some(right) => right.add(rule),
            None => {
                let (purpose, without) = (purpose.to_owned(), without(checks, id));
                rights.push(Right { id, reach, purpose, without, rules: vec![rule] })
            }
        }
    }
    rights.push(Right {
        id: "crash-logs",
        reach: Reach::Longhorn,
        purpose: "The last log lines of a longhorn-manager or driver deployer that has crashed or is hanging, for --crash-logs=auto."
            .to_owned(),
        without: "manager_crash_loop finds causes by exit code, Events and other objects instead of the log, and some stay unknown. \
                  manager_start_stuck finds hanging managers later, and without a cause."
            .to_owned(),
        rules: vec![rule("", "pods/log", &["get"])],
    });
    rights.push(Right {
        id: "token-review",
        reach: Reach::Cluster,
        purpose: "For --web.auth=kubernetes: asks the API server who is scraping and whether they may."
            .to_owned(),
        without:
            "With --web.auth=kubernetes, every scrape is rejected. Without that option, nothing changes."
                .to_owned(),
        rules: vec![
            rule("authentication.k8s.io", "tokenreviews", &["create"]),
            rule("authorization.k8s.io", "subjectaccessreviews", &["create"]),
        ],
    });
    rights
}

/// Id and purpose of the right that a watched kind belongs to.
fn right_of(resource: Resource) -> (&'static str, &'static str) {
    match resource {
        Resource::BackupTargets | Resource::Backups | Resource::RecurringJobs | Resource::CronJobs => (
            "backups",
            "Backups, their targets and recurring jobs. All backups are listed once, and complete ones are not kept.",
        ),
        Resource::ValidatingWebhookConfigurations | Resource::MutatingWebhookConfigurations => {
            ("webhook-configurations", "Longhorn's two webhook configurations, by name.")
        }
        Resource::KubeNodes => {
            ("nodes", "Kubernetes nodes: which exist, are Ready or cordoned, and their kubelet's release.")
        }
        Resource::CsiNodes => ("csinodes", "Which CSI drivers each node's kubelet has registered."),
        Resource::PriorityClasses => {
            ("priorityclasses", "The PriorityClass that Longhorn's setting names, and its value.")
        }
        Resource::CsiAttachments => (
            "volumeattachments",
            "Kubernetes' attachments of volumes to nodes. Those of other CSI drivers are dropped immediately.",
        ),
        Resource::NodeEvents => (
            "node-events",
            "Events about Kubernetes nodes, which node-problem-detector writes with the monitors of deploy/node-problem-detector. Without \
             node-problem-detector, you can deny this right, but the check is then unknown instead of OK.",
        ),
        Resource::CustomResourceDefinitions
        | Resource::HelmCharts
        | Resource::HelmReleases
        | Resource::Applications
        | Resource::StorageClasses => (
            PLANS,
            "Kinds that plan upgrade reads, and that check looks at with your own rights: Longhorn's CustomResourceDefinitions (stored \
             versions), StorageClasses, and the HelmCharts of K3s and RKE2, HelmReleases of Flux and Applications of Argo CD that installed \
             Longhorn. serve does not follow them. Their values can contain secrets, which are neither kept nor recorded.",
        ),
        _ => (LONGHORN, "Longhorn's objects, and its pods and workloads in Kubernetes."),
    }
}

/// Names the checks that stop or know less.
fn without(checks: &[&Check], id: &str) -> String {
    if id == LONGHORN {
        return "Every check is unknown.".to_owned();
    }
    let reads = |kinds: &[Resource]| kinds.iter().any(|kind| right_of(*kind).0 == id);
    let (needing, rest): (Vec<_>, Vec<_>) = checks.iter().partition(|check| reads(check.needs));
    let using = |check: &&&Check| reads(check.uses) || reads(check.glances);
    let using = rest.into_iter().filter(using).collect();
    let said = |(checks, verb): (Vec<&&Check>, &str)| {
        let ids: Vec<&str> = checks.iter().map(|check| check.id).collect();
        match ids.len() {
            0 => None,
            1..=4 => Some(format!("These checks {verb}: {}.", ids.join(", "))),
            number => Some(format!("{number} checks {verb}.")),
        }
    };
    let mut sentences: Vec<_> =
        [(needing, "are unknown"), (using, "know less")].into_iter().filter_map(said).collect();
    let planned: Vec<&str> = conditions()
        .filter(|(_, condition)| reads(condition.needs))
        .map(|(_, condition)| condition.id())
        .collect();
    if !planned.is_empty() {
        sentences.push(format!("These conditions of plans are unknown: {}.", planned.join(", ")));
    }
    if sentences.is_empty() { "No check changes.".to_owned() } else { sentences.join(" ") }
}

fn rule(group: &str, resource: &str, verbs: &[&str]) -> PolicyRule {
    PolicyRule {
        api_groups: Some(owned(&[group])),
        resources: Some(owned(&[resource])),
        verbs: owned(verbs),
        ..PolicyRule::default()
    }
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

impl Right {
    /// Adds a rule, to one of the same group and verbs if both grant whole kinds.
    fn add(&mut self, rule: PolicyRule) {
        let whole = |rule: &PolicyRule| rule.resource_names.is_none();
        let same = |other: &&mut PolicyRule| {
            other.api_groups == rule.api_groups && other.verbs == rule.verbs && whole(other) && whole(&rule)
        };
        match self.rules.iter_mut().find(same) {
            Some(other) => other.resources.get_or_insert_default().extend(rule.resources.unwrap_or_default()),
            None => self.rules.push(rule),
        }
    }

    /// Rights of one reach as one, which says for each what is missing without it. None without rights.
    pub fn merged(rights: &[Right], id: &'static str) -> Option<Right> {
        let lines = |line: &dyn Fn(&Right) -> String| rights.iter().map(line).collect::<Vec<_>>().join("\n");
        let mut merged = Right {
            id,
            reach: rights.first()?.reach,
            purpose: lines(&|right| right.purpose.clone()),
            without: lines(&|right| format!("{}: {}", right.id, right.without)),
            rules: Vec::new(),
        };
        for rule in rights.iter().flat_map(|right| &right.rules) {
            merged.add(rule.clone());
        }
        Some(merged)
    }

    pub fn role_name(&self) -> String {
        if [LONGHORN, CLUSTER].contains(&self.id) { NAME.to_owned() } else { format!("{NAME}-{}", self.id) }
    }

    pub fn kind(&self) -> &'static str {
        if self.reach == Reach::Cluster { "ClusterRole" } else { "Role" }
    }

    /// The manifest of the role. The annotation is what the chart's notes print where it is withheld.
    pub fn role(&self, header: &str) -> String {
        let header = format!("{header}\n{}", self.purpose);
        let annotations = Some([(format!("{NAME}/without"), self.without.clone())].into());
        let metadata = ObjectMeta { annotations, ..self.metadata() };
        let (kind, rules) = (self.kind(), &self.rules);
        yaml::document(
            &header,
            &json!({ "apiVersion": VERSION, "kind": kind, "metadata": metadata, "rules": rules }),
        )
    }

    pub fn binding(&self, header: &str) -> String {
        let role_ref = RoleRef {
            api_group: VERSION.split_once('/').map(|(group, _)| group.to_owned()),
            kind: self.kind().to_owned(),
            name: self.role_name(),
        };
        let subject = Subject {
            kind: "ServiceAccount".to_owned(),
            name: NAME.to_owned(),
            namespace: Some(NAMESPACE.to_owned()),
            ..Subject::default()
        };
        let (kind, metadata) = (format!("{}Binding", self.kind()), self.metadata());
        let binding = json!({
            "apiVersion": VERSION, "kind": kind, "metadata": metadata, "roleRef": role_ref, "subjects": [subject],
        });
        yaml::document(header, &binding)
    }

    fn metadata(&self) -> ObjectMeta {
        let labels = [("app.kubernetes.io/name", NAME), ("longhorn-health-exporter/right", self.id)];
        let namespace = match self.reach {
            Reach::Longhorn => Some(NAMESPACE),
            Reach::Namespace(namespace) => Some(namespace),
            Reach::Cluster => None,
        };
        ObjectMeta {
            name: Some(self.role_name()),
            namespace: namespace.map(str::to_owned),
            labels: Some(labels.map(|(label, value)| (label.to_owned(), value.to_owned())).into()),
            ..ObjectMeta::default()
        }
    }
}

const VERSION: &str = "rbac.authorization.k8s.io/v1";
/// The right without which there is nothing to see, and the Role of Longhorn's namespace.
pub const LONGHORN: &str = "longhorn";
/// All rights in the whole cluster that checks use.
pub const CLUSTER: &str = "cluster";
/// What only plans read, and who asks for one has by themselves.
pub const PLANS: &str = "plans";
/// Name of the objects, as in the chart's default.
pub const NAME: &str = "longhorn-health-exporter";
pub const NAMESPACE: &str = "longhorn-system";

#[cfg(test)]
#[path = "rbac_tests.rs"]
mod tests;
