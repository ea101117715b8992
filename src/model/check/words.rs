//! Words for messages.

use std::borrow::Cow;

/// Bytes with a binary prefix and three digits: `1.5 TiB`, `120 GiB`.
pub fn bytes(number: i64) -> String {
    const PREFIXES: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut value = number as f64;
    let mut unit = "B";
    for prefix in PREFIXES {
        if value.abs() < 1024.0 {
            break;
        }
        (value, unit) = (value / 1024.0, prefix);
    }
    let digits = if value.fract() == 0.0 || value.abs() >= 100.0 { 0 } else { 1 };
    format!("{value:.digits$} {unit}")
}

/// A number with its noun: `no volumes`, `1 volume`, `3 copies`.
pub fn counted(number: impl TryInto<u64>, noun: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    let plural = match noun.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies"),
        _ => format!("{noun}s"),
    };
    match number {
        0 => format!("no {plural}"),
        1 => format!("1 {noun}"),
        _ => format!("{number} {plural}"),
    }
}

/// A fragment with the capital it begins with where it stands on its own. Names of objects stay as
/// they are: only plain words are capitalised, and no field such as `evictionRequested`.
pub fn capitalised(text: &str) -> String {
    let word = text.split_whitespace().next().unwrap_or_default();
    let mut chars = text.chars();
    match chars.next() {
        Some(first) if word.chars().all(char::is_lowercase) => {
            first.to_uppercase().collect::<String>() + chars.as_str()
        }
        _ => text.to_owned(),
    }
}

/// A sentence that goes on after a colon. Names and abbreviations keep their capital.
pub fn uncapitalised(text: &str) -> String {
    let mut chars = text.chars();
    match (chars.next(), chars.clone().next()) {
        (Some(first), Some(second)) if second.is_lowercase() => {
            first.to_lowercase().collect::<String>() + chars.as_str()
        }
        _ => text.to_owned(),
    }
}

/// True for what is not seen itself or changes how others are seen: control characters, marks of
/// direction, joiners and spaces without width, tags. Foreign text could look like another with them.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{fffe}'..='\u{ffff}' | '\u{e0000}'..='\u{e007f}')
}

/// Foreign text on one line, in which nothing hides and nothing steers a terminal.
pub fn plain(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) || !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace(is_hidden, "\u{fffd}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nouns_follow_their_number() {
        assert_eq!(counted(0_usize, "volume"), "no volumes");
        assert_eq!(counted(1_i64, "backing image copy"), "1 backing image copy");
        assert_eq!(counted(2_u64, "backing image copy"), "2 backing image copies");
        assert_eq!(counted(2_u64, "day"), "2 days");
    }

    #[test]
    fn what_hides_is_replaced_and_all_else_stays() {
        for hidden in [
            "\0", "\n", "\u{1b}", "\u{9b}", "\u{ad}", "\u{200b}", "\u{200d}", "\u{202e}", "\u{2066}",
            "\u{feff}", "\u{fffe}", "\u{ffff}",
        ] {
            assert_eq!(plain(&format!("a{hidden}b")), "a\u{fffd}b", "{hidden:?}");
        }
        for seen in ["", "pvc-1 = ~", "größe", "\u{a0}", "存储", "שלום", "\u{1f980}"] {
            assert_eq!(plain(seen), seen);
        }
    }

    #[test]
    fn only_words_get_a_capital() {
        assert_eq!(capitalised("setting x waits"), "Setting x waits");
        assert_eq!(capitalised("pvc-12 waits"), "pvc-12 waits");
        assert_eq!(capitalised("evictionRequested is true"), "evictionRequested is true");
        assert_eq!(uncapitalised("Do not wait."), "do not wait.");
        assert_eq!(uncapitalised("CSI waits."), "CSI waits.");
        assert_eq!(capitalised(""), "");
    }
}
