//! One page of metrics, as far as tests ask it.

/// The text format of a scrape.
pub struct Page(pub String);

impl Page {
    /// The value of the one series that has these labels; `None` without such a series.
    ///
    /// # Panics
    /// When several series have them, because the test would then look at any of them.
    pub fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let mut found = self.series(name, labels);
        let value = found.next()?;
        assert!(found.next().is_none(), "several series {name} with {labels:?}");
        Some(value)
    }

    /// True when exactly one series has these labels, with this value.
    pub fn is(&self, name: &str, labels: &[(&str, &str)], value: f64) -> bool {
        self.value(name, labels) == Some(value)
    }

    /// True when any series has these labels.
    pub fn has(&self, name: &str, labels: &[(&str, &str)]) -> bool {
        self.series(name, labels).next().is_some()
    }

    /// True when any series with these labels has this value.
    pub fn has_value(&self, name: &str, labels: &[(&str, &str)], value: f64) -> bool {
        self.series(name, labels).any(|other| other == value)
    }

    /// All series of a family together.
    pub fn sum(&self, name: &str) -> f64 {
        self.series(name, &[]).sum()
    }

    fn series(&self, name: &str, labels: &[(&str, &str)]) -> impl Iterator<Item = f64> {
        let wanted: Vec<String> =
            labels.iter().map(|(label, value)| format!("{label}=\"{value}\"")).collect();
        self.0.lines().filter_map(move |line| {
            let (series, value) = line.rsplit_once(' ')?;
            let (family, labels) = series.split_once('{').unwrap_or((series, ""));
            let has = |one: &String| labels.trim_end_matches('}').split(',').any(|label| label == one);
            (family == name && wanted.iter().all(has)).then(|| value.parse().ok()).flatten()
        })
    }
}
