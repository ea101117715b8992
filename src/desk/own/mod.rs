//! What the exporter declares about itself and about all checks together: the families that belong to no single check,
//! and the alerts and panels on them.

mod alerts;
pub mod gauges;
mod incidents;
pub mod longhorn_metrics;
mod panels;

pub use alerts::{ALERTS, INHIBITOR};
pub use gauges::{GAUGES, STABLE};
pub use incidents::INCIDENT_ALERTS;
pub use panels::{INCIDENTS_PANEL, PANELS};
