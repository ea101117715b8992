//! Writes objects the way controllers would: server-side apply, spec and status apart.

use std::sync::PoisonError;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams};
use kube::core::{GroupVersionKind, TypeMeta};
use kube::discovery::{self, ApiCapabilities, ApiResource, Scope};
use kube::runtime::wait::{await_condition, conditions::is_crd_established};
use serde_json::{Value, json};

use super::{Bench, crds};

const FIELD_MANAGER: &str = "e2e";
const SERVED_LIMIT: Duration = Duration::from_secs(30);

/// What the apiserver owns: present in recorded objects, refused or ignored in an apply.
const SERVER_FIELDS: &[&str] = &[
    "creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "managedFields",
    "resourceVersion", "selfLink", "uid",
];

impl Bench {
    /// Applies every object of a YAML or JSON text: several documents, `List`s, or both.
    pub async fn apply(&self, text: &str) -> Result<()> {
        for object in objects(text)? {
            self.apply_value(&object).await?;
        }
        Ok(())
    }

    /// Applies one object. A status goes to the status subresource where there is one.
    pub async fn apply_value(&self, object: &Value) -> Result<()> {
        self.apply_one(object).await.with_context(|| describe(object))
    }

    /// Creates a namespace, or leaves it as it is.
    pub async fn namespace(&self, name: &str) -> Result<()> {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        self.apply_value(&namespace).await
    }

    /// Applies all Longhorn definitions and waits until their kinds are served.
    pub async fn load_crds(&self) -> Result<()> {
        for definition in crds::all() {
            self.apply_value(&definition).await?;
        }
        for (kind, plural) in crds::KINDS {
            self.served(kind, plural).await?;
        }
        Ok(())
    }

    /// Waits until a definition is established and discovery lists its kind.
    pub async fn served(&self, kind: &str, plural: &str) -> Result<()> {
        let definitions: Api<CustomResourceDefinition> = Api::all(self.admin());
        let listed = async {
            await_condition(definitions, &crds::name(plural), is_crd_established()).await?;
            // Discovery follows the condition, it does not precede it.
            while self.discover(crds::API_VERSION, kind).await.is_err() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            anyhow::Ok(())
        };
        tokio::time::timeout(SERVED_LIMIT, listed)
            .await
            .with_context(|| format!("{plural} were not served within {SERVED_LIMIT:?}"))?
    }

    /// Deletes one object now, without the grace a kubelet would use.
    pub async fn delete(&self, api_version: &str, kind: &str, namespace: &str, name: &str) -> Result<()> {
        let api = self.api(api_version, kind, namespace).await?;
        api.delete(name, &DeleteParams::default().grace_period(0))
            .await
            .with_context(|| format!("deleting {kind} {namespace}/{name}"))?;
        Ok(())
    }

    /// Objects of a kind by its name; `namespace` is not used for cluster-scoped kinds.
    pub async fn api(&self, api_version: &str, kind: &str, namespace: &str) -> Result<Api<DynamicObject>> {
        let (resource, capabilities) = self.kind(api_version, kind).await?;
        Ok(match capabilities.scope {
            Scope::Cluster => Api::all_with(self.admin(), &resource),
            Scope::Namespaced => Api::namespaced_with(self.admin(), namespace, &resource),
        })
    }

    /// What discovery says of a kind; asked once.
    pub(super) async fn kind(&self, api_version: &str, kind: &str) -> Result<(ApiResource, ApiCapabilities)> {
        let key = (api_version.to_owned(), kind.to_owned());
        let kinds = || self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kinds().get(&key) {
            return Ok(known.clone());
        }
        let found = self.discover(api_version, kind).await?;
        kinds().insert(key, found.clone());
        Ok(found)
    }

    async fn discover(&self, api_version: &str, kind: &str) -> Result<(ApiResource, ApiCapabilities)> {
        let types = TypeMeta { api_version: api_version.to_owned(), kind: kind.to_owned() };
        let gvk = GroupVersionKind::try_from(types)?;
        discovery::pinned_kind(&self.admin(), &gvk)
            .await
            .with_context(|| format!("{api_version} {kind} is not served"))
    }

    async fn apply_one(&self, object: &Value) -> Result<()> {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
        let (Some(api_version), Some(kind), Some(name)) =
            (text("/apiVersion"), text("/kind"), text("/metadata/name"))
        else {
            bail!("an object needs apiVersion, kind and metadata.name");
        };
        let (resource, capabilities) = self.kind(api_version, kind).await?;
        let api: Api<DynamicObject> = match (&capabilities.scope, text("/metadata/namespace")) {
            (Scope::Cluster, _) => Api::all_with(self.admin(), &resource),
            (Scope::Namespaced, Some(namespace)) => Api::namespaced_with(self.admin(), namespace, &resource),
            (Scope::Namespaced, None) => bail!("metadata.namespace is missing"),
        };
        let params = PatchParams::apply(FIELD_MANAGER).force();
        let mut main = object.clone();
        if let Some(metadata) = main["metadata"].as_object_mut() {
            metadata.retain(|field, _| !SERVER_FIELDS.contains(&field.as_str()));
        }
        let status = match main.as_object_mut() {
            Some(fields) if has_status_subresource(&capabilities) => fields.remove("status"),
            _ => None,
        };
        api.patch(name, &params, &Patch::Apply(&main)).await?;
        if let Some(status) = status {
            let body = json!({
                "apiVersion": api_version,
                "kind": kind,
                "metadata": {"name": name},
                "status": status,
            });
            api.patch_status(name, &params, &Patch::Apply(&body)).await?;
        }
        Ok(())
    }
}

/// Every object of a YAML or JSON text: several documents, `List`s, or both.
pub fn objects(text: &str) -> Result<Vec<Value>> {
    let documents: Vec<Value> = serde_yaml::from_multiple(text)?;
    let mut objects = Vec::new();
    for mut document in documents {
        let is_list = document["kind"].as_str().is_some_and(|kind| kind.ends_with("List"));
        match document.get_mut("items").map(Value::take) {
            Some(Value::Array(items)) if is_list => objects.extend(items),
            _ if document.is_null() => {}
            _ => objects.push(document),
        }
    }
    Ok(objects)
}

/// Kind and name, for errors.
pub fn describe(object: &Value) -> String {
    format!("{} {}", object["kind"], object["metadata"]["name"])
}

fn has_status_subresource(capabilities: &ApiCapabilities) -> bool {
    // kube names a subresource by its last part only.
    capabilities.subresources.iter().any(|(resource, _)| resource.plural == "status")
}
