//! CA bundles, and what Events say of certificates.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use jiff::{SignedDuration, Timestamp, tz::TimeZone};
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair, date_time_ymd};

use super::*;

/// A CA bundle that is valid from one day to another, counted from now.
fn ca(key: &KeyPair, days: (i64, i64)) -> String {
    let day = |days: i64| {
        let now: Timestamp = NOW.parse().unwrap();
        let date = (now + SignedDuration::from_hours(24 * days)).to_zoned(TimeZone::UTC).date();
        date_time_ymd(date.year().into(), date.month() as u8, date.day() as u8)
    };
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    (params.not_before, params.not_after) = (day(days.0), day(days.1));
    BASE64_STANDARD.encode(params.self_signed(key).unwrap().pem())
}

fn cluster_with(validator: &str, mutator: &str, more: &str) -> String {
    let one = |kind: &str, name: &str, ca: &str| {
        format!(
            "apiVersion: admissionregistration.k8s.io/v1\nkind: {kind}WebhookConfiguration\nmetadata: {{name: longhorn-webhook-{name}}}\n\
             webhooks: [{{name: {name}.longhorn.io, clientConfig: {{caBundle: '{ca}', service: {{namespace: longhorn-system, name: \
             longhorn-admission-webhook}}}}}}]\n---\n"
        )
    };
    modern(&manager("n1", "True", LONG_AGO, RUNNING), &["longhorn-manager-n1=true"])
        + &one("Validating", "validator", validator)
        + &one("Mutating", "mutator", mutator)
        + more
}

#[test]
fn the_dates_of_a_ca_tell_whether_it_is_trusted() {
    let key = KeyPair::generate().unwrap();
    for (days, expected) in [
        ((-10, 3650), None),
        // dated by a node whose clock is a little ahead, and issued today
        ((0, 3650), None),
        ((-3000, 31), None),
        ((-3000, 29), Some("warning ca_expires_soon")),
        ((-3650, -1), Some("critical ca_expired")),
        ((2, 3650), Some("critical ca_expired")),
    ] {
        let bundle = ca(&key, days);
        let expected: Vec<String> = expected
            .iter()
            .flat_map(|cause| {
                [("Validating", "validator"), ("Mutating", "mutator")]
                    .map(|(kind, name)| format!("{cause} {kind}WebhookConfiguration longhorn-webhook-{name}"))
            })
            .collect();
        assert_eq!(found(&CHECK, &live_at(NOW, &cluster_with(&bundle, &bundle, ""))), expected, "{days:?}");
    }
    // one that is valid is enough
    let two = [ca(&key, (-3650, -1)), ca(&key, (-1, 3650))].map(|one| BASE64_STANDARD.decode(one).unwrap());
    let two = BASE64_STANDARD.encode(two.concat());
    assert_eq!(found(&CHECK, &live_at(NOW, &cluster_with(&two, &two, ""))), Vec::<String>::new());
    // of what cannot be read nothing is said
    assert_eq!(found(&CHECK, &live_at(NOW, &cluster_with("eA==", &two, ""))), Vec::<String>::new());
}

#[test]
fn configurations_that_trust_different_cas() {
    let [one, other] = [(); 2].map(|()| ca(&KeyPair::generate().unwrap(), (-10, 3650)));
    let expected = ["critical certificate_refused ValidatingWebhookConfiguration longhorn-webhook-validator"];
    let yaml = cluster_with(&one, &other, "");
    assert_eq!(found(&CHECK, &cluster_at(NOW, &yaml)), expected);
    // two watches bring one after the other
    let live = live_at(NOW, &yaml);
    assert_eq!(found(&CHECK, &live), Vec::<String>::new());
    assert_eq!(found(&CHECK, &later(live, 61)), expected);
    assert_eq!(found(&CHECK, &cluster_at(NOW, &cluster_with(&one, &one, ""))), Vec::<String>::new());
}

#[test]
fn the_api_server_says_itself_that_it_refuses_the_certificate() {
    let one = ca(&KeyPair::generate().unwrap(), (-10, 3650));
    let now: Timestamp = NOW.parse().unwrap();
    let event = |first: i64, last: i64, said: &str| {
        let [first, last] = [first, last].map(|ago| now - SignedDuration::from_secs(ago));
        let event = format!(
            "apiVersion: v1\nkind: Event\nmetadata: {{name: e, namespace: longhorn-system}}\ntype: Warning\nreason: FailedUpdating\n\
             firstTimestamp: '{first}'\nlastTimestamp: '{last}'\ncount: 3\ninvolvedObject: {{kind: Volume, name: v}}\nmessage: 'failed \
             calling webhook \"validator.longhorn.io\": failed to call webhook: Post \"https://x\": {said}'\n---\n"
        );
        found(&CHECK, &live_at(NOW, &cluster_with(&one, &one, &event)))
    };
    let x509 = "tls: failed to verify certificate: x509: certificate has expired or is not yet valid";
    let expected = ["critical certificate_refused ValidatingWebhookConfiguration longhorn-webhook-validator"];
    assert_eq!(event(600, 30, x509), expected);
    // while a CA changes, and one that is over
    for (first, last, said) in [(40, 10, x509), (3000, 900, x509)] {
        assert_eq!(event(first, last, said), Vec::<String>::new(), "{first} {last} {said}");
    }
    let lost = ["critical calls_fail ValidatingWebhookConfiguration longhorn-webhook-validator"];
    assert_eq!(event(600, 30, "context deadline exceeded"), lost);
}
