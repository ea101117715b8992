//! The set-up of scripts/test asks for every package of its list, whatever shell `sh` is: dash, unlike
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
