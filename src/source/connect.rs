//! The way to a Kubernetes API: from a kubeconfig or from inside a pod, and what to do when there
//! is none.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kube::{Client, Config};
use thiserror::Error;

use super::plugin::{Plugin, PluginError, Renewed};
use super::watch::{describe, is_untrusted, reason_of, speaks_no_tls};
use super::{ApiErrorReason, answer, client, kubeconfig};
use crate::cluster::{Absence, Cluster, Readability};
use crate::longhorn::Release;

/// Time for the first answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// Why the Kubernetes API cannot be used. Each says what to do.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// The kubeconfig cannot be read or does not lead to a cluster.
    #[error("{place}: {reason}; check --kubeconfig and --context")]
    Kubeconfig {
        /// The file, or where it was looked for.
        place: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The kubeconfig has no such context.
    #[error("{place} has no context '{context}'; it has {known}")]
    UnknownContext {
        /// The file, or where it was looked for.
        place: String,
        /// The context asked for.
        context: String,
        /// The contexts there are.
        known: String,
    },
    /// The kubeconfig has no current context, and none was asked for.
    #[error("{place} has no current context; set one with --context: {known}")]
    NoContext {
        /// The file, or where it was looked for.
        place: String,
        /// The contexts there are.
        known: String,
    },
    /// The plugin that the kubeconfig names for credentials gives none.
    #[error(
        "{place}: no credentials from '{command}': {reason}; check that 'kubectl get nodes' works, or log in again"
    )]
    Plugin {
        /// The file, or where it was looked for.
        place: String,
        command: String,
        /// What happened.
        reason: String,
    },
    /// Neither in a pod nor with a kubeconfig.
    #[error("no cluster given; use --kubeconfig FILE, --from PATH or --demo, or run in a pod")]
    NoCluster,
    /// In a pod, but without what a pod is given.
    #[error("the pod's service account cannot be used: {0}; set automountServiceAccountToken: true")]
    ServiceAccount(String),
    /// The address says `https`, and what answers there speaks no TLS.
    #[error("the Kubernetes API at {url} answers without TLS; check whether the kubeconfig needs http://")]
    NoTls {
        /// Where the API should be.
        url: String,
    },
    /// No answer.
    #[error("cannot reach the Kubernetes API at {url}: {reason}; check the address and the network")]
    Unreachable {
        /// Where the API should be.
        url: String,
        /// What happened.
        reason: String,
    },
    /// The certificate of the API server is not one this kubeconfig trusts, or has run out.
    #[error(
        "the certificate of the Kubernetes API at {url} is not accepted: {reason}; \
         if it has expired, renew it on the control plane (or set the clock here); otherwise check certificate-authority and server in the \
         kubeconfig"
    )]
    Untrusted {
        /// Where the API is.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// 401.
    #[error(
        "the Kubernetes API at {url} rejects the credentials ({reason}); log in again or renew the token"
    )]
    Unauthorized {
        /// Where the API is.
        url: String,
        /// What it said.
        reason: String,
    },
    /// 403 for everything.
    #[error(
        "no permission to list any kind in namespace {namespace}: {reason}; apply the Role in deploy/, or check --namespace"
    )]
    Forbidden {
        namespace: String,
        /// What the API server said.
        reason: String,
    },
    /// Longhorn's kinds are not there.
    #[error(
        "this cluster has no Longhorn: the API server does not serve longhorn.io/v1beta2; check the context"
    )]
    NoLonghorn,
    /// Longhorn's kinds are there, but nothing of them in the namespace.
    #[error("{0}")]
    WrongNamespace(Absence),
    /// Not everything was listed in time, and nothing says why.
    #[error("no kind could be listed in time: {reason}; check the API server, or raise --timeout")]
    Slow {
        /// What was said last.
        reason: String,
    },
}

impl ConnectError {
    /// True for what the user gave wrongly, false for a cluster that cannot be looked at.
    pub fn is_usage(&self) -> bool {
        use ConnectError::*;
        matches!(self, Kubeconfig { .. } | UnknownContext { .. } | NoContext { .. } | NoCluster)
    }
}

