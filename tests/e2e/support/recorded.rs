//! Puts recorded objects into the cluster with their own ages and uids.
//!
//! The apiserver sets `creationTimestamp` and `uid` itself, but a check may depend on how old an
//! object is, or on which uid an owner reference names. So these fields are written to etcd, where
//! the apiserver keeps JSON, and reach its clients like any other change.

use anyhow::{Context, Result};
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::ByteString;
use kube::discovery::ApiResource;
use serde_json::{Value, json};

use super::Bench;
use super::apply::{describe, objects};
use super::bench::code;
use super::complete::complete;

/// What is taken from the recording as it is, where the recording has it.
const KEPT: &[&str] = &["creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "uid"];

/// Objects that are written at once.
const AT_ONCE: usize = 8;

impl Bench {
    /// Applies every object of `text` and gives it the recorded creation, deletion and uid.
    pub async fn apply_recorded(&self, text: &str) -> Result<()> {
        self.load_recorded(&objects(text)?).await
    }

    /// As [`Bench::apply_recorded`], several objects at once. What the API server insists on and the
    /// recording lacks is filled in.
    pub async fn load_recorded(&self, objects: &[Value]) -> Result<()> {
        // Pods are refused without their PriorityClass.
        let (first, rest): (Vec<_>, Vec<_>) =
            objects.iter().partition(|object| object["kind"] == "PriorityClass");
        for objects in [first, rest] {
            stream::iter(objects)
                .map(|object| async move {
                    let mut whole = object.clone();
                    complete(&mut whole);
                    self.apply_value(&whole).await?;
                    self.keep_recorded(object).await.with_context(|| describe(object))
                })
                .buffer_unordered(AT_ONCE)
                .try_collect::<()>()
                .await?;
        }
        Ok(())
    }

    /// Deletes these objects, whatever has become of them; one with finalizers does not wait for what would end it.
    pub async fn delete_all(&self, objects: &[Value]) -> Result<()> {
        stream::iter(objects)
            .map(|object| async move {
                let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or("");
                let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
                let done = self.delete(text("/apiVersion"), text("/kind"), namespace, name).await;
                let gone = |error: &anyhow::Error| error.downcast_ref().and_then(code) == Some(404);
                done.or_else(|error| if gone(&error) { Ok(()) } else { Err(error) })?;
                self.erase(object).await.map(drop)
            })
            .buffer_unordered(AT_ONCE)
            .try_collect()
            .await
    }

    /// Takes an object from etcd, also while no apiserver runs; says whether it was there.
    pub async fn erase(&self, object: &Value) -> Result<bool> {
        let answer = self.etcd_call("/v3/kv/deleterange", &json!({"key": self.key(object).await?})).await?;
        Ok(answer["deleted"] == "1")
    }

    async fn keep_recorded(&self, object: &Value) -> Result<()> {
        let key = self.key(object).await?;
        let answer = self.etcd_call("/v3/kv/range", &json!({"key": key})).await?;
        let value = answer["kvs"][0]["value"].clone();
        let value: ByteString = serde_json::from_value(value).context("not found in etcd")?;
        let mut stored: Value = serde_json::from_slice(&value.0).context("not JSON in etcd")?;
        for field in KEPT {
            if let Some(recorded) = object["metadata"].get(field) {
                stored["metadata"][field] = recorded.clone();
            }
        }
        let value = ByteString(serde_json::to_vec(&stored)?);
        // Events expire by a lease on their key, which a plain put would take away.
        let put = json!({"key": key, "value": value, "ignore_lease": true});
        self.etcd_call("/v3/kv/put", &put).await?;
        Ok(())
    }
}

impl Bench {
    /// Where the apiserver keeps an object, as etcd's gateway takes it.
    async fn key(&self, object: &Value) -> Result<Value> {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or("");
        let (resource, _) = self.kind(text("/apiVersion"), text("/kind")).await?;
        let key = store_key(&resource, text("/metadata/namespace"), text("/metadata/name"));
        Ok(json!(ByteString(key.into_bytes())))
    }
}

/// The apiserver's key: built-in kinds without their group, others with it, and two old names.
fn store_key(resource: &ApiResource, namespace: &str, name: &str) -> String {
    let folder = match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "nodes") => "minions".to_owned(),
        ("", "services") => "services/specs".to_owned(),
        ("longhorn.io", plural) => format!("longhorn.io/{plural}"),
        (_, plural) => plural.to_owned(),
    };
    match namespace {
        "" => format!("/registry/{folder}/{name}"),
        _ => format!("/registry/{folder}/{namespace}/{name}"),
    }
}
