//! Finds the programs the bench runs, and decides what their absence means.

use std::env;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Programs of the bench: kube-apiserver, kubectl, helm and kubeconform as `tools/build.sh` makes
/// them, etcd, Prometheus and Alertmanager from the distribution.
#[derive(Debug, Clone)]
pub struct Tools {
    pub etcd: PathBuf,
    pub kube_apiserver: PathBuf,
    pub kubectl: PathBuf,
    pub helm: PathBuf,
    pub kubeconform: PathBuf,
    pub prometheus: PathBuf,
    pub alertmanager: PathBuf,
}

impl Tools {
    /// The tools, or `None` after a loud note on standard error that nothing was tested.
    ///
    /// With `LHE_E2E=required`, as `make test` sets it, a missing tool is a failure instead.
    pub fn find() -> Option<Self> {
        let required = match env::var("LHE_E2E").as_deref() {
            Ok("required") => true,
            Err(env::VarError::NotPresent) => false,
            other => panic!("LHE_E2E may be unset or \"required\", not {other:?}"),
        };
        match Self::look() {
            Ok(tools) => Some(tools),
            Err(why) if required => panic!("LHE_E2E=required, but {why}"),
            Err(why) => {
                announce_skip(&why);
                None
            }
        }
    }

    fn look() -> Result<Self, String> {
        let built = built_tools();
        let tool = |name: &str| {
            let path = built.join(name);
            if path.is_file() {
                Ok(path)
            } else {
                Err(format!("{} is missing: run tests/e2e/tools/build.sh", path.display()))
            }
        };
        let packaged = |names: &[&str]| {
            names.iter().find_map(|name| on_path(name)).ok_or_else(|| {
                format!(
                    "{} is not on PATH: install the packages named in tests/e2e/packages.txt",
                    names.join(" or ")
                )
            })
        };
        Ok(Self {
            etcd: packaged(&["etcd"])?,
            prometheus: packaged(&["prometheus"])?,
            // Debian's name, and that of everybody else
            alertmanager: packaged(&["prometheus-alertmanager", "alertmanager"])?,
            kube_apiserver: tool("kube-apiserver")?,
            kubectl: tool("kubectl")?,
            helm: tool("helm")?,
            kubeconform: tool("kubeconform")?,
        })
    }
}

/// A program on PATH.
fn on_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|dir| dir.join(name)).find(|file| file.is_file())
}

/// What build.sh made last: it reads `LHE_E2E_BIN` too and has the same default.
fn built_tools() -> PathBuf {
    let cache = match env::var_os("LHE_E2E_BIN") {
        Some(dir) => PathBuf::from(dir),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("target/e2e-bin"),
    };
    cache.join("current")
}

/// Written to the stream itself: the harness swallows what a passing test prints.
fn announce_skip(why: &str) {
    let bar = "!".repeat(78);
    let test = std::thread::current();
    let test = test.name().unwrap_or("e2e");
    let _ = writeln!(std::io::stderr(), "\n{bar}\n!! e2e not run ({test}): {why}\n{bar}");
}
