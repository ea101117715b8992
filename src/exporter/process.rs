//! Figures about this process, from Linux's `/proc`. What cannot be read is left out.
//!
//! Names are those of the Prometheus client libraries; proc(5) and getauxval(3) describe the files.

use std::fs;

use crate::check::Gauge;

use super::gauges::*;

/// `AT_CLKTCK` of getauxval(3): how many clock ticks `/proc` counts to a second.
const AT_CLKTCK: usize = 17;

/// What could be read, by family.
pub fn read() -> Vec<(&'static Gauge<[&'static str; 0]>, f64)> {
    let file = |name: &str| fs::read_to_string(format!("/proc/{name}")).unwrap_or_default();
    let (stat, status, limits) = (file("self/stat"), file("self/status"), file("self/limits"));
    let ticks = fs::read("/proc/self/auxv").ok().and_then(|auxv| ticks_per_second(&auxv));
    let in_seconds = |value: Option<f64>| Some(value? / ticks?);
    let boot = boot_time(&file("stat"));
    let start = in_seconds(stat_field(&stat, 22)).zip(boot).map(|(since_boot, boot)| boot + since_boot);
    let cpu = stat_field(&stat, 14).zip(stat_field(&stat, 15)).map(|(user, system)| user + system);
    let open = fs::read_dir("/proc/self/fd").ok().map(|entries| entries.count().saturating_sub(1) as f64);
    let read = [
        (&PROCESS_CPU, in_seconds(cpu)),
        (&PROCESS_START, start),
        (&PROCESS_RESIDENT, status_field(&status, "VmRSS").map(|kilobytes| kilobytes * 1024.0)),
        (&PROCESS_VIRTUAL, status_field(&status, "VmSize").map(|kilobytes| kilobytes * 1024.0)),
        (&PROCESS_VIRTUAL_MAX, limit(&limits, "Max address space")),
        (&PROCESS_OPEN_FDS, open),
        (&PROCESS_MAX_FDS, limit(&limits, "Max open files")),
        (&PROCESS_THREADS, status_field(&status, "Threads")),
    ];
    read.into_iter().filter_map(|(gauge, value)| Some((gauge, value?))).collect()
}

/// Field of `/proc/self/stat`, numbered from 1 as in the manual. The second field is the command in
/// parentheses, which may hold blanks and parentheses itself.
fn stat_field(stat: &str, number: usize) -> Option<f64> {
    let (_, after_command) = stat.rsplit_once(") ")?;
    after_command.split_whitespace().nth(number.checked_sub(3)?)?.parse().ok()
}

fn status_field(status: &str, name: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The soft limit; `unlimited` is none.
fn limit(limits: &str, name: &str) -> Option<f64> {
    let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

fn boot_time(stat: &str) -> Option<f64> {
    stat.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}

/// The auxiliary vector is pairs of native words.
fn ticks_per_second(auxv: &[u8]) -> Option<f64> {
    const WORD: usize = size_of::<usize>();
    let word = |bytes: &[u8]| bytes.try_into().ok().map(usize::from_ne_bytes);
    let mut pairs = auxv.chunks_exact(2 * WORD).map(|pair| pair.split_at(WORD));
    let (_, value) = pairs.find(|(key, _)| word(key) == Some(AT_CLKTCK))?;
    word(value).filter(|ticks| *ticks > 0).map(|ticks| ticks as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_with_blanks_and_parentheses_does_not_shift_the_fields() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194560 1 0 0 0 250 50 0 0 20 0 9 0 1234 0 0";
        assert_eq!(stat_field(stat, 14), Some(250.0));
        assert_eq!(stat_field(stat, 22), Some(1234.0));
        assert_eq!(stat_field("", 14), None);
    }

    #[test]
    fn limits_may_be_unlimited() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units\n\
                      Max open files            1024                 4096                 files\n\
                      Max address space         unlimited            unlimited            bytes\n";
        assert_eq!(limit(limits, "Max open files"), Some(1024.0));
        assert_eq!(limit(limits, "Max address space"), None);
    }

    #[test]
    fn this_process_can_be_read_on_linux() {
        let read = read();
        let names: Vec<_> = read.iter().map(|(gauge, _)| gauge.name).collect();
        if cfg!(target_os = "linux") {
            for name in ["process_cpu_seconds_total", "process_start_time_seconds", "process_open_fds"] {
                assert!(names.contains(&name), "{names:?}");
            }
        }
        assert!(read.iter().all(|(_, value)| value.is_finite() && *value >= 0.0));
    }
}
