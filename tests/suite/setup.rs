//! The setup of scripts/test asks for every package of its list, whatever shell `sh` is: dash, unlike
//! bash, hands no arguments to a script that it sources. scripts/try-setup installs them for real.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a minimal Debian has, and the compilers.
const PROGRAMS: &[&str] = &["cat", "cc", "cargo", "dirname", "env", "rm", "rustc", "sed", "tr"];

fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let runs = |file: &PathBuf| file.metadata().is_ok_and(|file| file.permissions().mode() & 0o111 != 0);
    std::env::split_paths(&path).map(|directory| directory.join(program)).find(runs)
}

fn script(path: &Path, text: &str) {
    fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn every_shell_asks_for_every_package() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let packages = fs::read_to_string(root.join("tests/e2e/packages.txt")).unwrap();
    let shells: Vec<_> = ["sh", "dash", "bash"].into_iter().filter_map(find).collect();
    assert!(!shells.is_empty());
    for shell in shells {
        let bin = tempfile::tempdir().unwrap();
        for program in PROGRAMS {
            symlink(find(program).unwrap(), bin.path().join(program)).unwrap();
        }
        let log = bin.path().join("asked");
        script(&bin.path().join("id"), "echo 0");
        // `install` ends the run before anything is built
        script(
            &bin.path().join("apt-get"),
            &format!("echo \"$@\" >>{}; [ \"$1\" != install ] || exit 7", log.display()),
        );
        let output = Command::new(&shell)
            .arg(root.join("scripts/test"))
            .env_clear()
            .envs([("PATH", bin.path()), ("HOME", bin.path())])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(7), "{}: {said}", shell.display());
        let asked = fs::read_to_string(&log).unwrap();
        let words: Vec<&str> = asked.split_whitespace().collect();
        for package in packages.lines() {
            assert!(words.contains(&package), "{} does not ask for {package}: {asked}", shell.display());
        }
    }
}

