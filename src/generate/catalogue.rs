//! The list from which everything is made, with what the exporter says about itself.

use crate::check::{Alert, Dashboard, Gauge, Panel};
use crate::checks;

/// A part of the catalogue: a check, or the exporter itself.
#[derive(Debug, Clone, Copy)]
pub struct Area {
    /// Id of the check, or `exporter`.
    pub id: &'static str,
    /// A few words for headings.
    pub title: &'static str,
    /// What it computes.
    pub summary: &'static str,
    /// Its series.
    pub gauges: &'static [&'static Gauge],
    /// Its alerts.
    pub alerts: &'static [Alert],
    /// Its panels.
    pub panels: &'static [Panel],
}

/// Every part, in the order of everything generated.
pub fn areas() -> impl Iterator<Item = Area> {
    checks::ALL.iter().map(|check| Area {
        id: check.id,
        title: check.title,
        summary: check.summary,
        gauges: check.gauges,
        alerts: check.alerts,
        panels: check.panels,
    })
}

/// Every alert on the exporter's series.
pub fn alerts() -> impl Iterator<Item = &'static Alert> {
    areas().flat_map(|area| area.alerts)
}

impl Area {
    /// The dashboard that shows this part: that of its first panel off the overview.
    pub fn dashboard(&self) -> Dashboard {
        let own = self.panels.iter().map(|panel| panel.dashboard).find(|board| *board != Dashboard::Overview);
        own.unwrap_or(Dashboard::Overview)
    }
}
