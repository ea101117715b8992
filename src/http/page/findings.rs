//! What is wrong, one card a finding: since when, what it does, what to do, and what it rests on.

use jiff::Timestamp;
use maud::{Markup, html};

use super::super::names;
use super::pieces::{command, lasting, title};
use super::{Links, View};
use crate::check::{Catalogue, Check, Dashboard, Finding, Severity, VolumeRef, capitalised, counted};
use crate::incidents::natural;
use crate::report::{Selection, longhorn_ui};

/// At most this many findings are written out on a page; the report has all of them.
const MAX_FINDINGS: usize = 300;
/// At most this many findings with the same cause are written out; the others are named.
const MAX_ALIKE: usize = 5;
/// At most this many volumes of a finding are listed.
const MAX_VOLUMES: usize = 12;

/// Findings of incidents, as cards.
pub struct Cards<'a> {
    pub catalogue: &'static Catalogue,
    pub now: Option<Timestamp>,
    pub view: &'a View,
    /// None in a file, which leads nowhere.
    pub links: Option<&'a Links>,
    /// Base URL of Longhorn's UI; none in a file.
    pub ui: Option<&'a str>,
    /// How many are written so far.
    pub written: usize,
}

impl Cards<'_> {
    /// These findings, which are together by cause.
    pub fn of(&mut self, causes: Vec<Vec<&Finding>>) -> Markup {
        html! { @for alike in causes { (self.alike(alike)) } }
    }

    fn alike(&mut self, mut alike: Vec<&Finding>) -> Markup {
        alike.sort_by_cached_key(|finding| place(finding));
        let room = MAX_FINDINGS.saturating_sub(self.written).min(MAX_ALIKE).min(alike.len());
        self.written += room;
        let (written, named) = alike.split_at(room);
        let places = named.iter().map(|one| one.node.as_deref().unwrap_or(&one.object.name));
        let places: Vec<&str> = places.take(MAX_FINDINGS).collect();
        html! {
            @for finding in written { (self.card(finding)) }
            @if !places.is_empty() {
                p.more { "Also here: " (places.join(", ")) ". Full list: " (self.all()) }
            }
        }
    }

    fn card(&self, finding: &Finding) -> Markup {
        // a node is where it is
        let node = finding.node.as_ref().filter(|node| **node != finding.object.name);
        html! {
            details.finding.(class(finding.severity)) {
                summary {
                    span.message { (capitalised(&finding.message)) }
                    span.tags {
                        span { (title(self.catalogue, finding.check)) }
                        span.cause { (finding.cause) }
                        span { (finding.object) }
                        @if let Some(node) = node { span { "node " (node) } }
                        @if let Some(disk) = &finding.disk { span { "disk " (disk) } }
                        (lasting(finding.since, self.now))
                    }
                }
                // an anchor within a closed card opens it
                div.body id=(anchor(finding)) {
                    @if !finding.impact.is_empty() { h4 { "Impact" } p { (capitalised(&finding.impact)) } }
                    h4 { "What to do" }
                    @if !finding.remedy.fix.is_empty() { p { (finding.remedy.fix) } }
                    @for run in &finding.remedy.commands { (command(run)) }
                    @if !finding.evidence().is_empty() {
                        h4 { "Evidence" }
                        ul.evidence { @for fact in finding.evidence() {
                            li { span.source { (fact.source.as_str()) } " " span { (capitalised(&fact.text)) } }
                        } }
                    }
                    (volumes(&finding.volumes, self.ui, &self.all()))
                    @match self.links {
                        Some(links) => (self.more(finding, links)),
                        None => @if let Some(runbook) = finding.runbook {
                            p.runbook { "Runbook: " code { "longhorn-health-exporter runbook " (runbook) } }
                        },
                    }
                }
            }
        }
    }

    /// Where all of it is that a page has no room for.
    fn all(&self) -> Markup {
        html! { @match self.links {
            Some(_) => a href="api/v1/report" { "the report" },
            None => code { "check -o json" },
        } }
    }

    /// What the runbooks of this process fill in; published ones cannot.
    fn names(finding: &Finding, links: &Links) -> String {
        if links.runbooks.is_some() {
            return String::new();
        }
        let volume = match finding.volumes.as_slice() {
            [only] => Some(only),
            _ => None,
        };
        names::query(&[
            ("volume", volume.map_or("", |volume| &volume.name)),
            ("claim", volume.and_then(|volume| volume.pvc.as_deref()).unwrap_or_default()),
            ("node", finding.node.as_deref().unwrap_or_default()),
            ("disk", finding.disk.as_deref().unwrap_or_default()),
            ("object", &finding.object.name),
        ])
    }

    /// Where more is said: runbook, dashboard, and what else there is of this node and this check.
    fn more(&self, finding: &Finding, links: &Links) -> Markup {
        let dashboard = self.catalogue.by_id(finding.check).map(Check::dashboard).map(Dashboard::uid);
        let dashboard = dashboard.and_then(|uid| links.dashboard(&uid));
        let only = |selection| View { selection, ..self.view.clone() }.link();
        // an owner of claims stays with them
        let base =
            || Selection { namespaces: self.view.selection.namespaces.clone(), ..Selection::default() };
        let of_node = |node: &String| only(Selection { nodes: vec![node.clone()], ..base() });
        let of_check = only(Selection { checks: vec![finding.check.to_owned()], ..base() });
        html! {
            p.runbook {
                @if let Some(runbook) = finding.runbook {
                    span { "Runbook " a href={ (links.runbook(runbook)) (Self::names(finding, links)) "#" (finding.cause) } { (runbook) } }
                }
                @if let Some(page) = finding.longhorn_ui.as_ref() { span { a href=(page) { "Longhorn's UI" } } }
                @if let Some(address) = dashboard { span { a href=(address) { "Dashboard" } } }
                @if let Some(node) = &finding.node { span { "Only " a href=(of_node(node)) { "node " (node) } } }
                span { "Only " a href=(of_check) { "check " (finding.check) } }
            }
        }
    }
}

