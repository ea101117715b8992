//! A report as text: a table for a terminal, one line a finding for a pipe, Markdown for tickets.

pub mod details;
pub mod explain;
pub mod markdown;
mod style;
pub mod table;
#[cfg(test)]
mod tests;
pub mod timeline;
pub mod wide;

pub use crate::check::plain;
pub use markdown::escaped;
pub use style::Style;

use jiff::Timestamp;

use crate::check::{VolumeRef, capitalised, counted, is_hidden};
use crate::incidents::{Consequence, Incident, places};
use crate::{ClusterSummary, Report, Unknown, rights};

/// What was looked at: `cluster prod · Longhorn v1.8.0 in longhorn-system · 2026-01-01 12:00 UTC`.
pub fn scope(report: &Report) -> String {
    scope_of(&report.cluster)
}

/// The same of a cluster alone.
pub fn scope_of(cluster: &ClusterSummary) -> String {
    let mut parts = Vec::new();
    parts.extend(cluster.name.as_ref().map(|name| format!("cluster {name}")));
    let release = cluster.longhorn_version.as_deref().unwrap_or("of unknown release");
    parts.push(format!("Longhorn {release} in {}", cluster.namespace));
    parts.push(match cluster.now {
        Some(now) => moment(now),
        None => "at an unknown time".to_owned(),
    });
    if cluster.recorded {
        parts.push("recording".to_owned());
    }
    parts.extend(cluster.wrong_clock());
    parts.join(" · ")
}

/// A moment, to the minute.
pub fn moment(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%M UTC").to_string()
}

/// The consequences in a line: `crash loop on worker-1, worker-3 · slow start on worker-4`.
pub fn follows(incident: &Incident) -> String {
    let one = |consequence: &Consequence| match consequence.nodes.as_slice() {
        [] => consequence.text.to_owned(),
        nodes => format!("{} on {}", consequence.text, places(nodes)),
    };
    incident.consequences.iter().map(one).collect::<Vec<_>>().join(" · ")
}

/// `cannot recover until 1 and 2 are fixed`.
pub fn waits(incident: &Incident) -> Option<String> {
    let numbers: Vec<_> = incident.waits_for.iter().map(usize::to_string).collect();
    let are = if numbers.len() > 1 { "are" } else { "is" };
    (!numbers.is_empty()).then(|| format!("cannot recover until {} {are} fixed", numbers.join(" and ")))
}

/// A volume with its claim, how it is and who uses it.
pub fn volume(volume: &VolumeRef) -> String {
    let mut text = volume.name.clone();
    if let Some(robustness) = volume.robustness {
        text += &format!(" {}", robustness.as_str());
    }
    match (volume.state, volume.robustness.map(|robustness| robustness.as_str())) {
        (Some(state), Some(known)) if state != known && state != "attached" => text += &format!(", {state}"),
        _ => {}
    }
    if let Some(pvc) = &volume.pvc {
        text += &format!(" (PVC {pvc})");
    }
    if !volume.workloads.is_empty() {
        text += &format!(" used by {}", volume.workloads.join(", "));
    }
    text
}

/// Why something is unknown, each reason once with the checks it concerns: a kind that cannot be read is the
/// reason of many checks, and missing rights are one reason for all of them.
pub fn reasons(report: &Report) -> Vec<(String, Vec<&'static str>)> {
    let mut grouped: Vec<(String, Vec<&str>)> = Vec::new();
    let forbidden = rights::missing(report);
    for Unknown { check, reason, forbidden: by_right } in &report.unknown {
        let reason = forbidden.as_ref().filter(|_| *by_right).unwrap_or(reason);
        match grouped.iter_mut().find(|(known, _)| known == reason) {
            Some((_, checks)) => checks.push(check),
            None => grouped.push((reason.clone(), vec![check])),
        }
    }
    grouped
}

/// Messages are fragments; printed on their own they begin with a capital and end with a stop.
pub fn sentence(text: &str) -> String {
    let mut text = capitalised(text);
    if !text.is_empty() && !text.ends_with(['.', '!', '?', ':']) {
        text.push('.');
    }
    text
}

/// A text of the cluster without lines of its own.
pub fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// JUnit XML in which nothing hides: a page of a CI system shows it, as a terminal would.
pub fn xml(junit: &quick_junit::Report) -> Result<Vec<u8>, quick_junit::SerializeError> {
    let xml = junit.to_string()?;
    Ok(xml.replace(|c: char| is_hidden(c) && c != '\n', "\u{fffd}").into_bytes())
}

/// What was taken out of the report, if anything was: `2 accepted findings`.
pub fn accepted(report: &Report) -> Option<String> {
    (!report.accepted.is_empty()).then(|| counted(report.accepted.len(), "accepted finding"))
}
