//! Runbooks as pages: the Markdown that is generated from the checks, with an anchor for each cause.

use maud::{PreEscaped, html};
use pulldown_cmark::html::push_html;
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, TextMergeStream};

use super::{foot, page};

/// A page made of Markdown of this program, one level below the page of the cluster.
pub fn document(title: &str, markdown: &str) -> String {
    let mut text = String::new();
    push_html(&mut text, events(markdown).into_iter());
    let body = html! {
        main.document {
            nav aria-label="More" { a href="../" { "What is wrong now" } " " a href="./" { "Runbooks by symptom" } }
            // Markdown of this program, without markup of its own
            (PreEscaped(text))
        }
        (foot(None))
    };
    page(title, None, &body)
}

/// What stands in the Markdown, without markup of its own, with anchors at headings and with links that lead somewhere here.
fn events(markdown: &str) -> Vec<Event<'_>> {
    let parsed = TextMergeStream::new(Parser::new_ext(markdown, Options::ENABLE_TABLES));
    let mut events: Vec<Event<'_>> = Vec::new();
    let mut heading = None;
    let mut leads_nowhere = false;
    for event in parsed {
        let event = match event {
            Event::Html(_) | Event::InlineHtml(_) => continue,
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => match address(&dest_url) {
                Some(dest_url) => Event::Start(Tag::Link { link_type, dest_url: dest_url.into(), title, id }),
                None => {
                    leads_nowhere = true;
                    continue;
                }
            },
            Event::End(TagEnd::Link) if std::mem::take(&mut leads_nowhere) => continue,
            Event::Start(Tag::Heading { .. }) => {
                heading = Some(events.len());
                event
            }
            Event::Text(ref text) | Event::Code(ref text) => {
                let anchor = anchor(text);
                if let Some(Event::Start(Tag::Heading { id, .. })) =
                    heading.take().and_then(|place| events.get_mut(place))
                {
                    *id = Some(CowStr::from(anchor));
                }
                event
            }
            event => event,
        };
        events.push(event);
    }
    events
}

/// As GitHub and mdBook make anchors.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

/// Runbooks are here, and what has an address of its own; other files of the book are not.
fn address(link: &str) -> Option<String> {
    if link.starts_with("https://") || link.starts_with('#') {
        return Some(link.to_owned());
    }
    let (file, anchor) = link.split_once('#').map_or((link, None), |(file, anchor)| (file, Some(anchor)));
    let name = file.strip_prefix("runbooks/").unwrap_or(file).strip_suffix(".md")?;
    let is_runbook = name.starts_with("Longhorn") && !name.contains('/');
    is_runbook.then(|| anchor.map_or_else(|| name.to_owned(), |anchor| format!("{name}#{anchor}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_are_anchors_and_links_lead_to_what_is_served() {
        let page = document(
            "LonghornDiskFull",
            "<!-- head -->\n\n# A\n\n### disk_full\n\n[here](LonghornDiskUnavailable.md#disk_not_ready) [out](https://example.org) \
             [gone](../checks.md#a) [index](runbooks/LonghornDiskFull.md)\n\n| a | b |\n| --- | --- |\n| <script> | `<b>` |\n",
        );
        for part in [
            "<h3 id=\"disk_full\">disk_full</h3>",
            "<a href=\"LonghornDiskUnavailable#disk_not_ready\">here</a>",
            "<a href=\"https://example.org\">out</a> gone ",
            "<a href=\"LonghornDiskFull\">index</a>",
            "<code>&lt;b&gt;</code>",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(!page.contains("<script") && !page.contains("head --"), "{page}");
    }
}
