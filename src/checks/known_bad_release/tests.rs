use super::CHECK;
use crate::cluster::Readability;
use crate::facts::known_issues;
use crate::longhorn::Resource;
use crate::testing::release as setting;
use crate::testing::*;

fn release(tag: &str) -> String {
    object(
        "DaemonSet",
        "longhorn-manager",
        &format!(
            "spec: {{template: {{spec: {{containers: [{{name: pre-pull, image: 'a/b:v1.0.0'}}, \
             {{name: longhorn-manager, image: 'longhornio/longhorn-manager:{tag}'}}]}}}}}}"
        ),
    )
}

fn volume(spec: &str) -> String {
    object("Volume", "v", &format!("spec: {{{spec}}}"))
}

fn kube(os: &str) -> String {
    kube_node("node-1", &format!("status: {{nodeInfo: {{osImage: '{os}'}}}}"))
}

/// `warning number` of each finding and `fact number` of each bug whose trigger does not show.
fn issues(yaml: &str) -> Vec<String> {
    let short = |line: String| line.replace("issue_", "").replace(" DaemonSet longhorn-manager", "");
    let cluster = cluster(yaml);
    let facts = stated(&CHECK, &cluster).into_iter().filter(|fact| *fact != "support");
    let facts = facts.map(|fact| fact.replace("issue_", "fact "));
    found(&CHECK, &cluster).into_iter().map(short).chain(facts).collect()
}

#[test]
fn rwx_volumes_on_the_one_release_and_not_on_its_hotfix() {
    let rwx = volume("accessMode: rwx");
    let others = ["fact 12081", "fact 12233", "fact 13087", "fact 13245"];
    let with_rwx = ["warning 11939", "fact 12081", "fact 12233", "fact 13087", "fact 13245"];
    assert_eq!(issues(&(release("v1.10.0") + &rwx)), with_rwx);
    assert_eq!(issues(&(release("v1.10.0") + &volume("accessMode: rwo"))), others);
    // migratable volumes have no share manager
    assert_eq!(issues(&(release("v1.10.0") + &volume("accessMode: rwx, migratable: true"))), others);
    // the hotfix calls itself v1.10.0 in the setting: the image decides
    assert_eq!(issues(&(release("v1.10.0-hotfix-1") + &rwx + &setting("v1.10.0"))), others);
    assert_eq!(issues(&(release("v1.10.1") + &rwx)), ["fact 12233", "fact 13087", "fact 13245"]);
    assert_eq!(issues(&(release("v1.10.1-hotfix-1") + &rwx)), ["fact 13087", "fact 13245"]);
    // an image without release tag: the setting
    for tag in ["v1.10.x-head", "v1.10.0@sha256:abc"] {
        assert_eq!(issues(&(release(tag) + &rwx + &setting("v1.10.0"))), with_rwx, "{tag}");
    }
    // a build of the release for one architecture, as mirrors of images tag it
    assert_eq!(issues(&(release("v1.10.2-amd64") + &rwx)), ["fact 13087", "fact 13245"]);
    assert_eq!(issues(&(release("v1.10.0-amd64") + &rwx))[0], "warning 11939");
}

#[test]
fn supported_releases_without_issue_are_quiet() {
    for tag in ["v1.3.1", "v1.11.3", "v1.12.0", "v1.12.1", "v1.13.0-dev"] {
        assert!(issues(&(release(tag) + &volume("accessMode: rwx, dataEngine: v2"))).is_empty(), "{tag}");
    }
}

#[test]
fn a_stock_cluster_has_facts_alone_on_any_release() {
    for minor in 3..=13 {
        for patch in 0..=5 {
            let tag = format!("v1.{minor}.{patch}");
            let stock = release(&tag) + &volume("accessMode: rwo") + &kube("Ubuntu 24.04.1 LTS");
            for line in issues(&stock) {
                assert!(line.starts_with("fact "), "{tag} {line}");
            }
        }
    }
}

