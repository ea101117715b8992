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
        let (edit, by, check, cause, severity) = (None, None, None, None, None);
        Entry { at, or_earlier: false, what, text, edit, by, check, cause, severity }
    }

    /// A value that was changed, or a thing that came or went.
    pub(crate) fn edited(at: Option<Timestamp>, edit: Edit, by: Option<String>) -> Self {
        let what = match (&edit.before, &edit.after) {
            (None, Some(after)) if edit.field.is_empty() && after.is_empty() => What::Added,
            (Some(_), None) if edit.field.is_empty() => What::Removed,
            _ => What::Changed,
        };
        let text = match (&edit.before, &edit.after) {
            (None, Some(after)) if what == What::Changed => now_is(&edit, after),
            (None, None) => format!("{} changed", about(&edit)),
            _ => said(&edit),
        };
        let by = by.filter(|by| !by.is_empty());
        let text = by.iter().fold(text, |text, by| format!("{text}, by {by}"));
        Entry { edit: Some(edit), by, ..Entry::new(what, at, text) }
    }

    pub(crate) fn or_earlier(self, or_earlier: bool) -> Self {
        Entry { or_earlier, ..self }
    }

    pub(crate) fn subject(&self) -> Option<(&str, &str)> {
        self.edit.as_ref().map(|edit| (edit.subject.as_str(), &*edit.field))
    }

    /// An incident's entry ends a moment: what was changed within the same second was before.
    pub(crate) fn is_of_incident(&self) -> bool {
        self.check.is_some()
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

/// What was edited: `node worker-1, cordoned`.
fn about(edit: &Edit) -> String {
    match &*edit.field {
        "" => plain(&edit.subject).into_owned(),
        field => format!("{}, {field}", plain(&edit.subject)),
    }
}
