//! Credentials from the program that a kubeconfig names (`exec`), and a client that has them renewed.
//!
//! kube runs such a program on the thread that asks and waits for it without end (kube-client 5.0
//! client/auth/mod.rs `auth_exec`): one that hangs, or leaves a child with its standard output, would hang
//! everything. Here it is asked off the threads that serve, for a bounded time, and ended after that, with the
//! programs that it has started: a shell that is killed would leave the one it waits for.

use std::io::IsTerminal;
use std::pin::pin;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use jiff::Timestamp;
use kube::client::Body;
use kube::config::{ExecConfig, ExecInteractiveMode};
use kube::{Client, Config};
use rustix::process::{Pid, Signal, kill_process_group};
use serde::Deserialize;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, timeout};
use tower::BoxError;

/// After a failure the program is left alone for so long; it may have opened a browser.
const AGAIN: Duration = Duration::from_secs(10);
/// Credentials are renewed so long before they run out.
const EARLY: Duration = Duration::from_secs(60);
/// A call waits for the first credentials for so long before it says so.
const LONGEST_CALL: Duration = Duration::from_secs(20);
/// A child that the program leaves behind may keep its output open.
const AFTER_ITS_END: Duration = Duration::from_secs(1);
/// No credentials are as long.
const LONGEST_OUTPUT: u64 = 1 << 20;

/// Why the program gave no credentials. What it prints may be a token, so that only its complaints are reported.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum PluginError {
    #[error("it cannot be started: {0}")]
    Start(String),
    #[error("{0}")]
    Failed(String),
    #[error("it printed no ExecCredential")]
    Garbled,
    #[error("no answer within {0:?}")]
    Silent(Duration),
    #[error("its credentials cannot be used: {0}")]
    Unusable(String),
}

/// A call that is made before there are credentials.
#[derive(Debug, thiserror::Error)]
#[error("no credentials from '{command}': {reason}")]
pub(crate) struct NoCredentials {
    command: String,
    reason: String,
}

/// A program that gives credentials for a cluster.
#[derive(Clone)]
pub(super) struct Plugin {
    exec: ExecConfig,
    config: Config,
    patience: Duration,
    again: Duration,
}

#[derive(Deserialize)]
struct ExecCredential {
    status: Option<CredentialStatus>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CredentialStatus {
    expiration_timestamp: Option<Timestamp>,
    token: Option<String>,
    client_certificate_data: Option<String>,
    client_key_data: Option<String>,
}

/// What there is: nothing yet, or the outcome of the last attempt.
type State = Option<Result<Client, PluginError>>;

/// The client with the credentials of the moment.
pub(super) struct Renewed {
    state: watch::Receiver<State>,
    refused: Arc<Notify>,
    command: String,
    task: AbortHandle,
}

impl Plugin {
    /// The program of a configuration, which is asked for `patience` each time; `None` where it has none.
    pub(super) fn of(config: &mut Config, patience: Duration) -> Option<Self> {
        let exec = config.auth_info.exec.take()?;
        Some(Plugin { exec, config: config.clone(), patience, again: AGAIN })
    }

    pub(super) fn command(&self) -> String {
        self.exec.command.clone().unwrap_or_default()
    }

    /// Begins to ask, on the current runtime.
    pub(super) fn start(self) -> Arc<Renewed> {
        let (sender, state) = watch::channel(None);
        let (refused, command) = (Arc::new(Notify::new()), self.command());
        let task = tokio::spawn(self.renew(sender, refused.clone())).abort_handle();
        Arc::new(Renewed { state, refused, command, task })
    }

