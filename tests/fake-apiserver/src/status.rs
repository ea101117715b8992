//! `Status` objects in the shapes the real API server gives them.

use http::StatusCode;
use serde_json::{Value, json};

use crate::recorder::Verb;
use crate::route::Target;

/// A failure answered to the client.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub code: StatusCode,
    pub reason: &'static str,
    pub message: String,
    pub details: Value,
    pub retry_after: Option<u32>,
}

impl Failure {
    pub fn new(code: StatusCode, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: json!({}), retry_after: None }
    }

    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", message)
    }

    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message)
    }

    pub fn unauthorized() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized")
    }

    /// A resource version older than what is still known.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(StatusCode::GONE, "Expired", message)
    }

    pub fn method_not_allowed() -> Self {
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        )
    }

    /// The requested type is not served.
    pub fn unserved() -> Self {
        Self::new(StatusCode::NOT_FOUND, "NotFound", "the server could not find the requested resource")
    }

    /// The type is served, the object does not exist.
    pub fn not_found(target: &Target) -> Self {
        let name = target.name.as_deref().unwrap_or_default();
        let mut failure = Self::new(
            StatusCode::NOT_FOUND,
            "NotFound",
            format!("{} \"{name}\" not found", target.group_resource()),
        );
        failure.details = target.details();
        failure
    }

    /// RBAC says no, in the words of the real server.
    pub fn forbidden(user: &str, verb: Verb, target: &Target) -> Self {
        let subject = match &target.name {
            Some(name) => format!("{} \"{name}\"", target.group_resource()),
            None => target.group_resource(),
        };
        let scope = match &target.namespace {
            Some(namespace) => format!("in the namespace \"{namespace}\""),
            None => "at the cluster scope".to_owned(),
        };
        let message = format!(
            "{subject} is forbidden: User \"{user}\" cannot {verb} resource \"{}\" in API group \"{}\" {scope}",
            target.rbac_resource(),
            target.group,
        );
        let mut failure = Self::new(StatusCode::FORBIDDEN, "Forbidden", message);
        failure.details = target.details();
        failure
    }

    /// An answer of an overloaded or broken server.
    pub fn from_code(code: u16, retry_after: Option<u32>) -> Self {
        let status = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let (reason, message) = match code {
            429 => (
                "TooManyRequests",
                "the server has received too many requests and has asked us to try again later",
            ),
            500 => ("InternalError", "Internal error occurred: injected by the test"),
            503 => ("ServiceUnavailable", "the server is currently unable to handle the request"),
            504 => ("Timeout", "the server was unable to return a response in the time allotted"),
            _ => ("Unknown", "an error injected by the test"),
        };
        let mut failure = Self::new(status, reason, message);
        if let Some(seconds) = retry_after {
            failure.details = json!({"retryAfterSeconds": seconds});
        }
        failure.retry_after = retry_after;
        failure
    }

    /// The `Status` object itself.
    pub fn to_value(&self) -> Value {
        json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "details": self.details,
            "code": self.code.as_u16(),
        })
    }
}
