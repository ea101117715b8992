//! What `check` prints, by option: to a pipe, and to a terminal of some width (`script` makes one).

use crate::scenario;

use std::process::{Command, Output, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_longhorn-health-exporter");
const VOLUME: &str = "pvc-51aa7e20-8c1d-4f33-b0d2-9e8f7a6b5c4d";

/// Where the output goes.
#[derive(Debug, Clone, Copy)]
enum Out {
    Pipe,
    /// With this many columns.
    Terminal(usize),
    /// With this many columns and lines.
    Window(usize, usize),
}
use Out::{Pipe, Terminal, Window};

fn run(out: Out, args: &[&str], variables: &[(&str, &str)]) -> (String, String, i32) {
    let mut command = match out {
        Pipe => {
            let mut command = Command::new(PROGRAM);
            command.arg("check").args(args);
            command
        }
        Terminal(_) | Window(..) => {
            let (columns, rows) = match out {
                Window(columns, rows) => (columns, rows),
                Terminal(columns) => (columns, 50),
                Pipe => (0, 0),
            };
            let quoted: String = args.iter().map(|arg| format!(" '{arg}'")).collect();
            let inner = format!("stty cols {columns} rows {rows}; exec '{PROGRAM}' check{quoted}");
            let mut command = Command::new("script");
            command.args(["--quiet", "--return", "--command", &inner, "/dev/null"]);
            command
        }
    };
    command.env_remove("NO_COLOR").env("TERM", "xterm").envs(variables.iter().copied());
    let output: Output = command.stdin(Stdio::null()).output().expect("script is part of Debian's bsdutils");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().replace('\r', "");
    (text(output.stdout), text(output.stderr), output.status.code().unwrap())
}

/// An option and what it changes.
struct Case {
    args: &'static [&'static str],
    out: Out,
    code: i32,
    has: &'static [&'static str],
    lacks: &'static [&'static str],
}

const COLOUR: &str = "\u{1b}[";