    /// Keeps the credentials fresh: before they run out, and when the API server refuses them.
    async fn renew(self, state: watch::Sender<State>, refused: Arc<Notify>) {
        let mut failing = false;
        loop {
            let pause = match self.client().await {
                Ok((client, until)) => {
                    if std::mem::take(&mut failing) {
                        tracing::info!(plugin = self.command(), "credentials are there again");
                    }
                    state.send_replace(Some(Ok(client)));
                    until.map(|until| left_of(until).max(self.again))
                }
                Err(error) => {
                    if !std::mem::replace(&mut failing, true) {
                        tracing::warn!(plugin = self.command(), %error, "no credentials; asking again");
                    }
                    // what there is may be good for a while yet
                    state.send_if_modified(|state| {
                        let none = !matches!(state, Some(Ok(_)));
                        if none {
                            *state = Some(Err(error));
                        }
                        none
                    });
                    Some(self.again)
                }
            };
            let asked = Instant::now();
            tokio::select! {
                () = async { match pause { Some(pause) => sleep(pause).await, None => std::future::pending().await } } => {}
                () = refused.notified() => tokio::time::sleep_until(asked + self.again).await,
            }
        }
    }

    /// A client with fresh credentials, and until when they are good.
    async fn client(&self) -> Result<(Client, Option<Timestamp>), PluginError> {
        let answer = timeout(self.patience, self.ask()).await;
        let status = answer.unwrap_or(Err(PluginError::Silent(self.patience)))?;
        let mut config = self.config.clone();
        let (auth, encoded) = (&mut config.auth_info, |pem: String| BASE64_STANDARD.encode(pem));
        let pair = status.client_certificate_data.zip(status.client_key_data);
        if pair.is_none() && status.token.is_none() {
            return Err(PluginError::Garbled);
        }
        if let Some((certificate, key)) = pair {
            auth.client_certificate_data = Some(encoded(certificate));
            auth.client_key_data = Some(encoded(key).into());
        }
        auth.token = status.token.map(Into::into).or(auth.token.take());
        let client =
            crate::client::client(config).map_err(|error| PluginError::Unusable(error.to_string()))?;
        Ok((client, status.expiration_timestamp))
    }

    async fn ask(&self) -> Result<CredentialStatus, PluginError> {
        let interactive = self.is_interactive();
        let mut child =
            self.program(interactive).spawn().map_err(|error| PluginError::Start(error.to_string()))?;
        let mut group = Group::of(child.id().filter(|_| !interactive));
        let (mut printed, mut complaints) = (Vec::new(), Vec::new());
        let (output, errors) = (child.stdout.take(), child.stderr.take());
        let status = {
            let mut reading =
                pin!(futures::future::join(read(output, &mut printed), read(errors, &mut complaints)));
            tokio::select! {
                _ = &mut reading => {
                    let status = child.wait().await;
                    group.ended();
                    status
                }
                status = child.wait() => {
                    group.ended();
                    let _ = timeout(AFTER_ITS_END, reading).await; // what came is what there is
                    status
                }
            }
        };
        let status = status.map_err(|error| PluginError::Failed(error.to_string()))?;
        if !status.success() {
            let complaint = String::from_utf8_lossy(&complaints);
            let complaint = complaint.lines().map(str::trim).find(|line| !line.is_empty());
            let complaint = complaint.map(|line| format!(": {line}")).unwrap_or_default();
            return Err(PluginError::Failed(format!("{status}{complaint}")));
        }
        let credential: ExecCredential =
            serde_json::from_slice(&printed).map_err(|_may_show_a_token| PluginError::Garbled)?;
        credential.status.ok_or(PluginError::Garbled)
    }

