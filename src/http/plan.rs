//! `/plan/…`: the plans as pages for browsers, as text, or as JSON with `o=json`.

use crate::check::plain;
use crate::did_you_mean;
use crate::longhorn::Release;
use crate::plan::capacity::{self, Wanted};
use crate::plan::{Looked, Plan, Which, drain, loss, upgrade};

/// How a plan is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// As `plan` prints it.
    Text,
    /// As `plan -o json` does.
    Json,
}

/// What is asked of a plan.
#[derive(Debug, Default)]
pub struct PlanQuery {
    to: Option<Release>,
    nodes: Vec<String>,
    intent: Option<drain::Intent>,
    volume: Option<i64>,
    wanted: Wanted,
    /// The form that is asked for; a page for browsers, text for everyone else, where none is.
    pub form: Option<Form>,
}

const PARAMETERS: [&str; 9] =
    ["to", "node", "intent", "volume", "replicas", "node-selector", "disk-selector", "data-engine", "o"];

impl PlanQuery {
    /// Reads a query; the error is for people.
    pub fn parse(query: &str) -> Result<Self, String> {
        let mut asked = PlanQuery::default();
        for (key, value) in form_urlencoded::parse(query.as_bytes()) {
            match (&*key, &*value) {
                ("to", "") => {}
                ("to", to) => {
                    let release = upgrade::target::meant(to);
                    asked.to = Some(
                        release
                            .ok_or_else(|| format!("not a release: '{}'; use the form v1.9.2", plain(to)))?,
                    );
                }
                ("node", nodes) => asked.nodes.extend(names(nodes)),
                ("volume", size) => asked.volume = Some(capacity::size(size)?),
                ("replicas", number) => {
                    let known = capacity::replicas(number).map_err(|error| format!("replicas: {error}"))?;
                    asked.wanted.replicas = Some(known);
                }
                ("node-selector", tags) => asked.wanted.node_selector.extend(names(tags)),
                ("disk-selector", tags) => asked.wanted.disk_selector.extend(names(tags)),
                ("data-engine", engine @ ("v1" | "v2")) => asked.wanted.v2 = engine == "v2",
                ("intent", word) => {
                    let known = drain::Intent::ALL.map(drain::Intent::as_str);
                    let intent = drain::Intent::ALL.into_iter().find(|intent| intent.as_str() == word);
                    let hint =
                        || format!("no such intent '{}'; {}", plain(word), did_you_mean::hint(word, &known));
                    asked.intent = Some(intent.ok_or_else(hint)?);
                }
                ("o", "json") => asked.form = Some(Form::Json),
                ("o", "text") => asked.form = Some(Form::Text),
                ("o", other) => return Err(format!("no such form '{}'; use text or json", plain(other))),
                (other, _) => {
                    let hint = did_you_mean::hint(other, &PARAMETERS);
                    return Err(format!("no such parameter '{}'; {hint}", plain(other)));
                }
            }
        }
        Ok(asked)
    }

    /// The plan; without a node, a drain or a loss is about each on its own.
    pub fn plan(&self, which: Which, looked: Looked<'_>) -> Result<Plan, String> {
        match which {
            Which::Upgrade => Ok(upgrade::plan(looked, upgrade::Asked { to: self.to })),
            Which::Loss => loss::plan(looked, &self.nodes),
            Which::Capacity => {
                let wanted = self.volume.map(|size| Wanted { size, ..self.wanted.clone() });
                Ok(capacity::plan(looked, wanted))
            }
            Which::Drain => {
                let intent = self.intent.unwrap_or(drain::Intent::Drain);
                drain::plan(looked, &drain::Asked { nodes: self.nodes.clone(), intent })
            }
        }
    }
}

/// The names of a list with commas.
fn names(list: &str) -> impl Iterator<Item = String> {
    list.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Verdict;

    #[test]
    fn a_plan_of_every_kind_is_served_and_wrong_questions_are_refused() {
        let cluster = crate::source::demo::cluster(crate::testing::time("2026-01-01T12:00:00Z")).unwrap();
        let report = crate::testing::evaluate(&cluster).report;
        let looked = Looked::new(&cluster, &report, &[]);
        for (which, query) in [
            (Which::Upgrade, "to=v1.9.2"),
            (Which::Upgrade, ""),
            (Which::Drain, "node=worker-1&intent=reboot"),
            (Which::Drain, ""),
            (Which::Loss, "o=json"),
            (Which::Capacity, "volume=900Gi&replicas=2&disk-selector=ssd&data-engine=v1"),
        ] {
            let plan = PlanQuery::parse(query).unwrap().plan(which, looked).unwrap();
            assert!(!plan.parts.is_empty() && plan.verdict != Verdict::Go, "{query}: {}", plan.answer);
        }
        for wrong in
            ["to=soon", "intent=explode", "o=xml", "nodes=a", "volume=much", "replicas=0", "data-engine=v3"]
        {
            assert!(PlanQuery::parse(wrong).is_err(), "{wrong}");
        }
        let unknown = PlanQuery::parse("node=worker-99").unwrap().plan(Which::Drain, looked);
        assert!(unknown.unwrap_err().contains("no node worker-99"));
    }
}
