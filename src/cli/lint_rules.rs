//! `lint-rules`: what users' own rules and dashboards ask of Longhorn's metrics in vain.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::check::github::{data, property};
use super::{Failure, print};
use crate::check::{counted, plain};
use crate::facts::releases::LINES;
use crate::lint_rules::{Level, Linted, Problem, lint};
use crate::longhorn::Release;

/// Options of `lint-rules`.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes:\n  0   nothing is wrong\n  1   errors or warnings\n  \
                        2   unknown: something could not be judged\n  64  bad usage or unreadable input")]
pub struct LintArgs {
    /// Rule files, PrometheusRules, chart values, Grafana dashboards, directories of them, or - for standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// Longhorn release whose metrics the queries must match [default: the newest known]
    #[arg(long, value_name = "VERSION", value_parser = super::plan::release)]
    release: Option<Release>,

    /// Format of the output
    #[arg(long, short = 'o', value_enum, default_value_t = LintFormat::Table)]
    output: LintFormat,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum LintFormat {
    /// Human-readable text
    Table,
    /// JSON, for scripts
    Json,
    /// SARIF 2.1.0 for code scanning
    Sarif,
    /// GitHub Actions annotations
    Github,
}

/// Larger files are none that people write.
const LARGEST: u64 = 16 << 20;

/// Runs `lint-rules`.
pub fn run(args: LintArgs) -> Result<u8, Failure> {
    let mut files = Vec::new();
    let mut unread = Vec::new();
    for path in &args.files {
        read(path, &mut files, &mut unread).map_err(Failure::usage)?;
    }
    let newest = LINES.last().map_or(Release::new(1, 12, 1), |line| line.newest());
    let mut linted =
        lint(&files, args.release.unwrap_or(newest)).map_err(|error| Failure::usage(anyhow!(error)))?;
    if !unread.is_empty() && linted.exit_code == 0 {
        linted.exit_code = 2;
    }
    linted.problems.append(&mut unread);
    print(&match args.output {
        LintFormat::Table => table(&linted),
        LintFormat::Json => pretty(&serde_json::to_value(&linted).map_err(Failure::unknown)?),
        LintFormat::Sarif => pretty(&sarif(&linted)),
        LintFormat::Github => github(&linted),
    })?;
    Ok(linted.exit_code)
}

/// Files of a directory by their endings, in the order of names. One that cannot be read there ends nothing.
fn read(path: &Path, files: &mut Vec<(String, String)>, unread: &mut Vec<Problem>) -> anyhow::Result<()> {
    let name = path.display().to_string();
    if path.is_dir() {
        let entries: Result<Vec<_>, _> = std::fs::read_dir(path).with_context(|| name.clone())?.collect();
        let mut entries: Vec<PathBuf> = entries?.into_iter().map(|entry| entry.path()).collect();
        entries.sort();
        let ending = |path: &Path| path.extension().and_then(|ending| ending.to_str().map(str::to_owned));
        let wanted = |path: &&PathBuf| {
            path.is_dir() || matches!(ending(path).as_deref(), Some("yaml" | "yml" | "json" | "rules"))
        };
        for entry in entries.iter().filter(wanted) {
            if let Err(error) = read(entry, files, unread) {
                unread.push(Problem::unread(&entry.display().to_string(), 1, format!("{error:#}")));
            }
        }
        return Ok(());
    }
    let mut text = String::new();
    let source: Box<dyn Read> = match name.as_str() {
        "-" => Box::new(std::io::stdin()),
        _ => Box::new(std::fs::File::open(path).with_context(|| name.clone())?),
    };
    source.take(LARGEST + 1).read_to_string(&mut text).with_context(|| name.clone())?;
    anyhow::ensure!(text.len() as u64 <= LARGEST, "{name} is larger than 16 MiB");
    files.push((name, text));
    Ok(())
}

fn message(problem: &Problem) -> String {
    let said = &problem.said;
    let instead =
        if said.instead.is_empty() { String::new() } else { format!(". Use instead: {}", said.instead) };
    format!("{}: {}{instead}", problem.place, said.message)
}

fn summary(linted: &Linted) -> String {
    let of = |level: Level| linted.problems.iter().filter(|problem| problem.said.level == level).count();
    format!(
        "{}, {}, {} in {} on Longhorn metrics ({}), for {}\n",
        counted(of(Level::Error), "error"),
        counted(of(Level::Warning), "warning"),
        match of(Level::Unknown) {
            0 => "nothing unknown".to_owned(),
            number => format!("{number} unknown"),
        },
        counted(linted.expressions, "expression"),
        counted(linted.files, "file"),
        linted.release
    )
}

fn table(linted: &Linted) -> String {
    let mut text = String::new();
    for problem in &linted.problems {
        let (said, place) = (&problem.said, format!("{}:{}", problem.file, problem.line));
        let lines = [
            format!("{:<8}{}  {}  [{}]", said.level.as_str(), plain(&place), plain(&problem.place), said.id),
            format!(
                "        {}",
                plain(&problem.expression.split_whitespace().collect::<Vec<_>>().join(" "))
            ),
            format!("        {}", plain(&said.message)),
            if said.instead.is_empty() {
                String::new()
            } else {
                format!("        use instead: {}", plain(&said.instead))
            },
        ];
        lines.iter().filter(|line| !line.is_empty()).for_each(|line| text.push_str(&format!("{line}\n")));
    }
    text + &summary(linted)
}

fn github(linted: &Linted) -> String {
    let line = |problem: &Problem| {
        let level = match problem.said.level {
            Level::Error => "error",
            Level::Warning | Level::Unknown => "warning",
            Level::Note => "notice",
        };
        let (file, title) = (property(&problem.file), property(problem.said.id));
        format!("::{level} file={file},line={},title={title}::{}\n", problem.line, data(&message(problem)))
    };
    linted.problems.iter().map(line).collect::<String>() + &plain(summary(linted).trim_end()) + "\n"
}

fn sarif(linted: &Linted) -> Value {
    let result = |problem: &Problem| {
        let level = match problem.said.level {
            Level::Error => "error",
            Level::Warning => "warning",
            Level::Unknown | Level::Note => "note",
        };
        json!({
            "ruleId": problem.said.id,
            "level": level,
            "message": { "text": message(problem) },
            "locations": [{ "physicalLocation": {
                "artifactLocation": { "uri": problem.file },
                "region": { "startLine": problem.line },
            } }],
        })
    };
    let mut rules: Vec<&str> = linted.problems.iter().map(|problem| problem.said.id).collect();
    rules.sort_unstable();
    rules.dedup();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "longhorn-health-exporter",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules.iter().map(|id| json!({ "id": id })).collect::<Vec<_>>(),
            } },
            "results": linted.problems.iter().map(result).collect::<Vec<_>>(),
        }],
    })
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}
