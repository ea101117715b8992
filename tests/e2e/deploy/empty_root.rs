//! A static binary in a root directory that holds nothing else, as in the image.
//!
//! `LHE_STATIC_BIN` names it: scripts/test sets it to what scripts/static-binary builds, and
//! `$(deploy/image/build-static amd64)` is that of the image.

use std::io::Write;
use std::net::UdpSocket;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::*;

/// A name in the apiserver's own certificate.
const NAME: &str = "kubernetes.default.svc";

const SETTING: &str = r#"
apiVersion: longhorn.io/v1beta2
kind: Setting
metadata: {name: current-longhorn-version, namespace: longhorn-system}
value: v1.12.1
"#;

#[tokio::test]
async fn the_static_binary_reads_a_cluster_by_name_from_an_empty_root() -> Result<()> {
    let Some(binary) = std::env::var_os("LHE_STATIC_BIN") else {
        not_tried("LHE_STATIC_BIN is not set; see scripts/static-binary");
        return Ok(());
    };
    if let Err(why) = roots_can_be_changed() {
        not_tried(&why.to_string());
        return Ok(());
    }
    let Some(bench) = Bench::start("empty-root").await? else { return Ok(()) };
    bench.load_crds().await?;
    for namespace in ["longhorn-system", NAMESPACE] {
        bench.namespace(namespace).await?;
    }
    bench.apply(&template(bench.tools(), "")?).await?;
    bench.apply(SETTING).await?;
    let token = bench.service_account_token(NAMESPACE, "health-longhorn-health-exporter").await?;
    let kubeconfig = std::fs::read_to_string(bench.kubeconfig("empty-root", &token)?)?;
    let ca = serde_json::from_str::<Value>(&kubeconfig)?["clusters"][0]["cluster"]["certificate-authority"]
        .as_str()
        .context("no authority")?
        .to_owned();

    // the files that a kubelet mounts, and the two of the image
    let root = tempfile::tempdir()?;
    let put = |path: &str, content: &[u8]| -> Result<PathBuf> {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().context("no parent")?)?;
        std::fs::write(&path, content)?;
        Ok(path)
    };
    let program = put("longhorn-health-exporter", &std::fs::read(&binary)?)?;
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o555))?;
    put("ca.crt", &std::fs::read(&ca)?)?;
    put("kubeconfig", kubeconfig.replace("127.0.0.1", NAME).replace(&ca, "/ca.crt").as_bytes())?;
    std::fs::set_permissions(root.path(), std::fs::Permissions::from_mode(0o555))?;

    // without any means to tell what the name means, it must fail: else the rest would prove nothing
    let blind = look(root.path())?;
    ensure!(!blind.status.success() && !reads(&blind), "a name was resolved from nothing: {blind:?}");

    std::fs::set_permissions(root.path(), std::fs::Permissions::from_mode(0o755))?;
    put("etc/hosts", format!("127.0.0.1 {NAME}\n").as_bytes())?;
    std::fs::set_permissions(root.path(), std::fs::Permissions::from_mode(0o555))?;
    let by_hosts = look(root.path())?;
    ensure!(reads(&by_hosts), "by /etc/hosts: {by_hosts:?}");
    let size = std::fs::metadata(&binary)?.len();
    println!("by /etc/hosts: exit {:?}; {size} bytes", by_hosts.status.code());

    // DNS is asked on port 53 only, which takes a privilege to listen on
    match Dns::start("127.0.0.53:53") {
        Ok(dns) => {
            std::fs::remove_file(root.path().join("etc/hosts"))?;
            std::fs::write(root.path().join("etc/resolv.conf"), "nameserver 127.0.0.53\noptions ndots:5\n")?;
            let by_dns = look(root.path())?;
            ensure!(reads(&by_dns), "by DNS: {by_dns:?}");
            println!("by DNS: exit {:?}, {} queries", by_dns.status.code(), dns.asked());
            ensure!(dns.asked() > 0, "nothing was asked");
        }
        Err(error) => println!("by DNS: not tried, cannot listen on 127.0.0.53:53: {error}"),
    }
    Ok(())
}

/// `check` in `root`, without environment.
fn look(root: &Path) -> Result<Output> {
    let mut command = enter(root)?;
    command.args(["/longhorn-health-exporter", "check", "--kubeconfig", "/kubeconfig", "-o", "json"]);
    command.output().context("the root directory cannot be changed")
}

/// The beginning of a command in `root`: as user 65534 where that is allowed, else as the owner of a
/// user namespace of its own. Containers often allow only the first, and only root.
fn enter(root: &Path) -> Result<Command> {
    let is_root = std::fs::metadata("/proc/self")?.uid() == 0;
    let mut command = Command::new(if is_root { "chroot" } else { "unshare" });
    command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    match is_root {
        true => command.arg("--userspec=65534:65534").arg(root),
        false => command.args(["--user", "--map-root-user", "--root"]).arg(root).arg("--wd=/"),
    };
    Ok(command)
}

fn roots_can_be_changed() -> Result<()> {
    let output = enter(Path::new("/"))?.arg("true").output()?;
    success(output).map(drop).context("the root directory cannot be changed here")
}

/// Written to the stream itself: the harness swallows what a passing test prints.
fn not_tried(why: &str) {
    let bar = "!".repeat(78);
    let _ = writeln!(std::io::stderr(), "\n{bar}\n!! the empty root was NOT tried: {why}\n{bar}");
}

/// Did it read what is only in the apiserver?
fn reads(output: &Output) -> bool {
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    report.to_string().contains("1.12.1")
}

/// Answers every question for an IPv4 address with loopback, and every other with nothing.
struct Dns {
    asked: Arc<AtomicUsize>,
}

impl Dns {
    fn start(address: &str) -> std::io::Result<Self> {
        let socket = UdpSocket::bind(address)?;
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        std::thread::spawn(move || {
            let mut buffer = [0; 512];
            while let Ok((length, from)) = socket.recv_from(&mut buffer) {
                count.fetch_add(1, Ordering::Relaxed);
                if let Some(answer) = buffer.get(..length).and_then(answer) {
                    let _ = socket.send_to(&answer, from);
                }
            }
        });
        Ok(Dns { asked })
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

/// RFC 1035 section 4: the question again, and for type A one record that points at the name in it.
fn answer(query: &[u8]) -> Option<Vec<u8>> {
    let name = query.get(12..)?.iter().position(|byte| *byte == 0)? + 13;
    let is_a = query.get(name..name + 2)? == [0, 1];
    let mut answer = query.get(..2)?.to_vec();
    answer.extend([0x81, 0x80, 0, 1, 0, u8::from(is_a), 0, 0, 0, 0]);
    answer.extend(query.get(12..name + 4)?);
    if is_a {
        answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 5, 0, 4, 127, 0, 0, 1]);
    }
    Some(answer)
}
