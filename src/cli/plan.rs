//! `plan`: what would happen, before it does.

use std::io::{self, Write};

use anyhow::anyhow;
use clap::{Args, ColorChoice, Subcommand, ValueEnum};
use jiff::{SignedDuration, Timestamp};

use super::fleet::{self, FleetArgs};
use super::source::{self, positive_duration};
use super::{Failure, SourceArgs};
use crate::checks::CATALOGUE;
use crate::cluster::Cluster;
use crate::longhorn::Release;
use crate::plan::capacity::{self, Wanted};
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
    /// Check whether Longhorn can be upgraded, by which steps, and what blocks it; or whether an upgrade is complete
    Upgrade(UpgradeArgs),
    /// Check whether nodes can be drained, restarted, emptied or removed: what blocks it, what would be lost, and the steps
    Drain(DrainArgs),
    /// List volumes that would be lost if one node, disk or zone failed, or that have no room for a rebuild or no backup
    Loss(LossArgs),
    /// How much room is left on the disks, is it enough without a node or zone, and does a new volume fit?
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

    /// Check every node by itself: which can be drained now, one at a time
    #[arg(long, conflicts_with = "nodes")]
    all: bool,

    #[command(flatten)]
    intent: IntentArgs,

    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Debug, Args)]
struct LossArgs {
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Debug, Args)]
struct CapacityArgs {
    /// Size of a new volume, such as 100Gi: does it fit, and where?
    #[arg(long, value_name = "SIZE", value_parser = capacity::size)]
    volume: Option<i64>,

    /// Its number of replicas [default: the setting default-replica-count]
    #[arg(long, value_name = "NUMBER", requires = "volume", value_parser = capacity::replicas)]
    replicas: Option<u32>,

    /// Tags that its nodes must have (comma-separated)
    #[arg(long, value_name = "TAG", requires = "volume", value_delimiter = ',')]
    node_selector: Vec<String>,

    /// Tags that its disks must have (comma-separated)
    #[arg(long, value_name = "TAG", requires = "volume", value_delimiter = ',')]
    disk_selector: Vec<String>,

    /// Its data engine
    #[arg(long, value_name = "ENGINE", requires = "volume", default_value = "v1", value_parser = ["v1", "v2"])]
    data_engine: String,

    #[command(flatten)]
    common: CommonArgs,
}

/// What is to become of the nodes; without any they are drained and come back.
#[derive(Debug, Args)]
#[group(multiple = false)]
struct IntentArgs {
    /// Move all replicas off the nodes
    #[arg(long)]
    evict: bool,

    /// Drain the nodes and restart them
    #[arg(long)]
    reboot: bool,

    /// Remove the nodes permanently
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

    /// How to print the plan
    #[arg(long, short = 'o', value_enum, default_value_t = PlanFormat::Table, env = "LONGHORN_HEALTH_OUTPUT")]
    output: PlanFormat,

    /// Show all facts, notes and steps
    #[arg(long, short = 'v')]
    details: bool,

    /// Ignore this condition in the verdict; it is still shown (comma-separated)
    #[arg(long, value_name = "CONDITION", value_delimiter = ',', value_parser = plan::condition)]
    accept: Vec<&'static str>,

    /// Time limit for listing a live cluster; kinds without an answer by then are unknown
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = positive_duration, env = "LONGHORN_HEALTH_TIMEOUT")]
    timeout: SignedDuration,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum PlanFormat {
    /// For people
    Table,
    /// For summaries of CI, tickets and chats
    Markdown,
    /// The documented schema v1 (docs/plan.schema.json)
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
            common.answer(Which::Drain, |looked| drain::plan(looked, &asked))
        }
        PlanTask::Loss(LossArgs { common }) => common.answer(Which::Loss, |looked| Ok(loss::plan(looked))),
        PlanTask::Capacity(args) => {
            let wanted = args.volume.map(|size| Wanted {
                size,
                replicas: args.replicas,
                node_selector: args.node_selector,
                disk_selector: args.disk_selector,
                v2: args.data_engine == "v2",
            });
            args.common.answer(Which::Capacity, |looked| Ok(capacity::plan(looked, wanted.clone())))
        }
    }
}

impl CommonArgs {
    #[allow(clippy::disallowed_methods, reason = "the clock is read here and handed down")]
    fn answer(&self, which: Which, plan: impl Fn(Looked<'_>) -> Result<Plan, String>) -> Result<u8, Failure> {
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
        plan: &impl Fn(Looked<'_>) -> Result<Plan, String>,
    ) -> Result<Plan, Failure> {
        let report = plan::evaluate(&CATALOGUE, which, cluster, address).report;
        plan(Looked::new(cluster, &report, &self.accept)).map_err(|message| Failure::usage(anyhow!(message)))
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