/// A way to the API that has not been tried yet.
pub struct Connection {
    client: Client,
    url: String,
    plugin: Option<ConnectPlugin>,
}

/// The program that gives the credentials.
struct ConnectPlugin {
    renewed: Arc<Renewed>,
    command: String,
    place: String,
}

impl Connection {
    /// From a kubeconfig if one is named (or `$KUBECONFIG` is set), else from inside a pod, else from
    /// the kubeconfig in the home directory. A program that gives credentials has `patience` for each answer.
    pub async fn open(
        kubeconfig: Option<&Path>,
        context: Option<&str>,
        patience: Duration,
    ) -> Result<Self, ConnectError> {
        let connection = Self::begin(kubeconfig, context, patience).await?;
        match connection.credentials(patience).await {
            None => Err(connection.without_credentials(PluginError::Silent(patience))),
            Some(credentials) => credentials.map(|()| connection),
        }
    }

    /// The same, but without waiting for credentials: the client's calls wait for them.
    pub async fn begin(
        kubeconfig: Option<&Path>,
        context: Option<&str>,
        patience: Duration,
    ) -> Result<Self, ConnectError> {
        let named = kubeconfig.is_some() || context.is_some() || is_set("KUBECONFIG");
        let (mut config, place) = if !named && is_set("KUBERNETES_SERVICE_HOST") {
            let config = Config::incluster();
            let config = config.map_err(|error| ConnectError::ServiceAccount(error.to_string()))?;
            (config, "the pod's service account".to_owned())
        } else if !named && !kubeconfig::is_at_home() {
            return Err(ConnectError::NoCluster);
        } else {
            (kubeconfig::load(kubeconfig, context).await?, kubeconfig::place(kubeconfig))
        };
        // each kind has its own back-off, which sees and counts every failure
        config.default_retry = false;
        config.connect_timeout = Some(ANSWER_TIMEOUT);
        let url = config.cluster_url.to_string().trim_end_matches('/').to_owned();
        if let Some(plugin) = Plugin::of(&mut config, patience) {
            let command = plugin.command();
            let renewed = plugin.start();
            let client = renewed.clone().client(config.default_namespace);
            return Ok(Connection { client, url, plugin: Some(ConnectPlugin { renewed, command, place }) });
        }
        let client = client::client(config)
            .map_err(|error| ConnectError::Kubeconfig { place, reason: describe(&error) })?;
        Ok(Connection { client, url, plugin: None })
    }

    /// Waits for the first credentials for at most this long; `None` when there was no answer by then.
    pub async fn credentials(&self, patience: Duration) -> Option<Result<(), ConnectError>> {
        let Some(plugin) = &self.plugin else { return Some(Ok(())) };
        let first = tokio::time::timeout(patience, plugin.renewed.first()).await.ok()?;
        Some(first.map_err(|error| self.without_credentials(error)))
    }

    /// The program that gives the credentials, if there is one.
    pub fn plugin(&self) -> Option<&str> {
        self.plugin.as_ref().map(|plugin| plugin.command.as_str())
    }

    fn without_credentials(&self, error: PluginError) -> ConnectError {
        let (command, place) = match &self.plugin {
            Some(plugin) => (plugin.command.clone(), plugin.place.clone()),
            None => Default::default(),
        };
        ConnectError::Plugin { place, command, reason: error.to_string() }
    }

    /// A client, whether the API answers or not.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// The release of the API server, which every account may ask for; none where it does not say.
    pub async fn api_server(&self, patience: Duration) -> Option<Release> {
        let answer = tokio::time::timeout(patience.min(ANSWER_TIMEOUT), answer::version(&self.client)).await;
        Release::parse(&answer.ok()??)
    }

