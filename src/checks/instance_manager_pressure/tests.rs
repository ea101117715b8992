use super::CHECK;
use crate::testing::instance_managers::*;

/// A healthy instance manager of 8 × 12 % = 0.96 cores whose pod is changed by `pod`.
fn base(version: &str, pod: impl Fn(String) -> String) -> String {
    let container =
        "resources: {requests: {cpu: 960m}}, livenessProbe: {periodSeconds: 11, failureThreshold: 6}";
    let made = im_pod("im-1", "u", "2026-01-01T00:00:00Z", "Running", container, "")
        .replace("spec: {nodeName", "spec: {priorityClassName: longhorn-critical, nodeName");
    release(version)
        + &node()
        + &setting("guaranteed-instance-manager-cpu", "12")
        + &setting("priority-class", "longhorn-critical")
        + &im(
            "im-1",
            NEW,
            "type: aio, dataEngine: v1",
            "running",
            &map("instanceEngines", "v-e-0", "running"),
        )
        + &pod(made)
}

fn class(name: &str) -> String {
    object("PriorityClass", name, "globalDefault: true")
}

fn found_in(yaml: &str) -> Vec<String> {
    let strip =
        |line: String| line.replace(" InstanceManager im-1", "").replace(" Setting priority-class", "");
    found(&CHECK, &cluster(yaml)).into_iter().map(strip).collect()
}

#[test]
fn stock_pods_by_release() {
    for (period, threshold, window, expected) in
        [(5, 3, 15.0, vec!["info probe_window_short"]), (5, 6, 30.0, vec![]), (11, 6, 66.0, vec![])]
    {
        let probe = format!("periodSeconds: {period}, failureThreshold: {threshold}");
        let yaml = base("v1.9.2", |pod| pod.replace("periodSeconds: 11, failureThreshold: 6", &probe));
        assert_eq!(found_in(&yaml), expected);
        let evaluation = run(&CHECK, &cluster(&yaml));
        let family = "longhorn_health_instance_manager_min_probe_window_seconds";
        assert_eq!(sample(&evaluation, family, &["v1"]), Some(window));
        assert_eq!(sample(&evaluation, "longhorn_health_instance_manager_max_instances", &["v1"]), Some(1.0));
    }
}

#[test]
fn the_window_of_an_old_stock_release_is_a_fact() {
    let with = |version: &str, threshold: u32| {
        let probe = format!("periodSeconds: 5, failureThreshold: {threshold}");
        base(version, |pod| pod.replace("periodSeconds: 11, failureThreshold: 6", &probe))
    };
    for version in ["v1.5.5", "v1.6.3", "v1.7.2"] {
        assert_eq!(found_in(&with(version, 3)), Vec::<String>::new(), "{version}");
        assert_eq!(stated(&CHECK, &cluster(&with(version, 3))), ["probe_window"], "{version}");
        assert_eq!(found_in(&with(version, 2)), ["info probe_window_short"], "{version}");
    }
    for version in ["v1.6.4", "v1.7.3", "v1.8.0"] {
        assert_eq!(found_in(&with(version, 3)), ["info probe_window_short"], "{version}");
    }
}

