//! What is lost with what, in short; the whole is at `/plan/loss`.

use maud::{Markup, html};

use super::Links;
use crate::check::bytes;
use crate::check::counted;
use crate::report::{AtRisk, Place, Report};

/// How many volumes are named in a line.
const MAX_NAMED: usize = 5;

/// The section; nothing where all copies are apart, and a sentence where that is unknown.
pub fn section(report: &Report, links: Option<&Links>) -> Markup {
    let risks = report.data.at_risk.as_deref();
    html! {
        @if risks != Some(&[]) { section {
            h2 { "Volumes at risk" }
            @match risks {
                None => p { "Unknown: volumes, replicas, nodes or settings could not be read." },
                Some(risks) => {
                    dl.facts { @for risk in risks { div { dt { (label(risk)) } dd { (whose(risk)) } } } }
                    p { @match links {
                        Some(_) => a href="plan/loss" { "All volumes that would be lost if one node, disk or zone failed" },
                        None => { "All volumes that would be lost if one node, disk or zone failed: " code { "longhorn-health-exporter plan loss" } },
                    } }
                }
            }
        } }
    }
}

fn whose(risk: &AtRisk) -> String {
    let chosen = match risk.promised {
        true => ", although the volume or its settings require more",
        false => ", by choice",
    };
    let mut names: Vec<&str> = risk.volumes.iter().take(MAX_NAMED).map(|volume| volume.called()).collect();
    let more = format!("{} more", risk.count.saturating_sub(names.len()));
    if names.len() < risk.count {
        names.push(&more);
    }
    let whose = if risk.volumes.is_empty() { String::new() } else { format!(": {}", names.join(", ")) };
    format!("{}{chosen}{whose}", bytes(risk.bytes))
}

fn label(risk: &AtRisk) -> String {
    let volumes = counted(risk.count, "volume");
    match (risk.place, risk.promised) {
        (Place::Copy, true) => format!("{volumes} detached with one copy left: no rebuild while detached"),
        (Place::Copy, false) => format!("{volumes} with one copy"),
        (place, _) => format!("{volumes} with all copies {}", place.with()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::VolumeRef;

    fn page(at_risk: Option<Vec<AtRisk>>) -> String {
        let cluster = crate::testing::cluster("");
        let mut report = crate::testing::evaluate(&cluster).report;
        report.data.at_risk = at_risk;
        section(&report, Some(&Links::own("/metrics"))).into_string()
    }

    fn volume(pvc: &str) -> VolumeRef {
        VolumeRef {
            name: "pvc-1".into(),
            pvc: Some(pvc.into()),
            robustness: None,
            state: None,
            workloads: Vec::new(),
        }
    }

    #[test]
    fn risks_are_told_with_a_link_to_the_plan() {
        let risk = AtRisk {
            place: Place::Node,
            promised: true,
            count: 2,
            bytes: 3 << 30,
            volumes: vec![volume("db/<data>")],
        };
        let page = page(Some(vec![risk]));
        assert!(page.contains("2 volumes with all copies on one node"), "{page}");
        assert!(
            page.contains("3 GiB, although the volume or its settings require more: db/&lt;data&gt;, 1 more"),
            "{page}"
        );
        assert!(page.contains("href=\"plan/loss\""), "{page}");
    }

    #[test]
    fn nothing_is_said_where_nothing_is_and_what_is_not_known_is() {
        assert_eq!(page(Some(Vec::new())), "");
        assert!(page(None).contains("Unknown"));
    }
}
