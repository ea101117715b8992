//! Hints for mistyped names.

/// With no close match, list at most this many names.
const LISTED: usize = 16;

/// "did you mean …?" when a known name is near enough to be meant, else the names there are.
pub fn hint(name: &str, known: &[&str]) -> String {
    match nearest(name, known) {
        Some(nearest) => format!("did you mean {nearest}?"),
        None => match known {
            [] => "no names are valid here".to_owned(),
            known if known.len() <= LISTED => format!("valid: {}", known.join(", ")),
            known => format!("no similar name among the {} known", known.len()),
        },
    }
}

/// The known name that differs in at most a third of its letters, or holds the whole name.
fn nearest<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    let name = name.to_lowercase();
    let distance = |known: &str| {
        let known = known.to_lowercase();
        let holds = name.chars().count() >= 4 && known.contains(&name);
        let distance = strsim::damerau_levenshtein(&known, &name);
        (!holds, distance, holds || distance * 3 <= known.chars().count().max(3))
    };
    let nearest = known.iter().map(|known| (distance(known), *known)).min()?;
    nearest.0.2.then_some(nearest.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_near_names_are_suggested() {
        let known = ["selector", "namespace", "cluster_label", "labels", "for"];
        for (name, nearest_name) in [
            ("Selector", Some("selector")),
            ("clusterlabel", Some("cluster_label")),
            ("cluster", Some("cluster_label")),
            ("fro", Some("for")),
            ("label", Some("labels")),
            ("zzzzzz", None),
            ("x", None),
            ("", None),
            ("thresholds", None),
        ] {
            assert_eq!(nearest(name, &known), nearest_name, "{name}");
        }
        assert_eq!(hint("zz", &known[..2]), "valid: selector, namespace");
        assert_eq!(hint("zz", &[]), "no names are valid here");
    }
}
