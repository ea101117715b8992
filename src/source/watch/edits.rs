//! What is changed while the watch sees it, for the history: by whom, and what it was before.

use jiff::{SignedDuration, Timestamp};

use crate::edits::{self, Edit};
use crate::history::History;
use crate::history::changes::Edited;
use crate::longhorn::{Kind, Resource, Store, Write, Writes};

/// A change that a watch brings was written so shortly before.
const JUST_NOW: SignedDuration = SignedDuration::from_secs(60);

/// An object came, changed or went; `None` for one that is not there. Nothing is told where its kind was not known before.
pub(super) fn changed<T: Kind>(history: &mut History, old: Option<&T>, new: Option<&T>, now: Timestamp) {
    note(history, old, new, now, false);
}

/// All objects were listed again: what was changed while no one watched was changed then or before.
pub(super) fn relisted<T: Kind>(history: &mut History, old: &Store<T>, new: &Store<T>, now: Timestamp) {
    if !edits::KINDS.contains(&T::RESOURCE) {
        return;
    }
    for object in old.iter() {
        let after = new.get(&object.meta().name);
        if after != Some(object) {
            note(history, Some(object), after, now, true);
        }
    }
    for object in new.iter().filter(|object| old.get(&object.meta().name).is_none()) {
        note(history, None, Some(object), now, true);
    }
}

fn note<T: Kind>(history: &mut History, old: Option<&T>, new: Option<&T>, now: Timestamp, unseen: bool) {
    if !edits::KINDS.contains(&T::RESOURCE) {
        return;
    }
    // volumes come and go with their claims
    let is_told = |edit: &Edit| T::RESOURCE != Resource::Volumes || !edit.field.is_empty();
    let writer = new
        .and_then(|new| writer(old.map(|old| &old.meta().managed_fields), &new.meta().managed_fields, now));
    let edited = |edit: Edit| Edited {
        at: writer.and_then(|write| write.at.get()).unwrap_or(now),
        by: writer.map(|write| write.manager.to_string()).unwrap_or_default(),
        or_earlier: unseen && writer.is_none(),
        edit,
    };
    history.add_edits(edits::between(old, new).into_iter().filter(is_told).map(edited));
}

/// The entry that this change wrote, if it is one of those that are kept.
fn writer<'a>(old: Option<&Writes>, new: &'a Writes, now: Timestamp) -> Option<&'a Write> {
    let known = |write: &Write| old.is_some_and(|old| old.iter().any(|other| other == write));
    let mut fresh = new.iter().filter(|write| !known(write));
    let (first, more) = (fresh.next()?, fresh.next());
    let recent = first.at.get().is_some_and(|at| now.duration_since(at).abs() <= JUST_NOW);
    (more.is_none() && recent).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::longhorn::Setting;

    fn time(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn setting(value: &str, written: &str) -> Setting {
        let managed =
            format!(r#"[{{"manager":"kubectl-edit","time":"{written}","fieldsV1":{{"f:value":{{}}}}}}]"#);
        serde_json::from_str(&format!(
            r#"{{"metadata":{{"name":"s","managedFields":{managed}}},"value":"{value}"}}"#
        ))
        .unwrap()
    }

    fn told(history: &History) -> Vec<String> {
        let one = |one: &Edited| {
            let Edit { subject, before, after, .. } = &one.edit;
            let [before, after] = [before, after].map(|value| value.as_deref().unwrap_or("-"));
            format!("{} {subject} {before} {after} {} {}", one.at, one.by, one.or_earlier)
        };
        history.edits().map(one).collect()
    }

    #[test]
    fn an_edit_is_told_with_who_made_it_and_when_and_once() {
        let now = time("2026-03-01T10:00:02Z");
        let (old, new) = (setting("1", "2026-03-01T08:00:00Z"), setting("2", "2026-03-01T10:00:00Z"));
        let mut history = History::starting(now);
        changed(&mut history, Some(&old), Some(&new), now);
        changed(&mut history, Some(&new), Some(&new), now);
        changed(&mut history, Some(&new), None, now);
        assert_eq!(
            told(&history),
            [
                "2026-03-01T10:00:00Z setting s 1 2 kubectl-edit false",
                "2026-03-01T10:00:02Z setting s 2 -  false",
            ]
        );
    }

    #[test]
    fn what_a_list_shows_was_changed_then_or_before() {
        let now = time("2026-03-01T12:00:00Z");
        let store = |setting: Setting| {
            let mut store = Store::default();
            store.replace([setting]);
            store
        };
        let (old, new) = (setting("1", "2026-03-01T08:00:00Z"), setting("2", "2026-03-01T10:00:00Z"));
        let mut history = History::starting(now);
        relisted(&mut history, &store(old), &store(new), now);
        assert_eq!(told(&history), ["2026-03-01T12:00:00Z setting s 1 2  true"]);
    }
}
