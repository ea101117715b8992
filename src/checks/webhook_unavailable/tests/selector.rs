//! Services whose selector no manager fits.

use super::*;

const WRONG: &str = "critical selector_wrong Service longhorn-admission-webhook";

const NOT_LISTED: &str = "critical not_listed Service longhorn-admission-webhook";

fn service(selector: &str) -> String {
    slice("a", "longhorn-admission-webhook", &[])
        + &object("Service", "longhorn-admission-webhook", &format!("spec: {{selector: {{{selector}}}}}"))
}

#[test]
fn a_selector_of_another_release_is_named_at_once() {
    let managers = |since: &str| ["n1", "n2"].map(|node| manager(node, "True", since, RUNNING)).concat();
    let base = |version: &str, since: &str| release(version) + &daemon_set(2) + &managers(since);
    let old = "2026-03-01T11:58:50Z";
    let stale = service(LABEL).replace(
        "endpoints: []",
        "endpoints: [{conditions: {ready: false}, targetRef: {kind: Pod, name: longhorn-manager-n1}}]",
    );
    for (name, yaml, expected) in [
        ("an edit", base("v1.12.1", old) + &service("longhorn.io/admission-webhook: wrong"), WRONG),
        ("that of 1.4", base("v1.12.1", LONG_AGO) + &service("app: longhorn-admission-webhook"), WRONG),
        // a moment ago they may have had no label yet
        ("Ready just now", base("v1.12.1", "2026-03-01T11:59:30Z") + &service("a: b"), ROLLOUT),
        ("the right one, not listed", base("v1.12.1", LONG_AGO) + &service(LABEL), NOT_LISTED),
        ("listed as not ready", base("v1.12.1", LONG_AGO) + &stale, NOT_LISTED),
        ("no selector is known", base("v1.12.1", LONG_AGO) + &service(""), DOWN),
    ] {
        assert_eq!(found(&CHECK, &at_first(&yaml)), [expected], "{name}");
    }
    let finding = run(
        &CHECK,
        &at_now(&(base("v1.12.1", old) + &service("longhorn.io/admission-webhook: wrong, app: x"))),
    );
    let finding = &finding.report.findings[0];
    assert_eq!(
        finding.remedy.commands[0].run,
        "kubectl -n longhorn-system patch service longhorn-admission-webhook --type merge -p \
         '{\"spec\":{\"selector\":{\"app\":null,\"longhorn.io/admission-webhook\":\"longhorn-admission-webhook\"}}}'"
    );
    // managers without their label are another matter
    let bare = pod("longhorn-manager", "n1", "", "True", LONG_AGO, RUNNING);
    let yaml = release("v1.12.1") + &daemon_set(1) + &bare + &service("a: b");
    assert!(found(&CHECK, &at_first(&yaml)).contains(&DOWN.to_owned()));
}
