//! The exporter about itself and about all checks together: the families that belong to no single
//! check, with their values. What it declares about itself is [`desk::own`].

#[cfg(test)]
mod bound_tests;
pub mod evaluator;
mod moment;
mod pace;
mod page;
mod process;
mod rendered;
mod requests;
mod signature_files;
mod stamp;
pub mod state_file;

pub use desk::own::{ALERTS, GAUGES, INCIDENTS_PANEL, INHIBITOR, PANELS, STABLE, gauges};
pub use evaluator::Evaluator;
pub use moment::{Moment, ResourceFacts, Seen};
pub use page::{SelfMetrics, WebConfigReload, families};
pub use rendered::{Budget, RenderError, Rendered};
pub use requests::Requests;
pub use signature_files::{SignatureFile, SignatureFiles};
pub use stamp::Stamp;
