//! Placeholders of expressions and of texts.

use super::GenerateError;

/// Replaces each `$name` by its value, which may depend on what stands before; `None` is an error.
pub fn fill(
    owner: &str,
    template: &str,
    value: impl Fn(&str, &str) -> Option<String>,
) -> Result<String, GenerateError> {
    let mut filled = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(start) = rest.find('$') {
        let (before, from) = rest.split_at(start);
        filled.push_str(before);
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let length = 1 + from[1..].find(|c| !is_name(c)).unwrap_or(from.len() - 1);
        let (placeholder, after) = from.split_at(length);
        let name = &placeholder[1..];
        match value(name, &filled) {
            Some(value) => filled.push_str(&value),
            None => {
                return Err(GenerateError::Placeholder { owner: owner.to_owned(), name: name.to_owned() });
            }
        }
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_whole_words() {
        let value = |name: &str, _: &str| (name == "job").then(|| "J".to_owned());
        assert_eq!(fill("x", "a{$job} $job", value), Ok("a{J} J".to_owned()));
        let error = GenerateError::Placeholder { owner: "x".to_owned(), name: "job_x".to_owned() };
        assert_eq!(fill("x", "$job_x", value), Err(error));
    }
}
