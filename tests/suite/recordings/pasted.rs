//! Commands that a person pastes run what they say, no matter who wrote the objects that they name.
//!
//! Texts that a shell acts on are planted into clusters, and all commands of reports and plans are run by bash in an empty directory, with
//! functions in place of the programs. `PASTE_CASES=10000` plants so often; with `PASTE_RECORDINGS=DIR` into the recordings below it as well.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::process::Command;

use jiff::Timestamp;
use longhorn_health_exporter::plan::{Looked, capacity, drain, loss, upgrade};
use longhorn_health_exporter::source::recording::Recording;
use serde_json::{Value, json};
use testing::evaluate;

use super::anonymized::{NAMESPACE, form, places, renamed};
use super::written::{file, logs};
use crate::numbers::Numbers;
use crate::scenario;
use crate::scenario::files::objects;

/// Texts of which something runs, or is taken for an option, where they are not quoted.
const HOSTILE: &[&str] = &[
    "$(planted)", "`planted`", "; planted;", "x; planted #", "| planted", "&& planted", "|| planted",
    "& planted &", "\nplanted\n", "'; planted; '", "'$(planted)'", "\"; planted; \"", "\"$(planted)\"",
    "'\"; planted; \"'", "\\'; planted; \\'", "> planted", "< planted", "x --planted", "--planted",
    "-planted", "${x:-$(planted)}", "$((`planted`))", "{a,--planted}", "'); planted; ('", "}'; planted; '{",
];

/// What the commands call; a program on another machine is run by a shell there.
const STUBS: &str = r#"
PATH=/nonexistent
exec 3>&1
planted() { echo "RAN: $current" >&3; }
stub() { local a; for a in "$@"; do case $a in --planted*|-planted*) planted;; esac; done; return 0; }
for name in kubectl grep openssl base64 talosctl date jq dmesg crictl helm sudo systemctl sort tail head awk sed cut xargs curl \
  argocd flux tr wc column etcdctl journalctl multipath iscsiadm mount umount findmnt ls cat df lsblk uname apt-get apk yum zypper dnf modprobe; do
  eval "$name() { stub \"\$@\"; }"
done
ssh() { shift; eval "$*"; }
sleep() { exit 0; }
"#;

/// The command lines in what is printed as JSON.
fn commands(value: &Value, all: &mut BTreeSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| commands(item, all)),
        Value::Object(entries) => {
            all.extend(entries.get("run").and_then(Value::as_str).map(str::to_owned));
            entries.values().for_each(|value| commands(value, all));
        }
        _ => {}
    }
}

fn printed(recording: Recording, all: &mut BTreeSet<String>) {
    let cluster = recording.into_cluster(NAMESPACE, None);
    let report = evaluate(&cluster).report;
    commands(&serde_json::to_value(&report).unwrap(), all);
    let looked = || Looked::new(&cluster, &report, &[]);
    let mut plans = vec![
        loss::plan(looked(), &[]).unwrap(),
        capacity::plan(looked(), None),
        upgrade::plan(looked(), upgrade::Asked::default()),
    ];
    for intent in drain::Intent::ALL {
        plans.extend(drain::plan(looked(), &drain::Asked { nodes: Vec::new(), intent }));
    }
    commands(&serde_json::to_value(plans).unwrap(), all);
}

fn renamed_keys(value: &mut Value, old: &str, new: &str) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| renamed_keys(item, old, new)),
        Value::Object(entries) => {
            if let Some(value) = entries.remove(old) {
                entries.insert(new.to_owned(), value);
            }
            entries.values_mut().for_each(|value| renamed_keys(value, old, new));
        }
        _ => {}
    }
}

