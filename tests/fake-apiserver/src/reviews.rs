//! Reviews: who a token belongs to, and who may do what.

use std::sync::Arc;

use http::{Request, StatusCode};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use serde_json::{Value, json};

use crate::body::{self, Answer};
use crate::recorder::Verb;
use crate::resource::group_resource;
use crate::route::Target;
use crate::server::FakeApiServer;
use crate::state::Shared;
use crate::status::Failure;

/// The largest review a client may send.
const REVIEW_BYTES: usize = 1024 * 1024;

/// The owner of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserInfo {
    /// For example `system:serviceaccount:monitoring:prometheus`.
    pub username: String,
    /// For example `system:authenticated`.
    pub groups: Vec<String>,
}

type TokenFn = Arc<dyn Fn(&str) -> Option<UserInfo> + Send + Sync>;
type AccessFn = Arc<dyn Fn(&Value) -> bool + Send + Sync>;

#[derive(Default)]
pub(crate) struct Reviews {
    token: Option<TokenFn>,
    access: Option<AccessFn>,
    self_access: Option<AccessFn>,
}

/// Reviews.
impl FakeApiServer {
    /// Decides TokenReviews from now on. Unless set, no token is known.
    pub fn on_token_review(&self, decide: impl Fn(&str) -> Option<UserInfo> + Send + Sync + 'static) {
        self.change(|state| state.reviews.token = Some(Arc::new(decide)));
    }

    /// Decides SubjectAccessReviews by their `spec` from now on. Unless set, nothing is allowed.
    pub fn on_access_review(&self, decide: impl Fn(&Value) -> bool + Send + Sync + 'static) {
        self.change(|state| state.reviews.access = Some(Arc::new(decide)));
    }

    /// Decides SelfSubjectAccessReviews by their `spec` from now on. Unless set, all is allowed that no
    /// [`Fault::Forbid`](crate::Fault::Forbid) or [`Fault::ForbidOutside`](crate::Fault::ForbidOutside) denies.
    pub fn on_self_access_review(&self, decide: impl Fn(&Value) -> bool + Send + Sync + 'static) {
        self.change(|state| state.reviews.self_access = Some(Arc::new(decide)));
    }
}

/// Whether a POST to the target is a review.
pub(crate) fn is_review(target: &Target) -> bool {
    matches!(
        (target.group.as_str(), target.version.as_str(), target.plural.as_str()),
        ("authentication.k8s.io", "v1", "tokenreviews")
            | ("authorization.k8s.io", "v1", "subjectaccessreviews" | "selfsubjectaccessreviews")
    ) && target.name.is_none()
}

/// Answers a review with the review and its status.
pub(crate) async fn answer(shared: &Shared, target: &Target, request: Request<Incoming>) -> Answer {
    let bytes = match Limited::new(request.into_body(), REVIEW_BYTES).collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) => {
            return body::failure(&Failure::bad_request(format!("cannot read the request: {error}")));
        }
    };
    let mut review: Value = match serde_json::from_slice(&bytes) {
        Ok(review @ Value::Object(_)) => review,
        _ => return body::failure(&Failure::bad_request("the object provided is unrecognized")),
    };
    let status = match target.plural.as_str() {
        "tokenreviews" => review_token(shared, &review["spec"]),
        "subjectaccessreviews" => {
            let decide = shared.lock().reviews.access.clone();
            json!({"allowed": decide.is_some_and(|decide| decide(&review["spec"]))})
        }
        _ => review_own_access(shared, &review["spec"]),
    };
    review["status"] = status;
    body::json(StatusCode::CREATED, &review)
}

fn review_token(shared: &Shared, spec: &Value) -> Value {
    // The closure runs without the lock, so that it may use the server.
    let decide = shared.lock().reviews.token.clone();
    let token = spec["token"].as_str().unwrap_or_default();
    match decide.and_then(|decide| decide(token)) {
        Some(user) => json!({
            "authenticated": true,
            "user": {"username": user.username, "uid": "", "groups": user.groups},
            "audiences": spec["audiences"],
        }),
        None => json!({"authenticated": false, "user": {}, "error": "[invalid bearer token]"}),
    }
}

fn review_own_access(shared: &Shared, spec: &Value) -> Value {
    let decide = shared.lock().reviews.self_access.clone();
    if let Some(decide) = decide {
        return json!({"allowed": decide(spec)});
    }
    let attributes = &spec["resourceAttributes"];
    let text = |key: &str| attributes[key].as_str().unwrap_or_default();
    let mut key = group_resource(text("resource"), text("group"));
    if !text("subresource").is_empty() {
        key = format!("{key}/{}", text("subresource"));
    }
    let namespace = Some(text("namespace")).filter(|namespace| !namespace.is_empty());
    let denied =
        Verb::parse(text("verb")).is_some_and(|verb| shared.lock().faults.forbids(&key, verb, namespace));
    json!({"allowed": !denied})
}
