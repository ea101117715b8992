//! Webhook configurations: missing, of another namespace, incomplete.

use super::*;

#[test]
fn without_a_configuration_nothing_is_rejected() {
    let yaml = modern(&manager("n1", "False", LONG_AGO, ISCSI), &["longhorn-manager-n1=false"]);
    let node = "apiVersion: longhorn.io/v1beta2\nkind: Node\nmetadata: {name: n1, namespace: longhorn-system}\n---\n";
    let impact = |cluster: &Cluster| run(&CHECK, cluster).report.findings.remove(0).impact;
    // a new installation: the outage alone is told
    let new = live_at(NOW, &yaml);
    assert_eq!(found(&CHECK, &new), [DOWN]);
    assert!(impact(&new).contains("objects are accepted unchecked"), "{}", impact(&new));
    // one that had its managers before
    let missing = [
        "ValidatingWebhookConfiguration longhorn-webhook-validator",
        "MutatingWebhookConfiguration longhorn-webhook-mutator",
    ];
    let old = live_at(NOW, &(yaml.clone() + node));
    let begun = found(&CHECK, &old);
    assert!(
        missing.iter().all(|object| begun.contains(&format!("info rollout {object}"))),
        "seen for the first time after an hour it has only begun: {begun:?}"
    );
    let lines = found(&CHECK, &later(old, 200));
    assert!(
        missing.iter().all(|object| lines.contains(&format!("critical configuration_missing {object}"))),
        "{lines:?}"
    );
    // where they cannot be read they may be there
    let mut blind = live_at(NOW, &yaml);
    blind.resources.entry(Resource::MutatingWebhookConfigurations).or_default().readability =
        Readability::Forbidden;
    assert!(impact(&blind).starts_with("every change"), "{}", impact(&blind));
    assert!(impact(&at_now(&yaml)).starts_with("every change"));
}

#[test]
fn an_installation_that_has_not_begun_lacks_nothing() {
    let set = "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: longhorn-manager, namespace: longhorn-system, \
               creationTimestamp: '2020-01-01T00:00:00Z'}\n---\n";
    let node = "apiVersion: longhorn.io/v1beta2\nkind: Node\nmetadata: {name: n1, namespace: longhorn-system}\n---\n";
    let missing = |yaml: &str| {
        let lines = found(&CHECK, &later(live_at(NOW, yaml), 200));
        lines.iter().any(|line| line.contains("configuration_missing"))
    };
    assert!(!missing(set), "no pod, no node");
    assert!(missing(&(set.to_owned() + node)), "managers were there");
}

#[test]
fn a_configuration_that_names_another_namespace() {
    let base = modern(&manager("n1", "True", LONG_AGO, RUNNING), &["longhorn-manager-n1=true"]);
    let validator = |namespace: &str| {
        format!(
            "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\n\
             metadata: {{name: longhorn-webhook-validator}}\nwebhooks: [{{name: validator.longhorn.io, clientConfig: \
             {{caBundle: eA==, service: {{namespace: {namespace}, name: longhorn-admission-webhook}}}}}}]\n---\n\
             apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\n\
             metadata: {{name: longhorn-webhook-mutator}}\nwebhooks: [{{name: mutator.longhorn.io}}]\n---\n"
        )
    };
    let foreign =
        ["critical configuration_foreign ValidatingWebhookConfiguration longhorn-webhook-validator"];
    let cluster = live_at(NOW, &(base.clone() + &validator("storage")));
    assert_eq!(found(&CHECK, &cluster), foreign);
    let finding = run(&CHECK, &cluster).report.findings.remove(0);
    assert!(finding.message.contains("calls namespace storage"), "{}", finding.message);
    let own = base + &validator("longhorn-system");
    assert_eq!(found(&CHECK, &live_at(NOW, &own)), Vec::<String>::new());
    // who answers there cannot be trusted without a CA
    for empty in ["caBundle: '', ", ""] {
        let untrusted = live_at(NOW, &own.replace("caBundle: eA==, ", empty));
        let expected =
            "critical configuration_untrusted ValidatingWebhookConfiguration longhorn-webhook-validator";
        assert_eq!(found(&CHECK, &untrusted), [expected]);
    }
}

#[test]
fn webhook_configurations() {
    let managers = manager("n1", "True", LONG_AGO, RUNNING);
    let base = modern(&managers, &["longhorn-manager-n1=true"]);
    let validator = |webhooks: &str| {
        object(
            "ValidatingWebhookConfiguration",
            "longhorn-webhook-validator",
            &format!("webhooks: {webhooks}"),
        )
    };
    let mutator = "critical configuration_missing MutatingWebhookConfiguration longhorn-webhook-mutator";
    let empty = "critical configuration_missing ValidatingWebhookConfiguration longhorn-webhook-validator";
    let live = |yaml: &str| live_at(NOW, yaml);
    let old = |yaml: &str| later(live(yaml), 180);
    assert_eq!(found(&CHECK, &old(&(base.clone() + &validator("[{name: v}]")))), [mutator]);
    assert_eq!(found(&CHECK, &old(&(base.clone() + &validator("[]")))), [empty, mutator]);
    // seen to vanish: a rollout of three minutes first
    let vanished = later(live(&(base.clone() + &validator("[{name: v}]"))), 10);
    assert_eq!(
        found(&CHECK, &vanished),
        ["info rollout MutatingWebhookConfiguration longhorn-webhook-mutator"]
    );
    assert_eq!(found(&CHECK, &later(vanished, 170)), [mutator]);
    // a new installation
    let new = base.replace("2026-01-01T00:00:00Z", RECENTLY) + &validator("[{name: v}]");
    assert_eq!(
        found(&CHECK, &live(&new)),
        ["info rollout MutatingWebhookConfiguration longhorn-webhook-mutator"]
    );
    // recorded neither: nothing is said; recorded one: the other is missing
    assert_eq!(found(&CHECK, &cluster_at(NOW, &base)), Vec::<String>::new());
    assert_eq!(found(&CHECK, &cluster_at(NOW, &(base.clone() + &validator("[{name: v}]")))), [mutator]);
    // forbidden: that part is unknown, the rest is judged
    let mut forbidden = live(&(base.clone() + &validator("[]")));
    for kind in [Resource::ValidatingWebhookConfigurations, Resource::MutatingWebhookConfigurations] {
        forbidden.resources.entry(kind).or_default().readability = Readability::Forbidden;
    }
    let evaluation = run(&CHECK, &forbidden);
    assert!(evaluation.report.findings.is_empty());
    assert_eq!(evaluation.report.unknown.len(), 2);
    let present = "longhorn_health_webhook_configuration_present";
    assert_eq!(sample(&evaluation, present, &["validator"]), None);
    assert_eq!(ready_sample(&forbidden, "admission"), Some(1.0));
    assert_eq!(sample(&run(&CHECK, &live(&base)), present, &["validator"]), Some(0.0));
}
