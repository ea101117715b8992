//! Pods that no node took, and ends one after the other.

use super::*;

#[test]
fn pods_that_the_node_did_not_take_are_no_replacements() {
    let rejected = |reason: &str, why: &str, containers: &str| {
        let status = format!("reason: {reason}, message: \"Pod was rejected: {why}\", {containers}");
        im_pod("im-1", "uid-9", "2026-01-02T11:50:03Z", "Failed", "", &status)
    };
    let waits =
        "containerStatuses: [{name: instance-manager, state: {waiting: {reason: ContainerCreating}}}]";
    let lost = "containerStatuses: [{name: instance-manager, state: {terminated: {exitCode: 137, reason: ContainerStatusUnknown}}}]";
    let start = "containerStatuses: [{name: instance-manager, state: {terminated: {exitCode: 128, reason: StartError, \
                 startedAt: '1970-01-01T00:00:00Z', finishedAt: '2026-01-02T11:50:03Z'}}}]";
    for gone in [
        rejected("TaintToleration", "Predicate TaintToleration failed", ""),
        rejected("TaintToleration", "Predicate TaintToleration failed", waits),
        rejected("TaintToleration", "Predicate TaintToleration failed", lost),
        rejected("Evicted", "The node had condition: [DiskPressure]. ", ""),
        rejected("OutOfcpu", "Node didn't have enough resource: cpu", ""),
        rejected("NodeAffinity", "Predicate NodeAffinity failed", ""),
        im_pod("im-1", "uid-9", "2026-01-02T11:50:03Z", "Failed", "", start),
        deleting(im_pod("im-1", "uid-9", "2026-01-02T11:50:03Z", "Pending", "", "")),
        im_pod(
            "im-1",
            "uid-9",
            "2026-01-02T11:50:03Z",
            "Failed",
            "",
            "conditions: [{type: DisruptionTarget, status: 'True', reason: DeletionByPodGC}]",
        ),
    ] {
        let cluster = saw(&gone, &after());
        assert_eq!(found(&CHECK, &cluster), Vec::<String>::new(), "{gone}");
        let total = "longhorn_health_instance_manager_replacements_total";
        let counted: f64 = run(&CHECK, &cluster).samples[total].iter().map(|sample| sample.value).sum();
        assert_eq!(counted, 0.0, "{gone}");
    }
    // one that ran, and that a kubelet gives up when it starts, is one
    let ran = terminated(143, "Error").replace("finishedAt", "startedAt: '2026-01-01T00:00:01Z', finishedAt");
    let gone = last(
        "Failed",
        &format!(
            "reason: Evicted, message: \"Pod was rejected: The node had condition: [DiskPressure]. \", {ran}"
        ),
    );
    assert_eq!(verdict(&gone, ""), "warning evicted");
}

#[test]
fn the_end_before_a_storm_of_rejected_pods_is_what_is_told() {
    // evicted at 11:50:00, eleven pods rejected until 11:50:25
    let mut cluster = Case {
        seen: &[Running, EndedAndLeaving(0, "Completed")],
        conditions: &target("TerminationByKubelet"),
        events: stopping(),
        ..Case::default()
    }
    .live();
    for second in 3..25 {
        let mut rejected = pod(&im_pod(
            "im-1",
            &format!("uid-r{second}"),
            "2026-01-02T11:50:03Z",
            "Failed",
            "",
            "reason: Evicted, message: 'Pod was rejected: The node had condition: [DiskPressure]. '",
        ));
        rejected.metadata.uid = format!("uid-r{second}").into();
        cluster.history.pod_gone(Arc::new(rejected), "", time(GONE) + SignedDuration::from_secs(second));
    }
    assert_eq!(cluster.history.gone_pods().count(), 2, "of those that never ran only the last one is kept");
    let refused = cluster.history.gone_pods().last().unwrap().refused;
    assert_eq!(refused, Some((time("2026-01-02T11:50:03Z"), 22)));
    assert_eq!(found(&CHECK, &cluster), ["warning evicted InstanceManager im-1"]);
    let total = "longhorn_health_instance_manager_replacements_total";
    let counted: f64 = run(&CHECK, &cluster).samples[total].iter().map(|sample| sample.value).sum();
    assert_eq!(counted, 1.0);
}

