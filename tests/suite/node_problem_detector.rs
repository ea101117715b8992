//! The monitors for node-problem-detector against lines as kernel and containerd write them.
//!
//! node-problem-detector keeps the last lines in a buffer, joins them with line feeds, and takes a
//! rule for matched when its pattern matches up to the very end of the buffer
//! (kubernetes/node-problem-detector pkg/systemlogmonitor/log_buffer.go).

use std::collections::VecDeque;
use std::path::Path;

use regex::Regex;
use serde_json::Value;

const KERNEL: &str = "longhorn-kernel-monitor.json";
const CONTAINERD: &str = "longhorn-containerd-monitor.json";
const CONTAINERD_FILE: &str = "longhorn-containerd-file-monitor.json";

struct Monitor {
    buffer: usize,
    rules: Vec<(String, Regex)>,
}

impl Monitor {
    fn read(file: &str) -> (Value, Monitor) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/node-problem-detector").join(file);
        let config: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let rule = |rule: &Value| {
            let text = |key: &str| rule[key].as_str().unwrap().to_owned();
            assert_eq!(text("type"), "temporary", "only temporary rules make Events and no node condition");
            (text("reason"), Regex::new(&format!(r"{}\z", text("pattern"))).unwrap())
        };
        let rules = config["rules"].as_array().unwrap().iter().map(rule).collect();
        let buffer = config["bufferSize"].as_u64().unwrap() as usize;
        (config, Monitor { buffer, rules })
    }

    /// The reasons of the Events that these lines make, in order.
    fn events(&self, lines: &[&str]) -> Vec<&str> {
        let mut buffer: VecDeque<&str> = VecDeque::new();
        let mut events = Vec::new();
        for line in lines {
            if buffer.len() == self.buffer {
                buffer.pop_front();
            }
            buffer.push_back(line.trim());
            let text = buffer.iter().copied().collect::<Vec<_>>().join("\n");
            let matched = self.rules.iter().filter(|(_, pattern)| pattern.is_match(&text));
            events.extend(matched.map(|(reason, _)| reason.as_str()));
        }
        events
    }
}

#[test]
fn lost_iscsi_connections_make_one_event_each() {
    let (_, monitor) = Monitor::read(KERNEL);
    let lines = [
        " connection17:0: detected conn error (1020)",
        "connection16:0: detected conn error (1020) ",
        "eth0: link becomes ready",
        "connection15:0: detected conn error (1020)",
    ];
    assert_eq!(monitor.events(&lines), ["LonghornISCSIConnError"; 3]);
}

#[test]
fn other_kernel_lines_make_none() {
    let (_, monitor) = Monitor::read(KERNEL);
    let lines = [
        "session17: session recovery timed out after 120 secs",
        "connection17:0: detected conn error (1011)",
        "connection17:0: ping timeout of 5 secs expired, recv timeout 5",
        "detected conn error (1020)",
        "scsi host7: iSCSI Initiator over TCP/IP",
        "",
    ];
    assert_eq!(monitor.events(&lines), [""; 0]);
}

#[test]
fn a_lost_shim_makes_one_event_and_its_clean_up_none() {
    let lines = [
        r#"time="2026-03-01T06:12:20.651526777Z" level=info msg="shim disconnected" id=5d0a namespace=k8s.io"#,
        r#"time="2026-03-01T06:12:20.651603253Z" level=warning msg="cleaning up after shim disconnected" id=5d0a namespace=k8s.io"#,
        r#"time="2026-03-01T06:12:20.651700000Z" level=info msg="cleaning up dead shim""#,
        r#"time="2026-03-01T06:12:21.819863412Z" level=info msg="Container to stop \"5d0a\" must be in running or unknown state, current state \"CONTAINER_EXITED\"""#,
    ];
    for file in [CONTAINERD, CONTAINERD_FILE] {
        assert_eq!(Monitor::read(file).1.events(&lines), ["LonghornShimDisconnected"], "{file}");
    }
}

/// The filelog plugin drops lines whose time it cannot tell, and takes the last group of each pattern.
#[test]
fn the_time_of_a_line_in_a_file_is_told() {
    let (config, _) = Monitor::read(CONTAINERD_FILE);
    let pattern = |key: &str| Regex::new(config["pluginConfig"][key].as_str().unwrap()).unwrap();
    let line = r#"time="2026-03-01T06:12:20.651526777Z" level=info msg="shim disconnected" id=5d0a"#;
    let last = |pattern: &Regex| pattern.captures(line).unwrap().iter().last().flatten().unwrap().as_str();
    assert_eq!(last(&pattern("timestamp")), "2026-03-01T06:12:20.651526777Z");
    assert_eq!(last(&pattern("message")), line);
    // Go's layout of RFC 3339 with a fraction
    assert_eq!(config["pluginConfig"]["timestampFormat"], "2006-01-02T15:04:05.999999999Z07:00");
}

#[test]
fn the_monitors_have_what_the_detector_wants() {
    for (file, plugin) in [(KERNEL, "kmsg"), (CONTAINERD, "journald"), (CONTAINERD_FILE, "filelog")] {
        let (config, _) = Monitor::read(file);
        assert_eq!(config["plugin"], plugin, "{file}");
        for key in ["logPath", "lookback", "source"] {
            assert!(config[key].as_str().is_some_and(|text| !text.is_empty()), "{file} {key}");
        }
        assert!(config["conditions"].as_array().is_some_and(Vec::is_empty), "{file}");
    }
    // without a source the journald plugin refuses to start
    assert_eq!(Monitor::read(CONTAINERD).0["pluginConfig"]["source"], "containerd");
}
