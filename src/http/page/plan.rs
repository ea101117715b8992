//! Plans as pages: the answer, a table of the parts, what stands against it with what to do, and the steps.

use maud::{Markup, html};

use super::pieces::command;
use super::{foot, page};
use crate::check::capitalised;
use crate::facts::text::listed;
use crate::plan::capacity::Capacity;
use crate::plan::capacity::table::HEAD;
use crate::plan::groups::{Shown, alike, shown};
use crate::plan::{Part, Plan, Reason, Step, Verdict, Weight};
use crate::report::text::{scope_of, sentence};

/// A page one level below that of the cluster.
pub fn plan(plan: &Plan) -> String {
    let (one, class) = (plan.parts.len() == 1, class_of(plan.verdict));
    let reasons = match plan.parts.as_slice() {
        [part] => shown(&part.reasons),
        parts => alike(parts),
    };
    let body = html! {
        header.banner.(class) {
            p.name { (plan.question) }
            h1 { (capitalised(plan.word())) }
            p.scope { (sentence(&plan.answer)) }
            p.scope { (scope_of(&plan.cluster)) }
        }
        main {
            nav aria-label="More" {
                a href="../" { "What is wrong now" } " " a href="upgrade" { "Upgrade" } " " a href="drain" { "Drain" } " "
                a href="loss" { "Loss" } " "
                a href="capacity" { "Capacity" } " " a href="?o=json" { "as JSON" }
            }
            @if !plan.losses.is_empty() { (losses(plan)) }
            @if let Some(capacity) = &plan.capacity { (disks(capacity)) }
            @if !one { (parts(plan)) }
            @if !reasons.is_empty() { section {
                h2 { "Do first" }
                @for reason in &reasons { (card(reason)) }
            } }
            @if let [part] = plan.parts.as_slice() { (steps(part)) (notes(part)) }
        }
        (foot(None))
    };
    page(&plan.question, plan.cluster.name.as_deref(), &body)
}

fn class_of(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::No => "critical",
        Verdict::NotYet => "warning",
        Verdict::Unknown => "unknown",
        Verdict::Go => "healthy",
    }
}

fn losses(plan: &Plan) -> Markup {
    html! { section {
        h2 { "Volumes that would be lost if one node, disk or zone failed" }
        dl.facts { @for loss in &plan.losses { div {
            dt { (loss.called()) ": " (loss.volumes.len()) }
            dd { (loss.names(plan.cluster.now).join(", ")) }
        } } }
    } }
}

fn disks(capacity: &Capacity) -> Markup {
    html! { section {
        h2 { "Room on the disks" }
        @for sum in capacity.sums() { p { (sum) } }
        div.scroll tabindex="0" role="group" aria-label="Disks" { table {
            thead { tr { @for head in HEAD { th scope="col" { (capitalised(head)) } } } }
            tbody { @for disk in &capacity.disks { tr {
                @for cell in disk.row() { td { (cell) } }
                @if let Some(refusal) = &disk.refusal { td { (refusal) } }
            } } }
        } }
    } }
}

fn parts(plan: &Plan) -> Markup {
    html! { section { div.scroll tabindex="0" role="group" aria-label="Parts" { table {
        thead { tr { @for head in ["For", "Verdict", "Why"] { th scope="col" { (head) } } } }
        tbody { @for part in &plan.parts { tr {
            td { @if plan.plan == "drain" { a href={ "?node=" (part.subject) } { (part.subject) } } @else { (part.subject) } }
            td { (part.verdict.said()) }
            td { @if part.verdict != Verdict::Go { (part.why()) } }
        } } }
    } } } }
}

fn card(shown: &Shown<'_>) -> Markup {
    let reason = shown.reason;
    let class = match reason.weight {
        Weight::No => "critical",
        Weight::NotYet => "warning",
        Weight::Unknown | Weight::Note => "info",
    };
    html! {
        article.incident.(class) {
            h3 { (sentence(&format!("{}{}", reason.text, shown.beside))) }
            p.tags { span.cause { (reason.condition) } }
            (volumes(reason))
            @if !reason.fix.is_empty() { p { (reason.fix) } }
            @for run in &reason.commands { (command(run)) }
            @if !reason.evidence.is_empty() { details.part {
                summary { "Evidence" }
                ul { @for fact in &reason.evidence { li { (capitalised(fact)) } } }
            } }
        }
    }
}

fn volumes(reason: &Reason) -> Markup {
    let names: Vec<&str> = reason.volumes.iter().map(|volume| volume.called()).collect();
    html! { @if !names.is_empty() { p { (listed(&names)) } } }
}

/// Only where nothing stands against them.
fn steps(part: &Part) -> Markup {
    let step =
        |step: &Step| html! { li { (step.text) @if let Some(run) = &step.command { (command(run)) } } };
    html! {
        @if part.verdict == Verdict::Go && !part.steps.is_empty() { section {
            h2 { "Steps" }
            ol { @for one in &part.steps { (step(one)) } }
        } }
    }
}

fn notes(part: &Part) -> Markup {
    let notes: Vec<&Reason> = part.reasons.iter().filter(|reason| reason.weight == Weight::Note).collect();
    html! {
        @if !notes.is_empty() { section {
            h2 { "Good to know" }
            ul { @for note in notes {
                li { (sentence(&note.text)) @if note.accepted { " (accepted)" } " " (note.fix) }
            } }
        } }
    }
}
