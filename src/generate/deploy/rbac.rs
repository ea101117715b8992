//! Access rules, from the kinds that are watched and from what the checks do with them.
//!
//! Most of Longhorn's namespace is one Role. Backups, of which there may be many, are another; what reaches
//! further is one ClusterRole a feature, or one Role in another namespace, so that each can be refused on its own; the
//! checks that then know less are named in it.

use k8s_openapi::api::rbac::v1::{
    ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::check::Check;
use crate::generate::yaml;
use crate::longhorn::Resource;
use crate::longhorn::resource::{Scope, TABLE};

/// A role and the reason for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Right {
    /// File name, suffix of the role's name and, in camelCase, switch in the chart.
    pub id: &'static str,
    pub reach: Reach,
    /// What it is for, in one sentence.
    pub purpose: &'static str,
    /// What happens where it is not granted, in one or more sentences.
    pub without: String,
    pub rules: Vec<Grant>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// In Longhorn's namespace.
    Longhorn,
    /// In this namespace, wherever Longhorn is.
    Namespace(&'static str),
    Cluster,
}

/// One entry of a role's `rules`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// API group, empty for core.
    pub group: &'static str,
    /// Plurals, with the subresource after a slash.
    pub resources: Vec<&'static str>,
    /// The only objects it holds for; empty for all.
    pub names: Vec<&'static str>,
    pub verbs: &'static [&'static str],
}

/// What a watched kind needs. Nothing is ever read one by one.
const WATCH: &[&str] = &["list", "watch"];

/// Every right, in the order of the table of kinds; those that are no watch come last.
pub fn rights(checks: &[&Check]) -> Vec<Right> {
    let mut rights = vec![longhorn()];
    for info in TABLE {
        let Some((id, purpose, reach, rule)) = rule_elsewhere(info.resource) else { continue };
        match rights.iter_mut().find(|right| right.id == id) {
            Some(right) => right.add(rule),
            None => {
                rights.push(Right { id, reach, purpose, without: without(checks, id), rules: vec![rule] })
            }
        }
    }
    rights.push(crash_logs());
    rights.push(token_review());
    rights
}

/// One rule an API group, with the kinds in the order of the table.
fn longhorn() -> Right {
    let mut right = Right {
        id: "longhorn",
        reach: Reach::Longhorn,
        purpose: "Longhorn's objects, and its pods with what Kubernetes keeps for them.",
        without: "Every check is unknown.".to_owned(),
        rules: Vec::new(),
    };
    for info in TABLE.iter().filter(|info| rule_elsewhere(info.resource).is_none()) {
        right.add(Grant { group: info.group, resources: vec![info.plural], names: vec![], verbs: WATCH });
    }
    right
}

/// The right beside the Role for all of Longhorn's namespace that a kind belongs to, and its rule there.
fn rule_elsewhere(resource: Resource) -> Option<(&'static str, &'static str, Reach, Grant)> {
    let info = resource.info();
    let (reach, names) = match info.scope {
        Scope::Namespaced if is_about_backups(resource) => (Reach::Longhorn, vec![]),
        Scope::Namespaced => return None,
        Scope::InNamespace { namespace, .. } => (Reach::Namespace(namespace), vec![]),
        Scope::Cluster => (Reach::Cluster, vec![]),
        Scope::ClusterNamed(name) => (Reach::Cluster, vec![name]),
    };
    let (id, purpose) = match resource {
        Resource::ValidatingWebhookConfigurations | Resource::MutatingWebhookConfigurations => {
            ("webhook-configurations", "Longhorn's two webhook configurations, by name.")
        }
        Resource::KubeNodes => {
            ("nodes", "Kubernetes nodes: ready, cordoned, gone, and their kubelet release.")
        }
        _ if is_about_backups(resource) => (
            "backups",
            "Backups, their targets and recurring jobs. All backups are listed once, and complete ones are not kept.",
        ),
        Resource::CsiNodes => ("csinodes", "Which CSI drivers the kubelet of each node knows."),
        Resource::PriorityClasses => {
            ("priorityclasses", "The value of the PriorityClass that Longhorn's setting names.")
        }
        Resource::CsiAttachments => (
            "volumeattachments",
            "Attachments of volumes to nodes as Kubernetes wants them; those of other CSI drivers are dropped at once.",
        ),
        Resource::NodeEvents => (
            "node-events",
            "Events about Kubernetes nodes: what node-problem-detector reports with the monitors of \
             deploy/node-problem-detector. Without node-problem-detector you can leave this out: the check then \
             reports unknown instead of OK.",
        ),
        other => (other.info().plural, "A kind that the checks read."),
    };
    Some((id, purpose, reach, Grant { group: info.group, resources: vec![info.plural], names, verbs: WATCH }))
}

fn is_about_backups(resource: Resource) -> bool {
    use Resource::{BackupTargets, Backups, CronJobs, RecurringJobs};
    matches!(resource, BackupTargets | Backups | RecurringJobs | CronJobs)
}

