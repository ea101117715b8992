//! Pieces of several parts of the page.

use jiff::Timestamp;
use maud::{Markup, html};

use crate::check::{Catalogue, Command};
use crate::facts::text::age;

/// For how long something has been the case, where that is known.
pub fn lasting(since: Option<Timestamp>, now: Option<Timestamp>) -> Markup {
    html! { @if let (Some(since), Some(now)) = (since, now) { span { "for " (age(now.duration_since(since))) } } }
}

/// What people call a check.
pub fn title(catalogue: &Catalogue, check: &'static str) -> &'static str {
    catalogue.by_id(check).map_or(check, |check| check.title)
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
