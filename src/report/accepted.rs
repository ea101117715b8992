//! Findings that someone has looked at and accepted, for a reason and for a time. They are counted
//! apart and never hidden.

use anyhow::{Context, anyhow, bail};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::NotListed;
use crate::check::{Catalogue, Finding, ObjectRef, Omitted, Severity};
use crate::yaml_error;

/// Which findings are accepted.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Acceptance {
    /// Id of the check.
    pub check: String,
    /// Its cause; any without.
    #[serde(default)]
    pub cause: Option<String>,
    /// Name of the object; any without.
    #[serde(default)]
    pub object: Option<String>,
    /// Node; any without.
    #[serde(default)]
    pub node: Option<String>,
    pub reason: String,
    /// The last day on which it holds; only what is left out on the command line has none.
    #[serde(default)]
    pub until: Option<Date>,
}

/// An accepted finding.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Accepted {
    /// Id of the check.
    pub check: &'static str,
    /// Its cause.
    pub cause: String,
    /// How bad it would be.
    pub severity: Severity,
    /// What it is about.
    pub object: ObjectRef,
    /// Node it happens on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// What is wrong.
    pub message: String,
    /// Why it is accepted.
    pub reason: String,
    /// The last day on which it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Date>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct AcceptedFile {
    #[serde(default)]
    accepted: Vec<Acceptance>,
}

impl Accepted {
    /// `check/cause of Kind name`.
    pub fn name(&self) -> String {
        let node = self.node.as_deref().map(|node| format!(" on {node}")).unwrap_or_default();
        format!("{}/{} of {}{node}", self.check, self.cause, self.object)
    }
}

impl Acceptance {
    /// `check` or `check/cause`, left out on the command line.
    pub fn skip(catalogue: &Catalogue, text: &str) -> Result<Self, String> {
        let (check, cause) = match text.split_once('/') {
            Some((check, cause)) => (check, Some(cause)),
            None => (text, None),
        };
        let acceptance = Acceptance {
            check: check.to_owned(),
            cause: cause.map(str::to_owned),
            object: None,
            node: None,
            reason: "left out by --skip".to_owned(),
            until: None,
        };
        acceptance.validate(catalogue).map_err(|error| error.to_string())?;
        Ok(acceptance)
    }

    /// Reads a file of acceptances; `name` is that of the file.
    pub fn parse(catalogue: &Catalogue, name: &str, text: &str) -> anyhow::Result<Vec<Self>> {
        let file: AcceptedFile = yaml_error::read(text).map_err(|said| anyhow!("{name}:{said}"))?;
        let accepted = file.accepted;
        for one in &accepted {
            one.validate(catalogue).with_context(|| format!("{name}: {}", one.check))?;
            if one.reason.trim().is_empty() {
                bail!("{name}: {}: give a reason", one.check);
            }
            if one.until.is_none() {
                bail!("{name}: {}: give until, the last day on which it is accepted (2026-12-31)", one.check);
            }
        }
        Ok(accepted)
    }

    fn validate(&self, catalogue: &Catalogue) -> anyhow::Result<()> {
        catalogue.named(&self.check, self.cause.as_deref()).map(drop).map_err(anyhow::Error::msg)
    }

    /// True from the day after the last one on, in UTC.
    pub fn has_expired(&self, now: Option<Timestamp>) -> bool {
        let today = now.map(|now| now.to_zoned(TimeZone::UTC).date());
        self.until.zip(today).is_some_and(|(until, today)| today > until)
    }

    /// True when no finding of the check is wanted at all, and with it no word on what it cannot see.
    pub fn is_of_whole_check(&self, check: &str) -> bool {
        self.check == check && self.cause.is_none() && self.object.is_none() && self.node.is_none()
    }

    fn matches(&self, finding: &Finding) -> bool {
        let same = |wanted: &Option<String>, is: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| is == Some(wanted))
        };
        finding.check == self.check
            && same(&self.cause, Some(finding.cause.id))
            && same(&self.object, Some(&finding.object.name))
            && same(&self.node, finding.node.as_deref())
    }
}

