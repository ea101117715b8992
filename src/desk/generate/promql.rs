//! Placeholders of expressions and of texts.

use anyhow::{Result, anyhow};

/// Replaces each `$name` by its value, which may depend on what stands before; `None` is an error.
pub fn fill(owner: &str, template: &str, value: impl Fn(&str, &str) -> Option<String>) -> Result<String> {
    let mut parts = template.split('$');
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (name, after) = part.split_at(part.find(|c| !is_name(c)).unwrap_or(part.len()));
        let value = value(name, &filled).ok_or_else(|| anyhow!("{owner}: unknown placeholder ${name}"))?;
        filled.push_str(&value);
        filled.push_str(after);
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_whole_words() {
        let value = |name: &str, _: &str| (name == "job").then(|| "J".to_owned());
        assert_eq!(fill("x", "a{$job} $job", value).unwrap(), "a{J} J");
        assert_eq!(fill("x", "$job_x", value).unwrap_err().to_string(), "x: unknown placeholder $job_x");
    }
}
