//! A moment as families, in the order of the page.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;

use super::gauges::*;
use super::moment::{Moment, ResourceFacts};
use super::process;
use crate::check::{Finding, Gauge, Sample, Severity};
use crate::cluster::Readability;
use crate::incidents::{self, AlertKey, Incident};
use crate::longhorn::Resource;
use crate::metrics::Family;
use crate::report::{Report, Status};
use crate::source::{ApiErrorReason, ApiTotals};

/// How many findings of a check get series of their own. Findings come worst first, so it is the mildest that go without; the
/// counts stay exact.
const MAX_DETAILS: usize = 2_000;
/// How many incidents get a text: more than anyone reads in a night.
const MAX_INCIDENTS: usize = 50;
/// How many volumes of a check get a series: a table that no one reads to its end, and no alert needs it.
const MAX_VOLUMES: usize = 500;

/// What only the exporter knows of itself.
#[derive(Debug, Clone)]
pub struct SelfMetrics {
    /// How long the page before this one took to write.
    pub render_seconds: Option<f64>,
    /// Requests that were answered, by status code.
    pub requests: BTreeMap<u16, u64>,
}

/// How the web configuration was read last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WebConfigReload {
    /// Whether what the files say is in force.
    pub successful: bool,
    /// When they were last read with success.
    pub last_success: Timestamp,
}

/// The whole page. Before the first sync it has no verdicts: no finding would look like health.
pub fn families(
    moment: &Moment,
    totals: &BTreeMap<Resource, ApiTotals>,
    web_config: Option<WebConfigReload>,
    own: Option<SelfMetrics>,
) -> Vec<Family> {
    let mut page = Page::default();
    if moment.seen.waiting_for.is_empty() {
        page.add_checks(moment);
        page.add_findings(moment);
        page.add_causes(&moment.evaluation.report);
        page.add_cluster(moment);
    }
    page.add_resources(&moment.seen.resources);
    page.add_totals(totals);
    if let Some(skew) = moment.evaluation.report.cluster.clock_skew_seconds {
        page.add(&CLOCK_SKEW, &[], skew);
    }
    let version = env!("CARGO_PKG_VERSION");
    let build = [version, env!("LONGHORN_HEALTH_BUILD_REVISION"), env!("LONGHORN_HEALTH_BUILD_RUSTC")];
    page.add(&BUILD_INFO, &build, 1.0);
    if let Some(reload) = web_config {
        page.add(&WEB_CONFIG_SUCCESSFUL, &[], f64::from(reload.successful));
        page.add(&WEB_CONFIG_LAST_SUCCESS, &[], reload.last_success.as_second() as f64);
    }
    if let Some(own) = own {
        page.add(&EVALUATED, &[], moment.evaluated.as_second() as f64);
        page.add(&EVALUATION_DURATION, &[], moment.seconds);
        if let Some(seconds) = own.render_seconds {
            page.add(&RENDER_DURATION, &[], seconds);
        }
        for (code, count) in &own.requests {
            page.add(&HTTP_REQUESTS, &[&code.to_string()], *count as f64);
        }
        for (gauge, value) in process::read() {
            page.add(gauge, &[], value);
        }
    }
    page.into_families()
}

/// Samples of the exporter's own families, and those of the checks.
#[derive(Default)]
struct Page {
    checks: Vec<Family>,
    own: BTreeMap<&'static str, Vec<Sample>>,
    once: BTreeSet<(&'static str, Vec<Arc<str>>)>,
}

impl Page {
    fn add<const N: usize>(
        &mut self,
        gauge: &'static Gauge<[&'static str; N]>,
        labels: &[&str; N],
        value: f64,
    ) {
        self.push(gauge, labels.map(Arc::from), value);
    }

