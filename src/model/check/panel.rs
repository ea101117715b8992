//! Dashboard panels as data.

use std::borrow::Cow;

use clap::ValueEnum;
use serde::Serialize;

use super::{Gauge, Threshold};

/// A panel of one of the dashboards. Its place follows from the order of the checks. Say only what is
/// special: `Panel { title: …, ..Panel::TABLE.of(&FAULTED) }`.
#[derive(Debug)]
pub struct Panel {
    /// Where it is drawn.
    pub dashboard: Dashboard,
    /// Heading.
    pub title: &'static str,
    /// What it shows, how to read it, what to do when it is red.
    pub description: &'static str,
    /// How it is drawn.
    pub kind: PanelKind,
    /// Unit of the values.
    pub unit: Unit,
    /// What its first query follows from, if not from `expr`: see [`Panel::of`] and [`Panel::of_findings`].
    pub shows: Shows,
    /// What it asks for. Placeholders as in alerts; with `$job` come the matchers of the dashboard's
    /// variables (cluster, node, volume, PVC namespace) for which the family has a label, and `$alerts`
    /// selects the alerts of these rules in `ALERTS`. The name of a [`super::Record`] is drawn from the
    /// recorded series, and from its expression where the rules are not loaded.
    pub expr: &'static str,
    /// Legend template such as `{{node}}`.
    pub legend: &'static str,
    /// What it asks for beside that.
    pub more: &'static [Query],
    /// Columns of a table, in order, beside the cluster: labels that the queries keep, and `Value` where
    /// it says something. Other labels are kept for links and not shown. Without any, those of the family that it shows.
    pub columns: &'static [&'static str],
    /// Colours by value, ascending; empty for neutral. Below the first one, and without data, a
    /// panel is grey.
    pub steps: &'static [Step],
    /// Width on the grid.
    pub width: Width,
    /// What "no data" means here, such as `no setting is pending, or the exporter is not reporting`:
    /// an empty panel never claims health alone, as one that no one feeds is empty too.
    pub no_data: &'static str,
}

impl Panel {
    /// A big number on the overview.
    pub const STAT: Panel = Panel {
        dashboard: Dashboard::Overview,
        title: "",
        description: "",
        kind: PanelKind::Stat,
        unit: Unit::Short,
        shows: Shows::Expr,
        expr: "",
        legend: "",
        more: &[],
        columns: &[],
        steps: &[],
        width: Width::Sixth,
        no_data: "",
    };
    /// Lines over time, half a row wide.
    pub const TIME_SERIES: Panel = Panel { kind: PanelKind::TimeSeries, width: Width::Half, ..Self::STAT };
    /// States over time, half a row wide.
    pub const STATE_TIMELINE: Panel = Panel { kind: PanelKind::StateTimeline, ..Self::TIME_SERIES };
    /// Rows of labels, half a row wide.
    pub const TABLE: Panel = Panel { kind: PanelKind::Table, ..Self::TIME_SERIES };
    /// Horizontal bars, half a row wide.
    pub const BAR_GAUGE: Panel = Panel { kind: PanelKind::BarGauge, ..Self::TIME_SERIES };

    /// Shows the series of a family, by all its labels or by those that are columns: the greatest that pods of the
    /// exporter say. Without a column `Value` only series that are 1.
    pub const fn of(self, gauge: &'static Gauge) -> Panel {
        Panel { shows: Shows::Family(gauge), ..self }
    }

    /// Shows the findings of a check, by the labels that are columns.
    pub const fn of_findings(self, check: &'static str) -> Panel {
        let columns = &["severity", "cause", "object_kind", "object", "node"];
        Panel { shows: Shows::Findings(check), columns, ..self }
    }

    /// All it asks for.
    pub fn queries(&self) -> impl Iterator<Item = Query<Cow<'static, str>>> {
        let more =
            self.more.iter().map(|query| Query { expr: query.expr.into(), legend: query.legend.into() });
        [self.first()].into_iter().chain(more)
    }

    fn first(&self) -> Query<Cow<'static, str>> {
        let columns = self.columns();
        let (by, series) = match self.shows {
            Shows::Expr => return Query { expr: self.expr.into(), legend: self.legend.into() },
            Shows::Family(gauge) => {
                let kept = |label: &&str| columns.is_empty() || columns.contains(label);
                let by = gauge.labels.iter().copied().filter(kept).collect();
                (by, format!("{}{{$job}}", gauge.name))
            }
            Shows::Findings(check) => {
                (columns.clone(), format!("longhorn_health_finding{{$job, check=\"{check}\"}}"))
            }
        };
        let suffix = match self.unit {
            Unit::FromNow => " * 1000",
            _ if columns.is_empty() || columns.contains(&"Value") => "",
            _ => " == 1",
        };
        let legend = match self.legend {
            "" => by.iter().map(|label| format!("{{{{{label}}}}}")).collect::<Vec<_>>().join(" ").into(),
            legend => legend.into(),
        };
        Query { expr: format!("max by ($cluster {}) ({series}){suffix}", by.join(", ")).into(), legend }
    }

    /// The columns of a table, in order.
    pub fn columns(&self) -> Vec<&'static str> {
        match self.shows {
            Shows::Family(gauge) if self.columns.is_empty() && self.kind == PanelKind::Table => {
                gauge.labels.iter().copied().chain(["Value"]).collect()
            }
            _ => self.columns.to_vec(),
        }
    }
}

