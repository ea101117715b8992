//! `runbook`: prints what to do about an alert, as docs/runbooks/ has it, or which alerts there are.

use anyhow::anyhow;
use clap::Args;
use clap::builder::PossibleValuesParser;

use super::DECLARED;
use super::{Failure, exit, print};
use crate::generate::docs;

/// Options of `runbook`.
#[derive(Debug, Args)]
pub struct RunbookArgs {
    /// Name of the alert [default: list all alerts]
    #[arg(value_name = "ALERT", hide_possible_values = true, value_parser = PossibleValuesParser::new(
        DECLARED.alerts().map(|alert| alert.name)
    ))]
    alert: Option<String>,
}

/// Runs `runbook`.
pub fn run(args: RunbookArgs) -> Result<u8, Failure> {
    let page = match args.alert {
        Some(alert) => {
            let page = docs::runbook(&alert, &DECLARED)
                .ok_or_else(|| Failure::usage(anyhow!("no runbook has this name")))?;
            docs::without_head(page)
        }
        None => DECLARED.alerts().map(|alert| format!("{:40} {}\n", alert.name, alert.summary)).collect(),
    };
    print(&page)?;
    Ok(exit::OK)
}