#[test]
fn cpu_by_release_and_data_engine() {
    let request = |cpu: &'static str| move |pod: String| pod.replace("cpu: 960m", &format!("cpu: {cpu}"));
    let low = ["info cpu_request_low"];
    let none: [&str; 0] = [];
    assert_eq!(found_in(&base("v1.9.2", request("912m"))), none, "five percent of slack");
    assert_eq!(found_in(&base("v1.9.2", request("911m"))), low);
    // JSON by data engine from 1.10 on
    let json =
        base("v1.10.2", request("911m")).replace("value: '12'", "value: '{\"v1\":\"11\",\"v2\":\"40\"}'");
    assert_eq!(found_in(&json), none);
    // nothing is asked for and nothing is set aside
    let zero = base("v1.9.2", |pod| pod.replace("resources: {requests: {cpu: 960m}}, ", ""));
    assert_eq!(found_in(&zero.replace("value: '12'", "value: '0'")), low);
    // the node's own request counts
    let own = base("v1.9.2", |pod| pod).replace(
        "metadata: {name: node-1, namespace: longhorn-system}\n",
        "metadata: {name: node-1, namespace: longhorn-system}\nspec: {instanceManagerCPURequest: 2000}\n",
    );
    assert_eq!(found_in(&own), low);
    // v2 counts thousandths up to 1.9
    let v2 = base("v1.9.2", |pod| pod).replace("dataEngine: v1", "dataEngine: v2");
    let v2 = |value| v2.clone() + &setting("v2-data-engine-guaranteed-instance-manager-cpu", value);
    assert_eq!(found_in(&v2("1250")), low);
    assert_eq!(found_in(&v2("1000")), none);
    // one setting for engines and one for replicas up to 1.4
    let old = base("v1.4.4", |pod| pod.replace("name: instance-manager,", "name: replica-manager,"))
        .replace("type: aio, dataEngine: v1", "type: replica");
    assert_eq!(found_in(&(old.clone() + &setting("guaranteed-replica-manager-cpu", "20"))), low);
    assert_eq!(found_in(&(old + &setting("guaranteed-engine-manager-cpu", "20"))), none);
}

#[test]
fn the_hourly_bug_is_told_from_a_pending_change() {
    let empty = |yaml: String| yaml.replace("value: 'longhorn-critical'", "value: ''");
    let warning = ["warning priority_class_mismatch"];
    let none: [&str; 0] = [];
    assert_eq!(found_in(&base("v1.9.2", |pod| pod)), none);
    assert_eq!(found_in(&(base("v1.9.2", |pod| pod) + &class("longhorn-critical"))), none);
    let bug = empty(base("v1.9.2", |pod| pod)) + &class("longhorn-critical");
    assert_eq!(found_in(&bug), warning);
    let report = run(&CHECK, &cluster(&bug)).report;
    assert!(report.findings[0].message.ends_with("the cluster's default is longhorn-critical"));
    assert!(report.findings[0].remedy.commands.iter().any(|command| command.changes));
    // changed, and waits for the volumes: danger_zone_pending says so
    let pending =
        empty(base("v1.9.2", |pod| pod)).replace("value: ''", "value: ''\nstatus: {applied: false}");
    assert_eq!(found_in(&pending), none);
    assert_eq!(found_in(&(pending + &class("longhorn-critical"))), warning, "it will never be applied");
}

#[test]
fn many_make_one_finding_about_the_busiest() {
    let short = |pod: String| pod.replace("periodSeconds: 11, failureThreshold: 6", "periodSeconds: 5");
    let idle = im("im-0", NEW, "type: aio, dataEngine: v1", "running", "");
    let container = "resources: {requests: {cpu: 960m}}, livenessProbe: {periodSeconds: 5}";
    let twin = im_pod("im-0", "u0", "2026-01-01T00:00:00Z", "Running", container, "")
        .replace("spec: {nodeName", "spec: {priorityClassName: longhorn-critical, nodeName");
    let yaml = base("v1.9.2", short) + &idle + &twin;
    let report = run(&CHECK, &cluster(&yaml)).report;
    assert_eq!(report.findings.len(), 1);
    assert_eq!(report.findings[0].object.name, "im-1");
    assert!(report.findings[0].evidence()[0].text.starts_with("2 instance managers"));
}

#[test]
fn odd_objects_say_nothing_and_do_not_panic() {
    let yaml = release("not-a-release")
        + &im("im-1", NEW, "type: aio", "running", "")
        + &im_pod("im-1", "u", "2026-01-01T00:00:00Z", "Running", "resources: {requests: {cpu: lots}}", "");
    assert!(found_in(&yaml).is_empty());
    assert!(found(&CHECK, &live_at("2026-01-01T00:00:00Z", "")).is_empty());
}

#[test]
fn the_setting_is_changed_only_where_it_is_empty() {
    // the setting names a class, the pods have another, and an unrelated class is the default
    let other =
        |yaml: String| yaml.replace("value: 'longhorn-critical'", "value: 'mine'\nstatus: {applied: true}");
    let yaml = other(base("v1.9.2", |pod| pod)) + &class("cluster-default");
    let finding = run(&CHECK, &cluster(&yaml)).report.findings.remove(0);
    assert_eq!(finding.message, "1 instance manager without PriorityClass mine of setting priority-class");
    assert!(finding.remedy.commands.iter().all(|command| !command.changes));
}