/// Takes the accepted findings out.
pub fn take_out(
    findings: Vec<Finding>,
    acceptances: &[Acceptance],
    now: Option<Timestamp>,
) -> (Vec<Finding>, Vec<Accepted>) {
    let mut accepted = Vec::new();
    let rest = findings.into_iter().filter_map(|finding| {
        let valid = acceptances.iter().filter(|acceptance| !acceptance.has_expired(now));
        let Some(acceptance) = valid.into_iter().find(|acceptance| acceptance.matches(&finding)) else {
            return Some(finding);
        };
        accepted.push(Accepted {
            check: finding.check,
            cause: finding.cause.id.to_owned(),
            severity: finding.severity,
            object: finding.object,
            node: finding.node,
            message: finding.message,
            reason: acceptance.reason.clone(),
            until: acceptance.until,
        });
        None
    });
    let rest = rest.collect();
    (rest, accepted)
}

/// Findings that are only counted, with those of which all of the check or cause is accepted.
pub fn of_omitted(cut: Omitted, acceptances: &[Acceptance], now: Option<Timestamp>) -> Vec<NotListed> {
    let is_accepted = |check: &str, cause: &str| {
        let wide = |one: &&Acceptance| one.object.is_none() && one.node.is_none() && !one.has_expired(now);
        acceptances
            .iter()
            .filter(wide)
            .any(|one| one.check == check && one.cause.as_deref().is_none_or(|accepted| accepted == cause))
    };
    let not_listed = cut.into_iter().map(|((check, cause, severity), count)| NotListed {
        check,
        cause,
        severity,
        count,
        accepted: is_accepted(check, cause),
    });
    not_listed.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::time;

    fn finding(object: &str) -> Finding {
        let check = checks::CATALOGUE.by_id("instance_manager_stale").unwrap();
        let object = crate::testing::cluster("").object::<crate::longhorn::InstanceManager>(object);
        let mut finding = Finding::about(check.cause("orphan_held").unwrap(), object, "m");
        finding.check = check.id;
        finding
    }

    fn read(yaml: &str) -> anyhow::Result<Vec<Acceptance>> {
        Acceptance::parse(&checks::CATALOGUE, "accepted.yaml", yaml)
    }

    const ONE: &str = "accepted:\n- {check: instance_manager_stale, cause: orphan_held, object: im-1, \
                       reason: 'ticket 7', until: 2026-03-31}\n";

    #[test]
    fn a_finding_is_accepted_up_to_its_last_day_and_no_other_is() {
        let acceptances = read(ONE).unwrap();
        for (now, expected) in [("2026-03-31T23:59:59Z", 1), ("2026-04-01T00:00:00Z", 0)] {
            let (rest, accepted) =
                take_out(vec![finding("im-1"), finding("im-2")], &acceptances, Some(time(now)));
            assert_eq!((accepted.len(), rest.len()), (expected, 2 - expected), "{now}");
        }
    }

    #[test]
    fn a_file_needs_a_reason_and_a_day_and_names_what_exists() {
        for (wrong, part) in [
            (ONE.replace("reason: 'ticket 7', ", ""), "reason"),
            (ONE.replace("ticket 7", " "), "give a reason"),
            (ONE.replace(", until: 2026-03-31", ""), "give until"),
            (ONE.replace("2026-03-31", "soon"), "until"),
            (ONE.replace("instance_manager_stale", "instance_manager_stall"), "instance_manager_stale"),
            (ONE.replace("orphan_held", "orphan_hold"), "orphan_held"),
            (ONE.replace("object:", "objekt:"), "objekt"),
        ] {
            let error = format!("{:#}", read(&wrong).unwrap_err());
            assert!(error.contains(part), "{wrong}: {error}");
        }
        assert_eq!(read("").unwrap(), []);
    }

    #[test]
    fn skip_takes_a_check_or_a_cause_of_it() {
        assert!(
            Acceptance::skip(&checks::CATALOGUE, "manager_probes")
                .unwrap()
                .is_of_whole_check("manager_probes")
        );
        assert_eq!(
            Acceptance::skip(&checks::CATALOGUE, "manager_probes/slow_start").unwrap().cause.as_deref(),
            Some("slow_start")
        );
        assert!(
            Acceptance::skip(&checks::CATALOGUE, "manager_probes/slow").unwrap_err().contains("slow_start")
        );
        assert!(Acceptance::skip(&checks::CATALOGUE, "probes").is_err());
    }
}
