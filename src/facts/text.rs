//! Wording that findings share.

use std::borrow::Borrow;

use jiff::SignedDuration;

use crate::check::{VolumeRef, counted, said};

/// How many names a sentence has.
const SHOWN: usize = 5;

/// Names joined for a sentence, at most five and then how many more.
pub fn listed<T: AsRef<str>>(names: &[T]) -> String {
    first_of(names.iter().map(AsRef::as_ref), names.len())
}

/// One line for each of the first ten, and how many more there are: it may be all of a large cluster.
pub fn first_ten<T>(all: &[T], noun: &str, line: impl Fn(&T) -> String) -> Vec<String> {
    const TEN: usize = 10;
    let more = all.len().checked_sub(TEN).filter(|more| *more > 0);
    let more = more.map(|more| format!("and {}", counted(more, &format!("further {noun}"))));
    all.iter().take(TEN).map(line).chain(more).collect()
}

/// The first five of so many.
fn first_of<T: Borrow<str>>(names: impl Iterator<Item = T>, all: usize) -> String {
    let shown: Vec<T> = names.take(SHOWN).collect();
    match all.checked_sub(SHOWN) {
        Some(more) if more > 0 => format!("{} and {more} more", shown.join(", ")),
        _ => shown.join(", "),
    }
}

/// A duration in one unit: `90 s`, `15 min`, `3 h`.
pub fn duration(length: SignedDuration) -> String {
    match length.as_secs() {
        seconds if seconds < 120 => format!("{seconds} s"),
        seconds if seconds < 7200 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3600),
    }
}

/// An age as screens show it, from two days on in days: `90 s`, `3 h`, `12 days`.
pub fn age(length: SignedDuration) -> String {
    match length.as_hours() {
        hours @ 48.. => format!("{} days", hours / 24),
        _ => duration(length.max(SignedDuration::ZERO)),
    }
}

/// A text of at most this many characters, cut between characters.
pub fn shortened(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}

/// The same of what passed through many hands: each puts its own words in front, and the last ones say what happened.
pub fn both_ends(text: &str, longest: usize) -> String {
    let count = text.chars().count();
    if count <= longest {
        return text.to_owned();
    }
    let begin: String = text.chars().take(longest / 3).collect();
    let end: String = text.chars().skip(count - (longest - longest / 3)).collect();
    format!("{begin}…{end}")
}

/// What a machine said, as evidence quotes it: the message of a log line, in one line of at most 240 characters, as the words that tell may stand in its middle.
pub fn quoted(said: &str) -> String {
    const LONGEST: usize = 240;
    let said = said::one_line(said);
    format!("\"{}\"", both_ends(said.trim_start_matches("Error starting manager: "), LONGEST))
}

/// A fact with what a machine said about it, if anything.
pub fn with_quote(fact: String, said: &str) -> String {
    if said.trim().is_empty() { fact } else { format!("{fact}: {}", quoted(said)) }
}

/// These volumes for a headline: claims where bound, else volume names.
pub fn claims_of(volumes: &[VolumeRef]) -> String {
    joined(volumes, |volume| claim_of(volume).to_owned())
}

/// The same with who uses them.
pub fn users_of(volumes: &[VolumeRef]) -> String {
    joined(volumes, |volume| match volume.workloads.first().filter(|_| volume.pvc.is_some()) {
        Some(workload) => format!("{} ({workload})", claim_of(volume)),
        None => claim_of(volume).to_owned(),
    })
}

/// The noun once where all are claims, or none is: `claims a and b`.
fn joined(volumes: &[VolumeRef], name: impl Fn(&VolumeRef) -> String) -> String {
    let noun = |volume: &VolumeRef| if volume.pvc.is_some() { "claim" } else { "volume" };
    let same = volumes.windows(2).all(|two| matches!(two, [one, other] if noun(one) == noun(other)));
    let called = |volume| if same { name(volume) } else { format!("{} {}", noun(volume), name(volume)) };
    let list = match volumes {
        [one, other] => format!("{} and {}", called(one), called(other)),
        _ => first_of(volumes.iter().map(called), volumes.len()),
    };
    match volumes {
        [one] => format!("{} {list}", noun(one)),
        [one, ..] if same => format!("{}s {list}", noun(one)),
        _ => list,
    }
}

fn claim_of(volume: &VolumeRef) -> &str {
    volume.pvc.as_ref().unwrap_or(&volume.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_lines_and_the_number_of_the_others() {
        let lines = |count: usize| first_ten(&vec![1; count], "failure", ToString::to_string);
        assert_eq!(lines(10), ["1"; 10]);
        assert_eq!(lines(11)[10], "and 1 further failure");
        assert_eq!(lines(13)[10..], ["and 3 further failures"]);
    }

    #[test]
    fn five_names_and_the_number_of_the_others() {
        let names = ["a", "b", "c", "d", "e", "f", "g"];
        assert_eq!(listed(&names[..5]), "a, b, c, d, e");
        assert_eq!(listed(&names), "a, b, c, d, e and 2 more");
        assert_eq!(listed::<&str>(&[]), "");
    }

    #[test]
    fn one_unit_and_never_less_than_two_of_it() {
        for (seconds, text) in [(0, "0 s"), (119, "119 s"), (120, "2 min"), (7199, "119 min"), (7200, "2 h")]
        {
            assert_eq!(duration(SignedDuration::from_secs(seconds)), text);
        }
        for (seconds, text) in [(-3, "0 s"), (12_000, "3 h"), (48 * 3600 - 1, "47 h"), (48 * 3600, "2 days")]
        {
            assert_eq!(age(SignedDuration::from_secs(seconds)), text);
        }
    }

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(shortened("äöü", 3), "äöü");
        assert_eq!(shortened("äöü", 2), "äö…");
        assert_eq!(both_ends("äöü", 3), "äöü");
        assert_eq!(both_ends("begin, middle and end", 9), "beg…nd end");
        assert_eq!(both_ends("äöü", 0), "…");
        assert_eq!(quoted(" one\n  line "), "\"one line\"");
        assert_eq!(quoted(&"a".repeat(400)).chars().count(), 243);
    }
}
