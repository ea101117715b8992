//! `runbook`: prints what to do about an alert, as docs/runbooks/ has it.

use anyhow::anyhow;
use clap::Args;
use clap::builder::PossibleValuesParser;

use super::{Failure, exit, print};
use crate::generate::{catalogue, docs};

/// Options of `runbook`.
#[derive(Debug, Args)]
pub struct RunbookArgs {
    /// Name of the alert
    #[arg(value_name = "ALERT", hide_possible_values = true, value_parser = PossibleValuesParser::new(
        catalogue::alerts().map(|alert| alert.name)
    ))]
    alert: String,
}

/// Runs `runbook`.
pub fn run(args: RunbookArgs) -> Result<u8, Failure> {
    let page =
        docs::runbook(&args.alert).ok_or_else(|| Failure::usage(anyhow!("no runbook of this name")))?;
    print(&page)?;
    Ok(exit::OK)
}