const CASES: &[Case] = &[
    // a terminal and a pipe get the same screen, a terminal in colours
    Case {
        args: &[],
        out: Terminal(120),
        code: 1,
        has: &["Do first", COLOUR, "follows: "],
        lacks: &["because: "],
    },
    Case {
        args: &[],
        out: Pipe,
        code: 1,
        has: &["Do first", "follows: ", "fix: Install open-iscsi"],
        lacks: &["manager_crash_loop/", COLOUR],
    },
    Case {
        args: &["-o", "wide"],
        out: Pipe,
        code: 1,
        has: &["\ncritical  worker-5  manager_crash_loop/open_iscsi_missing  Pod/longhorn-manager-f3524  "],
        lacks: &["Do first", COLOUR],
    },
    Case {
        args: &["-v"],
        out: Pipe,
        code: 1,
        has: &["What follows", "because: ", "fix: ", "Then"],
        lacks: &[COLOUR],
    },
    Case {
        args: &["--details", "2"],
        out: Pipe,
        code: 1,
        has: &["open_iscsi_missing", "because: "],
        lacks: &["deadlock"],
    },
    Case {
        args: &["--details", "99"],
        out: Terminal(100),
        code: 64,
        has: &["no incident 99: there are "],
        lacks: &[],
    },
    Case {
        args: &["--node", "worker-5"],
        out: Terminal(100),
        code: 1,
        has: &["Shown     node worker-5; ", "open-iscsi"],
        lacks: &["worker-3"],
    },
    Case {
        args: &["--volume", VOLUME, "-o", "wide"],
        out: Pipe,
        code: 1,
        has: &["volume_faulted/engine_died"],
        lacks: &["worker-5"],
    },
    Case {
        args: &["--pvc", "monitoring/metrics-0", "-o", "wide"],
        out: Pipe,
        code: 1,
        has: &["volume_faulted/engine_died"],
        lacks: &["worker-5"],
    },
    // severity chooses what is shown, and not what fails
    Case {
        args: &["--severity", "critical", "--node", "worker-2"],
        out: Terminal(100),
        code: 1,
        has: &["critical only"],
        lacks: &["warning "],
    },
    Case {
        args: &["--skip", "volume_faulted,manager_crash_loop/open_iscsi_missing"],
        out: Terminal(100),
        code: 1,
        has: &["2 accepted findings"],
        lacks: &["open-iscsi is missing"],
    },
    Case {
        args: &["-o", "wide"],
        out: Terminal(60),
        code: 1,
        has: &["\ncritical  worker-5  manager_crash_loop/open_iscsi_missing  "],
        lacks: &[COLOUR],
    },
    Case {
        args: &["-o", "markdown"],
        out: Terminal(60),
        code: 1,
        has: &["### Longhorn: critical\n", "1. **critical** ", "   ```sh\n"],
        lacks: &[COLOUR],
    },
    Case {
        args: &["-o", "json"],
        out: Terminal(60),
        code: 1,
        has: &["\"schema\": \"v1\"", "\"status\": \"critical\""],
        lacks: &[COLOUR],
    },
    Case {
        args: &["-o", "junit"],
        out: Terminal(60),
        code: 1,
        has: &["<testsuites name=", "worker-5"],
        lacks: &[COLOUR, "longhorn-manager-f3524\""],
    },
    Case { args: &["--fail-on", "never"], out: Pipe, code: 0, has: &["CRITICAL  "], lacks: &[] },
    Case {
        args: &["--fail-on", "critical", "--only", "node_unregistered"],
        out: Pipe,
        code: 0,
        has: &["WARNING  "],
        lacks: &[],
    },
    Case {
        args: &["--fail-on", "warning", "--only", "node_unregistered"],
        out: Pipe,
        code: 1,
        has: &["WARNING  "],
        lacks: &[],
    },
    Case {
        args: &["--cluster-name", "prod-eu1"],
        out: Terminal(100),
        code: 1,
        has: &["cluster prod-eu1 · Longhorn v1.8.0"],
        lacks: &["cluster demo"],
    },
];

#[test]
fn each_option_changes_what_it_says() {
    for case in CASES {
        let args = [&["--demo"], case.args].concat();
        let (text, error, code) = run(case.out, &args, &[]);
        let told = format!("{args:?} {:?}: {code}\n{text}{error}", case.out);
        assert_eq!(code, case.code, "{told}");
        for part in case.has {
            assert!(text.contains(part), "lacks {part:?}: {told}");
        }
        for part in case.lacks {
            assert!(!text.contains(part), "has {part:?}: {told}");
        }
    }
}

#[test]
fn names_that_do_not_exist_are_refused() {
    for (args, part) in [
        (["--node", "worker-55"], "no node 'worker-55'; did you mean worker-5?"),
        (["--pvc", "monitoring/metric-0"], "did you mean monitoring/metrics-0?"),
        (["--volume", "pvc-0"], "no volume 'pvc-0'"),
        (["--skip", "volume_fault"], "did you mean volume_faulted?"),
        (["--skip", "volume_faulted/engine_die"], "did you mean engine_died?"),
    ] {
        let (text, error, code) = run(Pipe, &[&["--demo"], &args[..]].concat(), &[]);
        assert_eq!((code, text.as_str()), (64, ""), "{args:?}: {error}");
        assert!(error.contains(part), "{args:?}: {error}");
    }
}

