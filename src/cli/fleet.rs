//! Several clusters side by side: one table, worst first, and the exit code of the worst.

use std::time::Duration;

use anyhow::anyhow;
use clap::Args;
use futures::future::join_all;
use serde::Serialize;

use super::source::Wanted;
use super::{Failure, SourceArgs, exit, print};
use crate::check::plain;
use crate::cluster::Cluster;
use crate::source::connect;

/// Which clusters are looked at.
#[derive(Debug, Args)]
pub struct FleetArgs {
    /// Check all kubeconfig contexts in one table, worst first (for some, repeat --context)
    #[arg(long, help_heading = "Source", conflicts_with_all = ["demo", "from", "context"])]
    all_contexts: bool,
}

/// One cluster of the table.
#[derive(Debug, Serialize)]
pub struct Row<T> {
    pub context: String,
    /// What the command would end with for it alone.
    pub exit_code: u8,
    /// How it is, in a word.
    pub word: String,
    /// What is said first.
    pub answer: String,
    /// The whole answer, unless the cluster could not be looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<T>,
    /// Where it stands among those of the same exit code, the worst first.
    #[serde(skip)]
    pub rank: u8,
}

/// What `-o json` prints.
#[derive(Serialize)]
struct Fleet<'a, T> {
    schema: &'static str,
    exit_code: u8,
    clusters: &'a [Row<T>],
}

impl FleetArgs {
    /// A source for each context, where several are asked for.
    pub fn sources(&self, source: &SourceArgs) -> Result<Option<Vec<SourceArgs>>, Failure> {
        let known = || connect::contexts(source.kubeconfig.as_deref()).map_err(Failure::usage);
        let mut wanted = if self.all_contexts { known()? } else { source.context.clone() };
        if !self.all_contexts && wanted.len() < 2 {
            return Ok(None);
        }
        if wanted.is_empty() {
            return Err(Failure::usage(anyhow!("the kubeconfig has no context")));
        }
        let known = known()?;
        if let Some(wrong) = wanted.iter().find(|name| !known.contains(name)) {
            return Err(Failure::usage(anyhow!(
                "the kubeconfig has no context '{wrong}'; it has {}",
                known.join(", ")
            )));
        }
        wanted.sort();
        wanted.dedup();
        // a name and a UI belong to one cluster
        let (cluster_name, longhorn_ui_url) = (None, None);
        let of_one = SourceArgs { cluster_name, longhorn_ui_url, ..source.clone() };
        let alone = |context| SourceArgs { context: vec![context], ..of_one.clone() };
        Ok(Some(wanted.into_iter().map(alone).collect()))
    }
}

/// Looks at all of them at the same time; none waits for another longer than `patience` lets it. What cannot be answered for one, such
/// as a node that only others have, is the row of that one; where it is so for every one, the question was wrong.
pub fn rows<T>(
    sources: &[SourceArgs],
    wanted: &Wanted,
    patience: Duration,
    row: impl Fn(&SourceArgs, &Cluster) -> Result<Row<T>, Failure>,
) -> Result<Vec<Row<T>>, Failure> {
    let looks = join_all(sources.iter().map(|source| source.look(wanted, patience)));
    let looked = super::runtime()?.block_on(looks);
    let (mut rows, mut wrong) = (Vec::new(), Vec::new());
    for (source, looked) in sources.iter().zip(looked) {
        let answer = match looked.map(|cluster| row(source, &cluster)) {
            Ok(Ok(row)) => {
                rows.push(row);
                continue;
            }
            Ok(Err(failure)) => {
                let answer = failure.error.to_string();
                wrong.push(failure);
                answer
            }
            Err(error) => error.to_string(),
        };
        rows.push(Row {
            context: source.context().unwrap_or_default().to_owned(),
            exit_code: exit::UNKNOWN,
            word: "unknown".to_owned(),
            answer,
            report: None,
            rank: 0,
        });
    }
    if wrong.len() == sources.len() {
        return Err(wrong.swap_remove(0));
    }
    worst_first(&mut rows);
    Ok(rows)
}

/// What is known to be wrong counts before what is unknown.
fn worst_first<T>(rows: &mut [Row<T>]) {
    let place = |row: &Row<T>| [exit::FINDINGS, exit::UNKNOWN].iter().position(|code| *code == row.exit_code);
    rows.sort_by_key(|row| (place(row).unwrap_or(usize::MAX), row.rank));
}

/// Prints the table, or all answers as JSON, and gives the exit code.
pub fn show<T: Serialize>(rows: &[Row<T>], as_json: bool) -> Result<u8, Failure> {
    let exit_code = rows.first().map_or(exit::UNKNOWN, |row| row.exit_code);
    if as_json {
        let fleet = Fleet { schema: "v1", exit_code, clusters: rows };
        let text = serde_json::to_string_pretty(&fleet).map_err(Failure::unknown)?;
        print(&format!("{text}\n"))?;
        return Ok(exit_code);
    }
    let widest = |of: fn(&Row<T>) -> usize| rows.iter().map(of).max().unwrap_or(0);
    let (words, names) =
        (widest(|row| row.word.chars().count()), widest(|row| plain(&row.context).chars().count()));
    let line = |row: &Row<T>| {
        let (word, name) = (row.word.to_uppercase(), plain(&row.context));
        format!("{word:<words$}  {name:<names$}  {}\n", plain(&row.answer))
    };
    print(&rows.iter().map(line).collect::<String>())?;
    Ok(exit_code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_is_first() {
        let row = |context: &str, exit_code, rank| Row {
            context: context.to_owned(),
            exit_code,
            word: String::new(),
            answer: String::new(),
            report: None::<()>,
            rank,
        };
        let mut rows = [
            row("healthy", 0, 1),
            row("blind", 2, 0),
            row("warning", 1, 1),
            row("critical", 1, 0),
            row("fine", 0, 1),
        ];
        worst_first(&mut rows);
        let order: Vec<&str> = rows.iter().map(|row| row.context.as_str()).collect();
        assert_eq!(order, ["critical", "warning", "blind", "healthy", "fine"]);
        assert_eq!(show(&rows, true).unwrap(), 1);
    }
}
