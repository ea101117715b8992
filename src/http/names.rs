//! Names for the words in capitals that runbooks leave to be filled in: `?volume=db&node=worker-2`.

/// What may be filled in, as queries name it.
const WORDS: [(&str, &str); 6] = [
    ("volume", "VOLUME"),
    ("node", "NODE"),
    ("disk", "DISK"),
    ("claim", "CLAIM"),
    ("object", "OBJECT"),
    ("owner", "OWNER"),
];

/// The text with the names of the query for its words. What could be anything but a name is left out.
pub fn filled(text: &str, query: &str) -> String {
    let pairs = form_urlencoded::parse(query.as_bytes());
    let named: Vec<(&str, String)> = pairs
        .filter_map(|(key, value)| {
            let (_, word) = WORDS.into_iter().find(|(known, _)| *known == key)?;
            is_name(&value).then(|| (word, value.into_owned()))
        })
        .collect();
    if named.is_empty() {
        return text.to_owned();
    }
    let mut filled = String::with_capacity(text.len());
    for part in text.split_inclusive(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
        let word = part.trim_end_matches(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        match named.iter().find(|(known, _)| *known == word) {
            Some((_, name)) => filled.push_str(&part.replacen(word, name, 1)),
            None => filled.push_str(part),
        }
    }
    filled
}

/// As Kubernetes names objects, with a namespace in front at most.
pub fn is_name(value: &str) -> bool {
    let name = |c: char| c.is_ascii_alphanumeric() || "-._/".contains(c);
    !value.is_empty() && value.len() <= 253 && value.chars().all(name)
}

/// The query for what is known of a finding.
pub fn query(names: &[(&str, &str)]) -> String {
    let known = names.iter().filter(|(_, name)| is_name(name));
    let text: Vec<String> = known.map(|(key, name)| format!("{key}={name}")).collect();
    if text.is_empty() { String::new() } else { format!("?{}", text.join("&")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_filled_and_what_is_no_name_is_not() {
        let text = "get volumes VOLUME -o yaml; VOLUMES on NODE, `NODE`";
        assert_eq!(filled(text, "volume=pvc-1&node=n1"), "get volumes pvc-1 -o yaml; VOLUMES on n1, `n1`");
        for odd in ["volume=a%20b", "volume=%3Cscript%3E", "volume=", "other=x", ""] {
            assert_eq!(filled(text, odd), text, "{odd}");
        }
        assert_eq!(
            query(&[("volume", "pvc-1"), ("node", ""), ("claim", "db/data")]),
            "?volume=pvc-1&claim=db/data"
        );
        assert_eq!(query(&[]), "");
    }
}
