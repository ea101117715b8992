//! Which cluster the printed commands are for, and where its Longhorn UI is.

use super::{Report, longhorn_ui};

/// How `kubectl` finds the cluster of a report.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Address {
    /// What people call the cluster.
    pub name: Option<String>,
    /// Context of the kubeconfig.
    pub context: Option<String>,
    /// The kubeconfig, where one was named.
    pub kubeconfig: Option<String>,
    /// Base URL of Longhorn's UI.
    pub longhorn_ui: Option<String>,
}

impl Address {
    /// For readers on other machines: kubeconfig and context of a server are its own, and may only read.
    pub fn elsewhere(self) -> Self {
        let longhorn_ui = self.longhorn_ui;
        Address { name: self.name.or(self.context), longhorn_ui, ..Address::default() }
    }

    fn flags(&self) -> String {
        let flag = |name: &str, value: &Option<String>| {
            value.as_ref().map(|value| format!(" --{name} {}", quoted(value))).unwrap_or_default()
        };
        flag("kubeconfig", &self.kubeconfig) + &flag("context", &self.context)
    }
}

impl Report {
    /// Names the cluster, makes every printed command say which one it is for, and links findings to Longhorn's UI.
    pub fn address(&mut self, address: &Address) {
        self.cluster.name = address.name.clone().or_else(|| address.context.clone());
        self.cluster.longhorn_ui.clone_from(&address.longhorn_ui);
        if let Some(base) = &address.longhorn_ui {
            self.findings.iter_mut().for_each(|one| one.longhorn_ui = longhorn_ui::of(base, one));
        }
        let flags = address.flags();
        if flags.is_empty() {
            return;
        }
        let remedies = self.findings.iter_mut().flat_map(|finding| &mut finding.remedy.commands);
        let first = self.incidents.iter_mut().filter_map(|incident| incident.first.as_mut());
        for command in remedies.chain(first) {
            command.run = addressed(&command.run, &flags);
        }
    }
}

/// Puts the flags behind every `kubectl` that a shell would run. Within single quotes a text goes to another
/// program, mostly on another machine.
fn addressed(run: &str, flags: &str) -> String {
    const WORD: &str = "kubectl ";
    let mut result = String::new();
    let (mut rest, mut quoted, mut begins) = (run, false, true);
    while let Some(c) = rest.chars().next() {
        if begins && !quoted && rest.starts_with(WORD) {
            result += "kubectl";
            result += flags;
            rest = rest.strip_prefix("kubectl").unwrap_or_default();
            begins = false;
            continue;
        }
        if c == '\'' {
            quoted = !quoted;
        }
        begins = c.is_whitespace() || matches!(c, '(' | ';' | '|' | '&' | '`' | '"');
        result.push(c);
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
    }
    result
}

/// A word for a shell, in quotes only where it needs them.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kubectl_of_a_shell_gets_the_flags_and_no_other_text_does() {
        for (run, expected) in [
            ("kubectl get x", "kubectl --context c get x"),
            (
                "test \"$(kubectl -n a get x)\" && kubectl y",
                "test \"$(kubectl --context c -n a get x)\" && kubectl --context c y",
            ),
            (
                "until x=$(kubectl get y); do sleep 1; done",
                "until x=$(kubectl --context c get y); do sleep 1; done",
            ),
            (
                "kubectl a | kubectl b\nkubectl d",
                "kubectl --context c a | kubectl --context c b\nkubectl --context c d",
            ),
            ("ssh n 'kubectl get x'", "ssh n 'kubectl get x'"),
            ("ls /usr/bin/kubectl x", "ls /usr/bin/kubectl x"),
        ] {
            assert_eq!(addressed(run, " --context c"), expected);
        }
    }

    #[test]
    fn readers_elsewhere_have_another_kubeconfig() {
        let own = Address {
            context: Some("bed".into()),
            kubeconfig: Some("/etc/exporter".into()),
            ..Address::default()
        };
        let told = own.elsewhere();
        assert_eq!((told.name.as_deref(), told.flags().as_str()), (Some("bed"), ""));
    }

    #[test]
    fn names_that_a_shell_would_read_are_quoted() {
        let address = Address {
            name: None,
            context: Some("admin@prod eu".into()),
            kubeconfig: Some("/home/a/it's".into()),
            ..Address::default()
        };
        assert_eq!(address.flags(), " --kubeconfig '/home/a/it'\\''s' --context 'admin@prod eu'");
        assert_eq!(quoted("arn:aws:eks:eu-1:1:cluster/a"), "arn:aws:eks:eu-1:1:cluster/a");
    }
}
