//! What of the report is asked for, in the query of a request, and how often it is to be looked at again.

use crate::check::{Catalogue, Severity, plain};
use crate::did_you_mean;
use crate::report::text::table::Details;
use crate::report::{Report, Selection};

/// Bounds of `refresh`, in seconds: more often is load, more seldom is no refresh.
const REFRESH: std::ops::RangeInclusive<u32> = 5..=3600;

const PARAMETERS: [&str; 8] =
    ["node", "volume", "pvc", "namespace", "check", "severity", "details", "refresh"];

/// What is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct View {
    /// The part of the report.
    pub selection: Selection,
    /// Seconds after which a browser asks again.
    pub refresh: Option<u32>,
    /// How much the text says; the page has everything.
    pub details: Option<Details>,
}

impl View {
    /// Reads a query. Names may be given several times or separated by commas; the error is for people.
    pub fn parse(catalogue: &Catalogue, query: &str) -> Result<Self, String> {
        let mut view = View::default();
        for (key, value) in form_urlencoded::parse(query.as_bytes()) {
            let selection = &mut view.selection;
            let values =
                || value.split(',').map(str::trim).filter(|value| !value.is_empty()).map(str::to_owned);
            match &*key {
                "node" => selection.nodes.extend(values()),
                "volume" => selection.volumes.extend(values()),
                "pvc" => selection.pvcs.extend(values()),
                "namespace" => selection.namespaces.extend(values()),
                "check" => {
                    for id in values() {
                        known_check(catalogue, &id)?;
                        selection.checks.push(id);
                    }
                }
                "severity" => selection.severity = severity(&value)?,
                "details" if !value.is_empty() => {
                    view.details =
                        Some(value.parse().map_err(|_| "details is an incident's number, or all")?);
                }
                "details" => {}
                "refresh" => view.refresh = refresh(&value)?,
                other => {
                    let hint = did_you_mean::hint(other, &PARAMETERS);
                    return Err(format!("no such parameter '{}'; {hint}", plain(other)));
                }
            }
        }
        Ok(view)
    }

    /// The part of the report without regard to severity, and that which is shown.
    pub fn of(&self, report: &Report) -> (Report, Report) {
        let places = Selection { severity: None, ..self.selection.clone() };
        (report.select(&places), report.select(&self.selection))
    }

    /// A link to the same page with this view, relative to it.
    pub fn link(&self) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        let selection = &self.selection;
        for (key, values) in [
            ("node", &selection.nodes),
            ("volume", &selection.volumes),
            ("pvc", &selection.pvcs),
            ("namespace", &selection.namespaces),
            ("check", &selection.checks),
        ] {
            values.iter().for_each(|value| {
                query.append_pair(key, value);
            });
        }
        if let Some(severity) = selection.severity {
            query.append_pair("severity", severity.as_str());
        }
        if let Some(seconds) = self.refresh {
            query.append_pair("refresh", &seconds.to_string());
        }
        match query.finish() {
            query if query.is_empty() => "./".to_owned(),
            query => format!("?{query}"),
        }
    }
}

fn known_check(catalogue: &Catalogue, id: &str) -> Result<(), String> {
    if catalogue.by_id(id).is_some() {
        return Ok(());
    }
    let ids: Vec<_> = catalogue.checks.iter().map(|check| check.id).collect();
    Err(format!("no check '{}'; {}", plain(id), did_you_mean::hint(id, &ids)))
}

fn severity(text: &str) -> Result<Option<Severity>, String> {
    match text {
        "" | "info" => Ok(None),
        "warning" => Ok(Some(Severity::Warning)),
        "critical" => Ok(Some(Severity::Critical)),
        other => Err(format!("no severity '{}'; valid: info, warning, critical", plain(other))),
    }
}

fn refresh(text: &str) -> Result<Option<u32>, String> {
    match text.parse() {
        _ if text.is_empty() => Ok(None),
        Ok(seconds) if REFRESH.contains(&seconds) => Ok(Some(seconds)),
        _ => Err(format!(
            "refresh={} is not a number of seconds from {} to {}",
            plain(text),
            REFRESH.start(),
            REFRESH.end()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_is_read_and_linked_to() {
        let query = "node=worker-1,worker%2D2&node=worker-3&pvc=db%2Fdata&namespace=db&check=manager_probes&severity=critical&refresh=30";
        let view = View::parse(&crate::checks::CATALOGUE, query).unwrap();
        assert_eq!(view.selection.nodes, ["worker-1", "worker-2", "worker-3"]);
        assert_eq!(
            (&view.selection.pvcs[..], &view.selection.namespaces[..]),
            (&["db/data".to_owned()][..], &["db".to_owned()][..])
        );
        assert_eq!((view.selection.severity, view.refresh), (Some(Severity::Critical), Some(30)));
        assert_eq!(
            View::parse(&crate::checks::CATALOGUE, view.link().trim_start_matches('?')).unwrap(),
            view
        );
        assert_eq!(View::parse(&crate::checks::CATALOGUE, "").unwrap(), View::default());
        assert_eq!(View::default().link(), "./");
        assert_eq!(
            View::parse(&crate::checks::CATALOGUE, "node=&severity=&refresh=").unwrap(),
            View::default()
        );
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_what_can() {
        for (query, part) in [
            ("refresh=1", "from 5 to 3600"),
            ("refresh=99999999999", "from 5 to 3600"),
            ("refresh=-5", "from 5 to 3600"),
            ("severity=bad", "info, warning, critical"),
            ("check=manager_probe", "did you mean manager_probes?"),
            ("nodes=a", "did you mean node?"),
        ] {
            let error = View::parse(&crate::checks::CATALOGUE, query).unwrap_err();
            assert!(error.contains(part), "{query}: {error}");
        }
    }
}