    /// Asks whether the API answers, accepts the credentials and serves Longhorn's kinds. A refused
    /// right is no error here: other kinds may be readable.
    pub async fn probe(&self, patience: Duration) -> Result<(), ConnectError> {
        let (url, patience) = (self.url.clone(), patience.min(ANSWER_TIMEOUT));
        let request = http::Request::get("/apis/longhorn.io/v1beta2").body(Vec::new());
        let Ok(request) = request else { return Ok(()) };
        let answer = tokio::time::timeout(patience, answer::ask(&self.client, request)).await;
        let Ok(answer) = answer else {
            return Err(ConnectError::Unreachable { url, reason: format!("no answer within {patience:?}") });
        };
        let Err(error) = answer else { return Ok(()) };
        let reason = describe(&error);
        match reason_of(&error) {
            ApiErrorReason::Unauthorized => Err(ConnectError::Unauthorized { url, reason }),
            ApiErrorReason::NotInstalled => Err(ConnectError::NoLonghorn),
            _ if speaks_no_tls(&error) => Err(ConnectError::NoTls { url }),
            _ if is_untrusted(&error) => Err(ConnectError::Untrusted { url, reason }),
            ApiErrorReason::Connection | ApiErrorReason::Timeout => {
                Err(ConnectError::Unreachable { url, reason })
            }
            _ => Ok(()),
        }
    }
}

/// The context that [`Connection::open`] takes, if it takes one.
pub fn context(kubeconfig: Option<&Path>, context: Option<&str>) -> Option<String> {
    let named = kubeconfig.is_some() || context.is_some() || is_set("KUBECONFIG");
    if !named && is_set("KUBERNETES_SERVICE_HOST") {
        return None;
    }
    kubeconfig::context(kubeconfig, context)
}

/// Names of all contexts of the kubeconfig.
pub fn contexts(kubeconfig: Option<&Path>) -> Result<Vec<String>, ConnectError> {
    kubeconfig::contexts(kubeconfig)
}

/// What stands in the way of any verdict over a cluster that was read live, if something does.
/// Single kinds that cannot be read are no obstacle: their checks are unknown.
pub fn obstacle(cluster: &Cluster) -> Option<ConnectError> {
    // of kinds that no one asked for nothing follows
    let asked = || cluster.resources.keys().copied();
    let longhorn = || asked().filter(|kind| kind.is_longhorn());
    let all = |wanted| longhorn().all(|kind| cluster.readability(kind) == wanted);
    let reason = || {
        let error = longhorn().find_map(|kind| cluster.resources.get(&kind)?.error.clone());
        error.unwrap_or_else(|| "no answer".to_owned())
    };
    let namespace = cluster.namespace.clone();
    if all(Readability::NotInstalled) {
        return Some(ConnectError::NoLonghorn);
    }
    if asked().all(|kind| cluster.readability(kind) == Readability::Pending) {
        return Some(ConnectError::Slow { reason: reason() });
    }
    let refused =
        |kind| matches!(cluster.readability(kind), Readability::Forbidden | Readability::NotInstalled);
    if longhorn().all(refused) {
        return Some(ConnectError::Forbidden { namespace, reason: reason() });
    }
    match cluster.absence() {
        Some(absence @ Absence::Longhorn { .. }) => Some(ConnectError::WrongNamespace(absence)),
        // what Longhorn left behind is shown
        _ => None,
    }
}

