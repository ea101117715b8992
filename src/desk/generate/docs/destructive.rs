//! docs/destructive.md: all advice that takes something away, with what is proven before.

use super::markdown::{Document, codes};
use crate::check::{Cause, Check, Remedy, takes_away};
use crate::generate::catalogue::Declared;

pub fn page(declared: &Declared) -> String {
    let mut page = Document::new("Advice that takes something away");
    page.paragraph(
        "Every cause, or way of one, whose advice deletes, restores, salvages, scales to 0, forces or empties a field that Longhorn decides by, and on what that \
         rests: what the check has seen, and what only you can see and are asked to. Where neither holds, the finding reads and changes \
         nothing. The commands are printed and never run, and a reader of them is always first where one would help to decide. A command \
         of this kind in a cause without a proof stops the build.",
    );
    let advised = declared
        .catalogue
        .checks
        .iter()
        .flat_map(|check| check.causes.iter().map(move |cause| (*check, *cause)));
    let rows = advised.flat_map(|(check, cause)| {
        let own = (!cause.proven.is_empty()).then(|| row(check, cause, "", &cause.advice(), cause.proven));
        let ways =
            check.ways(cause).filter(|way| takes(&way.advice()).next().is_some() || !way.proven.is_empty());
        let ways = ways.map(move |way| {
            let proven = if way.proven.is_empty() { cause.proven } else { way.proven };
            row(check, cause, way.briefly, &way.advice(), proven)
        });
        own.into_iter().chain(ways)
    });
    page.table(["check", "cause", "command", "proof, or question to you"], rows);
    page.paragraph(
        "Commands that depend on the case are made by the check: a failed replica that is in the way of the next one (`replica_unschedulable`), a \
         second replica without data of a strict-local volume (`volume_attachment_stuck`), the budget of another node (`eviction_stalled`), \
         workloads to be scaled down (`instance_manager_stale`), webhook configurations that name what is not there. They stand as *in words* above.",
    );
    page.finish()
}

/// The commands of it that take something away.
fn takes(advice: &Remedy) -> impl Iterator<Item = &str> {
    let commands = advice.commands.iter().filter(|command| command.changes && takes_away(&command.run));
    commands.map(|command| command.run.as_str())
}

fn row(check: &Check, cause: &Cause, way: &str, advice: &Remedy, proven: &str) -> [String; 4] {
    let commands = codes(takes(advice));
    let said = if commands.is_empty() { "in words".to_owned() } else { commands };
    let way = if way.is_empty() { String::new() } else { format!(": {way}") };
    [format!("`{}`", check.id), format!("`{}`{way}", cause.id), said, proven.to_owned()]
}
