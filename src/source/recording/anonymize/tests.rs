//! What is replaced, and what is not.

use jiff::Timestamp;

use super::*;

fn written(files: &[(&str, &str)]) -> String {
    let files = files.iter().map(|(name, text)| file((*name).to_owned(), (*text).to_owned()));
    let recording = Recording::to_anonymize().with_files(files, "longhorn-system", Timestamp::MAX).unwrap();
    let files = anonymize(recording, "longhorn-system");
    files.iter().map(|file| format!("{}: {}", file.name, String::from_utf8_lossy(&file.content))).collect()
}

fn rewritten(text: &str) -> String {
    let mut names = Names::default();
    for (sort, name) in
        [("node", "rack7.corp.example"), ("claim", "state"), ("volume", "ledger-1"), ("volume", "state")]
    {
        names.add(sort, name);
    }
    let looking = Texts::looking(&names.renamed("longhorn-system"));
    looking.rewrite(text);
    looking.found().rewrite(text)
}

const OBJECTS: &str = "\
apiVersion: longhorn.io/v1beta2
kind: Volume
metadata: {name: data, namespace: longhorn-system, annotations: {team: erp-people}, managedFields: [{manager: ledger}]}
spec: {nodeID: rack7.corp.example, fromBackup: 's3://ledger-backups@eu/?volume=erp'}
status:
  robustness: degraded
  kubernetesStatus: {namespace: apps, pvcName: state, workloadsStatus: [{podName: ledger-0, workloadName: ledger}]}
---
apiVersion: longhorn.io/v1beta2
kind: Replica
metadata: {name: data-r-1234abcd, namespace: longhorn-system}
spec: {volumeName: data, nodeID: rack7.corp.example}
---
apiVersion: v1
kind: Pod
metadata: {name: share-manager-data, namespace: longhorn-system}
spec: {containers: [{name: longhorn-manager, args: [--token=ledger], env: [{name: LEDGER, value: ledger}, {name: LONGHORN_DISTRO, value: longhorn}]}]}
";

#[test]
fn fields_that_are_read_stay_and_names_are_others_by_where_they_stand() {
    let log = "level=info msg=\"volume of apps/state on rack7.corp.example.\" ip=172.20.3.9:8500 at=[fd00::7]:9500\n";
    let written = written(&[("all.yaml", OBJECTS), ("share-manager-data.longhorn-manager.log", log)]);
    for word in ["erp", "ledger", "rack7", "corp", "172.20", "fd00", "team"] {
        assert!(!written.to_lowercase().contains(word), "{word}: {written}");
    }
    for part in [
        r#""pvcName":"claim-01""#,
        r#""namespace":"namespace-01""#,
        r#""robustness":"degraded""#,
        r#""name":"volume-01""#,
        r#""volumeName":"volume-01""#,
        r#""name":"volume-01-r-x"#,
        r#""name":"share-manager-volume-01""#,
        r#""nodeID":"node-01""#,
        r#""value":"longhorn""#,
        // words stay in a text: there they may mean something else
        "share-manager-volume-01.longhorn-manager.log: level=info msg=\"volume of apps/state on node-01.\" ip=10.0.0.1:8500 at=[2001:db8::1]:9500\n",
    ] {
        assert!(written.contains(part), "{part}: {written}");
    }
}

#[test]
fn of_free_text_words_of_this_program_stay_and_numbers_that_are_amounts() {
    for kept in [
        "v1.8.1 at 08:30:00 2026-03-01T08:30:00.123456789Z ::1 127.0.0.1 x::b node::volume 10s 2m0s 512Mi",
        "E0601 02:14:33.415803       1 leaderelection.go:330] error retrieving",
        "pvc-0f5e0c1c-88a6-4e8e-a6a7-5f0e4f6d7d01 NodeNotReady v1beta2 state 10737418240",
    ] {
        assert_eq!(rewritten(kept), kept);
    }
    for (text, expected) in [
        ("volume zebra is Degraded, ZEBRA", "volume x2 is Degraded, x1"),
        ("https://zebra:quagga@longhorn.io/x?sig=abc", "https://x4:x2@longhorn.io/x?x3=x1"),
        ("password=state&token: \"volume\" Bearer volume", "x2=x3&x4: \"x5\" x1 x5"),
        ("secretKey=dm9s/dW1l+volume= volume", "secretKey=x2/x1+x3= volume"),
        ("ip-203-0-113-9 tcp-10.9.8.5", "ip-10.0.0.2 tcp-10.0.0.1"),
        ("ledger-1-r-deadbeef ledger-1", "volume-01-r-x1 volume-01"),
        (
            "state-e-0 share-manager-state: state of volume \"state\"",
            "volume-02-e-0 share-manager-volume-02: state of volume \"volume-02\"",
        ),
        ("{\"a\":\"zebra\"}", "{\"a\":\"x1\"}"),
        ("deadbeefcafe 0f5e0c1c88a6 4915112345678901", "x3 x1 x2"),
    ] {
        assert_eq!(rewritten(text), expected, "{text}");
    }
}

#[test]
fn certificates_keep_dates_and_identity_and_lose_their_names() {
    use crate::facts::ca_bundle::{disagree, read};
    let [one, other] = ["zebra-ca", "quagga-ca"].map(|name| {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut made = rcgen::CertificateParams::new(vec![format!("{name}.example")]).unwrap();
        made.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        made.distinguished_name.push(rcgen::DnType::OrganizationName, name);
        use base64::Engine as _;
        base64::engine::general_purpose::STANDARD.encode(made.self_signed(&key).unwrap().pem())
    });
    let [new_one, new_other] = [&one, &other].map(|bundle| certificates(bundle));
    let (old, new) = (read(&one), read(&new_one));
    assert_eq!((new.len(), new[0].from, new[0].until), (1, old[0].from, old[0].until));
    assert!(disagree(&new, &read(&new_other)) && !disagree(&new, &read(&certificates(&one))));
    use base64::Engine as _;
    let pem = base64::engine::general_purpose::STANDARD.decode(&new_one).unwrap();
    use rustls::pki_types::pem::PemObject;
    let der = rustls::pki_types::CertificateDer::from_pem_slice(&pem).unwrap();
    assert!(!String::from_utf8_lossy(&der).contains("zebra"));
    assert!(read(&certificates("nonsense")).is_empty() && !certificates("nonsense").is_empty());
    assert_eq!(certificates(""), "");
}