pub(super) fn is_set(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn open(yaml: Option<&str>, context: Option<&str>) -> Result<Connection, ConnectError> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("config");
        if let Some(yaml) = yaml {
            std::fs::write(&path, yaml).unwrap();
        }
        Connection::open(Some(&path), context, ANSWER_TIMEOUT).await
    }

    const CONFIG: &str = "apiVersion: v1\nkind: Config\ncurrent-context: a\n\
        clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]\nusers: [{name: u, user: {}}]\n\
        contexts: [{name: a, context: {cluster: c, user: u}}, {name: b, context: {cluster: c, user: u}}]\n";

    #[tokio::test]
    async fn a_wrong_kubeconfig_is_a_usage_error_of_one_line() {
        let provider = |name: &str, config: &str| {
            let user = format!("user: {{auth-provider: {{name: {name}, config: {{{config}}}}}}}");
            CONFIG.replace("user: {}", &user)
        };
        let without_user = CONFIG.replace("users: [{name: u,", "users: [{name: v,");
        for (yaml, context, part) in [
            (None, None, "No such file"),
            (Some("contexts: [1"), None, "config: "),
            (
                Some("apiVersion: v1\nkind: Config\n"),
                None,
                "no current context; set one with --context: none",
            ),
            (Some(&CONFIG.replace("current-context: a", "")), None, "set one with --context: a, b"),
            (
                Some(&CONFIG.replace("current-context: a", "current-context: y")),
                None,
                "no context 'y'; it has a, b",
            ),
            (Some(CONFIG), Some("z"), "no context 'z'; it has a, b"),
            (Some(&without_user), None, "no user 'u', which context 'a' names"),
            (
                Some(&CONFIG.replace("http://", "http:// ")),
                None,
                "server of cluster 'c': invalid uri character",
            ),
            (
                Some(&provider("gcp", "access-token: x, cmd-path: sh")),
                None,
                "with gke-gcloud-auth-plugin; check",
            ),
            (
                Some(&provider("azure", "")),
                None,
                "of user 'u' is no longer supported; convert it with 'kubelogin",
            ),
            (Some(&provider("oidc", "")), None, "auth-provider oidc of user 'u' has no id-token"),
            (Some(&provider("other", "")), None, "auth-provider other of user 'u' is no longer supported"),
        ] {
            let error = open(yaml, context).await.err().unwrap();
            let text = error.to_string();
            assert!(error.is_usage() && text.contains(part) && !text.contains('\n'), "{text}");
        }
    }

    #[tokio::test]
    async fn a_credential_plugin_that_fails_is_named_and_its_output_is_not_shown() {
        let plugin = |command: &str, script: &str| {
            let exec = format!(
                "{{exec: {{apiVersion: client.authentication.k8s.io/v1, command: {command}, \
                 args: [-c, '{script}'], interactiveMode: Never}}}}"
            );
            CONFIG.replace("user: {}", &format!("user: {exec}"))
        };
        for (yaml, part) in [
            (
                plugin("no-such-plugin", ""),
                "no credentials from 'no-such-plugin': it cannot be started: No such file",
            ),
            (plugin("sh", "echo secret; echo expired >&2; exit 3"), "from 'sh': exit status: 3: expired; "),
            (plugin("sh", "echo secret: ["), "from 'sh': it printed no ExecCredential; "),
        ] {
            let error = open(Some(&yaml), None).await.err().unwrap();
            let text = error.to_string();
            assert!(!error.is_usage() && text.contains(part), "{text}");
            assert!(!text.contains("secret") && !text.contains('\n'), "{text}");
        }
    }

    #[tokio::test]
    async fn an_answer_without_end_is_not_read_to_its_end() {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        for status in ["200 OK", "403 Forbidden"] {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let config = CONFIG.replace("127.0.0.1:1", &listener.local_addr().unwrap().to_string());
            let endless = tokio::spawn(async move {
                let mut stream = listener.accept().await.unwrap().0;
                assert!(stream.read(&mut [0; 4096]).await.unwrap() > 0, "no request");
                let head = format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\n\r\n");
                stream.write_all(head.as_bytes()).await.unwrap();
                let (kinds, mut sent) = (r#"{"name":"x"},"#.repeat(10_000), 0);
                while stream.write_all(kinds.as_bytes()).await.is_ok() {
                    sent += kinds.len();
                    assert!(sent < 64 << 20, "it is read on and on");
                }
            });
            let connection = open(Some(&config), None).await.ok().unwrap();
            let error = connection.probe(ANSWER_TIMEOUT).await.unwrap_err().to_string();
            assert!(error.contains("the answer has more than 4 MiB"), "{error}");
            endless.await.unwrap();
        }
    }

    #[tokio::test]
    async fn an_api_that_is_not_there_is_no_usage_error() {
        let connection = open(Some(CONFIG), Some("b")).await.ok().unwrap();
        let error = connection.probe(ANSWER_TIMEOUT).await.unwrap_err();
        assert!(!error.is_usage());
        assert!(
            error
                .to_string()
                .contains("cannot reach the Kubernetes API at http://127.0.0.1:1: tcp connect error: "),
            "{error}"
        );
    }
}