    /// The program as client-go calls it (client-go v0.36 plugin/pkg/client/auth/exec/exec.go).
    fn program(&self, interactive: bool) -> Command {
        let exec = &self.exec;
        let mut command = Command::new(self.command());
        command.args(exec.args.iter().flatten());
        for variable in exec.env.iter().flatten() {
            if let (Some(name), Some(value)) = (variable.get("name"), variable.get("value")) {
                command.env(name, value);
            }
        }
        let cluster = exec.cluster.as_ref().filter(|_| exec.provide_cluster_info);
        let info = json!({
            "apiVersion": exec.api_version, "kind": "ExecCredential",
            "spec": match cluster {
                Some(cluster) => json!({"interactive": interactive, "cluster": cluster}),
                None => json!({"interactive": interactive}),
            },
        });
        command.env("KUBERNETES_EXEC_INFO", info.to_string());
        command.stdin(if interactive { Stdio::inherit() } else { Stdio::null() });
        command.stderr(if interactive { Stdio::inherit() } else { Stdio::piped() });
        command.stdout(Stdio::piped()).kill_on_drop(true);
        if !interactive {
            command.process_group(0);
        }
        command
    }

    /// Whether it may ask the person at the terminal. It then stays in the group that the terminal belongs to.
    fn is_interactive(&self) -> bool {
        self.exec.interactive_mode != Some(ExecInteractiveMode::Never) && std::io::stdin().is_terminal()
    }
}

/// A program with all that it has started: ended together, unless it ends on its own. What it leaves behind then
/// is its own affair, such as an agent that keeps a key.
struct Group(Option<Pid>);

impl Group {
    fn of(leader: Option<u32>) -> Self {
        Group(leader.and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw))
    }

    fn ended(&mut self) {
        self.0 = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            let _ = kill_process_group(group, Signal::KILL); // it may have ended this moment
        }
    }
}

impl Renewed {
    /// Waits for the outcome of the first attempt.
    pub(super) async fn first(&self) -> Result<(), PluginError> {
        let mut state = self.state.clone();
        let state = state.wait_for(Option::is_some).await;
        match state.as_deref() {
            Ok(Some(Err(error))) => Err(error.clone()),
            _ => Ok(()),
        }
    }

    /// A client whose calls go out with the credentials of the moment, and wait for the first ones.
    pub(super) fn client(self: Arc<Self>, namespace: String) -> Client {
        let service = tower::service_fn(move |request: Request<Body>| {
            let renewed = self.clone();
            async move { renewed.send(request).await }
        });
        Client::new(service, namespace)
    }

    async fn send(
        &self,
        request: Request<Body>,
    ) -> Result<Response<impl http_body::Body<Data = Bytes, Error = BoxError> + Send + use<>>, BoxError> {
        let response = self.current().await?.send(request).await?;
        if response.status() == StatusCode::UNAUTHORIZED {
            self.refused.notify_one();
        }
        Ok(response.map(|body| body.map_err(BoxError::from)))
    }

    async fn current(&self) -> Result<Client, NoCredentials> {
        let mut state = self.state.clone();
        let there = timeout(LONGEST_CALL, state.wait_for(Option::is_some)).await;
        let reason = match there.as_ref().map(|state| state.as_deref()) {
            Ok(Ok(Some(Ok(client)))) => return Ok(client.clone()),
            Ok(Ok(Some(Err(error)))) => error.to_string(),
            _ => "still waiting for its answer".to_owned(),
        };
        Err(NoCredentials { command: self.command.clone(), reason })
    }
}

impl Drop for Renewed {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Time until credentials are to be renewed.
#[allow(
    clippy::disallowed_methods,
    reason = "the program says by the clock until when its credentials are good"
)]
fn left_of(until: Timestamp) -> Duration {
    let left = Duration::try_from(until.duration_since(Timestamp::now())).unwrap_or_default();
    left.saturating_sub(EARLY)
}

