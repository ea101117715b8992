//! What to do about a finding, from the templates of its way, its cause or a signature.

use std::borrow::Cow;

use super::{Evidence, Finding};
use crate::check::advice::{Name, command, filled, in_capitals};
use crate::check::signatures::Signature;
use crate::check::{Cluster, Command, Remedy, Way, capitalised};
use crate::longhorn::Resource;

/// A step that names several things is written for this many of them.
const MAX_ALIKE: usize = 3;

/// A label of a series is no longer, where one sentence is not.
const LONGEST_LABEL: usize = 300;

/// True for what Kubernetes and Longhorn take as a name, a release or a list of names.
fn is_name(value: &str) -> bool {
    value.len() <= 128 && value.chars().all(|c| c.is_ascii_alphanumeric() || "-._/:, ".contains(c))
}

impl Finding {
    /// Says what to do by the templates of a signature. A command of which a name has no value is left out.
    pub fn by_signature(mut self, cluster: &Cluster, signature: &Signature) -> Self {
        let one = |name| self.value(cluster, name, 0);
        let fix = filled(&signature.fix, one).unwrap_or_else(|| in_capitals(&signature.fix));
        let steps = signature.steps.iter();
        let commands = steps.filter_map(|(run, changes)| command(run, *changes, one)).collect();
        self.remedy = Remedy { fix, commands };
        self.signature = Some(signature.name.clone());
        self
    }

    /// Takes from its way or the cause what to do, words or steps, where the finding itself does not say it; and from the evidence
    /// what a machine said.
    pub(in crate::check) fn advise(&mut self, cluster: &Cluster) {
        self.name_owner(cluster);
        self.said = self.evidence.iter().find_map(Evidence::said);
        let one = |name| self.value(cluster, name, 0);
        let way = self.way.unwrap_or(const { &Way::briefly("") });
        let words = if way.fix.is_empty() { self.cause.fix } else { way.fix };
        let steps = if way.steps.is_empty() { self.cause.steps } else { way.steps };
        let fix = self.remedy.fix.is_empty().then(|| {
            // a name without a value is a defect that tests find; people then read what is meant
            let fix = filled(words, one).unwrap_or_else(|| in_capitals(words));
            self.beyond_quote(self.by_error(words, fix))
        });
        let mut commands = Vec::new();
        for step in steps.iter().filter(|_| self.remedy.commands.is_empty()) {
            for turn in 0..MAX_ALIKE {
                let command = step.filled(|name| self.value(cluster, name, turn));
                match command.filter(|command| !commands.contains(command)) {
                    Some(command) => commands.push(command),
                    None => break,
                }
            }
        }
        self.without_shell(cluster, &mut commands);
        self.remedy.fix = fix.unwrap_or_else(|| std::mem::take(&mut self.remedy.fix));
        self.remedy.commands.extend(commands);
    }

    /// On a node without a shell its kernel's log takes the place of what would be done there.
    fn without_shell(&self, cluster: &Cluster, commands: &mut Vec<Command>) {
        let node = self.node.as_deref().and_then(|node| cluster.objects.kube_nodes.get(node));
        let Some(node) = node.filter(|node| node.is_talos()) else { return };
        let mut seen = false;
        commands.retain_mut(|command| {
            if !command.run.starts_with("ssh ") {
                return true;
            }
            let log = format!("talosctl -n {} dmesg", node.metadata.name);
            *command = Command { run: log, changes: false };
            !std::mem::replace(&mut seen, true)
        });
    }

    /// The advice, whose first sentence gives way to what a quoted error asks for, if the template says so.
    fn by_error(&self, template: &str, fix: String) -> String {
        let known = self.evidence.iter().find_map(|fact| fact.fix.as_deref());
        let Some(known) = known.filter(|_| template.starts_with("<known_error>")) else { return fix };
        fix.split_once(". ").map_or(known.to_owned(), |(_, rest)| format!("{known} {rest}"))
    }

    /// The advice without a look at the error that the screen quotes.
    fn beyond_quote(&self, fix: String) -> String {
        let look =
            fix.split_once(". Then ").filter(|(look, _)| self.said.is_some() && look.starts_with("Read "));
        let look = look.filter(|(look, _)| {
            ["error", "message", "Event"].iter().any(|word| look.contains(word) && !look.contains(" log"))
        });
        look.map_or_else(|| fix.clone(), |(_, rest)| capitalised(rest))
    }

