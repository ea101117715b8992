//! Questions to the Kubernetes API about others: who a token belongs to, and what they may do.

use kube::Client;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::answer::ask;
use super::watch::describe;

/// Asks the Kubernetes API.
#[derive(Clone)]
pub struct Reviews {
    client: Client,
}

/// Whom a token belongs to, as the API server told it. Everything in it takes part in the question
/// what they may do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, expecting = "an object")]
pub struct User {
    /// For example `system:serviceaccount:monitoring:prometheus`.
    pub username: String,
    /// Identity beside the name.
    pub uid: String,
    /// For example `system:authenticated`.
    pub groups: Vec<String>,
    /// What the authenticator adds.
    pub extra: std::collections::BTreeMap<String, Vec<String>>,
}

#[derive(Deserialize)]
#[serde(expecting = "a review")]
struct Review<S> {
    status: S,
}

#[derive(Deserialize, Default)]
#[serde(default, expecting = "an object")]
struct TokenStatus {
    authenticated: bool,
    user: User,
}

#[derive(Deserialize, Default)]
#[serde(default, expecting = "an object")]
struct AccessStatus {
    allowed: bool,
    denied: bool,
}

impl Reviews {
    /// Asks with this client, whose own rights must allow it.
    pub fn new(client: Client) -> Self {
        Reviews { client }
    }

    /// TokenReview: the owner of a token, or `None` for one that is not accepted. An error is one
    /// line that does not contain the token.
    pub async fn token(&self, token: &str) -> Result<Option<User>, String> {
        let path = "/apis/authentication.k8s.io/v1/tokenreviews";
        let spec = json!({"token": token});
        let status: TokenStatus = self.review(path, "authentication.k8s.io/v1", "TokenReview", spec).await?;
        Ok(Some(status.user).filter(|user| status.authenticated && !user.username.is_empty()))
    }

    /// SubjectAccessReview: whether a user may get a path.
    pub async fn may_get(&self, user: &User, path: &str) -> Result<bool, String> {
        let spec = json!({
            "user": user.username,
            "uid": user.uid,
            "groups": user.groups,
            "extra": user.extra,
            "nonResourceAttributes": {"path": path, "verb": "get"},
        });
        let url = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
        let status: AccessStatus =
            self.review(url, "authorization.k8s.io/v1", "SubjectAccessReview", spec).await?;
        Ok(status.allowed && !status.denied)
    }

    /// Decodes on its own, because kube would log an answer that does not decode, token and all.
    async fn review<S: DeserializeOwned>(
        &self,
        path: &str,
        api_version: &str,
        kind: &str,
        spec: Value,
    ) -> Result<S, String> {
        let body = json!({"apiVersion": api_version, "kind": kind, "spec": spec}).to_string();
        let request = http::Request::post(path)
            .header(http::header::CONTENT_TYPE, "application/json")
            .body(body.into_bytes())
            .map_err(|error| format!("{kind}: {error}"))?;
        let answer =
            ask(&self.client, request).await.map_err(|error| format!("{kind}: {}", describe(&error)))?;
        let review: Review<S> = serde_json::from_slice(&answer)
            .map_err(|_| format!("{kind}: the answer is none of that kind"))?;
        Ok(review.status)
    }
}
