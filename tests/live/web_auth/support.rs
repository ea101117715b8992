//! Certificates, the process, and curl.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rcgen::string::Ia5String;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, SanType};

/// No test waits longer for what must come.
pub const PATIENCE: Duration = Duration::from_secs(180);

/// A directory with an authority in `ca.crt`.
pub struct Files {
    directory: tempfile::TempDir,
    authority: CertifiedIssuer<'static, KeyPair>,
}

impl Files {
    /// With a certificate for 127.0.0.1 in `tls.crt` and `tls.key`.
    pub fn new() -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let files = Files { directory: tempfile::tempdir().unwrap(), authority };
        files.write("ca.crt", &files.authority.pem());
        files.certify("tls", SanType::IpAddress([127, 0, 0, 1].into()));
        files
    }

    /// A certificate for a name, in `<file>.crt` and `<file>.key`.
    pub fn certify(&self, file: &str, san: SanType) {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, file);
        params.subject_alt_names = vec![san];
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.authority).unwrap();
        self.write(&format!("{file}.key"), &key.serialize_pem());
        self.write(&format!("{file}.crt"), &certificate.pem());
    }

    pub fn certify_name(&self, file: &str, name: &str) {
        self.certify(file, SanType::DnsName(Ia5String::try_from(name).unwrap()));
    }

    /// As programs and people replace files: at once.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let (next, path) = (self.path("next"), self.path(name));
        std::fs::write(&next, text).unwrap();
        std::fs::rename(&next, &path).unwrap();
        path
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// `web.yml`; the first lines turn TLS on.
    pub fn web(&self, more: &str) -> PathBuf {
        self.write(
            "web.yml",
            &format!("tls_server_config:\n  cert_file: tls.crt\n  key_file: tls.key\n{more}"),
        )
    }
}

/// The running exporter, on a free port.
pub struct Serve {
    process: Child,
    pub address: SocketAddr,
    log: Arc<Mutex<String>>,
}

/// `serve` on the demo cluster.
pub fn exporter(config: Option<&Path>, more: &[&str]) -> Command {
    let mut command = serve(config);
    command.arg("--demo").args(more);
    command
}

/// `serve` on what its further arguments say.
pub fn serve(config: Option<&Path>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_longhorn-health-exporter"));
    command.args(["serve", "--web.listen-address=127.0.0.1:0", "--log.level=debug"]);
    if let Some(config) = config {
        command.arg("--web.config.file").arg(config);
    }
    command.env_clear().stderr(Stdio::piped()).stdout(Stdio::null());
    command
}

impl Serve {
    pub fn start(config: Option<&Path>) -> Self {
        Self::spawn(exporter(config, &[]))
    }

    pub fn spawn(mut command: Command) -> Self {
        let mut process = command.spawn().unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let log = Arc::new(Mutex::new(String::new()));
        let address = loop {
            let line = lines.next().expect("serve ended before it listened").unwrap();
            if let Some((_, address)) = line.split_once("msg=listening address=") {
                break address.parse().unwrap();
            }
        };
        let copy = log.clone();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let mut log = copy.lock().unwrap();
                log.push_str(&line);
                log.push('\n');
            }
        });
        Serve { process, address, log }
    }

    /// What was logged since it listens.
    pub fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    pub fn signal(&self, name: &str) {
        let process = self.process.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &process]).status().unwrap().success());
    }

    pub fn wait_for_log(&self, part: &str) {
        eventually(part, || self.log().contains(part));
    }

    /// Asks with curl.
    pub fn curl(&self, path: &str, arguments: &[&str]) -> Answer {
        let scheme = if arguments.contains(&"--cacert") { "https" } else { "http" };
        self.curl_url(&format!("{scheme}://{}{path}", self.address), arguments)
    }

    pub fn curl_url(&self, url: &str, arguments: &[&str]) -> Answer {
        let output = Command::new("curl")
            .args(["--silent", "--show-error", "--include", "--noproxy", "*", "--max-time", "50"])
            .args(arguments)
            .arg(url)
            .output()
            .expect("install curl");
        Answer::of(&output)
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What curl saw.
#[derive(Debug)]
pub struct Answer {
    /// 0 when there was none.
    pub status: u16,
    /// Head and body, or the error.
    pub text: String,
}

impl Answer {
    fn of(output: &Output) -> Self {
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let status = text.split_whitespace().nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        Answer { status, text: text + &String::from_utf8_lossy(&output.stderr) }
    }

    pub fn body(&self) -> &str {
        self.text.split_once("\r\n\r\n").map_or("", |(_, body)| body)
    }
}

pub fn eventually(what: &str, mut reached: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !reached() {
        assert!(begin.elapsed() < PATIENCE, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