/// The same for the same trouble at every look, so that a link can be sent to someone.
pub fn anchor(finding: &Finding) -> String {
    let node = finding.node.as_deref().unwrap_or_default();
    let disk = finding.disk.as_deref().unwrap_or_default();
    let parts = [finding.check, finding.cause.id, &finding.object.name, node, disk];
    let text = parts.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join(".");
    text.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' }).collect()
}

/// The class of a severity in the style sheet.
pub fn class(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "critical",
        Severity::Warning => "warning",
        Severity::Info => "info",
    }
}

/// Where findings with the same cause stand: worker-2 before worker-10.
fn place(finding: &Finding) -> impl Ord + use<> {
    natural(finding.node.as_deref().unwrap_or(&finding.object.name))
}

fn volumes(volumes: &[VolumeRef], ui: Option<&str>, all: &Markup) -> Markup {
    let page = |name: &str| ui.and_then(|base| longhorn_ui::volume(base, name));
    let more = volumes.len().saturating_sub(MAX_VOLUMES);
    html! {
        @if !volumes.is_empty() {
            h4 { (counted(volumes.len(), "volume")) }
            div.scroll tabindex="0" role="group" aria-label="Volumes" { table {
                thead { tr { @for head in ["Volume", "State", "Claim", "Used by"] { th scope="col" { (head) } } } }
                tbody { @for volume in volumes.iter().take(MAX_VOLUMES) { tr {
                    td { @match page(&volume.name) {
                        Some(page) => a href=(page) { (volume.name) },
                        None => (volume.name),
                    } }
                    td { (volume.robustness.map_or("–", |robustness| robustness.as_str())) }
                    td { (volume.pvc.as_deref().unwrap_or("–")) }
                    td { @if volume.workloads.is_empty() { "–" } @else { (volume.workloads.join(", ")) } }
                } } }
            } }
            @if more > 0 {
                p.more { "and " (more) " more, which are in " (all) }
            }
        }
    }
}
