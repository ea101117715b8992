//! Whether a container is in a crash loop, also while it happens to run between two crashes.

use jiff::{SignedDuration, Timestamp};

use crate::longhorn::{ContainerStatus, Terminated};

/// The longest pause that the kubelet makes between two starts. A loop cannot show itself faster.
const LONGEST_BACK_OFF: SignedDuration = SignedDuration::from_mins(5);
/// A life of this length resets the kubelet's back-off: what ends later is a crash, not a loop.
const BACK_OFF_RESET: SignedDuration = SignedDuration::from_mins(10);

/// What the kubelet says about the last life of a container in a crash loop.
#[derive(Debug, Clone, Copy)]
pub struct Loop<'a> {
    /// How the last life ended; absent only if the kubelet did not write it.
    pub end: Option<&'a Terminated>,
    /// How often the container was restarted.
    pub restarts: i64,
}

impl Loop<'_> {
    /// How long the last life was.
    pub fn run(&self) -> Option<SignedDuration> {
        self.end.and_then(length)
    }

    /// When the last life ended.
    pub fn ended(&self) -> Option<Timestamp> {
        self.end.and_then(|end| end.finished_at.get())
    }
}

/// Judges a container.
///
/// - Waiting with `CrashLoopBackOff`: the kubelet itself says so. Not after the very first end: a kubelet starts a container again
///   at once then (recorded: 1.36.3, 0 to 2 s), and one exit is no loop.
/// - Lost with its node or its container runtime (exit code 255, reason Unknown): a restart of those,
///   not of the container. Only the kubelet's own word makes that a loop.
/// - Terminated, and not for the first time: between a crash and the back-off.
/// - Running: still looping while it has not outlived the last, short life by a good margin
///   (twice as long, at least the longest back-off, at most the time that resets the back-off).
///   A start that fails after 120 s looks healthy for 119 s, and Ready too.
pub fn looping(status: &ContainerStatus, now: Timestamp) -> Option<Loop<'_>> {
    let restarts = status.restart_count.0;
    let end = last_end(status);
    let found = Loop { end, restarts };
    if status.state.waiting.as_ref().is_some_and(|waiting| waiting.reason == "CrashLoopBackOff") {
        let first =
            restarts == 0 && found.ended().is_some_and(|ended| now.duration_since(ended) < LONGEST_BACK_OFF);
        return (!first).then_some(found);
    }
    if end.is_some_and(|end| end.exit_code == 255 && end.reason == "Unknown") {
        return None;
    }
    let short = found.run().is_some_and(|run| run < BACK_OFF_RESET);
    if status.state.terminated.is_some() {
        return (restarts >= 1 && short).then_some(found);
    }
    let running = status.state.running.as_ref()?;
    if restarts < 2 || !short {
        return None;
    }
    let margin = (found.run()? * 2).clamp(LONGEST_BACK_OFF, BACK_OFF_RESET);
    let outlived = running.started_at.get().is_some_and(|started| now.duration_since(started) >= margin);
    (!outlived).then_some(found)
}

/// Why the container runtime does not start a container, with what it says: nothing of Longhorn has run then.
pub fn cannot_start(status: &ContainerStatus) -> Option<(&str, &str)> {
    const WAITS: [&str; 4] =
        ["CreateContainerError", "CreateContainerConfigError", "RunContainerError", "StartError"];
    const ENDS: [&str; 3] = ["StartError", "ContainerCannotRun", "RunContainerError"];
    let waiting =
        status.state.waiting.as_ref().map(|waiting| (waiting.reason.as_str(), waiting.message.as_str()));
    if let Some(found) = waiting.filter(|(reason, _)| WAITS.contains(reason)) {
        return Some(found);
    }
    let end = last_end(status)?;
    // 128 is what the runtime writes for a process that never was
    let never_ran = ENDS.contains(&end.reason.as_str()) || end.exit_code == 128;
    never_ran.then_some((end.reason.as_str(), end.message.as_str()))
}

/// True for a container whose main process was OOM-killed. The reason alone does not tell: it is also written when some process of
/// the container was killed once and the container ended later and otherwise, with its own exit code (recorded: kubelet 1.36.3 with
/// exit codes 0 and 1).
pub fn is_oom_killed(end: &Terminated) -> bool {
    end.reason == "OOMKilled" && end.exit_code == 137
}

/// How a container ended last.
pub fn last_end(status: &ContainerStatus) -> Option<&Terminated> {
    status.state.terminated.as_ref().or(status.last_state.terminated.as_ref())
}

/// How long a life was; `None` where the kubelet did not write both ends.
pub fn length(end: &Terminated) -> Option<SignedDuration> {
    let (started, finished) = (end.started_at.get()?, end.finished_at.get()?);
    Some(finished.duration_since(started)).filter(|length| !length.is_negative())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::time;

    #[test]
    fn a_running_container_loops_from_its_second_restart_until_it_outlives_the_margin() {
        let now = time("2026-01-01T12:00:00Z");
        let status = |restarts: i64, started: &str| -> ContainerStatus {
            let text = format!(
                "{{restartCount: {restarts}, state: {{running: {{startedAt: '2026-01-01T{started}Z'}}}}, lastState: {{terminated: \
                 {{exitCode: 1, startedAt: '2026-01-01T11:50:00Z', finishedAt: '2026-01-01T11:50:10Z'}}}}}}"
            );
            serde_yaml::from_str(&text).unwrap()
        };
        for (restarts, started, expected) in
            [(1, "11:59:50", false), (2, "11:59:50", true), (2, "11:55:01", true), (2, "11:55:00", false)]
        {
            let status = status(restarts, started);
            assert_eq!(
                looping(&status, now).is_some(),
                expected,
                "{restarts} restarts, runs since {started}"
            );
        }
    }
}
