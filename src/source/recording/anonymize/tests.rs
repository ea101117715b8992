//! What is replaced, and what is not.

use super::*;
use proptest::prelude::*;

fn file(name: &str, text: &str) -> RecordedFile {
    RecordedFile { name: name.to_owned(), content: text.as_bytes().to_vec() }
}

fn text(file: &RecordedFile) -> String {
    String::from_utf8(file.content.clone()).unwrap()
}

const VOLUME: &str = "\
apiVersion: longhorn.io/v1beta2
kind: Volume
metadata: {name: erp-db, namespace: longhorn-system}
spec: {nodeID: rack7.corp.example}
status:
  kubernetesStatus: {namespace: erp, pvcName: ledger, workloadsStatus: [{podName: ledger-0, workloadName: ledger}]}
---
apiVersion: longhorn.io/v1beta2
kind: Replica
metadata: {name: erp-db-r-1234abcd, namespace: longhorn-system}
spec: {volumeName: erp-db, nodeID: rack7.corp.example}
status: {storageIP: 172.20.3.9}
";

#[test]
fn a_name_becomes_the_same_other_one_in_objects_keys_logs_and_within_other_names() {
    let log = "level=info msg=\"volume erp-db of erp/ledger on rack7.corp.example.\" ip=172.20.3.9:8500 at=[fd00::7]:9500";
    let files = anonymize(vec![file("all.yaml", VOLUME), file("x.longhorn-manager.log", log)]).unwrap();
    let (objects, log) = (text(&files[0]), text(&files[1]));
    assert_eq!(
        log,
        "level=info msg=\"volume volume-01 of namespace-01/claim-01 on node-01.\" ip=10.0.0.1:8500 at=[2001:db8::1]:9500"
    );
    assert!(objects.contains("name: volume-01-r-1234abcd"), "{objects}");
    for word in ["erp", "ledger", "rack7", "corp", "172.20"] {
        assert!(!objects.contains(word), "{word}: {objects}");
    }
    // a version is no address, a time is none either
    let kept = "v1.8.1 at 08:30:00 2026-03-01T08:30:00Z ::1 127.0.0.1 x::b node::add";
    assert_eq!(text(&anonymize(vec![file("a.log", kept)]).unwrap()[0]), kept);
}

#[test]
fn words_of_longhorn_and_names_that_it_made_stay() {
    let pvc = "pvc-0f5e0c1c-88a6-4e8e-a6a7-5f0e4f6d7d01";
    let volume = VOLUME.replace("erp-db", pvc).replace("namespace: erp,", "namespace: storage,");
    let files =
        anonymize(vec![file("all.yaml", &volume), file("a.log", "no storage for the engine")]).unwrap();
    assert!(text(&files[0]).contains(&format!("name: {pvc}-r-1234abcd")));
    assert_eq!(text(&files[1]), "no storage for the engine");
}

#[test]
fn lists_of_json_lose_annotations_and_variables() {
    let list = r#"{"apiVersion":"v1","kind":"PodList","items":[{"metadata":{"name":"p","annotations":{"team":"x","longhorn.io/a":"b"}},
        "spec":{"nodeName":"rack7","containers":[{"env":[{"name":"TOKEN","value":"t"},{"name":"POD_NAMESPACE","value":"n"}]}]}}]}"#;
    let text = text(&anonymize(vec![file("pods.json", list)]).unwrap()[0]);
    assert!(!text.contains("team") && !text.contains("TOKEN") && !text.contains("rack7"), "{text}");
    assert!(text.contains("longhorn.io/a") && text.contains("POD_NAMESPACE"), "{text}");
}

proptest! {
    #[test]
    fn any_text_is_walked_over_without_loss(text in "[ -~äöü:.\n-]{0,80}") {
        prop_assert_eq!(pieces(&text, |_| None), text.clone());
        let _ = without_extras(&text);
    }

    #[test]
    fn new_names_sort_as_the_old_ones(names in proptest::collection::btree_set("[a-z]{3,6}-[0-9]{1,3}", 1..120)) {
        let mut found = Found::default();
        names.iter().for_each(|name| found.name(name, "node"));
        let new = found.replacements();
        let new: Vec<_> = names.iter().map(|name| new.rewrite(name)).collect();
        prop_assert!(new.is_sorted() && new.iter().all(|name| name.starts_with("node-")), "{:?}", new);
    }
}