#[test]
fn events_with_event_time_only_tell_as_well() {
    let plain = |reason: &str, message: &str, more: &str| {
        event(reason, message).replace(
            &format!("lastTimestamp: '{GONE}'"),
            &format!("eventTime: '2026-01-02T11:49:54.123456Z'\n{more}"),
        )
    };
    let series = "series: {count: 3, lastObservedTime: '2026-01-02T11:50:00.512345Z'}";
    let events = plain("Unhealthy", "Liveness probe failed: ", series)
        + &plain("Killing", "Stopping container instance-manager", "")
            .replace("11:49:54.123456", "11:50:00.600000");
    let case = Case { seen: &[Running, Ended(0, "Completed")], events, ..Case::default() };
    assert_eq!(case.found(), ("warning liveness_probe".to_owned(), "warning liveness_probe".to_owned()));
}

#[test]
fn an_api_server_that_was_away_does_not_raise_an_old_finding() {
    use crate::cluster::Readability;
    use crate::longhorn::Resource;
    let mut cluster = later(saw(&last("Failed", &terminated(255, "Unknown")), &after()), 60);
    assert_eq!(found(&CHECK, &cluster), ["info node_lost InstanceManager im-1"]);
    cluster = later(cluster, 10);
    for kind in [Resource::Volumes, Resource::Engines, Resource::Events] {
        cluster.resources.entry(kind).or_default().readability = Readability::Stale;
    }
    assert_eq!(found(&CHECK, &cluster), ["info node_lost InstanceManager im-1"]);
}

#[test]
fn three_kills_within_an_hour_are_a_loop_and_an_answer_of_the_network_names_it() {
    // the probe of the first releases connects to the pod's address; the kubelet names both
    let dial = "Liveness probe failed: dial tcp 10.42.1.5:8500: i/o timeout";
    let of_pod = |number: u32, ended: &str| {
        (unhealthy(3, 0) + &stopping())
            .replace("Liveness probe failed: ", dial)
            .replace("uid-1", &format!("uid-k{number}"))
            .replace("e-", &format!("e-{number}-"))
            .replace(GONE, ended)
    };
    let kills = |times: &[&str]| -> String {
        times.iter().zip(1..).map(|(ended, number)| of_pod(number, ended)).collect()
    };
    let recorded = |times: &[&str], said: &str| {
        let yaml =
            after() + &kills(times).replace(dial, said) + &setting("storage-network", "kube-system/storage");
        let finding = run(&CHECK, &cluster_at(NOW, &yaml)).report.findings.remove(0);
        let told = format!("{:?}", finding.evidence());
        (finding.severity.as_str(), finding.cause.id, finding.message + &told, finding.remedy)
    };
    let (severity, cause, message, remedy) =
        recorded(&["2026-01-02T11:00:00Z", "2026-01-02T11:35:00Z", GONE], dial);
    assert_eq!((severity, cause), ("critical", "liveness_loop"));
    assert!(
        message.contains("(dial tcp 10.42.1.5:8500: i/o timeout)")
            && message.contains("was replaced 3 times: its liveness probe failed"),
        "{message}"
    );
    let said = format!("{remedy:?}");
    assert!(said.contains("kube-system/storage") && said.contains("could not connect"), "{said}");
    // each pod has its own Events: three failures of three pods are no kill, and two kills are no loop
    let single =
        kills(&["2026-01-02T11:20:00Z", "2026-01-02T11:35:00Z", GONE]).replace("count: 3", "count: 1");
    assert_eq!(found(&CHECK, &cluster_at(NOW, &(after() + &single))), ["info unknown InstanceManager im-1"]);
    let two = recorded(&["2026-01-02T10:20:00Z", "2026-01-02T11:35:00Z", GONE], "Liveness probe failed: ");
    assert_eq!((two.0, two.1), ("warning", "liveness_probe"));
    assert!(format!("{:?}", two.3).contains("overloaded"), "{:?}", two.3);
    let refused =
        recorded(&[GONE], "Liveness probe failed: dial tcp 10.42.1.5:8500: connect: connection refused");
    assert!(!refused.2.contains("network"), "the process does not listen: {}", refused.2);
}
