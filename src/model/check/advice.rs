//! What a cause advises, as templates: a sentence or two and the steps in the order of doing.
//!
//! A template names what a finding is about in angle brackets, `kubectl describe node <node>`; the names are a closed list, so
//! that a misspelt one stops the build. A finding fills them in; runbooks and references print them in capitals, as people
//! fill them in. Alerts take them from their labels.

use std::borrow::Cow;

use super::cause::same;
use super::{Command, Remedy};
use crate::word_enum::word_enum;

word_enum! {
    /// What a template may name.
    pub enum Name {
        /// Longhorn's namespace.
        Namespace = "namespace",
        /// The kind of the object of the finding, as kubectl takes it.
        Kind = "kind",
        /// The object of the finding.
        Object = "object",
        /// Its node.
        Node = "node",
        /// Its disk.
        Disk = "disk",
        /// The volume; the first where there are several.
        Volume = "volume",
        /// The claim of the volume, or its name where no claim is bound.
        Claim = "claim",
        /// The namespace of the claim.
        ClaimNamespace = "claim_namespace",
        /// A pod in Longhorn's namespace.
        Pod = "pod",
        /// A container of it.
        Container = "container",
        /// The node whose longhorn-manager looks after the object.
        Owner = "owner",
        /// The pod of the longhorn-manager that looks after the object.
        Manager = "manager",
        /// A Deployment, DaemonSet or Job.
        Workload = "workload",
        /// A setting of Longhorn.
        Setting = "setting",
        /// A value that is meant for it.
        Value = "value",
        /// A release of Longhorn.
        Release = "release",
        /// A container image.
        Image = "image",
        /// A replica.
        Replica = "replica",
        /// An engine.
        Engine = "engine",
        /// A backing image.
        BackingImage = "backing_image",
        /// An instance manager.
        InstanceManager = "instance_manager",
        /// A VolumeAttachment of Kubernetes.
        Attachment = "attachment",
        /// A Service.
        Service = "service",
        /// A webhook configuration.
        Webhook = "webhook",
        /// A backup target, backup or recurring job.
        Backup = "backup",
        /// A key of a label, annotation or taint.
        Key = "key",
        /// What an object or a log says, in its own words.
        Reason = "reason",
        /// Nothing, in front of a sentence that gives way to what a quoted error asks for (errors.rs).
        KnownError = "known_error",
        /// The release before a step of an upgrade.
        From = "from",
        /// The release after it.
        To = "to",
        /// What to take instead.
        Instead = "instead",
        /// A release of Kubernetes.
        Kubernetes = "kubernetes",
        /// The namespace of what installs Longhorn.
        ChartNamespace = "chart_namespace",
    }
}

/// A command of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandTemplate {
    /// The command line, with names in angle brackets.
    pub run: &'static str,
    /// True when it changes something.
    pub changes: bool,
}

impl CommandTemplate {
    /// A command that only reads.
    pub const fn read(run: &'static str) -> Self {
        assert_names(run);
        CommandTemplate { run, changes: false }
    }

    /// A command that changes something.
    pub const fn change(run: &'static str) -> Self {
        assert_names(run);
        CommandTemplate { run, changes: true }
    }

    /// The command, where all that it names is known and can stand in a command.
    pub fn filled<'a>(&self, value: impl Fn(Name) -> Option<Cow<'a, str>>) -> Option<Command> {
        command(self.run, self.changes, value)
    }
}

/// The same of a template that is known only at run time.
pub(super) fn command<'a>(
    template: &str,
    changes: bool,
    value: impl Fn(Name) -> Option<Cow<'a, str>>,
) -> Option<Command> {
    let run = put(template, |before, name| word(before, value(name)?))?;
    Some(Command { run, changes })
}

/// A value as a shell takes it for what it is, behind what stands before it; `None` for one that could do something there.
fn word<'a>(before: &str, value: Cow<'a, str>) -> Option<Cow<'a, str>> {
    let mut open = None;
    for c in before.chars().filter(|c| matches!(c, '\'' | '"')) {
        open = match open {
            None => Some(c),
            Some(quote) if quote == c => None,
            other => other,
        };
    }
    let within = |quote| open == Some(quote);
    let begins = before.is_empty() || before.ends_with(' ');
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._:/@=+,%~-".contains(c);
    if begins && value.starts_with('-') || value.contains(char::is_control) {
        return None;
    }
    if value.chars().all(is_plain) {
        return Some(value);
    }
    // a verb and what it is about
    if before.ends_with(" can-i ") && value.chars().all(|c| is_plain(c) || c == ' ') && !value.contains(" -")
    {
        return Some(value);
    }
    if within('"') || within('\'') && before.contains("ssh ") {
        // a shell reads what is between them
        return value.chars().all(|c| is_plain(c) || c.is_alphanumeric() || c == ' ').then_some(value);
    }
    if within('\'') {
        return (!value.contains('\'')).then_some(value);
    }
    Some(format!("'{}'", value.replace('\'', r"'\''")).into())
}

