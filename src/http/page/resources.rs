//! What was looked at, and how fresh it is.

use super::html::{Html, ago};
use crate::cluster::Readability;
use crate::exporter::Moment;

/// Counts of the objects that matter.
pub fn write_counts(html: &mut Html, moment: &Moment) {
    if !moment.waiting_for.is_empty() {
        return;
    }
    let cluster = &moment.evaluation.report.cluster;
    html.raw("<section><h2>Cluster</h2><dl class=\"counts\">");
    html.raw("<div><dt>Nodes</dt><dd>").text(cluster.nodes).raw("</dd></div>");
    html.raw("<div><dt>Volumes</dt><dd>").text(cluster.volumes);
    write_parts(html, cluster.volumes_by_robustness.iter());
    html.raw("</dd></div><div><dt>Instance managers</dt><dd>").text(cluster.instance_managers);
    write_parts(html, moment.instance_managers.iter());
    html.raw("</dd></div></dl></section>\n");
}

fn write_parts<'a>(html: &mut Html, parts: impl Iterator<Item = (&'a &'static str, &'a usize)>) {
    html.raw("<ul>");
    for (name, count) in parts.filter(|(_, count)| **count > 0) {
        html.raw("<li>").text(count).raw(" ").text(name).raw("</li>");
    }
    html.raw("</ul>");
}

/// How each kind could be read. What needs attention comes first.
pub fn write_freshness(html: &mut Html, moment: &Moment) {
    let now = moment.evaluation.report.cluster.now;
    let mut resources: Vec<_> = moment.resources.iter().collect();
    resources.sort_by_key(|facts| facts.synced && facts.status.undecodable == 0);
    html.raw(
        "<section><h2>What was read</h2><div class=\"scroll\"><table class=\"freshness\"><thead><tr>\
              <th>Kind<th>State<th class=\"number\">Objects<th>Last answer<th>Trouble</tr></thead><tbody>\n",
    );
    for facts in resources {
        let status = &facts.status;
        html.raw(if facts.synced { "<tr><td>" } else { "<tr class=\"blind\"><td>" }).text(facts.resource);
        html.raw("<td>").raw(words(status.readability, facts.synced));
        html.raw("<td class=\"number\">").text(facts.objects).raw("<td>");
        match now.zip(status.last_success) {
            Some((now, time)) => html.text(ago(now, time)).raw(" ago"),
            None => html.raw("–"),
        };
        html.raw("<td>");
        if status.undecodable > 0 {
            html.text(status.undecodable).raw(" could not be decoded. ");
        }
        html.text(status.error.as_deref().unwrap_or_default()).raw("</tr>\n");
    }
    html.raw("</tbody></table></div></section>\n");
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
