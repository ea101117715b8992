//! Who may read what.

use std::net::IpAddr;
use std::sync::Arc;

use hyper::http::request::Parts;

use super::credentials::Digester;
use super::passwords::Passwords;
use super::respond::Refusal;
use super::reviewer::Reviewer;
use super::web_config::{WebConfig, WebConfigFile};
use crate::exporter::WebConfigReload;

/// How requests are authorised. Health endpoints are open whatever this says; the router does not
/// ask for them.
#[derive(Clone, Default)]
pub struct Access {
    file: Option<Arc<WebConfigFile>>,
    reviewer: Option<Arc<Reviewer>>,
    passwords: Option<Arc<Passwords>>,
}

impl Access {
    /// Everybody may read everything.
    pub fn open() -> Self {
        Access::default()
    }

    /// As the web configuration says.
    pub fn by_file(mut self, file: Arc<WebConfigFile>, digester: Digester) -> Self {
        self.file = Some(file);
        self.passwords = Some(Arc::new(Passwords::new(digester)));
        self
    }

    /// By the Kubernetes API.
    pub fn by_kubernetes(mut self, reviewer: Reviewer) -> Self {
        self.reviewer = Some(Arc::new(reviewer));
        self
    }

    /// The web configuration at this moment.
    pub async fn config(&self) -> Arc<WebConfig> {
        match &self.file {
            Some(file) => file.current().await,
            None => Arc::default(),
        }
    }

    /// How the web configuration was read last; nothing without one.
    pub fn reload(&self) -> Option<WebConfigReload> {
        self.file.as_ref().map(|file| file.reload())
    }

    /// Lets a request pass or refuses it.
    pub async fn authorize(
        &self,
        config: &WebConfig,
        request: &Parts,
        client: IpAddr,
    ) -> Result<(), Refusal> {
        if let Some(reviewer) = &self.reviewer {
            reviewer.authorize(request, client).await?;
        }
        match &self.passwords {
            Some(passwords) if !config.users.is_empty() => {
                passwords.authorize(&config.users, &request.headers, client).await
            }
            _ => Ok(()),
        }
    }
}
