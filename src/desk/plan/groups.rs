//! Reasons as they are shown: what is about the same volumes once, and what several parts have in common once.

use std::collections::BTreeSet;

use super::{Part, Reason, Weight};
use crate::check::capitalised;
use crate::facts::text::listed;

/// A reason, with what is reported beside it.
#[derive(Debug)]
pub struct Shown<'a> {
    pub reason: &'a Reason,
    /// Others about the same volumes, or the parts that have it.
    pub beside: String,
}

fn heavy(reasons: &[Reason]) -> impl Iterator<Item = &Reason> {
    reasons.iter().filter(|reason| reason.weight != Weight::Note)
}

fn names(reason: &Reason) -> BTreeSet<&str> {
    reason.volumes.iter().map(|volume| volume.name.as_str()).collect()
}

/// The reasons of a part. One about volumes that a heavier one names already follows from it, or has the same fix.
pub fn shown(reasons: &[Reason]) -> Vec<Shown<'_>> {
    let mut shown: Vec<Shown<'_>> = Vec::new();
    for reason in heavy(reasons) {
        let of = names(reason);
        let told = shown.iter_mut().find(|one| {
            !of.is_empty() && one.reason.weight == reason.weight && of.is_subset(&names(one.reason))
        });
        match told {
            Some(told) => told.beside.push_str(&format!(". {}", capitalised(&reason.text))),
            None => shown.push(Shown { reason, beside: String::new() }),
        }
    }
    shown
}

/// The reasons of several parts, each condition once: with the first part that has it, and the names of the others.
pub fn alike(parts: &[Part]) -> Vec<Shown<'_>> {
    let mut found: Vec<(&Reason, Vec<&str>)> = Vec::new();
    for part in parts {
        for one in shown(&part.reasons) {
            match found.iter_mut().find(|(known, _)| known.condition == one.reason.condition) {
                Some((_, others)) if others.last() == Some(&part.subject.as_str()) => {}
                Some((_, others)) => others.push(&part.subject),
                None => found.push((one.reason, vec![&part.subject])),
            }
        }
    }
    let mut all: Vec<Shown<'_>> = found
        .into_iter()
        .map(|(reason, parts)| match parts.as_slice() {
            [] => Shown { reason, beside: String::new() },
            [first, others @ ..] if reason.text.contains(*first) => {
                let also = format!(" (and the same for {})", listed(others));
                Shown { reason, beside: if others.is_empty() { String::new() } else { also } }
            }
            parts if reason.weight == Weight::Unknown => {
                Shown { reason, beside: format!(" (affects {})", listed(parts)) }
            }
            parts => Shown { reason, beside: format!(" (blocks {})", listed(parts)) },
        })
        .collect();
    all.sort_by_key(|one| one.reason.weight);
    all
}