    fn push<const N: usize>(
        &mut self,
        gauge: &'static Gauge<[&'static str; N]>,
        labels: [Arc<str>; N],
        value: f64,
    ) {
        let labels = labels.into();
        self.own.entry(gauge.name).or_default().push(Sample { labels, value });
    }

    /// The same of a finding. Several signatures of a user can find the same of one object, and their names are no label there.
    fn add_finding<const N: usize>(
        &mut self,
        finding: &Finding,
        gauge: &'static Gauge<[&'static str; N]>,
        labels: [Arc<str>; N],
        value: f64,
    ) {
        if finding.signature.is_none() || self.once.insert((gauge.name, labels.to_vec())) {
            self.push(gauge, labels, value);
        }
    }

    fn into_families(mut self) -> Vec<Family> {
        let own = GAUGES.iter().map(|gauge| {
            let samples = self.own.remove(gauge.name).unwrap_or_default();
            Family { gauge, samples }
        });
        self.checks.into_iter().chain(own).collect()
    }

    fn add_checks(&mut self, moment: &Moment) {
        let declared =
            moment.evaluation.report.catalogue.checks.iter().flat_map(|check| check.gauges.iter().copied());
        let mut seen = BTreeSet::new();
        for gauge in declared.filter(|gauge| seen.insert(gauge.name)) {
            let samples = moment.evaluation.samples.get(gauge.name).cloned().unwrap_or_default();
            self.checks.push(Family { gauge, samples });
        }
    }

    /// What a query joins to a finding in order to link what says more: of causes that are found.
    fn add_causes(&mut self, report: &Report) {
        let listed = report.findings.iter().map(|finding| (finding.check, finding.cause.id));
        let only_counted = report.counted_only().map(|some| (some.check, some.cause));
        let found: BTreeSet<_> = listed.chain(only_counted).collect();
        for check in report.catalogue.checks {
            let dashboard = check.dashboard().uid();
            for cause in check.causes.iter().filter(|cause| found.contains(&(check.id, cause.id))) {
                let runbook = check.runbook(cause).unwrap_or_default();
                self.add(&CAUSE_INFO, &[check.id, cause.id, cause.meaning, runbook, &dashboard], 1.0);
            }
        }
    }

    fn add_findings(&mut self, moment: &Moment) {
        let report = &moment.evaluation.report;
        let mut details = BTreeMap::<&str, PageDetails>::new();
        for some in report.counted_only() {
            let details = details.entry(some.check).or_default();
            *details.counts.entry(some.severity).or_default() += some.count;
            details.truncated += some.count;
        }
        for finding in &report.findings {
            details.entry(finding.check).or_default().add(finding);
        }
        let mut unknown = 0;
        for check in report.catalogue.checks {
            let details = details.remove(check.id).unwrap_or_default();
            for (severity, count) in &details.counts {
                self.add(&FINDINGS, &[check.id, severity.as_str()], *count as f64);
            }
            if report.is_unknown(check.id) {
                unknown += 1;
                self.add(&CHECK_UNKNOWN, &[check.id], 1.0);
            }
            if details.truncated > 0 {
                self.add(&FINDINGS_TRUNCATED, &[check.id], details.truncated as f64);
            }
            self.add_details(&details);
        }
        self.add(&CHECKS, &["known"], (report.catalogue.checks.len() - unknown) as f64);
        self.add(&CHECKS, &["unknown"], unknown as f64);
        self.add_relations(report);
    }

    fn add_relations(&mut self, report: &Report) {
        for (AlertKey { alert, cause, node }, roots) in incidents::muted(report.catalogue, &report.findings) {
            for (root_alert, root_node) in roots {
                self.add(&ALERT_FOLLOWS, &[alert, cause, node, root_alert, root_node], 1.0);
            }
        }
    }

    fn add_details(&mut self, details: &PageDetails) {
        for (finding, volumes) in &details.findings {
            let Finding { check, cause, object, .. } = finding;
            let (node, disk) = place(finding);
            let severity = finding.severity.as_str();
            // shared by the finding and its volumes
            let labels =
                [check, cause.id, severity, object.kind, &object.name, node, disk].map(Arc::<str>::from);
            self.add_finding(finding, &FINDING, labels.clone(), 1.0);
            for volume in finding.volumes.iter().take(*volumes) {
                let claim = volume.pvc.as_deref().and_then(|pvc| pvc.split_once('/'));
                let (namespace, pvc) = claim.unwrap_or_default();
                let [check, cause, severity, kind, object, node, disk] = labels.clone();
                let [volume, namespace, pvc] = [&*volume.name, namespace, pvc].map(Arc::from);
                let labels = [check, cause, severity, kind, object, node, disk, volume, namespace, pvc];
                self.add_finding(finding, &FINDING_VOLUME, labels, 1.0);
            }
        }
    }

    fn add_cluster(&mut self, moment: &Moment) {
        let summary = &moment.evaluation.report.cluster;
        for status in Status::ALL {
            let is = moment.evaluation.report.status == status;
            self.add(&STATUS, &[status.as_str()], f64::from(is));
        }
        for severity in Severity::ALL {
            let incidents = moment.evaluation.report.incidents.iter();
            let count = incidents.filter(|incident| incident.severity == severity).count();
            self.add(&INCIDENTS, &[severity.as_str()], count as f64);
        }
        let report = &moment.evaluation.report;
        for incident in &report.incidents {
            let Some(root) = root_of(report, incident) else { continue };
            // signatures of one severity are incidents of one cause
            let alike = report.incidents.iter().filter(|other| {
                (other.check, other.cause, other.severity)
                    == (incident.check, incident.cause, incident.severity)
            });
            let count = match root.signature {
                Some(_) => alike.map(|other| other.count).sum(),
                None => incident.count,
            };
            let labels = [incident.check, incident.cause, incident.severity.as_str()];
            self.add_finding(root, &INCIDENT, labels.map(Arc::from), count as f64);
        }
        self.add_incident_texts(&moment.evaluation.report);
        for (robustness, count) in &summary.volumes_by_robustness {
            self.add(&VOLUMES, &[robustness], *count as f64);
        }
        for affected in &moment.evaluation.report.data.hurt {
            self.add(&VOLUMES_AFFECTED, &[affected.how.as_str()], affected.count as f64);
        }
        for risk in moment.evaluation.report.data.at_risk.iter().flatten() {
            let labels = [risk.place.as_str(), if risk.promised { "false" } else { "true" }];
            self.add(&VOLUMES_AT_RISK, &labels, risk.count as f64);
            self.add(&BYTES_AT_RISK, &labels, risk.bytes as f64);
        }
        for (family, count) in &moment.evaluation.omitted_series {
            self.add(&SERIES_TRUNCATED, &[family], *count as f64);
        }
        for ((resource, field), count) in &moment.evaluation.unrecognized {
            self.add(&RESOURCE_UNRECOGNIZED, &[&resource.label(), field], *count as f64);
        }
    }

    /// What a message about each incident says. A label that changed would be another alert, so nothing is counted or timed here.
    fn add_incident_texts(&mut self, report: &Report) {
        // the worst first
        let alike = report.data.hurt.iter().enumerate();
        let worst_of: BTreeMap<&str, (usize, &str, &str)> = alike
            .flat_map(|(rank, alike)| {
                alike.volumes.iter().map(move |one| (rank, alike.how.words(), &one.volume))
            })
            .map(|(rank, how, volume)| (volume.name.as_str(), (rank, volume.called(), how)))
            .collect();
        for incident in report.incidents.iter().take(MAX_INCIDENTS) {
            let (roots, _) = incident.parts();
            let Some(root) = root_of(report, incident) else { continue };
            let (several, node) = (incident.count > 1, root.node.as_deref().unwrap_or_default());
            let roots = || roots.iter().filter_map(|place| report.findings.get(*place));
            let object = if several { "" } else { root.object.name.as_str() };
            let node = if roots().all(|other| other.node == root.node) { node } else { "" };
            let mut follows: Vec<&str> = incident.consequences.iter().map(|one| one.text).collect();
            follows.sort_unstable();
            follows.dedup();
            let worst = incident.volumes.iter().filter_map(|volume| worst_of.get(volume.name.as_str())).min();
            let (claim, data) = worst.map_or(("", ""), |(_, claim, how)| (*claim, *how));
            let fix = root.fix_by_names(&report.cluster.namespace, several);
            let runbook = incident.runbook.unwrap_or_default();
            let severity = incident.severity.as_str();
            let labels = [
                incident.check,
                incident.cause,
                severity,
                object,
                node,
                root.cause.meaning,
                &follows.join(", "),
                claim,
                data,
                &fix,
                runbook,
            ];
            self.add_finding(root, &INCIDENT_INFO, labels.map(Arc::from), 1.0);
        }
    }

    fn add_resources(&mut self, resources: &[ResourceFacts]) {
        for facts in resources {
            let label = facts.resource.label();
            if facts.status.undecodable > 0 {
                self.add(&RESOURCE_UNDECODABLE, &[&label], facts.status.undecodable as f64);
            }
            // a recording's loss is no state of its own: a live exporter would export it forever in vain
            let shown = match facts.status.readability {
                Readability::Incomplete => Readability::NotRecorded,
                other => other,
            };
            if shown != Readability::Readable {
                self.add(&RESOURCE_UNREADABLE, &[&label, shown.as_str()], 1.0);
            }
        }
        self.add(&OBJECTS, &[], resources.iter().map(|facts| facts.objects).sum::<usize>() as f64);
        let answers = |facts: &&ResourceFacts| {
            !matches!(facts.status.readability, Readability::NotInstalled | Readability::Forbidden)
        };
        let oldest = resources.iter().filter(answers).filter_map(|facts| facts.status.last_success).min();
        if let Some(oldest) = oldest {
            self.add(&LAST_SUCCESS, &[], oldest.as_second() as f64);
        }
    }

    fn add_totals(&mut self, totals: &BTreeMap<Resource, ApiTotals>) {
        if totals.is_empty() {
            return;
        }
        let sum = |count: fn(&ApiTotals) -> u64| totals.values().map(count).sum::<u64>() as f64;
        self.add(&LISTS, &[], sum(|totals| totals.lists));
        self.add(&WATCHES, &[], sum(|totals| totals.watches));
        self.add(&EVENTS, &[], sum(|totals| totals.events));
        for reason in ApiErrorReason::ALL {
            let count = totals.values().filter_map(|totals| totals.errors.get(&reason)).sum::<u64>();
            self.add(&API_ERRORS, &[reason.as_str()], count as f64);
        }
    }
}

/// The finding that speaks for an incident.
fn root_of<'a>(report: &'a Report, incident: &Incident) -> Option<&'a Finding> {
    incident.findings.first().and_then(|place| report.findings.get(*place))
}

/// Node and disk of a finding as label values.
fn place(finding: &Finding) -> (&str, &str) {
    (finding.node.as_deref().unwrap_or_default(), finding.disk.as_deref().unwrap_or_default())
}

/// What is shown of the findings of one check.
#[derive(Default)]
struct PageDetails<'a> {
    counts: BTreeMap<Severity, usize>,
    /// Findings with the number of volumes that are shown of each.
    findings: Vec<(&'a Finding, usize)>,
    volumes: usize,
    truncated: usize,
}

impl<'a> PageDetails<'a> {
    fn add(&mut self, finding: &'a Finding) {
        *self.counts.entry(finding.severity).or_default() += 1;
        if self.findings.len() >= MAX_DETAILS {
            self.truncated += 1;
            return;
        }
        let volumes = finding.volumes.len().min(MAX_VOLUMES - self.volumes);
        self.truncated += usize::from(volumes < finding.volumes.len());
        self.volumes += volumes;
        self.findings.push((finding, volumes));
    }
}
