//! Where the project is published, from `deploy/address.env`. Nothing that is not published is named.

const TEXT: &str = include_str!("../../../deploy/address.env");

/// Where alerts find their runbooks, once the book is published.
pub fn runbooks() -> Option<String> {
    value("DOCS", TEXT).map(|docs| format!("{}/docs/runbooks", docs.trim_end_matches('/')))
}

fn value<'t>(key: &str, text: &'t str) -> Option<&'t str> {
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='))?;
    Some(line.trim()).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_empty_or_a_comment_is_no_address() {
        let text = "# DOCS=https://a\nDOCS=\nIMAGE= b/c \n";
        assert_eq!(
            (value("DOCS", text), value("IMAGE", text), value("REPOSITORY", text)),
            (None, Some("b/c"), None)
        );
        for key in ["REPOSITORY", "IMAGE", "DOCS"] {
            assert!(
                TEXT.lines().any(|line| line.starts_with(&format!("{key}="))),
                "{key} is not in the file"
            );
        }
    }
}