fn node_with_disk(kind: &str, ready: &str, evict: bool) -> String {
    object(
        "Node",
        "node-1",
        &format!(
            "spec: {{disks: {{d1: {{diskType: {kind}, evictionRequested: {evict}}}}}}}\n\
             status: {{diskStatus: {{d1: {{diskUUID: uuid-1, conditions: [{{type: Ready, \
             status: '{ready}'}}]}}}}}}"
        ),
    )
}

#[test]
fn a_block_device_for_every_node() {
    let path = |value: &str| setting(value).replace("current-longhorn-version", "default-data-path");
    let on = |tag: &str, value: &str| {
        let lines = issues(&(release(tag) + &path(value)));
        lines.into_iter().find(|line| line.ends_with(" 9073"))
    };
    assert_eq!(on("v1.6.2", "/dev/nvme1n1").as_deref(), Some("fact 9073"));
    assert_eq!(on("v1.6.2", "/var/lib/longhorn/"), None);
    assert_eq!(on("v1.6.3", "/dev/nvme1n1"), None);
    // a block disk that is not Ready is no part of it
    let disk = issues(&(release("v1.6.2") + &node_with_disk("block", "False", false)));
    assert!(!disk.iter().any(|line| line.ends_with(" 9073")), "{disk:?}");
}

#[test]
fn rpm_hosts() {
    let on = |os: &str, tag: &str| {
        issues(&(release(tag) + &kube(os))).into_iter().find(|line| line.ends_with("10019"))
    };
    assert_eq!(on("Rocky Linux 9.4 (Blue Onyx)", "v1.7.2").as_deref(), Some("fact 10019"));
    assert_eq!(on("SUSE Linux Enterprise Server 15 SP6", "v1.7.0").as_deref(), Some("fact 10019"));
    // asked with dpkg, or not at all, by these releases
    for os in [
        "Ubuntu 24.04.1 LTS", "Red Hat Enterprise Linux 9.4 (Plow)", "AlmaLinux 9.4", "Amazon Linux 2023",
        "Talos (v1.8)",
    ] {
        assert_eq!(on(os, "v1.7.2"), None, "{os}");
    }
    assert_eq!(on("Rocky Linux 9.4 (Blue Onyx)", "v1.7.3"), None);
    let mut blind = live_at("2026-01-01T00:00:00Z", &(release("v1.7.2") + MANAGER));
    blind.resources.entry(Resource::KubeNodes).or_default().readability = Readability::Forbidden;
    assert!(stated(&CHECK, &blind).contains(&"issue_10019"));
}

#[test]
fn backing_images_between_the_three_states() {
    let image = |spec: &str| {
        object(
            "BackingImage",
            "bi",
            &format!(
                "spec: {{diskFileSpecMap: {{{spec}}}}}\n\
                 status: {{diskFileStatusMap: {{uuid-1: {{state: ready}}}}}}"
            ),
        )
    };
    let eviction = |tag: &str, more: String| {
        let lines = issues(&(release(tag) + &more));
        lines.into_iter().find(|line| line.ends_with("10464") || line.ends_with("11034"))
    };
    let node = |evict| node_with_disk("filesystem", "True", evict);
    for (tag, met) in [
        ("v1.6.4", None),
        ("v1.7.3", Some("warning 10464")),
        ("v1.7.4", None),
        ("v1.8.0", Some("warning 10464")),
        ("v1.8.1", Some("warning 11034")),
        ("v1.8.2", None),
        ("v1.9.0", Some("warning 11034")),
        ("v1.9.1", None),
    ] {
        assert_eq!(eviction(tag, image("") + &node(true)).as_deref(), met, "{tag} met");
        let possible = met.map(|line| line.replace("warning", "fact"));
        assert_eq!(eviction(tag, image("") + &node(false)), possible, "{tag} no eviction");
        assert_eq!(eviction(tag, image("uuid-1: {}") + &node(true)), possible, "{tag} consistent");
        assert_eq!(eviction(tag, node(true)), None, "{tag} without backing image");
    }
}