async fn read(from: Option<impl AsyncRead + Unpin>, into: &mut Vec<u8>) {
    if let Some(from) = from {
        let _ = from.take(LONGEST_OUTPUT).read_to_end(into).await; // what came is what there is
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The end of every wait, on however busy a machine.
    const PATIENCE: Duration = Duration::from_secs(90);

    fn plugin(script: &str, patience: Duration) -> Plugin {
        let exec = ExecConfig {
            command: Some("sh".to_owned()),
            args: Some(vec!["-c".to_owned(), script.to_owned()]),
            interactive_mode: Some(ExecInteractiveMode::Never),
            ..serde_json::from_str("{}").unwrap()
        };
        let mut config = Config::new("http://127.0.0.1:1".parse().unwrap());
        config.auth_info.exec = Some(exec);
        Plugin { again: Duration::from_millis(20), ..Plugin::of(&mut config, patience).unwrap() }
    }

    const TOKEN: &str = r#"echo '{"kind":"ExecCredential","status":{"token":"t"}}'"#;

    #[tokio::test]
    async fn one_that_hangs_is_ended_and_one_that_leaves_a_child_behind_is_heard() {
        let error = plugin("sleep 600", Duration::from_millis(200)).client().await.err().unwrap();
        assert_eq!(error.to_string(), "no answer within 200ms");
        // one that waited for the child would have no answer within that
        plugin(&format!("sleep 100 & {TOKEN}"), PATIENCE).client().await.ok().unwrap();
    }

    #[tokio::test]
    async fn what_a_hanging_one_waits_for_is_ended_with_it() {
        let directory = tempfile::tempdir().unwrap();
        let noted = directory.path().join("id");
        let script = format!("sleep 600 & echo $! > {}; wait", noted.display());
        let mut patience = Duration::from_millis(500);
        let id = loop {
            let error = plugin(&script, patience).client().await.err().unwrap();
            assert!(matches!(error, PluginError::Silent(_)), "{error}");
            match std::fs::read_to_string(&noted) {
                Ok(id) if id.ends_with('\n') => break id,
                _ => patience *= 2, // it was ended before it came to that
            }
        };
        let state = || {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", id.trim())).unwrap_or_default();
            stat.rsplit(") ").next().and_then(|rest| rest.chars().next())
        };
        let gone = async {
            while !matches!(state(), None | Some('Z')) {
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(PATIENCE, gone).await.unwrap();
    }

    #[tokio::test]
    async fn what_it_prints_is_not_told() {
        for (script, said) in [
            ("echo secret; echo >&2; echo expired >&2; exit 3", "exit status: 3: expired"),
            ("echo secret: [", "it printed no ExecCredential"),
            (
                r#"echo '{"status":{"expirationTimestamp":"2026-01-01T00:00:00Z"}}'"#,
                "it printed no ExecCredential",
            ),
            (
                r#"echo '{"status":{"clientCertificateData":"secret","clientKeyData":"secret"}}'"#,
                "its credentials cannot be used: ",
            ),
        ] {
            let error = plugin(script, PATIENCE).client().await.err().unwrap().to_string();
            assert!(error.contains(said) && !error.contains("secret"), "{script}: {error}");
        }
    }

    #[tokio::test]
    async fn credentials_are_renewed_before_they_run_out_and_when_they_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let calls = directory.path().join("calls");
        let asked = || std::fs::read_to_string(&calls).map_or(0, |text| text.lines().count());
        let until = async |wanted: usize| {
            let asking = async {
                while asked() < wanted {
                    sleep(Duration::from_millis(5)).await;
                }
            };
            timeout(PATIENCE, asking).await.unwrap();
        };
        let note = format!("echo >> {}", calls.display());
        let expiring = TOKEN.replace(r#""token""#, r#""expirationTimestamp":"2026-01-01T00:00:00Z","token""#);
        let renewed = plugin(&format!("{note}; {expiring}"), PATIENCE).start();
        renewed.first().await.unwrap();
        until(3).await;
        drop(renewed);

        std::fs::remove_file(&calls).unwrap();
        let renewed = plugin(&format!("{note}; {TOKEN}"), PATIENCE).start();
        renewed.first().await.unwrap();
        sleep(Duration::from_millis(100)).await;
        assert_eq!(asked(), 1, "good forever");
        renewed.refused.notify_one();
        until(2).await;
    }
}
