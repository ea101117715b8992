//! Who may read what.

use hyper::http::request::Parts;

use super::respond::Refusal;

/// How a request is authorised. Health endpoints are open whatever this says; the router does not
/// ask for them.
#[derive(Debug, Clone)]
pub enum Access {
    /// Everybody may read everything.
    Open,
}

impl Access {
    /// Lets a request pass or refuses it.
    pub async fn authorize(&self, _request: &Parts) -> Result<(), Refusal> {
        match self {
            Access::Open => Ok(()),
        }
    }
}
