//! Pieces of several parts of the page.

use jiff::{SignedDuration, Timestamp};
use maud::{Markup, html};

use crate::check::Command;
use crate::checks;

/// How long ago, in one or two units: `5 s`, `3 h 20 min`, `12 days`.
pub fn ago(now: Timestamp, then: Timestamp) -> String {
    let seconds = now.duration_since(then).max(SignedDuration::ZERO).as_secs();
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{minutes} min"),
        3600..172_800 => format!("{hours} h {} min", minutes % 60),
        _ => format!("{days} days"),
    }
}

/// For how long something has been the case, where that is known.
pub fn lasting(since: Option<Timestamp>, now: Option<Timestamp>) -> Markup {
    html! { @if let (Some(since), Some(now)) = (since, now) { span { "for " (ago(now, since)) } } }
}

/// What people call a check.
pub fn title(check: &'static str) -> &'static str {
    checks::by_id(check).map_or(check, |check| check.title)
}

/// A command to copy, marked if it changes something.
pub fn command(command: &Command) -> Markup {
    html! {
        div.command.changes[command.changes] {
            @if command.changes { p.mark { "changes the cluster, needs an administrator" } }
            pre { (command.run) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::time;

    #[test]
    fn ages() {
        let now = time("2026-01-10T00:00:00Z");
        for (then, expected) in [
            ("2026-01-10T00:00:05Z", "0 s"),
            ("2026-01-09T23:59:55Z", "5 s"),
            ("2026-01-09T23:20:00Z", "40 min"),
            ("2026-01-09T00:00:00Z", "24 h 0 min"),
            ("2026-01-01T00:00:00Z", "9 days"),
        ] {
            assert_eq!(ago(now, time(then)), expected);
        }
    }
}