/// Writes a hostile text into a field, or wherever the text that was there stands.
fn plant(objects: &mut [Value], logs: &mut [(String, String)], numbers: &mut Numbers) {
    for _ in 0..1 + numbers.below(8) {
        let hostile = HOSTILE[numbers.below(HOSTILE.len())];
        let at = numbers.below(objects.len());
        let mut all = Vec::new();
        places(&objects[at], "", &mut all);
        let place = all[numbers.below(all.len())].clone();
        if ["/apiVersion", "/kind", "/metadata/namespace"].contains(&&*place) {
            continue;
        }
        let Some(Value::String(old)) = objects[at].pointer(&place) else { continue };
        let old = old.clone();
        let text = if numbers.below(2) == 0 { hostile.to_owned() } else { format!("{old}{hostile}") };
        if numbers.below(3) == 0 {
            objects[at].pointer_mut(&place).map(|value| *value = text.clone().into()).unwrap();
            continue;
        }
        for object in objects.iter_mut() {
            let head = [object["apiVersion"].clone(), object["kind"].clone()];
            renamed(object, &old, &text);
            // fields have no such names
            if old.contains(['-', '/', ':']) {
                renamed_keys(object, &old, &text);
            }
            [object["apiVersion"], object["kind"]] = head;
        }
        logs.iter_mut().filter(|_| old.len() > 3).for_each(|(_, log)| *log = log.replace(&old, &text));
    }
}

#[test]
fn nothing_that_was_planted_runs() {
    let cases = std::env::var("PASTE_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(300);
    let mut bases: Vec<_> = scenario::all().iter().map(|path| (objects(path), logs(path))).collect();
    for entry in
        std::env::var_os("PASTE_RECORDINGS").into_iter().flat_map(|place| std::fs::read_dir(place).unwrap())
    {
        let text = std::fs::read_to_string(entry.unwrap().path().join("cluster.yaml")).unwrap_or_default();
        let documents =
            text.split("\n---\n").filter_map(|document| serde_yaml::from_str::<Value>(document).ok());
        let documents: Vec<_> = documents.filter(Value::is_object).collect();
        bases.extend((!documents.is_empty()).then_some((documents, Vec::new())));
    }
    let (mut numbers, mut all) = (Numbers(45), BTreeSet::new());
    for _ in 0..cases {
        let (mut objects, mut logs) = bases[numbers.below(bases.len())].clone();
        plant(&mut objects, &mut logs, &mut numbers);
        let mut files = form(1, &objects);
        files.extend(
            logs.into_iter().map(|(pod, text)| file(format!("{pod}.longhorn-manager.previous.log"), text)),
        );
        if let Ok(recording) = Recording::from_files(files, NAMESPACE, Timestamp::MAX) {
            printed(recording, &mut all);
        }
    }
    // what would run is seen to run
    all.extend(
        ["kubectl get $(planted)", "kubectl get x --planted", "ssh n 'a; planted'"].map(str::to_owned),
    );
    let place = tempfile::tempdir().unwrap();
    let mut script = STUBS.to_owned();
    let quoted = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
    for run in &all {
        writeln!(script, "current={0}\n( eval \"$current\" ) < /dev/null 2> /dev/null", quoted(run)).unwrap();
    }
    let scripts = tempfile::tempdir().unwrap();
    std::fs::write(scripts.path().join("all.sh"), script).unwrap();
    let bash =
        Command::new("bash").arg(scripts.path().join("all.sh")).current_dir(place.path()).output().unwrap();
    let said = String::from_utf8_lossy(&bash.stdout);
    let mut ran: BTreeSet<&str> = said.lines().filter_map(|line| line.strip_prefix("RAN: ")).collect();
    assert!(
        ["kubectl get $(planted)", "kubectl get x --planted", "ssh n 'a; planted'"]
            .iter()
            .all(|run| ran.remove(run)),
        "{said}"
    );
    let written: Vec<_> =
        std::fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    let first: Vec<_> = ran.iter().take(40).collect();
    assert!(
        ran.is_empty() && written.is_empty(),
        "{} of {} ran, {written:?}:\n{first:#?}",
        ran.len(),
        all.len()
    );
    eprintln!("{} commands", all.len());
    assert!(all.len() > 300, "{} commands", all.len());
    assert_eq!(json!(bash.status.code()), json!(0));
}
