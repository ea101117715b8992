//! `plan`: what would happen, before it does.

mod prometheus;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::{Args, ColorChoice, Subcommand, ValueEnum};
use jiff::{SignedDuration, Timestamp};

use prometheus::PrometheusArgs;

use super::fleet::{self, FleetArgs};
use super::source::{self, positive_duration};
use super::{Failure, SourceArgs};
use crate::checks::CATALOGUE;
use crate::cluster::Cluster;
use crate::longhorn::Release;
use crate::plan::capacity::{self, Growth, Wanted};
use crate::plan::{self, Looked, Plan, Which, drain, junit, loss, markdown, table, upgrade};
use crate::report::Address;

/// Options of `plan`.
#[derive(Debug, Args)]
#[command(after_help = "A plan changes nothing.\n\nExit codes:\n  0   go\n  1   no, or not yet\n  \
                        2   unknown: needed data could not be read\n  64  bad usage or unreadable input")]
pub struct PlanArgs {
    #[command(subcommand)]
    plan: PlanTask,
}

#[derive(Debug, Subcommand)]
enum PlanTask {
    /// Check whether Longhorn can be upgraded and how, or whether an upgrade is complete
    Upgrade(UpgradeArgs),
    /// Check whether nodes can be drained, restarted, emptied or removed, and list the steps
    Drain(DrainArgs),
    /// List volumes that one failed node, disk or zone would destroy, or that lack backups
    Loss(LossArgs),
    /// Check whether disks have room for a lost node or zone, or a new volume
    Capacity(CapacityArgs),
}

#[derive(Debug, Args)]
struct UpgradeArgs {
    /// Target release; v1.10 means its newest patch [default: all steps to the newest known release]
    #[arg(value_name = "VERSION", value_parser = release)]
    to: Option<Release>,

    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Debug, Args)]
struct DrainArgs {
    /// Nodes to drain at the same time
    #[arg(value_name = "NODE")]
    nodes: Vec<String>,

    /// Check every node separately
    #[arg(long, conflicts_with = "nodes")]
    all: bool,

    #[command(flatten)]
    intent: IntentArgs,

    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Debug, Args)]
struct LossArgs {
    /// Nodes that would be lost together [default: each node, disk and zone separately]
    #[arg(value_name = "NODE")]
    nodes: Vec<String>,

    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Debug, Args)]
struct CapacityArgs {
    /// Check whether a new volume of this size fits, and where (such as 100Gi)
    #[arg(long, value_name = "SIZE", value_parser = capacity::size)]
    volume: Option<i64>,

    /// Number of replicas of the new volume [default: setting default-replica-count]
    #[arg(long, value_name = "NUMBER", requires = "volume", value_parser = capacity::replicas)]
    replicas: Option<u32>,

    /// Node tags that the new volume selects (comma-separated)
    #[arg(long, value_name = "TAG", requires = "volume", value_delimiter = ',')]
    node_selector: Vec<String>,

    /// Disk tags that the new volume selects (comma-separated)
    #[arg(long, value_name = "TAG", requires = "volume", value_delimiter = ',')]
    disk_selector: Vec<String>,

    /// Data engine of the new volume
    #[arg(long, value_name = "ENGINE", requires = "volume", default_value = "v1", value_parser = ["v1", "v2"])]
    data_engine: String,

    /// Earlier recording (at least 1 h older) to estimate when each disk will be full
    #[arg(long, value_name = "PATH", conflicts_with = "demo")]
    since_recording: Option<PathBuf>,

    #[command(flatten)]
    prometheus: PrometheusArgs,

    #[command(flatten)]
    common: CommonArgs,
}

/// What is to become of the nodes; without any they are drained and come back.
#[derive(Debug, Args)]
#[group(multiple = false)]
struct IntentArgs {
    /// Plan to move all replicas off the nodes
    #[arg(long)]
    evict: bool,

    /// Plan to drain and restart the nodes
    #[arg(long)]
    reboot: bool,

    /// Plan to remove the nodes permanently
    #[arg(long)]
    remove: bool,
}

impl IntentArgs {
    fn intent(&self) -> drain::Intent {
        match (self.evict, self.reboot, self.remove) {
            (true, ..) => drain::Intent::Evict,
            (_, true, _) => drain::Intent::Reboot,
            (.., true) => drain::Intent::Remove,
            _ => drain::Intent::Drain,
        }
    }
}

/// What every plan takes.
#[derive(Debug, Args)]
struct CommonArgs {
    #[command(flatten)]
    source: SourceArgs,

    #[command(flatten)]
    fleet: FleetArgs,

    /// Format of the plan
    #[arg(long, short = 'o', value_enum, default_value_t = PlanFormat::Table, env = "LONGHORN_HEALTH_OUTPUT")]
    output: PlanFormat,

    /// Show all facts, notes and steps
    #[arg(long, short = 'v')]
    details: bool,

    /// Ignore this condition in the verdict; it is still shown (comma-separated)
    #[arg(long, value_name = "CONDITION", value_delimiter = ',', value_parser = plan::condition)]
    accept: Vec<&'static str>,

    /// Time limit for reading a live cluster; kinds not listed by then count as unknown
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = positive_duration, env = "LONGHORN_HEALTH_TIMEOUT")]
    timeout: SignedDuration,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum PlanFormat {
    /// Human-readable text
    Table,
    /// Markdown for CI summaries, tickets and chats
    Markdown,
    /// JSON in the documented schema v1 (docs/plan.schema.json)
    Json,
    /// JUnit XML for CI systems
    Junit,
}

pub fn release(text: &str) -> Result<Release, String> {
    upgrade::target::meant(text).ok_or_else(|| "not a release; use the form v1.9.2".to_owned())
}

