//! Starts, stops and restarts the two servers, and hands out credentials.

use std::collections::HashMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::{Api, PostParams};
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use kube::discovery::{ApiCapabilities, ApiResource};
use kube::{Client, Error};
use serde_json::{Value, json};

use super::port;
use super::process::Process;
use super::tools::Tools;

const ADMIN_TOKEN: &str = "e2e-admin";
/// How long the servers may take on a busy machine.
const START_LIMIT: Duration = Duration::from_secs(420);

/// One etcd and one kube-apiserver with RBAC, without controllers, scheduler or kubelet.
///
/// Nothing fills in what these would: tests write pods, EndpointSlices and every status themselves,
/// and a deleted namespace stays in `Terminating`, so each test takes a namespace of its own.
pub struct Bench {
    // Dropped in this order: the apiserver must not outlive its store.
    apiserver: Option<Process>,
    etcd: Process,
    _store: Store,
    tools: Tools,
    dir: PathBuf,
    etcd_port: u16,
    api_port: u16,
    admin: Client,
    etcd_client: Client,
    pub(super) kinds: Kinds,
    _lock: File,
}

/// The directory of etcd's data, gone with the bench: etcd sets aside 128 MB, which a bench for each test would keep
/// for as long as `target` stays.
struct Store(PathBuf);

