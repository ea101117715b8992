//! What a kubeconfig leads to, and what is wrong with one that leads nowhere, in one line.

use std::path::{Path, PathBuf};

use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};

use super::connect::{ConnectError, is_set};
use crate::yaml_error;

/// Where the kubeconfig is read from, for messages.
pub(super) fn place(path: Option<&Path>) -> String {
    match path {
        Some(path) => path.display().to_string(),
        None if is_set("KUBECONFIG") => {
            format!("$KUBECONFIG ({})", std::env::var("KUBECONFIG").unwrap_or_default())
        }
        None => "~/.kube/config".to_owned(),
    }
}

/// True where the home directory has a kubeconfig.
pub(super) fn is_at_home() -> bool {
    std::env::home_dir().is_some_and(|home| home.join(".kube/config").exists())
}

/// The way to the cluster of this context, or of the current one.
pub(super) async fn load(path: Option<&Path>, context: Option<&str>) -> Result<Config, ConnectError> {
    let wrong = |reason| ConnectError::Kubeconfig { place: place(path), reason };
    let kubeconfig = read(path).map_err(|error| wrong(say(&error)))?;
    let context = chosen(&kubeconfig, context, || place(path))?;
    if let Some(reason) = lost(&kubeconfig, &context) {
        return Err(wrong(reason));
    }
    let cluster = cluster_of(&kubeconfig, &context);
    let options = KubeConfigOptions { context: Some(context), ..KubeConfigOptions::default() };
    Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(|error| match (&error, cluster) {
        (KubeconfigError::ParseClusterUrl(error), Some(cluster)) => {
            wrong(format!("server of cluster '{cluster}': {error}"))
        }
        _ => wrong(say(&error)),
    })
}

/// The kubeconfig of a path, or else of `$KUBECONFIG`, or else of the home directory.
fn read(path: Option<&Path>) -> Result<Kubeconfig, KubeconfigError> {
    let listed = std::env::var_os("KUBECONFIG").unwrap_or_default();
    let mut paths: Vec<PathBuf> = match path {
        Some(path) => vec![path.to_owned()],
        None => std::env::split_paths(&listed).filter(|path| !path.as_os_str().is_empty()).collect(),
    };
    if paths.is_empty() {
        let home = std::env::home_dir().ok_or(KubeconfigError::FindPath)?;
        paths.push(home.join(".kube/config"));
    }
    let mut whole = Kubeconfig::default();
    for path in paths {
        whole = whole.merge(read_one(&path)?)?;
    }
    Ok(whole)
}

/// kube takes a file that begins as UTF-16 does for pairs of bytes, and panics where one is missing (kube-client
/// 5.0 config/file_config.rs `read_path`).
fn read_one(path: &Path) -> Result<Kubeconfig, KubeconfigError> {
    let wrong = |error| KubeconfigError::ReadConfig(error, path.to_owned());
    let content = std::fs::read(path).map_err(wrong)?;
    let is_utf16 = matches!(content.as_slice(), [0xff, 0xfe, ..] | [0xfe, 0xff, ..]);
    let invalid = |text| std::io::Error::new(std::io::ErrorKind::InvalidData, text);
    if is_utf16 && !content.len().is_multiple_of(2) {
        return Err(wrong(invalid("not UTF-16, as its first bytes say")));
    }
    if path.is_file() {
        return Kubeconfig::read_from(path);
    }
    // a pipe cannot be read twice, and has no directory that names in it could be relative to
    let text = String::from_utf8(content).map_err(|_| wrong(invalid("not UTF-8")))?;
    Kubeconfig::from_yaml(&text)
}

/// Why no one could log in with this context.
pub fn lost(kubeconfig: &Kubeconfig, context: &str) -> Option<String> {
    lost_user(kubeconfig, context).or_else(|| old_login(kubeconfig, context))
}

/// Name of the context asked for or else of the current one, if the kubeconfig has it.
pub(super) fn context(path: Option<&Path>, context: Option<&str>) -> Option<String> {
    let kubeconfig = read(path).ok()?;
    chosen(&kubeconfig, context, String::new).ok()
}

/// Names of all contexts.
pub(super) fn contexts(path: Option<&Path>) -> Result<Vec<String>, ConnectError> {
    let kubeconfig =
        read(path).map_err(|error| ConnectError::Kubeconfig { place: place(path), reason: say(&error) })?;
    Ok(kubeconfig.contexts.into_iter().map(|context| context.name).collect())
}

/// The context asked for or else the current one, if the kubeconfig has it.
pub fn chosen(
    kubeconfig: &Kubeconfig,
    context: Option<&str>,
    place: impl Fn() -> String,
) -> Result<String, ConnectError> {
    let names: Vec<_> = kubeconfig.contexts.iter().map(|context| context.name.as_str()).collect();
    let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let current = kubeconfig.current_context.as_deref().filter(|name| !name.is_empty());
    match context.or(current) {
        None => Err(ConnectError::NoContext { place: place(), known }),
        Some(name) if names.contains(&name) => Ok(name.to_owned()),
        Some(name) => Err(ConnectError::UnknownContext { place: place(), context: name.to_owned(), known }),
    }
}

/// A context may name a user that is not there; kube then goes on without credentials.
fn lost_user(kubeconfig: &Kubeconfig, context: &str) -> Option<String> {
    let named = kubeconfig.contexts.iter().find(|named| named.name == context)?;
    let user = named.context.as_ref()?.user.as_deref().filter(|user| !user.is_empty())?;
    let known = kubeconfig.auth_infos.iter().any(|known| known.name == user);
    (!known).then(|| format!("no user '{user}', which context '{context}' names"))
}

/// Kubernetes 1.26 has removed the providers of clouds; credential plugins took their place. That of
/// OIDC is left, and is useful as long as the token that it keeps in the kubeconfig.
fn old_login(kubeconfig: &Kubeconfig, context: &str) -> Option<String> {
    let named = kubeconfig.contexts.iter().find(|named| named.name == context)?;
    let user = named.context.as_ref()?.user.as_deref()?;
    let known = kubeconfig.auth_infos.iter().find(|known| known.name == user)?;
    let provider = known.auth_info.as_ref()?.auth_provider.as_ref()?;
    let instead = match provider.name.as_str() {
        "oidc" if provider.config.contains_key("id-token") => return None,
        "oidc" => return Some(format!("auth-provider oidc of user '{user}' has no id-token; log in again")),
        "gcp" => "; let 'gcloud container clusters get-credentials' write one with gke-gcloud-auth-plugin",
        "azure" => "; convert it with 'kubelogin convert-kubeconfig'",
        _ => "; use a credential plugin (exec) or a token",
    };
    Some(format!("auth-provider {} of user '{user}' is no longer supported{instead}", provider.name))
}

fn cluster_of(kubeconfig: &Kubeconfig, context: &str) -> Option<String> {
    let named = kubeconfig.contexts.iter().find(|named| named.name == context)?;
    Some(named.context.as_ref()?.cluster.clone())
}

/// The first line of an error. That of a file is said by its source, which leaves out the path.
pub fn say(error: &KubeconfigError) -> String {
    let text = match error {
        KubeconfigError::ReadConfig(source, _) => source.to_string(),
        KubeconfigError::Parse(error) => {
            // there may be a token in it
            let (line, message) = yaml_error::explain_secret(error);
            return format!("line {line}: {message}");
        }
        KubeconfigError::LoadClusterOfContext(cluster) => format!("no cluster '{cluster}'"),
        other => other.to_string(),
    };
    text.lines().next().unwrap_or_default().trim().to_owned()
}
