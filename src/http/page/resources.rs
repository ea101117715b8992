//! What was looked at, and how fresh it is.

use jiff::Timestamp;

use super::html::{Html, ago};
use crate::cluster::Readability;
use crate::exporter::{Moment, ResourceFacts};
use crate::longhorn::Resource;

/// Counts of the objects that matter; "–" where nothing could be read.
pub fn write_counts(html: &mut Html, moment: &Moment) {
    if !moment.waiting_for.is_empty() {
        return;
    }
    let cluster = &moment.evaluation.report.cluster;
    html.raw("<section><h2>Cluster</h2><dl class=\"counts\">");
    write_count(html, moment, "Nodes", Resource::LonghornNodes, cluster.nodes, []);
    write_count(html, moment, "Volumes", Resource::Volumes, cluster.volumes, &cluster.volumes_by_robustness);
    let managers = cluster.instance_managers;
    write_count(
        html,
        moment,
        "Instance managers",
        Resource::InstanceManagers,
        managers,
        &moment.instance_managers,
    );
    html.raw("</dl></section>\n");
}

fn write_count<'a>(
    html: &mut Html,
    moment: &Moment,
    name: &'static str,
    resource: Resource,
    count: usize,
    parts: impl IntoIterator<Item = (&'a &'static str, &'a usize)>,
) {
    html.raw("<div><dt>").raw(name).raw("</dt><dd>");
    if moment.resources.iter().any(|facts| facts.resource == resource && nothing_read(facts)) {
        html.raw("–<ul><li>could not be read</ul></dd></div>");
        return;
    }
    html.text(count).raw("<ul>");
    for (name, count) in parts.into_iter().filter(|(_, count)| **count > 0) {
        html.raw("<li>").text(count).raw(" ").text(name);
    }
    html.raw("</ul></dd></div>");
}

/// True where no object was seen and none can be ruled out: then 0 would be a lie.
fn nothing_read(facts: &ResourceFacts) -> bool {
    !facts.synced && facts.objects == 0
}

/// How each kind could be read. What needs attention comes first; while there is nothing, it is folded.
pub fn write_freshness(html: &mut Html, moment: &Moment, wall: Timestamp) {
    let mut resources: Vec<_> = moment.resources.iter().collect();
    resources.sort_by_key(|facts| facts.synced && facts.status.undecodable == 0);
    let troubled = resources.iter().filter(|facts| !facts.synced || facts.status.undecodable > 0).count();
    html.raw(if troubled > 0 { "<details class=\"read\" open>" } else { "<details class=\"read\">" });
    html.raw("<summary><h2>What was read</h2> <span class=\"count\">").text(resources.len() - troubled);
    html.raw(" of ").text(resources.len()).raw(" kinds without trouble</span></summary>\n");
    html.raw(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"What was read\">\
              <table class=\"freshness\"><thead><tr>\
              <th scope=\"col\">Kind<th scope=\"col\">State<th scope=\"col\" class=\"number\">Objects\
              <th scope=\"col\">Last answer<th scope=\"col\">Trouble</tr></thead><tbody>\n",
    );
    let mut refusals = 0;
    for facts in resources {
        let status = &facts.status;
        html.raw(if facts.synced { "<tr><td>" } else { "<tr class=\"blind\"><td>" }).text(facts.resource);
        html.raw("<td>").raw(words(status.readability, facts.synced)).raw("<td class=\"number\">");
        match nothing_read(facts) {
            true => html.raw("–"),
            false => html.text(facts.objects),
        };
        html.raw("<td>");
        match status.last_success {
            Some(time) => html.text(ago(wall, time)).raw(" ago"),
            None => html.raw("–"),
        };
        html.raw("<td>");
        if status.undecodable > 0 {
            html.text(status.undecodable).raw(" could not be decoded. ");
        }
        // one refusal says whose right is missing; the others would say the same
        refusals += usize::from(status.readability == Readability::Forbidden);
        if status.readability != Readability::Forbidden || refusals == 1 {
            html.text(status.error.as_deref().unwrap_or_default());
        }
        html.raw("</tr>\n");
    }
    html.raw("</tbody></table></div></details>\n");
}

fn words(readability: Readability, synced: bool) -> &'static str {
    match readability {
        Readability::Readable => "readable",
        Readability::Pending => "waiting for the first answer",
        Readability::NotServed if synced => "not in this Longhorn release",
        Readability::NotServed => "not served by the API",
        Readability::Forbidden => "access denied",
        Readability::Stale => "stale",
        Readability::NotRecorded => "not in the recording",
        Readability::Incomplete => "lost in part",
    }
}
