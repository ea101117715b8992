//! `generate`: files for Prometheus, Alertmanager and readers, made from the checks.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::builder::BoolishValueParser;
use clap::{Args, ValueEnum};

use super::DECLARED;
use super::{Failure, exit};
use crate::generate::output::{self, Change};
use crate::generate::settings::parse;
use crate::generate::{Settings, Target};

/// Options of `generate`.
#[derive(Debug, Args)]
pub struct GenerateArgs {
    /// What to generate
    #[arg(value_enum, default_value = "all")]
    target: Target,
    /// Write nothing; print how existing files differ, and exit with 1 if any does
    #[arg(long, value_parser = BoolishValueParser::new(), env = "LONGHORN_HEALTH_CHECK_GENERATED")]
    check: bool,
    /// YAML file with your own thresholds, durations, severities and labels (docs/configuration.md)
    #[arg(long, value_name = "FILE", env = "LONGHORN_HEALTH_GENERATE_CONFIG")]
    config: Option<PathBuf>,
    /// Directory to write rules/, dashboards/, mixin/, deploy/ and docs/ into
    #[arg(long, value_name = "DIR", default_value = ".", env = "LONGHORN_HEALTH_OUT")]
    out: PathBuf,
}

/// Runs the subcommand.
pub fn run(args: GenerateArgs) -> Result<u8, Failure> {
    let settings = settings(args.config.as_deref())?;
    let mut drifted = false;
    let wanted = Target::EACH.into_iter().filter(|each| [*each, Target::All].contains(&args.target));
    for target in wanted {
        let artifacts = target
            .artifacts(&settings, &super::command())
            .context("the catalogue is broken")
            .map_err(Failure::unknown)?;
        let (changes, unchanged) = output::changes(&args.out, target, &artifacts).map_err(Failure::usage)?;
        if args.check {
            super::print(&changes.iter().map(Change::diff).collect::<String>())?;
            drifted |= !changes.is_empty();
        } else {
            for change in &changes {
                change.apply(&args.out).map_err(Failure::usage)?;
            }
            super::print(&report(target, &changes, unchanged))?;
        }
    }
    if drifted {
        eprintln!("generated files differ from the checks; to update them: {}", fix(&args));
        return Ok(exit::FINDINGS);
    }
    Ok(exit::OK)
}

fn settings(file: Option<&Path>) -> Result<Settings, Failure> {
    let Some(file) = file else { return Ok(Settings::of(&DECLARED)) };
    let name = file.display().to_string();
    let bytes = std::fs::read(file).with_context(|| name.clone()).map_err(Failure::usage)?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let line = 1 + error.as_bytes().iter().take(valid).filter(|byte| **byte == b'\n').count();
        Failure::usage(anyhow::anyhow!("{name}:{line}: not text in UTF-8"))
    })?;
    parse(&DECLARED, &name, &text).map_err(Failure::usage)
}

fn report(target: Target, changes: &[Change], unchanged: usize) -> String {
    let done = |change: &Change| if change.is_removal() { "removed" } else { "wrote" };
    let lines: String = changes.iter().map(|change| format!("{} {}\n", done(change), change.path)).collect();
    let removed = changes.iter().filter(|change| change.is_removal()).count();
    let (name, written) = (target.name(), changes.len() - removed);
    format!("{lines}{name}: {written} written, {removed} removed, {unchanged} up to date\n")
}

/// The command that fixes a drift, to be copied.
fn fix(args: &GenerateArgs) -> String {
    let in_source_tree = args.out.join("src/checks/lib.rs").exists();
    let program = if in_source_tree { "cargo run --quiet --" } else { "longhorn-health-exporter" };
    let target =
        args.target.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
    let mut command = format!("{program} generate {target}");
    if let Some(config) = &args.config {
        command.push_str(&format!(" --config {}", quote(config)));
    }
    if args.out != Path::new(".") {
        command.push_str(&format!(" --out {}", quote(&args.out)));
    }
    command
}

/// A path as a shell takes it.
fn quote(path: &Path) -> String {
    let text = path.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    if text.chars().all(plain) { text.into_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}
