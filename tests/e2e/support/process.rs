//! Child processes that cannot outlive the test, however it ends.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A child under a small guard shell, its output in a log file.
///
/// The guard reads signal names from a pipe whose other end only this process holds. When the
/// pipe closes, by `drop`, a panic, `abort` or SIGKILL, the child is killed. A parent-death signal
/// would not do: it follows the spawning *thread*, and the test harness ends one after each test.
pub struct Process {
    guard: Child,
    name: String,
    log: PathBuf,
}

const GUARD: &str = r#"
exec 3<&0 </dev/null
"$@" 3<&- & child=$!
{ while read -r signal; do kill -s "$signal" $child; done; kill -s KILL $child; } <&3 2>/dev/null &
watch=$!
wait $child; code=$?
kill -s KILL $watch 2>/dev/null
exit $code
"#;

impl Process {
    /// Starts `program`; its standard output and error are appended to `log`.
    pub fn start<S: AsRef<OsStr>>(
        program: &Path,
        args: impl IntoIterator<Item = S>,
        env: &[(&str, &str)],
        log: &Path,
    ) -> io::Result<Self> {
        let name = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy().into_owned();
        let out = File::options().create(true).append(true).open(log)?;
        let guard = Command::new("/bin/sh")
            .args(["-c", GUARD, "guard"])
            .arg(program)
            .args(args)
            .envs(env.iter().copied())
            .stdin(Stdio::piped())
            .stdout(out.try_clone()?)
            .stderr(out)
            .process_group(0)
            .spawn()?;
        Ok(Self { guard, name, log: log.to_owned() })
    }

    /// An error with the end of the log when the child is no longer running.
    pub fn ensure_running(&mut self) -> Result<(), String> {
        match self.guard.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(self.describe(&format!("ended with {status}"))),
            Err(error) => Err(self.describe(&error.to_string())),
        }
    }

    /// `what` happened to this process, with the last lines of its log.
    pub fn describe(&self, what: &str) -> String {
        let text = std::fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        let tail = lines[lines.len().saturating_sub(15)..].join("\n");
        format!("{} {what}; {} ends:\n{tail}", self.name, self.log.display())
    }

    /// Sends a signal by name, for example `TERM`.
    pub fn signal(&mut self, name: &str) -> io::Result<()> {
        match &mut self.guard.stdin {
            Some(pipe) => writeln!(pipe, "{name}"),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Waits for the end; `None` when the child is still running after `limit`.
    pub fn wait(&mut self, limit: Duration) -> io::Result<Option<ExitStatus>> {
        let start = Instant::now();
        loop {
            if let Some(status) = self.guard.try_wait()? {
                return Ok(Some(status));
            }
            if start.elapsed() > limit {
                return Ok(None);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// SIGTERM, then SIGKILL for whom ten seconds are not enough.
    pub fn stop(mut self) -> io::Result<()> {
        // A broken pipe means that the child has ended already.
        let _ = self.signal("TERM");
        self.wait(Duration::from_secs(10))?;
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        // The guard answers a closed pipe with SIGKILL, so this wait ends.
        let _ = self.guard.wait();
    }
}