#[test]
fn accepted_findings_are_counted_apart_until_their_last_day() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("accepted.yaml");
    let accept = |until: &str| {
        let one = format!("accepted:\n- {{check: backup_failing, reason: 'OPS-17', until: {until}}}\n");
        std::fs::write(&path, one).unwrap();
        let args = ["--demo", "-o", "wide", "--only", "backup_failing", "--accepted", path.to_str().unwrap()];
        run(Pipe, &args, &[])
    };
    let (text, _, code) = accept("2999-12-31");
    assert_eq!(code, 0, "{text}");
    assert!(
        text.contains("\naccepted  -  backup_failing/target_unavailable  ") && text.contains("OPS-17"),
        "{text}"
    );
    let (text, error, code) = accept("2020-12-31");
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("\nwarning  -  backup_failing/target_unavailable  "), "{text}");
    assert!(error.contains("acceptance expired on 2020-12-31: backup_failing (OPS-17)"), "{error}");
}

#[test]
fn a_terminal_decides_on_width_and_the_user_on_colours() {
    for columns in [60, 80, 120, 200] {
        let (text, ..) = run(Terminal(columns), &["--demo"], &[("NO_COLOR", "1")]);
        assert!(!text.contains(COLOUR), "{text}");
        let is_command = |line: &&str| line.trim_start().starts_with(['!', '$']);
        for line in text.lines().filter(|line| !is_command(line)) {
            assert!(line.chars().count() <= columns, "{columns}: {line}");
        }
    }
    let (text, ..) = run(Terminal(100), &["--demo"], &[("TERM", "dumb")]);
    assert!(!text.contains(COLOUR), "{text}");
}

#[test]
fn the_demo_is_a_screen_with_its_four_causes_first() {
    let (text, ..) = run(Terminal(100), &["--demo"], &[("NO_COLOR", "1")]);
    for (number, word) in
        [(1, "cannot list csidrivers"), (2, "open-iscsi"), (3, "OOM-killed"), (4, "Eviction of worker-2")]
    {
        let item = format!("{number} critical  ");
        let line = text.lines().find(|line| line.starts_with(&item)).unwrap_or_else(|| panic!("{text}"));
        let rest = text.split_once(line).map_or("", |(_, rest)| rest);
        let wrapped: Vec<&str> =
            [line].into_iter().chain(rest.lines().skip(1).take(1)).map(str::trim).collect();
        assert!(wrapped.join(" ").contains(word), "{number}: {text}");
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
    let readme = std::fs::read_to_string(path).unwrap();
    let shown = readme.split_once("\nData ").and_then(|(_, rest)| rest.split_once("```")).unwrap().0;
    let (window, ..) = run(Window(100, 24), &["--demo"], &[("NO_COLOR", "1")]);
    let told = window.split_once("\nData ").unwrap().1;
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        return std::fs::write(path, readme.replace(shown, told)).unwrap();
    }
    assert_eq!(shown, told, "what the README shows, and what check --demo says");
}

/// What makes a step safe may stand in the last sentence of a fix.
#[test]
fn no_fix_is_cut_on_any_screen() {
    for path in scenario::all() {
        let recording = scenario::written(&path);
        let from = recording.path().to_str().unwrap();
        let report: serde_json::Value =
            serde_json::from_str(&run(Pipe, &["--from", from, "-o", "json"], &[]).0).unwrap();
        let fixes = report["incidents"].as_array().unwrap().iter().map(|incident| &incident["fix"]);
        let fixes: Vec<&str> = fixes.filter_map(serde_json::Value::as_str).collect();
        for out in [Pipe, Window(80, 24)] {
            let (text, ..) = run(out, &["--from", from], &[("NO_COLOR", "1")]);
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            for shown in words.split("fix: ").skip(1) {
                assert!(fixes.iter().any(|fix| shown.starts_with(fix)), "{path:?}: {text}");
            }
        }
    }
}

/// Nothing of the screen scrolls away: status and data are what a person reads first.
#[test]
fn a_small_terminal_shows_the_whole_screen() {
    for (columns, rows) in [(80, 24), (100, 24), (100, 40), (200, 50)] {
        let (text, ..) = run(Window(columns, rows), &["--demo"], &[("NO_COLOR", "1")]);
        let lines: usize = text.lines().map(|line| line.chars().count().div_ceil(columns).max(1)).sum();
        assert!(lines < rows, "{lines} lines of {rows}\n{text}");
        assert!(text.contains("fix: ") && text.contains("\nThen\n"), "{text}");
    }
}

