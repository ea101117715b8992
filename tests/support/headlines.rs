//! A headline is read once, at night and on a phone: what is wrong with which object, and why in a few words behind one colon. What a
//! machine said has a line of its own.

use serde_json::Value;

/// As printed, with the names of objects.
const WORDS: usize = 14;
const CHARACTERS: usize = 90;

/// Headlines that are longer or have two colons.
pub fn of(report: &Value) -> Vec<String> {
    let findings = report["findings"].as_array().into_iter().flatten();
    let headlines = findings.filter_map(|finding| finding["message"].as_str());
    headlines.filter(|headline| is_long(headline)).map(str::to_owned).collect()
}

/// Whether a headline takes more than a glance.
pub fn is_long(headline: &str) -> bool {
    let (words, characters) = (headline.split_whitespace().count(), headline.chars().count());
    words > WORDS || characters > CHARACTERS || headline.matches(": ").count() > 1 || headline.contains('\n')
}