#[test]
fn a_change_that_waits_for_volumes_is_no_mismatch_before_1_7_either() {
    let changed = |yaml: String| yaml.replace("value: 'longhorn-critical'", "value: 'mine'");
    let busy = changed(base("v1.6.4", |pod| pod));
    assert_eq!(found_in(&busy), Vec::<String>::new());
    let idle = busy.replace(&map("instanceEngines", "v-e-0", "running"), "");
    assert_eq!(found_in(&idle), ["warning priority_class_mismatch"]);
}

/// Seen on 1.9.2: Longhorn exchanges idle instance managers one after the other once the setting changes, and says meanwhile that it is
/// applied.
#[test]
fn a_pod_that_is_being_exchanged_is_no_mismatch() {
    let other =
        |yaml: String| yaml.replace("value: 'longhorn-critical'", "value: 'mine'\nstatus: {applied: true}");
    let yaml = other(base("v1.9.2", |pod| pod));
    assert_eq!(found_in(&yaml), ["warning priority_class_mismatch"]);
    let going = other(base("v1.9.2", |pod| {
        pod.replace("name: im-1,", "name: im-1, deletionTimestamp: '2026-01-01T00:00:00Z',")
    }));
    assert_ne!(going, yaml);
    assert!(found_in(&going).is_empty());
    let ended = other(base("v1.9.2", |pod| pod.replace("phase: Running", "phase: Succeeded")));
    assert!(found_in(&ended).is_empty());
    let live = live_at("2026-01-01T00:00:00Z", &yaml);
    assert!(found(&CHECK, &live).is_empty());
    assert_eq!(
        found(&CHECK, &later(later(live, 5), 180)),
        ["warning priority_class_mismatch Setting priority-class"]
    );
}

#[test]
fn a_pod_without_an_address_in_the_storage_network_is_told() {
    const INSIDE: &str =
        r#"[{"name":"cbr0","ips":["10.42.0.9"]},{"name":"kube-system/storage","ips":["192.168.1.9"]}]"#;
    let with = |version: &str, network: &str, applied: &str, status: &str| {
        let setting = setting("storage-network", network);
        let setting = match applied {
            "" => setting,
            applied => setting.replace("\n---", &format!("\nstatus: {{applied: {applied}}}\n---")),
        };
        let annotation =
            format!("annotations: {{k8s.v1.cni.cncf.io/network-status: '{status}'}}, name: im-1,");
        let ready = "phase: Running, conditions: [{type: Ready, status: 'True'}], ";
        base(version, |pod| pod.replacen("name: im-1,", &annotation, 1).replace("phase: Running, ", ready))
            + &setting
    };
    let network = "kube-system/storage";
    let outside = r#"[{"name":"cbr0","ips":["10.42.0.9"]}]"#;
    let found = ["info storage_network_missing"];
    for status in [outside, "", "no JSON", r#"[{"name":"kube-system/storage","ips":[]}]"#] {
        assert_eq!(found_in(&with("v1.9.2", network, "true", status)), found, "{status}");
    }
    // by the name that older releases of Multus give it
    let old =
        |status: &str| with("v1.9.2", network, "true", status).replace("network-status", "networks-status");
    assert!(found_in(&old(INSIDE)).is_empty() && found_in(&old(outside)) == found);
    for (version, network, applied, status) in [
        ("v1.9.2", network, "true", INSIDE),
        ("v1.9.2", "", "true", outside),
        // it waits until volumes are detached
        ("v1.9.2", network, "false", outside),
        // no field tells, and no other has an address
        ("v1.6.4", network, "", outside),
        // reads another key
        ("v1.3.3", network, "true", outside),
    ] {
        let yaml = with(version, network, applied, status);
        let other: Vec<String> =
            found_in(&yaml).into_iter().filter(|line| line.contains("storage")).collect();
        assert_eq!(other, Vec::<String>::new(), "{version} {network} {applied} {status}");
    }
}
