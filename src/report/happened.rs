//! Something that happened, as the timeline and incidents tell it.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::check::{Severity, plain};
use crate::edits::Edit;
use crate::word_enum::word_enum;

word_enum! {
    /// What happened.
    #[derive(Serialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum What {
        /// The root of an incident was there.
        IncidentBegan = "incident_began",
        /// Something followed from it.
        IncidentSpread = "incident_spread",
        /// It was over, as an exporter saw.
        IncidentOver = "incident_over",
        /// A value was changed.
        Changed = "changed",
        /// A thing was added.
        Added = "added",
        /// A thing was removed.
        Removed = "removed",
        /// A container of a pod ended.
        PodEnded = "pod_ended",
        /// A pod was deleted or replaced.
        PodGone = "pod_gone",
        /// A node was rebooted.
        Rebooted = "rebooted",
        /// Kubernetes no longer heard of a node's kubelet.
        NodeNotReady = "node_not_ready",
    }
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Entry {
    /// When; left out where nothing says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// True where it may have been before that, because the time is shared with other fields, or because no one watched.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(default)]
    pub or_earlier: bool,
    /// True where it may have been after that: nothing says when, only that it cannot have been before.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(default)]
    pub or_later: bool,
    /// It was then at the latest, where nothing says when exactly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_after: Option<Timestamp>,
    /// What.
    pub what: What,
    /// In a sentence, without the time.
    pub text: String,
    /// What it is about, with the values before and after where they are known; left out for incidents.
    #[serde(flatten)]
    pub edit: Option<Edit>,
    /// By which manager of fields: `kubectl-edit`, `helm`, …; left out where it is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Number of the incident in the report; left out for one that is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incident: Option<usize>,
    /// Id of the incident's check.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// Its cause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// How bad it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity: Option<Severity>,
}

impl Entry {
    pub(crate) fn new(what: What, at: Option<Timestamp>, text: String) -> Self {
        Entry {
            at,
            or_earlier: false,
            or_later: false,
            not_after: None,
            what,
            text,
            edit: None,
            by: None,
            incident: None,
            check: None,
            cause: None,
            severity: None,
        }
    }

    /// A value that was changed, or a thing that came or went.
    pub(crate) fn edited(at: Option<Timestamp>, edit: Edit, by: Option<String>) -> Self {
        let what = match (&edit.before, &edit.after) {
            (None, Some(after)) if edit.field.is_empty() && after.is_empty() => What::Added,
            (Some(_), None) if edit.field.is_empty() => What::Removed,
            _ => What::Changed,
        };
        let text = cordoned(&edit).unwrap_or_else(|| match (&edit.before, &edit.after) {
            (None, Some(after)) if what == What::Changed => now_is(&edit, after),
            (None, None) => format!("{} changed", about(&edit)),
            _ => said(&edit),
        });
        let by = by.filter(|by| !by.is_empty());
        let text = by.iter().fold(text, |text, by| format!("{text}, by {by}"));
        Entry { edit: Some(edit), by, ..Entry::new(what, at, text) }
    }

    pub(crate) fn or_earlier(self, or_earlier: bool) -> Self {
        Entry { or_earlier, ..self }
    }

    /// Its place among the others.
    pub(crate) fn place(&self) -> Option<Timestamp> {
        self.not_after.or(self.at)
    }

    pub(crate) fn subject(&self) -> Option<(&str, &str)> {
        self.edit.as_ref().map(|edit| (edit.subject.as_str(), &*edit.field))
    }

    /// What of the same second was first: a change, then the incident that it brought about, then what followed.
    pub(crate) fn order(&self) -> u8 {
        match self.what {
            What::IncidentOver => 3,
            What::IncidentSpread => 2,
            What::IncidentBegan => 1,
            _ => 0,
        }
    }
}

/// What was edited: `setting auto-salvage: true → false`.
pub fn said(edit: &Edit) -> String {
    let about = about(edit);
    let value = |value: &Option<String>| match value.as_deref() {
        None | Some("") => "unset".to_owned(),
        Some(value) => plain(value).to_string(),
    };
    match (&edit.before, &edit.after) {
        (None, _) if edit.field.is_empty() => format!("{about}: added"),
        (_, None) if edit.field.is_empty() => format!("{about}: removed"),
        _ => format!("{about}: {} → {}", value(&edit.before), value(&edit.after)),
    }
}

/// The same where it is not known what was before.
fn now_is(edit: &Edit, value: &str) -> String {
    format!("{}: now {}", about(edit), plain(value))
}

/// A cordon in words: `worker-1 was cordoned`.
fn cordoned(edit: &Edit) -> Option<String> {
    let node = edit.subject.strip_prefix("node ").filter(|_| edit.field == "cordoned")?;
    let un = if edit.after.as_deref()? == "yes" { "" } else { "un" };
    Some(format!("{} was {un}cordoned", plain(node)))
}

/// What was edited: `node worker-1, cordoned`.
fn about(edit: &Edit) -> String {
    match &*edit.field {
        "" => plain(&edit.subject).into_owned(),
        field => format!("{}, {field}", plain(&edit.subject)),
    }
}