#[test]
fn instance_managers_without_labels() {
    let im = |labels: &str| {
        object_with("InstanceManager", "im", &format!("labels: {{{labels}}}"), "spec: {image: 'im:v1'}")
    };
    let default =
        |image: &str| setting(image).replace("current-longhorn-version", "default-instance-manager-image");
    let all = "longhorn.io/component: instance-manager, longhorn.io/instance-manager-image: i, \
               longhorn.io/instance-manager-type: aio, longhorn.io/node: node-1, \
               longhorn.io/managed-by: longhorn-manager, longhorn.io/data-engine: v1";
    let on = |tag: &str, labels: &str, image: &str| {
        issues(&(release(tag) + &im(labels) + &default(image))).contains(&"warning 9464".to_owned())
    };
    assert!(on("v1.7.1", "", "im:v1"));
    assert!(on("v1.7.1", &all.replace("longhorn.io/managed-by", "other"), "im:v1"));
    assert!(!on("v1.7.1", all, "im:v1"));
    // no one looks for an old one by its labels
    assert!(!on("v1.7.1", "", "im:v2"));
    // the fix deletes it: see label_missing of instance_manager_down
    assert!(!on("v1.7.2", "", "im:v1"));
}

#[test]
fn the_remedy_names_the_fixed_release_of_the_line() {
    let text = |yaml: String| run(&CHECK, &cluster(&yaml)).report.findings[0].remedy.fix.clone();
    let advice = |yaml: String| {
        let facts = run(&CHECK, &cluster(&yaml)).report.facts;
        facts.iter().map(|fact| fact.advice.as_str()).collect::<Vec<_>>().join("\n")
    };
    assert!(
        text(release("v1.10.0") + &volume("accessMode: rwx")).starts_with(
            "Upgrade to v1.10.0-hotfix-1 or later (https://github.com/longhorn/longhorn/issues/"
        )
    );
    let device = setting("/dev/sdb").replace("current-longhorn-version", "default-data-path");
    assert!(advice(release("v1.6.1") + &device).contains("Upgrade to v1.6.3 or later ("));
    assert!(advice(release("v1.9.3")).contains("Upgrade to v1.10.1-hotfix-1 or later ("));
    // the nearest fixed release is not for every Kubernetes
    let on = |kubelet: &str| {
        let node = kube_node("node-1", &format!("status: {{nodeInfo: {{kubeletVersion: {kubelet}}}}}"));
        advice(release("v1.11.2") + &node)
    };
    assert!(on("v1.33.1").contains("/issues/13087; v1.11.3 needs Kubernetes 1.34)."), "{}", on("v1.33.1"));
    assert!(
        on("v1.34.0")
            .contains("Upgrade to v1.11.3 or later (https://github.com/longhorn/longhorn/issues/13087).")
    );
}

#[test]
fn release_that_is_not_known_and_unreadable_kinds() {
    let report = run(&CHECK, &live_at("2026-01-01T00:00:00Z", &(release("master-head") + MANAGER))).report;
    assert!(report.findings.is_empty());
    assert_eq!(report.unknown.len(), 1);
    let mut blind = live_at("2026-01-01T00:00:00Z", &(release("v1.7.2") + MANAGER));
    blind.resources.entry(Resource::DaemonSets).or_default().readability = Readability::Forbidden;
    assert_eq!(run(&CHECK, &blind).report.unknown[0].reason, "daemonsets.apps are forbidden");
    let evaluation = run(&CHECK, &cluster(&(release("v1.10.0-hotfix-1") + &setting("v1.10.0"))));
    assert_eq!(
        sample(&evaluation, "longhorn_health_release_info", &["v1.10.0-hotfix-1", "v1.10.0"]),
        Some(1.0)
    );
}

#[test]
fn every_issue_is_a_cause() {
    for issue in known_issues::ALL {
        let cause = CHECK.cause(issue.cause).unwrap();
        assert!(cause.advice().fix.contains(&issue.number.to_string()), "{}", cause.fix);
    }
}

