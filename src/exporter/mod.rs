//! The exporter about itself and about all checks together: the families that belong to no single
//! check, and the alerts and panels on them.

mod alerts;
pub mod evaluator;
pub mod gauges;
mod page;
mod panels;
mod process;
mod rendered;
pub mod state_file;

pub use alerts::{ALERTS, INHIBITOR};
pub use evaluator::{Evaluator, Moment, ResourceFacts};
pub use gauges::{GAUGES, STABLE};
pub use page::{SelfMetrics, WebConfigReload, families};
pub use panels::{INCIDENTS_PANEL, PANELS};
pub use rendered::{Budget, RenderError, Rendered};
