//! `record`: everything the checks read, into a directory or an archive that `--from` reads.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::BoolishValueParser;
use flate2::Compression;
use flate2::write::GzEncoder;
use jiff::{SignedDuration, Timestamp};

use super::source::{NAMESPACE, positive_duration};
use super::{Failure, SourceError, exit};
use crate::check::plain;
use crate::source::connect::Connection;
use crate::source::record::{self, Recorded, Sink};
use crate::source::recording::anonymize::anonymize;
use crate::source::recording::{RecordedFile, Recording};

/// Options of `record`.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes:\n  0   everything was recorded\n  \
                        2   some data could not be read (the recording lists it); --from treats it as unknown\n  \
                        64  bad usage")]
pub struct RecordArgs {
    /// Path of the recording: a new or empty directory, or a new .tar.gz file
    #[arg(long, short = 'o', value_name = "DIR|FILE.tar.gz")]
    output: PathBuf,

    /// Longhorn's namespace
    #[arg(long, short = 'n', default_value = NAMESPACE, env = "LONGHORN_HEALTH_NAMESPACE")]
    namespace: String,

    /// Kubeconfig of the cluster [default: $KUBECONFIG, the pod's service account, ~/.kube/config]
    #[arg(long, value_name = "FILE", env = "LONGHORN_HEALTH_KUBECONFIG")]
    kubeconfig: Option<PathBuf>,

    /// Kubeconfig context to use [default: the current context]
    #[arg(long, value_name = "NAME", env = "LONGHORN_HEALTH_CONTEXT")]
    context: Option<String>,

    /// Replace addresses and names (nodes, claims, volumes, namespaces, workloads); the verdict stays the same
    #[arg(long, value_parser = BoolishValueParser::new(), env = "LONGHORN_HEALTH_ANONYMIZE")]
    anonymize: bool,

    /// Anonymize this recording instead of recording the cluster
    #[arg(long, value_name = "PATH", requires = "anonymize", conflicts_with_all = ["kubeconfig", "context"])]
    from: Option<PathBuf>,

    /// Timeout for each API server request
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = positive_duration, env = "LONGHORN_HEALTH_TIMEOUT")]
    timeout: SignedDuration,
}

/// Runs `record`.
pub fn run(args: RecordArgs) -> Result<u8, Failure> {
    if let Some(path) = &args.from {
        return args.rewrite(path);
    }
    super::runtime()?.block_on(args.record())
}

impl RecordArgs {
    #[allow(clippy::disallowed_methods, reason = "the clock is read here and handed down")]
    async fn record(&self) -> Result<u8, Failure> {
        let patience = self.timeout.unsigned_abs();
        let connection = Connection::open(self.kubeconfig.as_deref(), self.context.as_deref(), patience);
        let connection = connection.await.map_err(|error| Failure::from(SourceError::from(error)))?;
        connection.probe(patience).await.map_err(|error| Failure::from(SourceError::from(error)))?;
        let place = |error: io::Error| anyhow::anyhow!("{}: {error}", self.output.display());
        let mut output = RecordOutput::new(&self.output).map_err(|error| Failure::usage(place(error)))?;
        output.held = self.anonymize.then(Vec::new);
        let now = Timestamp::now();
        let recorded =
            record::record(&connection.client(), &self.namespace, patience, now, &mut output).await;
        let recorded = recorded.and_then(|recorded| output.finish(&self.namespace, now).map(|()| recorded));
        let recorded = recorded.map_err(|error| Failure::unknown(place(error)))?;
        self.say(&recorded);
        Ok(if recorded.unread.is_empty() { exit::OK } else { exit::UNKNOWN })
    }

    /// Writes a recording with other names.
    #[allow(clippy::disallowed_methods, reason = "the clock is read here and handed down")]
    fn rewrite(&self, path: &Path) -> Result<u8, Failure> {
        let place = |error: io::Error| Failure::usage(anyhow::anyhow!("{}: {error}", self.output.display()));
        let recording = Recording::to_anonymize().with_path(path, &self.namespace, Timestamp::now());
        let recording = recording.map_err(Failure::usage)?;
        for warning in &recording.warnings {
            eprintln!("warning: {}", plain(warning));
        }
        let mut output = RecordOutput::new(&self.output).map_err(place)?;
        for file in anonymize(recording, &self.namespace) {
            output.put_bytes(&file.name, &file.content).map_err(place)?;
        }
        output.finish(&self.namespace, Timestamp::now()).map_err(place)?;
        eprintln!(
            "recording written; read it before you share it. To check it: {} check --from {}",
            super::called(),
            self.output.display()
        );
        Ok(exit::OK)
    }

