//! Where the page leads to.

/// Addresses outside of the page. What begins with no scheme is relative to it, so that it works behind
/// `kubectl proxy` and below the path of an ingress.
#[derive(Debug, Clone)]
pub struct Links {
    /// Path of the metrics.
    pub metrics: String,
    /// Where the runbooks are; those of this process without.
    pub runbooks: Option<String>,
    pub grafana: Option<String>,
}

impl Links {
    /// Only what this process serves itself.
    pub fn own(metrics: impl Into<String>) -> Self {
        Links { metrics: metrics.into(), runbooks: None, grafana: None }
    }

    /// The runbook of an alert. In a repository files end in `.md`; published pages do not.
    pub fn runbook(&self, name: &str) -> String {
        match &self.runbooks {
            None => format!("runbooks/{name}"),
            Some(base) if base.contains("/blob/") => format!("{}/{name}.md", base.trim_end_matches('/')),
            Some(base) => format!("{}/{name}", base.trim_end_matches('/')),
        }
    }

    /// A dashboard.
    pub fn dashboard(&self, uid: &str) -> Option<String> {
        let base = self.grafana.as_ref()?;
        Some(format!("{}/d/{uid}", base.trim_end_matches('/')))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runbooks_are_our_own_unless_they_are_published_elsewhere() {
        let links = |runbooks: &str| Links { runbooks: Some(runbooks.to_owned()), ..Links::own("/metrics") };
        assert_eq!(Links::own("/metrics").runbook("A"), "runbooks/A");
        assert_eq!(links("https://example.org/runbooks/").runbook("A"), "https://example.org/runbooks/A");
        assert_eq!(
            links("https://example.org/o/r/blob/main/docs").runbook("A"),
            "https://example.org/o/r/blob/main/docs/A.md"
        );
    }

    #[test]
    fn dashboards_are_linked_to_where_grafana_is_known() {
        let links =
            Links { grafana: Some("https://grafana.example.org/".to_owned()), ..Links::own("/metrics") };
        assert_eq!(links.dashboard("x").as_deref(), Some("https://grafana.example.org/d/x"));
        assert_eq!(Links::own("/metrics").dashboard("x"), None);
    }
}
