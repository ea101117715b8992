//! One alert for each incident: a root cause with all that follows from it. In place of the alerts of the checks, for people who
//! want one message for one problem, and need no inhibitions for it.

use super::gauges;
use crate::check::{Alert, Severity, When};

/// One for each severity that reaches people.
pub const INCIDENT_ALERTS: &[Alert] = &[
    Alert {
        name: "LonghornIncidentCritical",
        when: When::Flag { gauge: &gauges::INCIDENT_INFO, labels: &[("severity", "critical")] },
        for_: "2m",
        keep_firing_for: "5m",
        severity: Severity::Critical,
        ..INCIDENT
    },
    Alert {
        name: "LonghornIncidentWarning",
        when: When::Flag { gauge: &gauges::INCIDENT_INFO, labels: &[("severity", "warning")] },
        for_: "10m",
        keep_firing_for: "10m",
        ..INCIDENT
    },
];

const INCIDENT: Alert = Alert {
    summary: "{{ $labels.title }}.",
    // the summary has said the title, and a phone shows the first 200 characters of both
    description: "{{ with $labels.claim }}{{ . }} is {{ $labels.data }}. {{ end }}{{ with $labels.fix }}Fix: {{ . }}{{ end }}\
                  {{ with $labels.consequences }} Consequences: {{ . }}.{{ end }}",
    why: "The checks have already waited, so the alert only waits for a rollout or an API server restart to end. If the incident's consequences or most \
          affected claim change, a new alert replaces the old one without a gap.",
    ..Alert::DEFAULT
};