    fn say(&self, recorded: &Recorded) {
        for unread in &recorded.unread {
            eprintln!("warning: not recorded: {}", plain(unread));
        }
        eprintln!(
            "{} objects and {} logs recorded. To check them: {} check --from {}",
            recorded.objects,
            recorded.logs,
            super::called(),
            self.output.display()
        );
    }
}

/// A file that was not there: nothing is overwritten, and no link that somebody left is followed.
fn create(path: &Path) -> io::Result<File> {
    let file = File::options().write(true).create_new(true).open(path);
    file.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            io::Error::other(format!("{} already exists; remove it first", path.display()))
        }
        _ => error,
    })
}

/// A directory or an archive.
struct RecordOutput {
    kind: OutputKind,
    /// Whether a person watches.
    watched: bool,
    /// What is written with other names, once all of it is there.
    held: Option<Vec<RecordedFile>>,
}

enum OutputKind {
    Directory(PathBuf),
    Archive { tar: Box<tar::Builder<GzEncoder<File>>>, unfinished: PathBuf, finished: PathBuf },
}

impl RecordOutput {
    fn new(path: &Path) -> io::Result<Self> {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let kind = if name.ends_with(".tar.gz") || name.ends_with(".tgz") {
            if path.exists() {
                return Err(io::Error::other("already exists; use a new file name"));
            }
            // a copy of an unfinished file has a name that says so
            let unfinished = path.with_file_name(format!("{name}.unfinished"));
            let file = GzEncoder::new(create(&unfinished)?, Compression::default());
            let finished = path.to_owned();
            OutputKind::Archive { tar: Box::new(tar::Builder::new(file)), unfinished, finished }
        } else {
            std::fs::create_dir_all(path)?;
            if std::fs::read_dir(path)?.next().is_some() {
                return Err(io::Error::other("is not empty; use a new or empty directory"));
            }
            OutputKind::Directory(path.to_owned())
        };
        Ok(RecordOutput { kind, watched: io::stderr().is_terminal(), held: None })
    }

    fn finish(mut self, namespace: &str, now: Timestamp) -> io::Result<()> {
        if let Some(files) = self.held.take() {
            let recording = Recording::to_anonymize().with_files(files, namespace, now);
            for file in anonymize(recording.map_err(io::Error::other)?, namespace) {
                self.put_bytes(&file.name, &file.content)?;
            }
        }
        if self.watched {
            eprint!("\r\x1b[2K");
        }
        if let OutputKind::Archive { tar, unfinished, finished } = self.kind {
            tar.into_inner()?.finish()?.sync_all()?;
            std::fs::rename(unfinished, finished)?;
        }
        Ok(())
    }
}

impl Sink for RecordOutput {
    fn put(&mut self, name: &str, size: u64, content: &mut dyn Read) -> io::Result<()> {
        if let Some(held) = &mut self.held {
            let mut whole = Vec::new();
            content.read_to_end(&mut whole)?;
            held.push(RecordedFile { name: name.to_owned(), content: whole });
            return Ok(());
        }
        match &mut self.kind {
            OutputKind::Directory(path) => {
                let path = path.join(name);
                path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
                io::copy(content, &mut create(&path)?).map(|_bytes| ())
            }
            OutputKind::Archive { tar, .. } => {
                let mut header = tar::Header::new_gnu();
                header.set_size(size);
                header.set_mode(0o644);
                tar.append_data(&mut header, format!("recording/{name}"), content)
            }
        }
    }

    /// Beside the recording, where there is room for it.
    fn spool(&self) -> io::Result<File> {
        let beside = match &self.kind {
            OutputKind::Directory(path) => path.as_path(),
            OutputKind::Archive { finished, .. } => finished.parent().unwrap_or(finished),
        };
        let here = beside.as_os_str().is_empty();
        tempfile::tempfile_in(if here { Path::new(".") } else { beside })
    }

    fn reading(&mut self, what: &str) {
        if self.watched {
            eprint!("\r\x1b[2Kreading {what}");
            let _ = io::stderr().flush(); // a courtesy: what cannot be written does not end the recording
        }
    }
}