/// Words of a command that takes something away.
const TAKES: [&str; 5] = [" delete ", "--replicas=0", "--force ", "\"finalizers\"", "\"failedAt\""];

/// True for a command that deletes, scales to 0, forces, salvages or removes a finalizer.
pub const fn takes_away(run: &str) -> bool {
    let mut words = &TAKES as &[&str];
    while let [word, rest @ ..] = words {
        if contains(run.as_bytes(), word.as_bytes()) {
            return true;
        }
        words = rest;
    }
    false
}

/// Stops the build where a step takes something away and neither its way nor its cause says what is proven before.
///
/// ```compile_fail,E0080
/// use longhorn_health_model::check::{Cause, CommandTemplate, assert_proven};
/// const STEPS: &[CommandTemplate] = &[CommandTemplate::change("kubectl delete pod <pod>")];
/// const _: () = assert_proven(&Cause { steps: STEPS, ..Cause::info("cause", "…") }, &[]);
/// ```
pub const fn assert_proven(cause: &super::Cause, ways: &[&[&super::Way]]) {
    assert_steps_proven(cause.steps, !cause.proven.is_empty());
    let mut lists = ways;
    while let [list, others @ ..] = lists {
        let mut ways = *list;
        while let [way, rest @ ..] = ways {
            assert_steps_proven(way.steps, !way.proven.is_empty() || !cause.proven.is_empty());
            ways = rest;
        }
        lists = others;
    }
}

const fn assert_steps_proven(mut steps: &[CommandTemplate], proven: bool) {
    while let [step, rest @ ..] = steps {
        assert!(
            proven || !step.changes || !takes_away(step.run),
            "a step takes something away, and the cause does not say what is proven before"
        );
        steps = rest;
    }
}

/// `contains` of two texts, which is not const.
const fn contains(text: &[u8], word: &[u8]) -> bool {
    let mut rest = text;
    while rest.len() >= word.len() {
        if same(rest.split_at(word.len()).0, word) {
            return true;
        }
        let [_, after @ ..] = rest else { return false };
        rest = after;
    }
    false
}

/// Stops the build where a template names what no finding has.
///
/// ```compile_fail,E0080
/// const STEP: longhorn_health_model::check::CommandTemplate =
///     longhorn_health_model::check::CommandTemplate::read("kubectl describe pod <podd>");
/// ```
pub const fn assert_names(template: &str) {
    let mut rest = template.as_bytes();
    while let [first, after @ ..] = rest {
        if *first == b'<'
            && let Some(name) = name_before(after)
        {
            assert!(is_known(name), "a template names what no finding has");
        }
        rest = after;
    }
}

/// The name that ends at the next `>`, if there is nothing but a name before it.
const fn name_before(text: &[u8]) -> Option<&[u8]> {
    let (mut rest, mut length) = (text, 0);
    while let [byte, after @ ..] = rest {
        match *byte {
            b'a'..=b'z' | b'_' => length += 1,
            b'>' if length > 0 => return Some(text.split_at(length).0),
            _ => return None,
        }
        rest = after;
    }
    None
}

const fn is_known(name: &[u8]) -> bool {
    let mut names = &Name::ALL as &[Name];
    while let [known, rest @ ..] = names {
        if same(known.as_str().as_bytes(), name) {
            return true;
        }
        names = rest;
    }
    false
}

/// The template with every name replaced; `None` where one has no value.
pub fn filled<'a>(template: &str, value: impl Fn(Name) -> Option<Cow<'a, str>>) -> Option<String> {
    put(template, |_before, name| value(name))
}

