//! docs/destructive.md: all advice that takes something away, with what is proven before.

use super::markdown::{Document, codes};
use crate::check::{Cause, Check, takes_away};
use crate::checks;

pub fn page() -> String {
    let mut page = Document::new("Advice that takes something away");
    page.paragraph(
        "Every cause whose advice deletes, restores, salvages, scales to 0, forces or empties a field that Longhorn decides by, and on what that \
         rests: what the check has seen, and what only you can see and are asked to. Where neither holds, the finding reads and changes \
         nothing. The commands are printed and never run, and a reader of them is always first where one would help to decide. A command \
         of this kind in a cause without a proof stops the build.",
    );
    let advised = checks::ALL.iter().flat_map(|check| check.causes.iter().map(move |cause| (*check, *cause)));
    let rows = advised.filter(|(_, cause)| !cause.proven.is_empty()).map(row);
    page.table(["check", "cause", "command", "proven, or asked for"], rows);
    page.paragraph(
        "Commands that depend on the case are made by the check: a failed replica that is in the way of the next one (`replica_unschedulable`), a \
         second replica without data of a strict-local volume (`volume_attachment_stuck`), the budget of another node (`eviction_stalled`), \
         workloads to be scaled down (`instance_manager_stale`), webhook configurations that name what is not there. They stand as *in words* above.",
    );
    page.finish()
}

fn row((check, cause): (&Check, &Cause)) -> [String; 4] {
    let advice = cause.advice();
    let commands = advice.commands.iter().filter(|command| command.changes && takes_away(&command.run));
    let commands = codes(commands.map(|command| command.run.as_str()));
    let said = if commands.is_empty() { "in words".to_owned() } else { commands };
    [format!("`{}`", check.id), format!("`{}`", cause.id), said, cause.proven.to_owned()]
}