    /// Of a finding about a volume: the manager that looks after it, and its pod, where the finding names no other.
    fn name_owner(&mut self, cluster: &Cluster) {
        let about_volume = self.object.kind == Resource::Volumes.info().kind;
        let volume = cluster.objects.volumes.get(&self.object.name).filter(|_| about_volume);
        let Some(owner) = volume.map(|volume| volume.status.owner_id.as_str()) else { return };
        let pod = cluster.manager_pod_on(owner).filter(|_| !owner.is_empty());
        let owner = if owner.is_empty() { "its node" } else { owner };
        let found = [(Name::Owner, Some(owner)), (Name::Manager, pod.map(|pod| pod.metadata.name.as_str()))];
        for (name, value) in found {
            let value = value.filter(|_| !self.values.iter().any(|(known, _)| *known == name));
            self.values.extend(value.map(|value| (name, value.to_owned())));
        }
    }

    /// What a template means by this name; of several values the one whose turn it is.
    fn value(&self, cluster: &Cluster, name: Name, turn: usize) -> Option<Cow<'_, str>> {
        match self.named_value(name, turn) {
            None if name == Name::Namespace => Some(Cow::Owned(cluster.namespace.clone())),
            value => value,
        }
    }

    fn named_value(&self, name: Name, turn: usize) -> Option<Cow<'_, str>> {
        let mut given = self.values.iter().filter(|(known, _)| *known == name).map(|(_, value)| value);
        if let Some(first) = given.clone().next() {
            return given.nth(turn).or(Some(first)).map(|value| Cow::Borrowed(value.as_str()));
        }
        let volume = || self.volumes.first();
        match name {
            Name::Object => Some(Cow::Borrowed(self.object.name.as_str())),
            Name::Node => self.node.as_deref().map(Cow::Borrowed),
            Name::Disk => self.disk.as_deref().map(Cow::Borrowed),
            Name::Volume => volume().map(|volume| Cow::Borrowed(volume.name.as_str())),
            Name::KnownError => Some(Cow::Borrowed("")),
            Name::Claim => volume().map(|volume| Cow::Borrowed(volume.called())),
            _ => None,
        }
    }

    /// What to do, of what its templates say without quoting anything: sentences that name what is not the name of an object are left
    /// out, and where it speaks for several objects those that name any. For labels, which must not hold words of an object or a log.
    pub fn fix_by_names(&self, namespace: &str, for_several: bool) -> String {
        let way = self.way.map_or("", |way| way.fix);
        let words = if way.is_empty() { self.cause.fix } else { way };
        let value = |name: Name| match name {
            Name::Namespace => Some(Cow::Owned(namespace.to_owned())),
            Name::Reason => None,
            _ if for_several => None,
            name => self.named_value(name, 0).filter(|value| is_name(value)),
        };
        let sentences = words.split_inclusive(". ").filter_map(|sentence| filled(sentence, value));
        let mut text = String::new();
        for sentence in sentences {
            if !text.is_empty() && text.len() + sentence.len() > LONGEST_LABEL {
                break;
            }
            text += &sentence;
        }
        text.trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::check::Cause;
    use crate::cluster::NO_MOMENT;
    use crate::history::History;
    use crate::longhorn::{KubeNode, Objects};

    #[test]
    fn what_a_way_leaves_out_its_cause_says() {
        const CAUSE: Cause = Cause {
            fix: "of the cause",
            steps: &[crate::check::CommandTemplate::read("kubectl get node <object>")],
            ..Cause::info("c", "")
        };
        const WITHOUT_STEPS: Way = Way { fix: "of the way, on <node>", ..Way::briefly("w") };
        const WITHOUT_FIX: Way =
            Way { steps: &[crate::check::CommandTemplate::read("kubectl get pods")], ..Way::briefly("w") };
        let (objects, history) = (Objects::default(), History::default());
        let cluster = Cluster::new("longhorn-system", NO_MOMENT, objects, history, BTreeMap::new());
        let advised = |way: Option<&'static Way>| {
            let finding = Finding::about(&CAUSE, cluster.object::<KubeNode>("n"), "").with(Name::Node, "n");
            let mut finding = finding.way(way);
            finding.advise(&cluster);
            (finding.remedy.fix, finding.remedy.commands.remove(0).run)
        };
        let (cause, node) = ("of the cause".to_owned(), "kubectl get node n".to_owned());
        assert_eq!(advised(None), (cause.clone(), node.clone()));
        assert_eq!(advised(Some(&WITHOUT_STEPS)), ("of the way, on n".to_owned(), node));
        assert_eq!(advised(Some(&WITHOUT_FIX)), (cause, "kubectl get pods".to_owned()));
    }
}
