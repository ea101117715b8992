//! What makes a recording useless.

use thiserror::Error;

/// A recording that cannot be used. The message names the file and says what to do.
#[derive(Debug, Error)]
pub enum RecordingError {
    /// The path does not exist or is not readable.
    #[error("{path}: {reason}")]
    Unreadable {
        /// What was asked for.
        path: String,
        /// What the system said.
        reason: std::io::Error,
    },
    /// An archive that is not read: compressed otherwise, or within another.
    #[error("{file}: is an archive; unpack it and give the directory or file in it")]
    Archive { file: String },
    /// A file is neither YAML nor JSON.
    #[error("{file}:{line}: not valid YAML or JSON: {message}")]
    Syntax {
        file: String,
        /// Line of the file, from 1.
        line: u64,
        /// What the parser said.
        message: String,
    },
    /// Nothing in it is an object that is read here.
    #[error(
        "{path}: no object of Longhorn or of Kubernetes that belongs to it; docs/recording.md shows how to record a cluster{}{}",
        if *.directory { ", here only files named .yaml, .yml, .json and .log are read" } else { "" },
        some_of(.losses)
    )]
    Empty {
        /// What was asked for.
        path: String,
        /// Other files of a directory are not looked at.
        directory: bool,
        /// What is in it instead, by file.
        losses: Vec<String>,
    },
    /// Objects of two clusters.
    #[error("two clusters in one recording: {object} is {first}, but {second}; give one of them")]
    TwoClusters {
        /// An object that both have.
        object: String,
        /// Its identity in the one, and the file.
        first: String,
        /// Its identity in the other, and the file.
        second: String,
    },
    /// Longhorn is in it, but in another namespace.
    #[error("{path}: no Longhorn object in namespace {namespace}, but in {found}; set that with --namespace")]
    OtherNamespace {
        /// What was asked for.
        path: String,
        /// The namespace asked for.
        namespace: String,
        /// Where Longhorn is.
        found: String,
    },
}

/// Files that an error names; an archive may have tens of thousands.
const NAMED: usize = 5;

pub(super) fn some_of(losses: &[String]) -> String {
    let said: String = losses.iter().take(NAMED).map(|loss| format!("; {loss}")).collect();
    match losses.len().saturating_sub(NAMED) {
        0 => said,
        more => format!("{said}; and {more} more"),
    }
}
