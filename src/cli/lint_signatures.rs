//! `lint-signatures`: whether files of signatures are right, what each looks for, and what it finds in a recording.

use std::fmt::Write;
use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;
use jiff::Timestamp;

use super::source::{NAMESPACE, recording};
use super::{Failure, exit, print};
use crate::check::{Finding, counted, plain};
use crate::checks::CATALOGUE;
use crate::exporter::{SignatureFile, SignatureFiles};
use crate::report::{Report, ReportOptions, evaluate_with};

/// Options of `lint-signatures`.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes:\n  0   nothing is wrong\n  1   a file has errors\n  \
                        2   unknown: the recording lacks data that a signature needs\n  64  bad usage or unreadable input")]
pub struct LintSignaturesArgs {
    /// Signature files to check
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// Test the signatures on a recording: a directory, archive or kubectl get -o yaml|json output
    #[arg(long, value_name = "PATH")]
    from: Option<PathBuf>,

    /// Longhorn's namespace
    #[arg(long, short = 'n', default_value = NAMESPACE, env = "LONGHORN_HEALTH_NAMESPACE")]
    namespace: String,
}

/// Objects that are named of one signature.
const NAMED: usize = 5;

/// Runs `lint-signatures`.
#[allow(clippy::disallowed_methods, reason = "the clock is read here and handed down")]
pub fn run(args: LintSignaturesArgs) -> Result<u8, Failure> {
    let kinds = CATALOGUE.kinds();
    let (mut files, mut text) = (Vec::new(), String::new());
    for path in &args.files {
        if std::fs::metadata(path).is_err() {
            return Err(Failure::usage(anyhow!("cannot read {}: no such file", path.display())));
        }
        match SignatureFile::open(&kinds, path) {
            Ok(file) => files.push(file),
            Err(errors) => errors.iter().for_each(|error| text += &format!("error   {}\n", plain(error))),
        }
    }
    if !text.is_empty() {
        print(&text)?;
        return Ok(exit::FINDINGS);
    }
    let signatures = SignatureFiles::new(kinds, files).current();
    let report = match &args.from {
        Some(path) => {
            let cluster = recording(path, &args.namespace, Timestamp::now(), None)?;
            let options = ReportOptions { signatures: signatures.clone(), ..ReportOptions::default() };
            Some(evaluate_with(&CATALOGUE, &cluster, |check| check.of_signatures, &options).report)
        }
        None => None,
    };
    for signature in signatures.iter() {
        let _ = writeln!(text, "{}", plain(&signature.to_string())); // a String takes all
        if let Some(report) = &report {
            let _ = writeln!(text, "        {}", plain(&matches(report, &signature.name)));
        }
    }
    let unknown = report.iter().flat_map(|report| &report.unknown);
    unknown.for_each(|unknown| text += &format!("unknown {}\n", plain(&unknown.reason)));
    let is_unknown = report.is_some_and(|report| !report.unknown.is_empty());
    text += &format!(
        "{} in {}\n",
        counted(signatures.iter().count(), "signature"),
        counted(args.files.len(), "file")
    );
    print(&text)?;
    Ok(if is_unknown { exit::UNKNOWN } else { exit::OK })
}

fn matches(report: &Report, name: &str) -> String {
    let found: Vec<&Finding> =
        report.findings.iter().filter(|finding| finding.signature.as_deref() == Some(name)).collect();
    let mut named: Vec<String> = found.iter().take(NAMED).map(|finding| finding.object.to_string()).collect();
    match found.len().checked_sub(NAMED) {
        _ if found.is_empty() => return "matches nothing in what the recording has".to_owned(),
        Some(more @ 1..) => named.push(format!("and {more} more")),
        _ => {}
    }
    format!("matches {}", named.join(", "))
}
