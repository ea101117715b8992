//! What is lost with what, in short; the whole is at `/plan/loss`.

use super::html::{Html, plural};
use crate::facts::placement::bytes;
use crate::report::{AtRisk, Place, Report};

/// How many volumes are named in a line.
const MAX_NAMED: usize = 5;

/// The section; nothing where all copies are apart, and a sentence where that is unknown.
pub fn write(html: &mut Html, report: &Report) {
    let risks = match &report.data.at_risk {
        Some(risks) if risks.is_empty() => return,
        Some(risks) => risks.as_slice(),
        None => &[],
    };
    html.raw("<section><h2>What is lost with what</h2>");
    if risks.is_empty() {
        html.raw("<p>Not known: volumes, replicas, nodes or settings could not be read.</p></section>\n");
        return;
    }
    html.raw("<dl class=\"facts\">");
    for risk in risks {
        html.raw("<div><dt>").text(told(risk)).raw("</dt><dd>");
        html.text(bytes(risk.bytes)).raw(if risk.promised {
            ", although volume or settings ask for more"
        } else {
            ", as it was chosen"
        });
        let mut names: Vec<&str> =
            risk.volumes.iter().take(MAX_NAMED).map(|volume| volume.called()).collect();
        let more = format!("{} more", risk.count.saturating_sub(names.len()));
        if names.len() < risk.count {
            names.push(&more);
        }
        if !risk.volumes.is_empty() {
            html.raw(": ").text(names.join(", "));
        }
        html.raw("</dd></div>");
    }
    html.raw(
        "</dl><p><a href=\"plan/loss\">All that is lost with each node, disk and zone</a></p></section>\n",
    );
}

fn told(risk: &AtRisk) -> String {
    let volumes = plural(risk.count, "volume", "volumes");
    match (risk.place, risk.promised) {
        (Place::Copy, true) => format!("{volumes} with one copy left, detached: nothing is rebuilt"),
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
        let mut report = crate::report::evaluate(&cluster).report;
        report.data.at_risk = at_risk;
        let mut html = Html::default();
        write(&mut html, &report);
        html.into_string()
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
            page.contains("3 GiB, although volume or settings ask for more: db/&lt;data&gt;, 1 more"),
            "{page}"
        );
        assert!(page.contains("href=\"plan/loss\""), "{page}");
    }

    #[test]
    fn nothing_is_said_where_nothing_is_and_what_is_not_known_is() {
        assert_eq!(page(Some(Vec::new())), "");
        assert!(page(None).contains("Not known"));
    }
}
