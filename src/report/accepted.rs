//! Findings that someone has looked at and accepted, for a reason and for a time. They are counted
//! apart and never hidden.

use anyhow::{Context, anyhow, bail};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::NotListed;
use crate::check::{Catalogue, Finding, ObjectRef, Omitted, Severity, counted};
use crate::yaml_error;

/// Which findings are accepted.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
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
    /// The worst severity that is accepted; any without. What gets worse is reported again.
    #[serde(default)]
    pub max_severity: Option<Severity>,
    /// How many findings are accepted; any number without. With one more all of them are reported again.
    #[serde(default)]
    pub max_findings: Option<usize>,
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
        let (check, cause) = catalogue.subject(text)?;
        Ok(Acceptance {
            check: check.id.to_owned(),
            cause: cause.map(|cause| cause.id.to_owned()),
            object: None,
            node: None,
            max_severity: None,
            max_findings: None,
            reason: "left out by --skip".to_owned(),
            until: None,
        })
    }

    /// Reads a file of acceptances; `name` is that of the file.
    pub fn parse(catalogue: &Catalogue, name: &str, text: &str) -> anyhow::Result<Vec<Self>> {
        let file: AcceptedFile = yaml_error::read(text).map_err(|said| anyhow!("{name}:{said}"))?;
        let accepted = file.accepted;
        for one in &accepted {
            one.validate(catalogue).with_context(|| format!("{name}: {}", one.check))?;
            if one.reason.trim().is_empty() {
                bail!("{name}: {} has no reason; add one", one.check);
            }
            if one.until.is_none() {
                bail!(
                    "{name}: {} has no until; add the last day of the acceptance, such as 2026-12-31",
                    one.check
                );
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

    /// What got worse since it was accepted, where `count` findings match.
    fn exceeded(&self, finding: &Finding, count: usize) -> Option<String> {
        let reason = &self.reason;
        if let Some(most) = self.max_severity.filter(|most| finding.severity > *most) {
            return Some(format!("accepted up to {most} ({reason}), now {}", finding.severity));
        }
        let most = self.max_findings.filter(|most| count > *most)?;
        Some(format!("accepted up to {} ({reason}), now {count}", counted(most, "finding")))
    }
}

/// Takes the accepted findings out. One that got worse than what was accepted says so.
pub fn take_out(
    findings: Vec<Finding>,
    acceptances: &[Acceptance],
    now: Option<Timestamp>,
) -> (Vec<Finding>, Vec<Accepted>) {
    let mut accepted = Vec::new();
    let valid = acceptances.iter().filter(|acceptance| !acceptance.has_expired(now));
    let count = |acceptance: &Acceptance| match acceptance.max_findings {
        Some(_) => findings.iter().filter(|finding| acceptance.matches(finding)).count(),
        None => 0,
    };
    let valid: Vec<(&Acceptance, usize)> = valid.map(|acceptance| (acceptance, count(acceptance))).collect();
    let rest = findings.into_iter().filter_map(|finding| {
        let (mut holds, mut worse) = (None, Vec::new());
        for (acceptance, count) in valid.iter().filter(|(acceptance, _)| acceptance.matches(&finding)) {
            match acceptance.exceeded(&finding, *count) {
                Some(exceeded) => worse.push(exceeded),
                None => holds = holds.or(Some(acceptance)),
            }
        }
        let Some(acceptance) = holds else { return Some(finding.facts(worse)) };
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
    let is_accepted = |check: &str, cause: &str, severity: Severity| {
        let wide = |one: &&Acceptance| one.object.is_none() && one.node.is_none() && !one.has_expired(now);
        // there are more of these than can be listed
        let holds = |one: &&Acceptance| {
            one.max_findings.is_none() && one.max_severity.is_none_or(|most| severity <= most)
        };
        acceptances
            .iter()
            .filter(wide)
            .filter(holds)
            .any(|one| one.check == check && one.cause.as_deref().is_none_or(|accepted| accepted == cause))
    };
    let not_listed = cut.into_iter().map(|((check, cause, severity), count)| NotListed {
        check,
        cause,
        severity,
        count,
        accepted: is_accepted(check, cause, severity),
    });
    not_listed.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::time;

    fn finding(object: &str) -> Finding {
        let check = checks::CATALOGUE.by_id("instance_manager_old").unwrap();
        let object = crate::testing::cluster("").object::<crate::longhorn::InstanceManager>(object);
        let mut finding = Finding::about(check.cause("orphan_held").unwrap(), object, "m");
        finding.check = check.id;
        finding
    }

    fn read(yaml: &str) -> anyhow::Result<Vec<Acceptance>> {
        Acceptance::parse(&checks::CATALOGUE, "accepted.yaml", yaml)
    }

    const ONE: &str = "accepted:\n- {check: instance_manager_old, cause: orphan_held, object: im-1, \
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
    fn what_got_worse_than_what_was_accepted_is_reported_again_and_says_so() {
        let acceptance = |limits: &str| {
            let yaml = ONE.replace("object: im-1, ", limits);
            read(&yaml).unwrap()
        };
        let findings = || vec![finding("im-1"), finding("im-2")];
        for (limits, expected, says) in [
            ("maxFindings: 2, ", 0, ""),
            ("maxFindings: 1, ", 2, "accepted up to 1 finding (ticket 7), now 2"),
            ("maxSeverity: warning, ", 0, ""),
            ("maxSeverity: info, ", 2, "accepted up to info (ticket 7), now warning"),
        ] {
            let (rest, accepted) = take_out(findings(), &acceptance(limits), None);
            assert_eq!((rest.len(), accepted.len()), (expected, 2 - expected), "{limits}");
            assert!(rest.iter().all(|one| one.evidence().iter().any(|fact| fact.text == says)), "{limits}");
        }
        let cut = || -> Omitted { [(("instance_manager_old", "orphan_held", Severity::Warning), 3)].into() };
        let counted = |limits: &str| of_omitted(cut(), &acceptance(limits), None)[0].accepted;
        assert_eq!(["", "maxSeverity: info, ", "maxFindings: 9, "].map(counted), [true, false, false]);
    }

    #[test]
    fn a_file_needs_a_reason_and_a_day_and_names_what_exists() {
        for (wrong, part) in [
            (ONE.replace("reason: 'ticket 7', ", ""), "reason"),
            (ONE.replace("ticket 7", " "), "has no reason; add one"),
            (ONE.replace(", until: 2026-03-31", ""), "has no until; add"),
            (ONE.replace("2026-03-31", "soon"), "until"),
            (ONE.replace("instance_manager_old", "instance_manager_stall"), "instance_manager_old"),
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