fn put<'a>(template: &str, value: impl Fn(&str, Name) -> Option<Cow<'a, str>>) -> Option<String> {
    let mut text = String::with_capacity(template.len() + 32);
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('<') {
        text += before;
        let named = after.split_once('>').and_then(|(name, after)| {
            let name = Name::ALL.into_iter().find(|known| known.as_str() == name)?;
            Some((name, after))
        });
        rest = match named {
            Some((name, after)) => {
                text += &value(&text, name)?;
                after
            }
            None => {
                text.push('<');
                after
            }
        };
    }
    text += rest;
    Some(text)
}

/// The template as a person fills it in: names in capitals, `POD`. Longhorn's namespace is the usual one.
pub fn in_capitals(template: &str) -> String {
    let value = |name: Name| match name {
        Name::Namespace => Some(Cow::Borrowed("longhorn-system")),
        Name::KnownError => Some(Cow::Borrowed("")),
        name => Some(Cow::Owned(name.as_str().replace('_', "-").to_ascii_uppercase())),
    };
    filled(template, value).unwrap_or_default()
}

impl super::Cause {
    /// Its advice for people who have no finding at hand, with names in capitals.
    pub fn advice(&self) -> Remedy {
        let command = |step: &CommandTemplate| Command { run: in_capitals(step.run), changes: step.changes };
        Remedy { fix: in_capitals(self.fix), commands: self.steps.iter().map(command).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(name: Name) -> Option<Cow<'static, str>> {
        match name {
            Name::Node => Some("node-1".into()),
            Name::Namespace => Some("longhorn-system".into()),
            _ => None,
        }
    }

    #[test]
    fn names_are_replaced_and_nothing_else_is() {
        let of = |template| filled(template, value);
        assert_eq!(of("kubectl describe node <node>").as_deref(), Some("kubectl describe node node-1"));
        assert_eq!(
            of("a < b > c <(x) <<EOF {.a} <other>").as_deref(),
            Some("a < b > c <(x) <<EOF {.a} <other>")
        );
        assert_eq!(of("kubectl -n <namespace> logs <pod>"), None);
    }

    #[test]
    fn a_value_is_one_word_of_a_shell_or_the_command_is_left_out() {
        let of = |template: &'static str, value: &str| {
            let template = CommandTemplate { run: template, changes: false };
            template.filled(|_| Some(value.to_owned().into())).map(|command| command.run)
        };
        let (bare, joined, quoted) = ("kubectl get <pod>", "kubectl get -l a=<pod>", "ssh x 'ls <pod>'");
        for (template, value, expected) in [
            (bare, "a-1.b", Some("kubectl get a-1.b")),
            (bare, "$(touch x)", Some("kubectl get '$(touch x)'")),
            (bare, "it's", Some(r"kubectl get 'it'\''s'")),
            (bare, "--all", None),
            (bare, "a\nb", None),
            (joined, "-1", Some("kubectl get -l a=-1")),
            (quoted, "a b", Some("ssh x 'ls a b'")),
            ("kubectl -p '{a: <value>}'", "{\"$b\":1}", Some("kubectl -p '{a: {\"$b\":1}}'")),
            ("kubectl -p '{a: <value>}'", "'; touch x; '", None),
            ("kubectl auth can-i <value>", "get leases", Some("kubectl auth can-i get leases")),
            ("kubectl auth can-i <value>", "get --all", Some("kubectl auth can-i 'get --all'")),
            (quoted, "'; touch x; '", None),
            (quoted, "$(touch x)", None),
        ] {
            assert_eq!(of(template, value).as_deref(), expected, "{template} {value}");
        }
    }

    #[test]
    fn what_takes_away_is_told_from_what_does_not() {
        for run in [
            "kubectl -n n delete pod p",
            "kubectl -n n scale deployment d --replicas=0",
            "kubectl drain n --force --ignore-daemonsets",
            "kubectl patch x y --type merge -p '{\"metadata\":{\"finalizers\":null}}'",
            "kubectl patch replicas.longhorn.io r -p '{\"spec\":{\"failedAt\":\"\"}}'",
        ] {
            assert!(takes_away(run), "{run}");
        }
        for run in
            ["kubectl get pods | grep deleted", "kubectl apply --server-side --force-conflicts -f x", "a"]
        {
            assert!(!takes_away(run), "{run}");
        }
    }

    #[test]
    fn people_fill_in_capitals() {
        assert_eq!(
            in_capitals("kubectl -n <namespace> get <backing_image>"),
            "kubectl -n longhorn-system get BACKING-IMAGE"
        );
    }
}