/// What a panel shows.
#[derive(Debug, Clone, Copy)]
pub enum Shows {
    /// What its expression says.
    Expr,
    /// The series of a family.
    Family(&'static Gauge),
    /// The findings of a check.
    Findings(&'static str),
}

/// The dashboards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Dashboard {
    /// A row for each cluster.
    Fleet,
    /// One page for the operator at night.
    Overview,
    /// Volumes and their replicas.
    Volumes,
    /// Instance managers and upgrades.
    InstanceManagers,
    /// Managers, probes and webhook.
    Managers,
    /// Eviction and drain.
    Eviction,
    /// Disks, engine images, CSI, shares and backups.
    Storage,
    /// What Longhorn's managers serve themselves.
    LonghornMetrics,
    /// The exporter itself.
    Exporter,
}

impl Dashboard {
    /// Every dashboard, in the order of the dropdown.
    pub fn all() -> impl Iterator<Item = Dashboard> {
        Dashboard::value_variants().iter().copied()
    }

    /// Short name: part of the uid, of file names and of rule groups.
    pub fn id(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// The dashboard of those who declare these panels: that of the first one off the overview.
    pub fn of(panels: &[Panel]) -> Dashboard {
        let own = panels.iter().map(|panel| panel.dashboard).find(|board| *board != Dashboard::Overview);
        own.unwrap_or(Dashboard::Overview)
    }

    /// Grafana's uid. A contract: links lead there.
    pub fn uid(self) -> String {
        format!("longhorn-health-{}", self.id())
    }
}

/// How a panel is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PanelKind {
    /// One big number a query.
    Stat,
    /// Lines over time.
    #[serde(rename = "timeseries")]
    TimeSeries,
    /// States over time.
    StateTimeline,
    /// Instant values as rows; labels are columns.
    Table,
    /// Horizontal bars, instant.
    #[serde(rename = "bargauge")]
    BarGauge,
}

/// A query of a panel.
#[derive(Debug, Clone, Copy)]
pub struct Query<Text = &'static str> {
    /// PromQL.
    pub expr: Text,
    /// Legend template such as `{{node}}`.
    pub legend: Text,
}

/// Unit of a panel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Plain count.
    Short,
    /// Seconds.
    Seconds,
    /// Unix seconds drawn as "ago" (value × 1000 in the query).
    FromNow,
    /// 0 to 1.
    Ratio,
    /// 0 or 1, drawn as words by the panel's steps.
    Bool,
    Cores,
    /// Bytes, drawn with binary prefixes.
    Bytes,
    /// 0 nothing found, 1 info, 2 no verdict, 3 warning, 4 critical.
    Severity,
}

/// A colour from a value on.
#[derive(Debug)]
pub struct Step {
    /// From where on.
    pub from: Bound,
    /// `green`, `yellow`, `orange`, `red`, `blue`, `text`.
    pub color: &'static str,
}

/// Where a colour begins.
#[derive(Debug)]
pub enum Bound {
    /// At a value that means something on its own, such as one of what should be none.
    Value(f64),
    /// Where an alert fires, whatever the configuration says about it.
    Threshold {
        /// Name of the alert.
        alert: &'static str,
        /// One of its thresholds.
        threshold: &'static Threshold,
    },
}

impl Step {
    /// A colour from a fixed value on.
    pub const fn at(from: f64, color: &'static str) -> Self {
        Step { from: Bound::Value(from), color }
    }

    /// A colour from the threshold of an alert on.
    pub const fn threshold(alert: &'static str, threshold: &'static Threshold, color: &'static str) -> Self {
        Step { from: Bound::Threshold { alert, threshold }, color }
    }
}

/// Width of a panel, in columns of Grafana's grid, which has 24.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // the numbers say it
pub enum Width {
    Sixth = 4,
    Quarter = 6,
    Third = 8,
    Half = 12,
    Full = 24,
}