/// A machine with these programs, each a script; the rest of what a minimal system has is this one's.
fn said_on(programs: &[(&str, &str)], without: &[&str], script_name: &str) -> (Option<i32>, String) {
    let bin = tempfile::tempdir().unwrap();
    for program in PROGRAMS.iter().chain(&["sh"]).filter(|program| !without.contains(program)) {
        symlink(find(program).unwrap(), bin.path().join(program)).unwrap();
    }
    for (program, text) in programs {
        let path = bin.path().join(program);
        let _ = fs::remove_file(&path);
        script(&path, text);
    }
    let output = Command::new(bin.path().join("sh"))
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts").join(script_name))
        .env_clear()
        .envs([("PATH", bin.path()), ("HOME", bin.path())])
        .env("LHE_SETUP_ONLY", "1")
        .output()
        .unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn where_nothing_can_be_installed_one_line_says_what_is_missing() {
    let no_cc = ["cc"];
    for (programs, script, said) in [
        (&[("id", "echo 0"), ("dnf", "exit 1")][..], "demo", "sudo dnf install gcc"),
        (&[("id", "echo 0"), ("dnf", "exit 1")], "test", "ShellCheck etcd"),
        (&[("id", "echo 501"), ("brew", "exit 1")], "demo", "xcode-select --install"),
        (
            &[("id", "echo 501"), ("uname", "echo Darwin")],
            "test",
            "the tests need Linux; please install Docker",
        ),
        (&[("id", "echo 0")], "demo", "a C compiler"),
        (
            &[("id", "echo 1000"), ("apt-get", "exit 1")],
            "demo",
            "neither root nor sudo here; please have installed first: apt-get install gcc",
        ),
    ] {
        let (code, text) = said_on(programs, &no_cc, script);
        assert_eq!(code, Some(1), "{text}");
        assert!(text.lines().count() == 1 && text.contains(said), "{said}: {text}");
    }
}

#[test]
fn a_rust_that_is_too_old_is_replaced_or_told() {
    let old = ("rustc", "echo 'rustc 1.75.0 (82e1608df 2023-12-21)'");
    let (code, text) = said_on(&[("id", "echo 0"), ("cargo", "exit 1"), old], &[], "demo");
    assert_eq!(code, Some(1), "{text}");
    assert!(text.lines().count() == 1 && text.contains("please install rustup first"), "{text}");
    // what rustup installs is found by the variable that it reads
    let new = ("rustc", "[ \"$RUSTUP_TOOLCHAIN\" = stable ] && echo 'rustc 1.99.0' || echo 'rustc 1.75.0'");
    let (code, text) =
        said_on(&[("id", "echo 0"), ("cargo", "exit 1"), new, ("rustup", "exit 0")], &[], "demo");
    assert_eq!((code, text.as_str()), (Some(0), ""));
    let stubborn = said_on(&[("id", "echo 0"), ("cargo", "exit 1"), old, ("rustup", "exit 0")], &[], "demo");
    assert!(stubborn.0 == Some(1) && stubborn.1.contains("please update it"), "{stubborn:?}");
    // without a network curl says why, and the last line what to do
    let offline = ("curl", "echo 'curl: (6) Could not resolve host' >&2; exit 6");
    let programs = [("id", "echo 0"), offline];
    for without in [&["cargo", "rustc"][..], &["cargo"]] {
        let (code, text) = said_on(&programs, without, "demo");
        assert_eq!(code, Some(1), "{text}");
        assert!(text.lines().count() == 2 && text.ends_with("please install Rust first\n"), "{text}");
    }
    // one that is new enough needs nothing
    let fine = ("rustc", "echo 'rustc 2.0.0'");
    assert_eq!(
        said_on(&[("id", "echo 0"), ("cargo", "exit 1"), fine], &[], "demo"),
        (Some(0), String::new())
    );
}

#[test]
fn root_is_asked_for_by_sudo_alone() {
    let bin = tempfile::tempdir().unwrap();
    let log = bin.path().join("as-root");
    let sudo =
        format!("echo \"$@\" >>{}; [ \"$2\" != install ] && [ \"$4\" != install ] || exit 7", log.display());
    let programs =
        [("id", "echo 1000"), ("apt-get", "echo 'not as root' >&2; exit 1"), ("sudo", sudo.as_str())];
    let (code, text) = said_on(&programs, &["cc"], "demo");
    let asked = fs::read_to_string(&log).unwrap();
    assert_eq!((code, text.as_str()), (Some(7), ""), "{asked}");
    assert!(
        asked.lines().last().is_some_and(|line| line.contains("apt-get install") && line.contains(" gcc ")),
        "{asked}"
    );
}

/// The tests that need no Go run; what is left out is said with the version that is needed.
#[test]
fn without_a_usable_go_the_tools_are_left_out_loudly() {
    let build = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e/tools/build.sh");
    let old =
        "[ \"$1\" != list ] || { echo 'go: go.mod requires go >= 1.26.0 (running go 1.19.8)' >&2; exit 1; }";
    for (go, said) in [(None, "go is not installed"), (Some(old), "running go 1.19.8")] {
        let bin = tempfile::tempdir().unwrap();
        let programs = [
            "cat", "cut", "dirname", "flock", "mkdir", "mktemp", "rm", "sed", "sh", "sha256sum", "tr", "head",
        ];
        for program in programs {
            symlink(find(program).unwrap(), bin.path().join(program)).unwrap();
        }
        if let Some(text) = go {
            script(&bin.path().join("go"), text);
        }
        let output = Command::new(&build)
            .env_clear()
            .envs([("PATH", bin.path()), ("LHE_E2E_BIN", bin.path())])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{text}");
        assert!(text.contains("!! THE END-TO-END TESTS CANNOT RUN: ") && text.contains(said), "{text}");
        assert!(text.contains("needs Go 1.2"), "{text}");
    }
}