#[test]
fn a_cluster_of_320_nodes_with_one_trouble_is_one_item() {
    let text = scenario::files::text(&scenario::root().join("incident-002-open-iscsi-missing"));
    let objects: Vec<&str> = text.split("\n---\n").collect();
    let of_worker_3 = |kind: &str| {
        let is =
            |object: &&&str| object.contains(&format!("\nkind: {kind}\n")) && object.contains("worker-3");
        *objects.iter().find(is).unwrap()
    };
    let (node, pod) = (of_worker_3("Node"), of_worker_3("Pod"));
    let mut all: Vec<String> = objects.iter().map(|object| (*object).to_owned()).collect();
    for number in 4..=320 {
        let other = |object: &str| {
            let object = object.replace("worker-3", &format!("worker-{number}"));
            object
                .replace("longhorn-manager-64fb9", &format!("longhorn-manager-n{number}"))
                .replace("\n  uid: ", &format!("\n  uid: n{number}-"))
        };
        all.extend([other(node), other(pod)]);
    }
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("cluster.yaml"), all.join("\n---\n") + "\n").unwrap();
    let path = directory.path().to_str().unwrap();
    let (text, error, code) = run(Terminal(100), &["--from", path], &[("NO_COLOR", "1")]);
    assert_eq!(code, 1, "{text}{error}");
    assert!(text.lines().count() <= 30, "{} lines\n{text}", text.lines().count());
    assert!(
        text.contains(
            "open-iscsi is missing; also on\n            319 nodes (worker-2, -3, -4 and 316 more) · 4 h\n"
        ),
        "{text}"
    );
    let (text, ..) = run(Pipe, &["--from", path, "-o", "wide"], &[]);
    assert_eq!(text.matches("manager_crash_loop/open_iscsi_missing").count(), 320);
}

/// The first thing that is told of each incident is its root, and never what follows from it.
#[test]
fn every_incident_names_its_root_first() {
    let roots = [
        (
            "incident-000-instance-manager-restarted",
            "warning   The instance manager on worker-2 was replaced: its liveness probe failed",
        ),
        // a note, and nothing else on the screen
        (
            "incident-001-old-instance-manager-held",
            "info      An old instance manager on worker-1 is waiting for 1 volume to be reattached",
        ),
        (
            "incident-002-open-iscsi-missing",
            "critical  longhorn-manager on worker-1 crash-loops (149 restarts): open-iscsi is missing",
        ),
        ("incident-003-backing-image-eviction-crash", "critical  Eviction of worker-2 crashes its manager"),
        ("incident-003-before-the-crash", "critical  Eviction of worker-2 crashes its manager"),
        (
            "incident-004-webhook-deadlock",
            "critical  No longhorn-manager has been Ready for 2 h: each is waiting for another (deadlock)",
        ),
    ];
    let scenarios = scenario::all();
    let incidents: Vec<&str> = scenarios
        .iter()
        .map(|path| scenario::name(path))
        .filter(|name| name.starts_with("incident-"))
        .collect();
    assert_eq!(incidents, roots.map(|(name, _)| name), "each incident has a root here");
    for (name, root) in roots {
        let recording = scenario::written(&scenario::root().join(name));
        let (text, ..) =
            run(Terminal(120), &["--from", recording.path().to_str().unwrap()], &[("NO_COLOR", "1")]);
        let first = text.lines().find(|line| line.starts_with("1 ")).unwrap_or_default();
        println!("{name}: {first}");
        assert!(first.starts_with(&format!("1 {root}")), "{text}");
        assert_eq!(text.starts_with("HEALTHY "), root.starts_with("info "), "{text}");
    }
}