fn crash_logs() -> Right {
    let rule = Grant { group: "", resources: vec!["pods/log"], names: vec![], verbs: &["get"] };
    Right {
        id: "crash-logs",
        reach: Reach::Longhorn,
        purpose: "The last lines of a longhorn-manager or driver deployer that crashed or does not get on, for --crash-logs=auto.",
        without: "manager_crash_loop tells causes by fingerprint (exit code, events, other objects) instead of by log; \
                  some stay unknown. manager_start_stuck finds managers that hang later, and without their cause."
            .to_owned(),
        rules: vec![rule],
    }
}

fn token_review() -> Right {
    let review =
        |group, resource| Grant { group, resources: vec![resource], names: vec![], verbs: &["create"] };
    Right {
        id: "token-review",
        reach: Reach::Cluster,
        purpose: "Asks the API server who scrapes and whether they may, for --web.auth=kubernetes.",
        without: "With --web.auth=kubernetes every scrape is refused; without that option nothing changes."
            .to_owned(),
        rules: vec![
            review("authentication.k8s.io", "tokenreviews"),
            review("authorization.k8s.io", "subjectaccessreviews"),
        ],
    }
}

/// Names the checks that stop or know less.
fn without(checks: &[&Check], id: &str) -> String {
    let belongs = |resource: &Resource| rule_elsewhere(*resource).is_some_and(|(of, ..)| of == id);
    let ids = |kinds: fn(&Check) -> &'static [Resource]| -> Vec<&str> {
        checks.iter().filter(|check| kinds(check).iter().any(belongs)).map(|check| check.id).collect()
    };
    let needing = ids(|check| check.needs);
    let using = ids(|check| check.uses).into_iter().filter(|id| !needing.contains(id)).collect();
    let said = |(ids, verb): &(Vec<&str>, &str)| match ids.len() {
        0 => None,
        1..=4 => Some(format!("These checks {verb}: {}.", ids.join(", "))),
        number => Some(format!("{number} checks {verb}.")),
    };
    let sentences: Vec<_> =
        [(needing.clone(), "are unknown"), (using, "know less")].iter().filter_map(said).collect();
    if sentences.is_empty() { "No check changes.".to_owned() } else { sentences.join(" ") }
}

impl Right {
    /// Adds a rule, to one of the same group where that grants whole kinds, too.
    fn add(&mut self, rule: Grant) {
        let same =
            |other: &&mut Grant| other.group == rule.group && other.names.is_empty() && rule.names.is_empty();
        match self.rules.iter_mut().find(same) {
            Some(other) => other.resources.extend(rule.resources),
            None => self.rules.push(rule),
        }
    }

    pub fn role_name(&self) -> String {
        match self.id {
            "longhorn" => NAME.to_owned(),
            id => format!("{NAME}-{id}"),
        }
    }

    pub fn kind(&self) -> &'static str {
        match self.reach {
            Reach::Longhorn | Reach::Namespace(_) => "Role",
            Reach::Cluster => "ClusterRole",
        }
    }

    /// The manifest of the role. The annotation is what the chart's notes print where it is withheld.
    pub fn role(&self, header: &str) -> String {
        let header = format!("{header}\n{}", self.purpose);
        let mut metadata = self.metadata();
        metadata.annotations = Some([(format!("{NAME}/without"), self.without.clone())].into());
        let rules = Some(self.rules.iter().map(Grant::policy).collect());
        match self.reach {
            Reach::Cluster => {
                yaml::document(&header, &ClusterRole { metadata, rules, ..ClusterRole::default() })
            }
            Reach::Longhorn | Reach::Namespace(_) => yaml::document(&header, &Role { metadata, rules }),
        }
    }

    /// The manifest that gives the role to the exporter.
    pub fn binding(&self, header: &str) -> String {
        let metadata = self.metadata();
        let role_ref = RoleRef {
            api_group: Some("rbac.authorization.k8s.io".to_owned()),
            kind: self.kind().to_owned(),
            name: self.role_name(),
        };
        let subjects = Some(vec![Subject {
            kind: "ServiceAccount".to_owned(),
            name: NAME.to_owned(),
            namespace: Some(NAMESPACE.to_owned()),
            ..Subject::default()
        }]);
        match self.reach {
            Reach::Cluster => yaml::document(header, &ClusterRoleBinding { metadata, role_ref, subjects }),
            Reach::Longhorn | Reach::Namespace(_) => {
                yaml::document(header, &RoleBinding { metadata, role_ref, subjects })
            }
        }
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

impl Grant {
    fn policy(&self) -> PolicyRule {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        PolicyRule {
            api_groups: Some(owned(&[self.group])),
            resources: Some(owned(&self.resources)),
            resource_names: (!self.names.is_empty()).then(|| owned(&self.names)),
            verbs: owned(self.verbs),
            ..PolicyRule::default()
        }
    }
}

/// Name of the objects, as in the chart's default.
pub const NAME: &str = "longhorn-health-exporter";
pub const NAMESPACE: &str = "longhorn-system";

#[cfg(test)]
#[path = "rbac_tests.rs"]
mod tests;