impl Drop for Store {
    fn drop(&mut self) {
        // What is left is replaced at the next start.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What discovery said about kinds, by apiVersion and kind.
pub(super) type Kinds = Mutex<HashMap<(String, String), (ApiResource, ApiCapabilities)>>;

impl Bench {
    /// Starts a bench whose files and logs are in `e2e/<name>` of cargo's directory for test files.
    ///
    /// `None` when tools are missing and the run does not require them (see [`Tools::find`]).
    pub async fn start(name: &str) -> Result<Option<Self>> {
        let Some(tools) = Tools::find() else {
            return Ok(None);
        };
        let (dir, lock) = own_directory(name)?;
        let (etcd_port, peer_port, api_port) = (port::free()?, port::free()?, port::free()?);
        write_service_account_keys(&dir)?;
        fs::write(dir.join("tokens.csv"), format!("{ADMIN_TOKEN},admin,admin,system:masters\n"))?;
        let mut etcd = start_etcd(&tools, &dir, etcd_port, peer_port)?;
        let etcd_client = Client::try_from(Config::new(etcd_url(etcd_port).parse()?))?;
        wait_for(&mut etcd, || answers(&etcd_client, "/health", r#""health":"true""#)).await?;

        let mut apiserver = start_apiserver(&tools, &dir, etcd_port, api_port)?;
        let ca = dir.join("certs/apiserver.crt");
        // a client that reads it half written never trusts the server
        let whole = |text: String| text.matches("-----END CERTIFICATE-----").count() == 2;
        wait_for(&mut apiserver, async || fs::read_to_string(&ca).is_ok_and(whole)).await?;
        let admin = client_for(&dir, api_port, ADMIN_TOKEN).await?;
        let mut bench = Self {
            apiserver: Some(apiserver),
            etcd,
            _store: Store(dir.join("etcd")),
            tools,
            dir,
            etcd_port,
            api_port,
            admin,
            etcd_client,
            kinds: Kinds::default(),
            _lock: lock,
        };
        bench.ready().await?;
        Ok(Some(bench))
    }

    /// A client of group `system:masters`.
    pub fn admin(&self) -> Client {
        self.admin.clone()
    }

    pub fn tools(&self) -> &Tools {
        &self.tools
    }

    /// A client that presents `token`.
    pub async fn client(&self, token: &str) -> Result<Client> {
        client_for(&self.dir, self.api_port, token).await
    }

    /// Writes a kubeconfig that presents `token`, for programs.
    pub fn kubeconfig(&self, name: &str, token: &str) -> Result<PathBuf> {
        let path = self.dir.join(format!("{name}.kubeconfig"));
        fs::write(&path, kubeconfig(&self.dir, self.api_port, token).to_string())?;
        Ok(path)
    }

    /// kubectl or helm as the administrator, away from the user's own configuration.
    pub fn command(&self, program: &Path) -> Result<Command> {
        let mut command = Command::new(program);
        command.env("KUBECONFIG", self.kubeconfig("admin", ADMIN_TOKEN)?).env("HOME", &self.dir);
        Ok(command)
    }

    /// A token of an existing service account, valid for ten minutes, the shortest there is.
    pub async fn service_account_token(&self, namespace: &str, name: &str) -> Result<String> {
        let accounts: Api<ServiceAccount> = Api::namespaced(self.admin(), namespace);
        let request = TokenRequest {
            spec: Some(TokenRequestSpec { expiration_seconds: Some(600), ..Default::default() }),
            ..Default::default()
        };
        let answer = accounts
            .create_token_request(name, &PostParams::default(), &request)
            .await
            .with_context(|| format!("no token for service account {namespace}/{name}"))?;
        answer.status.and_then(|status| status.token).context("a token request was answered without a token")
    }

    /// A service account token as the apiserver would issue it, of claims it never would.
    pub fn forged_token(&self, claims: &Value) -> Result<String> {
        let key = rcgen::KeyPair::from_pem(&fs::read_to_string(self.dir.join("sa.key"))?)?.serialize_der();
        let random = ring::rand::SystemRandom::new();
        let algorithm = &ring::signature::ECDSA_P256_SHA256_FIXED_SIGNING;
        let key = ring::signature::EcdsaKeyPair::from_pkcs8(algorithm, &key, &random)
            .map_err(|error| anyhow!("the signing key cannot be used: {error}"))?;
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(&json!({"alg": "ES256", "typ": "JWT"})), part(claims));
        let signature = key.sign(&random, signed.as_bytes()).map_err(|_| anyhow!("cannot sign"))?;
        Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }

    /// Ends the apiserver; its port refuses connections until [`Bench::start_apiserver`].
    pub async fn stop_apiserver(&mut self) -> Result<()> {
        let apiserver = self.apiserver.take().context("the apiserver is not running")?;
        tokio::task::spawn_blocking(move || apiserver.stop()).await??;
        Ok(())
    }

    /// Starts the stopped apiserver again: same port, same certificate, same data.
    pub async fn start_apiserver(&mut self) -> Result<()> {
        ensure!(self.apiserver.is_none(), "the apiserver is running");
        let apiserver = start_apiserver(&self.tools, &self.dir, self.etcd_port, self.api_port)?;
        self.apiserver = Some(apiserver);
        self.ready().await
    }

    /// Drops etcd's history up to now, as the apiserver does every five minutes; returns the
    /// revision. A watch that resumes from before it on a restarted apiserver gets 410.
    pub async fn compact(&self) -> Result<i64> {
        let every_key_from_zero = json!({"key": "AA==", "limit": 1});
        let answer = self.etcd_call("/v3/kv/range", &every_key_from_zero).await?;
        let revision = answer["header"]["revision"]
            .as_str()
            .and_then(|text| text.parse().ok())
            .with_context(|| format!("no revision in etcd's answer {answer}"))?;
        self.etcd_call("/v3/kv/compaction", &json!({"revision": revision, "physical": true})).await?;
        Ok(revision)
    }

    /// A call of etcd's JSON gateway.
    pub(super) async fn etcd_call(&self, path: &str, body: &Value) -> Result<Value> {
        let request = http::Request::post(path).body(serde_json::to_vec(body)?)?;
        self.etcd_client.request(request).await.with_context(|| format!("etcd {path}"))
    }

    async fn ready(&mut self) -> Result<()> {
        let client = self.admin();
        let apiserver = self.apiserver.as_mut().context("the apiserver is not running")?;
        wait_for(apiserver, || answers(&client, "/readyz", "ok")).await?;
        self.etcd.ensure_running().map_err(|error| anyhow!(error))
    }
}

/// An empty directory that no other run uses at the same time.
fn own_directory(name: &str) -> Result<(PathBuf, File)> {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("e2e");
    fs::create_dir_all(&root)?;
    let lock = File::create(root.join(format!("{name}.lock")))?;
    lock.try_lock().with_context(|| format!("another run uses the bench {name}"))?;
    let dir = root.join(name);
    if dir.exists() {
        fs::remove_dir_all(&dir)?;
    }
    fs::create_dir(&dir)?;
    Ok((dir, lock))
}

/// The key pair the apiserver signs and checks service account tokens with.
fn write_service_account_keys(dir: &Path) -> Result<()> {
    let pair = rcgen::KeyPair::generate()?;
    fs::write(dir.join("sa.key"), pair.serialize_pem())?;
    fs::write(dir.join("sa.pub"), pair.public_key_pem())?;
    Ok(())
}

fn start_etcd(tools: &Tools, dir: &Path, client: u16, peer: u16) -> Result<Process> {
    let (client, peer) = (etcd_url(client), etcd_url(peer));
    let args = [
        format!("--data-dir={}", dir.join("etcd").display()),
        format!("--listen-client-urls={client}"),
        format!("--advertise-client-urls={client}"),
        format!("--listen-peer-urls={peer}"),
        format!("--initial-advertise-peer-urls={peer}"),
        format!("--initial-cluster=default={peer}"),
        "--logger=zap".into(),
        "--log-level=warn".into(),
    ];
    // etcd 3.4 starts on arm64 only when asked to.
    let arm: &[(&str, &str)] = match std::env::consts::ARCH {
        "aarch64" => &[("ETCD_UNSUPPORTED_ARCH", "arm64")],
        _ => &[],
    };
    Process::start(&tools.etcd, args, arm, &dir.join("etcd.log")).context("starting etcd")
}

fn start_apiserver(tools: &Tools, dir: &Path, etcd: u16, port: u16) -> Result<Process> {
    let file = |name: &str| dir.join(name).display().to_string();
    let args = [
        format!("--etcd-servers={}", etcd_url(etcd)),
        "--bind-address=127.0.0.1".into(),
        "--advertise-address=127.0.0.1".into(),
        format!("--secure-port={port}"),
        format!("--cert-dir={}", file("certs")),
        "--service-cluster-ip-range=10.0.0.0/24".into(),
        "--authorization-mode=RBAC".into(),
        format!("--token-auth-file={}", file("tokens.csv")),
        "--service-account-issuer=https://kubernetes.default.svc".into(),
        format!("--service-account-signing-key-file={}", file("sa.key")),
        format!("--service-account-key-file={}", file("sa.pub")),
        // Longhorn's pods are privileged.
        "--allow-privileged=true".into(),
        // No controller makes the default accounts this plugin insists on.
        "--disable-admission-plugins=ServiceAccount".into(),
        // It would publish the loopback address as an endpoint, which is not allowed.
        "--endpoint-reconciler-type=none".into(),
        // Readable in etcd, for what only the store can be told (see recorded.rs).
        "--storage-media-type=application/json".into(),
        "--profiling=false".into(),
    ];
    Process::start(&tools.kube_apiserver, args, &[], &dir.join("kube-apiserver.log"))
        .context("starting kube-apiserver")
}

/// Polls until `done`, the end of the process, or the limit.
async fn wait_for(process: &mut Process, done: impl AsyncFn() -> bool) -> Result<()> {
    let start = Instant::now();
    while !done().await {
        process.ensure_running().map_err(|error| anyhow!(error))?;
        ensure!(start.elapsed() < START_LIMIT, process.describe(&format!("not ready after {START_LIMIT:?}")));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

async fn answers(client: &Client, path: &str, text: &str) -> bool {
    let Ok(request) = http::Request::get(path).body(Vec::new()) else {
        return false;
    };
    matches!(client.request_text(request).await, Ok(body) if body.contains(text))
}

async fn client_for(dir: &Path, port: u16, token: &str) -> Result<Client> {
    let config: Kubeconfig = serde_json::from_value(kubeconfig(dir, port, token))?;
    let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}

/// The serving certificate comes with the authority that signed it in the same file.
fn kubeconfig(dir: &Path, port: u16, token: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "bench",
        "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": "bench"}}],
        "clusters": [{"name": "bench", "cluster": {
            "server": api_url(port),
            "certificate-authority": dir.join("certs/apiserver.crt"),
        }}],
        "users": [{"name": "bench", "user": {"token": token}}],
    })
}

fn api_url(port: u16) -> String {
    format!("https://127.0.0.1:{port}")
}

fn etcd_url(port: u16) -> String {
    format!("http://127.0.0.1:{port}")
}

/// The HTTP code of an API error, for tests of denied and missing things.
pub fn code(error: &Error) -> Option<u16> {
    match error {
        Error::Api(status) => Some(status.code),
        _ => None,
    }
}
