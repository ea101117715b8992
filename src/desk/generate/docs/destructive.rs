//! docs/destructive.md: all advice that takes something away, with what is proven before.

use super::markdown::{Document, codes};
use crate::check::{Cause, Check, Remedy, takes_away};
use crate::generate::catalogue::Declared;

pub fn page(declared: &Declared) -> String {
    let mut page = Document::new("Destructive advice");
    page.paragraph(
        "This page lists every cause whose advice deletes, restores, salvages, scales to 0, forces, or empties a field that Longhorn uses for decisions. The last \
         column shows the proof: what the check has seen, or what only you can see and must check. Without a proof, the finding has only commands that \
         read. The exporter prints these commands and never runs them. A reading command comes first if it helps you to decide. A destructive command \
         in a cause without a proof stops the build.",
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
        "*In words* means that the command depends on the case: a failed replica that blocks the next one (`replica_unschedulable`), a strict-local \
         volume's second replica without data (`volume_attachment_stuck`), another node's PodDisruptionBudget (`eviction_stalled`), workloads to \
         scale down (`instance_manager_old`), or webhook configurations that name a missing Service.",
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
