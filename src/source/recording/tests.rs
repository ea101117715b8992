//! Files as people really have them: what is read all the same, and what is said about the rest.

use std::path::Path;

use super::*;

const SETTING: &str = "apiVersion: longhorn.io/v1beta2\nkind: Setting\n\
    metadata: {name: current-longhorn-version, namespace: longhorn-system}\nvalue: v1.9.1\n";

fn read(content: impl AsRef<[u8]>, namespace: &str) -> Result<Recording, RecordingError> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("dump.yaml");
    std::fs::write(&path, content).unwrap();
    Recording::read(&path, namespace, Timestamp::MAX)
}

/// What is said of a file, without the directory it lies in.
fn complaint(content: impl AsRef<[u8]>) -> String {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("dump.yaml");
    std::fs::write(&path, content).unwrap();
    let text = Recording::read(&path, "longhorn-system", Timestamp::MAX).unwrap_err().to_string();
    assert!(!text.contains('\n'), "{text}");
    text.replace(&format!("{}/", directory.path().display()), "")
}

#[test]
fn text_is_read_however_an_editor_or_shell_writes_it() {
    let utf16 = |unit: fn(u16) -> [u8; 2]| -> Vec<u8> {
        format!("\u{feff}{SETTING}").encode_utf16().flat_map(unit).collect()
    };
    let texts = [
        SETTING.as_bytes().to_vec(),
        SETTING.replace('\n', "\r\n").into_bytes(),
        format!("\u{feff}{SETTING}").into_bytes(),
        format!("---\n# a comment\n---\n{SETTING}---\n").into_bytes(),
        utf16(u16::to_le_bytes),
        utf16(u16::to_be_bytes),
    ];
    for text in texts {
        let recording = read(&text, "longhorn-system").unwrap();
        assert_eq!(recording.objects.count(Resource::Settings), 1, "{:?}", String::from_utf8_lossy(&text));
    }
}

#[test]
fn a_wrong_line_is_named_as_the_file_counts_it() {
    let broken = "kind: Pod\nmetadata:\n  name: [a\n";
    let second = format!("{SETTING}---\n{broken}");
    assert_eq!(complaint(&second), "dump.yaml:8: not valid YAML or JSON: unclosed bracket '['");
    let tabs = complaint("a:\n\tb: 1\n");
    assert!(tabs.starts_with("dump.yaml:2: ") && tabs.contains("tabs") && !tabs.contains(" line "), "{tabs}");
    let json = complaint("{\"kind\": \"Pod\",\n}");
    assert_eq!(json, "dump.yaml:2: not valid YAML or JSON: trailing comma");
}

#[test]
fn what_is_no_recording_is_told_with_what_to_do() {
    for archive in [&b"PK\x03\x04 and more"[..], b"\x1f\x8b and more"] {
        assert!(complaint(archive).starts_with("dump.yaml: invalid "), "{}", complaint(archive));
    }
    for nothing in ["", "# nothing\n", "just words\n", "kind: ConfigMap\napiVersion: v1\n"] {
        assert!(complaint(nothing).contains("shows how to record a cluster"), "{nothing:?}");
    }
    let missing = Recording::read(Path::new("no-such-file"), "longhorn-system", Timestamp::MAX).unwrap_err();
    assert_eq!(missing.to_string(), "no-such-file: No such file or directory (os error 2)");
    let said = format!("{:#}", anyhow::Error::from(missing));
    assert_eq!(said.matches("No such file").count(), 1, "{said}");
}

#[test]
fn longhorn_in_another_namespace_is_told() {
    let node = "---\napiVersion: v1\nkind: Node\nmetadata: {name: a}\n";
    let error = read(format!("{SETTING}{node}"), "longhorn").unwrap_err().to_string();
    assert!(
        error.contains("namespace longhorn, but in longhorn-system; set that with --namespace"),
        "{error}"
    );
    let fresh = SETTING.replace("longhorn.io/v1beta2", "apps/v1").replace("Setting", "DaemonSet");
    assert!(read(fresh.replace("current-longhorn-version", "longhorn-manager"), "longhorn").is_err());
    // a cluster without Longhorn is judged, and is unknown
    assert!(read(node, "longhorn").is_ok());
}

#[test]
fn of_other_namespaces_only_what_a_kubelet_fails_to_mount_is_read() {
    let event = |name: &str, namespace: &str, reason: &str, kind: &str| {
        format!(
            "---\napiVersion: v1\nkind: Event\nmetadata: {{name: {name}, namespace: {namespace}}}\nreason: {reason}\n\
             involvedObject: {{kind: {kind}, name: {name}}}\n"
        )
    };
    let text = SETTING.to_owned()
        + &event("a", "longhorn-system", "Killing", "Pod")
        + &event("b", "shop", "FailedMount", "Pod")
        + &event("c", "shop", "Killing", "Pod")
        + &event("d", "shop", "FailedMount", "PersistentVolumeClaim")
        + &event("e", "shop", "VolumeResizeFailed", "PersistentVolumeClaim")
        + "---\napiVersion: v1\nkind: Pod\nmetadata: {name: b, namespace: shop}\n";
    let objects = read(text, "longhorn-system").unwrap().objects;
    let names: Vec<_> = objects.events.iter().map(|event| event.metadata.name.to_string()).collect();
    assert_eq!(names, ["a", "b", "e"]);
    assert_eq!(objects.pods.iter().count(), 0);
}

#[test]
fn objects_that_do_not_decode_are_named_without_a_place_that_is_not_in_the_file() {
    let text = SETTING.replace("value: v1.9.1", "value: [v1.9.1]");
    let warnings = read(text, "longhorn-system").unwrap().warnings;
    let said =
        "Setting current-longhorn-version does not decode: value: invalid type: sequence, expected a string";
    assert!(warnings[0].ends_with(said), "{warnings:?}");
    let text = SETTING.replace("name: current-longhorn-version, ", "");
    let warnings = read(text, "longhorn-system").unwrap().warnings;
    assert!(warnings[0].ends_with("Setting without a name does not decode: metadata.name is missing"));
}

#[test]
fn the_log_of_the_present_run_lies_beside_that_of_the_last() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: longhorn-system, uid: u}\n\
        spec: {containers: [{name: longhorn-manager}]}\n";
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("pods.yaml"), pod).unwrap();
    std::fs::write(directory.path().join("a.longhorn-manager.log"), "hangs\n").unwrap();
    std::fs::write(directory.path().join("a.longhorn-manager.previous.log"), "crashed\n").unwrap();
    let recording = Recording::read(directory.path(), "longhorn-system", Timestamp::MAX).unwrap();
    let pod = recording.objects.pods.get("a").unwrap();
    let (last, present) = ("longhorn-manager", recording.history.current_log(pod, "longhorn-manager"));
    assert_eq!(recording.history.crash_log("a", last).map(|log| log.text.as_str()), Some("crashed\n"));
    assert_eq!(present.map(|log| log.text.as_str()), Some("hangs\n"));
}

#[test]
fn an_empty_log_is_no_log() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: longhorn-system, uid: u}\n\
        spec: {containers: [{name: longhorn-manager}]}\n";
    let logs = |log: &str| {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("pods.yaml"), pod).unwrap();
        std::fs::write(directory.path().join("a.longhorn-manager.previous.log"), log).unwrap();
        let recording = Recording::read(directory.path(), "longhorn-system", Timestamp::MAX).unwrap();
        recording.history.crash_log("a", "longhorn-manager").is_some()
    };
    assert!(logs("fatal") && !logs("\n"));
}
