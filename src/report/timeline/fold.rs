//! A reboot ends everything on its node: that is one line, not one for each container.

use std::collections::BTreeMap;

use jiff::SignedDuration;

use super::changes::SAME;
use crate::edits::Edit;
use crate::facts::text::listed;
use crate::happened::{Entry, What};

/// So many ends have one cause.
const MANY: usize = 3;
/// A node that boots says so, and its kubelet finds its containers ended, within so long of each other.
const BOOT: SignedDuration = SignedDuration::from_mins(10);

/// The node of a container or pod that ended, and how it ended: `ended with exit code 1`.
pub type Places = BTreeMap<String, (String, String)>;

/// Makes one entry of what ended on one node in the same way within a minute, or adds it to the node's reboot.
pub fn together(entries: &mut Vec<Entry>, places: &Places) {
    let (mut ends, mut rest): (Vec<Entry>, Vec<Entry>) =
        std::mem::take(entries).into_iter().partition(|entry| places.contains_key(&entry.text));
    ends.sort_by(|one, other| (one.at, &one.text).cmp(&(other.at, &other.text)));
    let mut groups: Vec<(&(String, String), Vec<Entry>)> = Vec::new();
    for end in ends {
        let Some(place) = places.get(&end.text) else { continue };
        let is_near = |others: &[Entry]| {
            let first = others.first().and_then(|other| other.at);
            end.at.zip(first).is_some_and(|(at, first)| at.duration_since(first) <= SAME)
        };
        match groups.iter_mut().find(|(known, others)| *known == place && is_near(others)) {
            Some((_, others)) => others.push(end),
            None => groups.push((place, vec![end])),
        }
    }
    for ((node, how), ends) in groups {
        let Some(first) = ends.first().filter(|_| ends.len() >= MANY && !node.is_empty()) else {
            rest.extend(ends);
            continue;
        };
        let subject = format!("node {node}");
        let is_lost = how.contains("code 255");
        let boot = rest.iter_mut().find(|entry| {
            let apart = entry.at.zip(first.at).map(|(boot, end)| boot.duration_since(end).abs());
            let is_here =
                entry.what == What::Rebooted && entry.subject().is_some_and(|(node, _)| node == subject);
            is_lost && is_here && apart.is_some_and(|apart| apart <= BOOT)
        });
        let (count, what) = (ends.len(), if first.what == What::PodGone { "pods" } else { "containers" });
        if let Some(boot) = boot {
            boot.text = format!("{}: {count} containers ended because of it", boot.text);
            continue;
        }
        let names = ends.iter().filter_map(|end| end.subject());
        let names = names.map(
            |(pod, container)| if container.is_empty() { pod.trim_start_matches("pod ") } else { container },
        );
        let names = format!(": {}", listed(&names.collect::<Vec<_>>()));
        let why = if is_lost { ": the node or its container runtime was restarted" } else { &names };
        let text = format!("{count} {what} on {node} {how}{why}");
        let edit = Edit { subject, field: what.into(), before: None, after: Some(how.clone()) };
        rest.push(Entry { edit: Some(edit), ..Entry::new(first.what, first.at, text) });
    }
    *entries = rest;
}
