//! The labels under which Prometheus scrapes the exporter, for the series of the cases.

use std::collections::BTreeMap;

use crate::generate::Settings;

pub type Labels = BTreeMap<String, String>;

/// The exporter as Prometheus sees it.
#[derive(Debug, Default)]
pub struct Exporter {
    /// What the selector takes, and what is usual beside it.
    pub labels: Labels,
    /// Labels of a target that the selector does not take, as far as they differ.
    pub other: Labels,
}

impl Exporter {
    /// The target that the configured selector takes.
    pub fn of(settings: &Settings) -> Exporter {
        let usual = [("job", "longhorn-health-exporter"), ("namespace", "longhorn-system")];
        let labels = usual.map(|(label, value)| (label.to_owned(), value.to_owned())).into();
        let mut exporter = Exporter { labels, other: Labels::new() };
        for (label, value) in settings.selected() {
            let usual = exporter.labels.insert(label.to_owned(), value.to_owned());
            let another = if value == "another" { "one-more" } else { "another" };
            let other = usual.filter(|usual| usual != value).unwrap_or(another.to_owned());
            exporter.other.insert(label.to_owned(), other);
        }
        exporter
    }

    /// All labels of a target that is not the exporter.
    pub fn elsewhere(&self) -> Labels {
        self.labels.clone().into_iter().chain(self.other.clone()).collect()
    }

    /// The labels of one of its pods, as a ServiceMonitor sets them.
    pub fn pod(&self, pod: &str) -> Labels {
        let own = [
            ("pod", format!("longhorn-health-exporter-{pod}")),
            ("instance", format!("{pod}:10666")),
            ("container", format!("exporter-{pod}")),
            ("endpoint", format!("http-{pod}")),
            ("service", format!("longhorn-health-exporter-{pod}")),
        ];
        let own = own.map(|(label, value)| (label.to_owned(), value));
        self.labels.clone().into_iter().chain(own).collect()
    }
}
