//! `runbook`: prints what to do about an alert, as docs/runbooks/ has it, or which alerts there are.

use std::ffi::OsStr;

use anyhow::anyhow;
use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Args, Command, Error};

use super::DECLARED;
use super::{Failure, exit, print};
use crate::did_you_mean;
use crate::generate::docs;

/// Options of `runbook`.
#[derive(Debug, Args)]
pub struct RunbookArgs {
    /// Name of the alert [default: list all alerts]
    #[arg(value_name = "ALERT", hide_possible_values = true, value_parser = Name)]
    alert: Option<String>,
}

/// The name of an alert: completed by shells, and a wrong one gets a hint instead of all 80 names.
#[derive(Clone)]
struct Name;

impl TypedValueParser for Name {
    type Value = String;

    fn parse_ref(&self, command: &Command, _: Option<&Arg>, value: &OsStr) -> Result<String, Error> {
        let (name, known) = (value.to_string_lossy(), DECLARED.alerts().map(|alert| alert.name));
        let known: Vec<_> = known.collect();
        match known.contains(&name.as_ref()) {
            true => Ok(name.into_owned()),
            false => {
                let hint = did_you_mean::hint(&name, &known);
                let text =
                    format!("no alert is named {name} ({hint}); `runbook` without a name lists them\n");
                Err(Error::raw(ErrorKind::InvalidValue, text).with_cmd(command))
            }
        }
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(DECLARED.alerts().map(|alert| PossibleValue::new(alert.name))))
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_name_gets_a_hint_and_no_list() {
        let parse = |name: &str| Name.parse_ref(&Command::new("runbook"), None, OsStr::new(name));
        assert_eq!(parse("LonghornVolumeFaulted").unwrap(), "LonghornVolumeFaulted");
        let error = parse("LonghornVolumeFalted").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidValue);
        let text = error.to_string();
        assert!(
            text.contains("did you mean LonghornVolumeFaulted?") && !text.contains("LonghornDiskFull"),
            "{text}"
        );
    }
}
