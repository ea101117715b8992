//! Words for messages.

/// A number with its noun: `no volumes`, `1 volume`, `3 copies`.
pub fn counted(number: impl TryInto<u64>, noun: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    let plural = match noun.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None => format!("{noun}s"),
    };
    match number {
        0 => format!("no {plural}"),
        1 => format!("1 {noun}"),
        _ => format!("{number} {plural}"),
    }
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn nouns_follow_their_number() {
        assert_eq!(counted(0_usize, "volume"), "no volumes");
        assert_eq!(counted(1_i64, "backing image copy"), "1 backing image copy");
        assert_eq!(counted(2_u64, "backing image copy"), "2 backing image copies");
    }
}