#[test]
fn triggers_that_the_api_shows() {
    let leaking = object(
        "InstanceManager",
        "im",
        "spec: {image: 'longhornio/longhorn-instance-manager:v1.11.0', nodeID: node-1}",
    );
    assert!(issues(&(release("v1.11.0") + &leaking)).contains(&"warning 12573".to_owned()));
    let hotfix = leaking.replace(":v1.11.0", ":v1.11.0-hotfix-1");
    assert!(!issues(&(release("v1.11.0") + &hotfix)).iter().any(|line| line.contains("12573")));
    // an instance manager of an old image outlives the upgrade of the managers
    assert!(issues(&(release("v1.12.1") + &leaking)).contains(&"warning 12573".to_owned()));
    let panics = |image: &str| release("v1.12.1") + &leaking.replace(":v1.11.0", image);
    assert!(issues(&panics(":v1.11.2")).contains(&"fact 13087".to_owned()));
    assert!(!issues(&panics(":v1.12.1")).iter().any(|line| line.contains("13087")));
    let share =
        |name: &str, value: &str| release("v1.10.0") + &object("Setting", name, &format!("value: '{value}'"));
    let starts = |yaml: &str| !issues(yaml).contains(&"warning 11864".to_owned());
    const SHARE: &str = "guaranteed-instance-manager-cpu";
    assert!(!starts(&share(SHARE, "0")));
    assert!(!starts(&share(SHARE, "{\"v1\":\"12\",\"v2\":\"0\"}")));
    assert!(starts(&share(SHARE, "{\"v1\":\"0\",\"v2\":\"12\"}")));
    // a node of two cores is large enough for one per cent, and the old setting of the v2 data engine does not matter
    let small = object("Node", "node-1", "") + &kube_node("node-1", "status: {allocatable: {cpu: '2'}}");
    assert!(starts(&(share(SHARE, "1") + &small)));
    assert!(starts(&(share("v2-data-engine-guaranteed-instance-manager-cpu", "1250") + &small)));
    // eight cores in the mask are more than two of one per cent are taken for
    let mask = object("Setting", "v2-data-engine-cpu-mask", "value: '0xff'");
    assert!(!starts(&(share(SHARE, "1") + &small + &mask)));
    let kernel = |version: &str| {
        kube_node("node-1", &format!("status: {{nodeInfo: {{kernelVersion: {version}-talos}}}}"))
    };
    assert!(issues(&(release("v1.12.0") + &kernel("6.12.9"))).contains(&"fact 13482".to_owned()));
    assert!(!issues(&(release("v1.12.0") + &kernel("6.8.0"))).iter().any(|line| line.contains("13482")));
}

#[test]
fn the_end_of_support_is_a_fact_of_lines_that_are_known() {
    let told = |tag: &str, at: &str| {
        let facts = run(&CHECK, &cluster_at(at, &release(tag))).report.facts;
        let fact = facts.iter().find(|fact| fact.fact == "support")?;
        Some((fact.text.clone(), fact.advice.clone()))
    };
    for (tag, at, text, advice) in [
        (
            "v1.8.2",
            "2026-07-22T23:59:59Z",
            "support for Longhorn 1.8 ends on 2026-07-22",
            "Upgrade to v1.9.2 before that day",
        ),
        (
            "v1.8.2",
            "2026-07-23T00:00:00Z",
            "support for Longhorn 1.8 ended on 2026-07-22",
            "Upgrade to v1.9.2 next: this release gets no more fixes",
        ),
        (
            "v1.12.1",
            "2026-09-01T00:00:00Z",
            "support for Longhorn 1.12 ends on 2027-12-02",
            "No later release is known to this build",
        ),
    ] {
        assert_eq!(told(tag, at), Some((text.to_owned(), advice.to_owned())), "{tag} {at}");
    }
    assert_eq!(told("v1.13.0", "2030-01-01T00:00:00Z"), None);
}