/// Runs `plan`.
pub fn run(args: PlanArgs) -> Result<u8, Failure> {
    match args.plan {
        PlanTask::Upgrade(UpgradeArgs { to, common }) => {
            common.answer(Which::Upgrade, |looked| Ok(upgrade::plan(looked, upgrade::Asked { to })))
        }
        PlanTask::Drain(DrainArgs { nodes, all: false, .. }) if nodes.is_empty() => Err(Failure::usage(
            anyhow!("no node given; name a node, or use --all to check every node by itself"),
        )),
        PlanTask::Drain(DrainArgs { nodes, all: _, intent, common }) => {
            let asked = drain::Asked { nodes, intent: intent.intent() };
            common.answer(Which::Drain, |looked| drain::plan(looked, &asked).map_err(misnamed))
        }
        PlanTask::Loss(LossArgs { nodes, common }) => {
            common.answer(Which::Loss, |looked| loss::plan(looked, &nodes).map_err(misnamed))
        }
        PlanTask::Capacity(args) => {
            let wanted = args.volume.map(|size| Wanted {
                size,
                replicas: args.replicas,
                node_selector: args.node_selector,
                disk_selector: args.disk_selector,
                v2: args.data_engine == "v2",
            });
            let earlier = args.common.earlier(args.since_recording.as_deref())?;
            let prometheus = args.prometheus.of(&args.common)?;
            args.common.answer(Which::Capacity, |looked| {
                let growth = match (&prometheus, &earlier) {
                    (Some(prometheus), _) => Some(prometheus.growth(looked.cluster.now)?),
                    (None, Some(earlier)) => Some(since(earlier, looked.cluster)?),
                    (None, None) => None,
                };
                Ok(capacity::plan(Looked { growth: growth.as_ref(), ..looked }, wanted.clone()))
            })
        }
    }
}

/// Nodes that are not there.
fn misnamed(message: String) -> Failure {
    Failure::usage(anyhow!(message))
}

/// The rate between two recordings.
fn since(earlier: &Cluster, cluster: &Cluster) -> Result<Growth, Failure> {
    let (before, now) = (earlier.now, cluster.now);
    if now.duration_since(before) < capacity::LEAST_APART {
        return Err(Failure::usage(anyhow!(
            "--since-recording is of {before}, less than 1 h before {now}: name an older one"
        )));
    }
    Ok(Growth::between(earlier, cluster))
}

impl CommonArgs {
    /// The earlier recording of the one cluster.
    #[allow(clippy::disallowed_methods, reason = "the clock is read here and handed down")]
    fn earlier(&self, path: Option<&Path>) -> Result<Option<Cluster>, Failure> {
        let Some(path) = path else { return Ok(None) };
        if self.fleet.sources(&self.source)?.is_some() {
            return Err(Failure::usage(anyhow!("--since-recording is for one cluster; name one context")));
        }
        Ok(Some(source::recording(path, &self.source.namespace, Timestamp::now(), None)?))
    }

    #[allow(clippy::disallowed_methods, reason = "the clock is read here and handed down")]
    fn answer(
        &self,
        which: Which,
        plan: impl Fn(Looked<'_>) -> Result<Plan, Failure>,
    ) -> Result<u8, Failure> {
        let now = Timestamp::now();
        let wanted = source::Wanted { kinds: which.kinds(&CATALOGUE), api_server: which == Which::Upgrade };
        let patience = self.timeout.unsigned_abs();
        if let Some(sources) = self.fleet.sources(&self.source)? {
            let as_json = match self.output {
                PlanFormat::Table => false,
                PlanFormat::Json => true,
                _ => return Err(Failure::usage(anyhow!("several clusters need -o table or -o json"))),
            };
            let rows = fleet::rows(&sources, &wanted, patience, |source, cluster| {
                let plan = self.planned(which, cluster, &source.options(now)?.address, &plan)?;
                Ok(fleet::Row {
                    context: source.context().unwrap_or_default().to_owned(),
                    exit_code: plan.exit_code,
                    word: plan.word().to_owned(),
                    answer: plan.answer.clone(),
                    rank: u8::from(plan.verdict != plan::Verdict::No),
                    report: Some(plan),
                })
            })?;
            return fleet::show(&rows, as_json);
        }
        let options = self.source.options(now)?;
        let cluster = match self.source.recorded(now)? {
            Some(cluster) => cluster,
            None => super::runtime()?.block_on(self.source.look(&wanted, patience))?,
        };
        let plan = self.planned(which, &cluster, &options.address, &plan)?;
        self.print(&plan)?;
        Ok(plan.exit_code)
    }

    fn planned(
        &self,
        which: Which,
        cluster: &Cluster,
        address: &Address,
        plan: &impl Fn(Looked<'_>) -> Result<Plan, Failure>,
    ) -> Result<Plan, Failure> {
        let report = plan::evaluate(&CATALOGUE, which, cluster, address).report;
        plan(Looked::new(cluster, &report, &self.accept))
    }

    fn print(&self, plan: &Plan) -> Result<(), Failure> {
        let style = super::check::style(ColorChoice::Auto);
        let mut text = Vec::new();
        let written = match self.output {
            PlanFormat::Table => table::write(&mut text, plan, style, self.details),
            PlanFormat::Markdown => markdown::write(&mut text, plan),
            PlanFormat::Json => serde_json::to_writer_pretty(&mut text, plan)
                .map_err(io::Error::from)
                .and_then(|()| writeln!(text)),
            PlanFormat::Junit => junit::render(plan).map_err(io::Error::other).map(|xml| text = xml),
        };
        written.map_err(Failure::unknown)?;
        super::print(&String::from_utf8_lossy(&text))
    }
}
