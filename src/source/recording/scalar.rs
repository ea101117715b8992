//! What a plain scalar means: as goyaml v2 resolves it, which is what kubectl prints with. It leaves every
//! string without quotes that it would not itself read as something else.

/// The meaning of a plain scalar.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Scalar {
    Null,
    Bool(bool),
    Int(i64),
    Unsigned(u64),
    Float(f64),
    /// A string, also a time.
    Text,
}

/// Resolves a plain scalar (go.yaml.in/yaml/v2 v2.4.2 resolve.go).
pub(super) fn resolve(text: &str) -> Scalar {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Scalar::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" | "true" | "True" | "TRUE" => {
            return Scalar::Bool(true);
        }
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" | "false" | "False" | "FALSE" => {
            return Scalar::Bool(false);
        }
        ".nan" | ".NaN" | ".NAN" => return Scalar::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => return Scalar::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => return Scalar::Float(f64::NEG_INFINITY),
        _ => {}
    }
    match text.as_bytes().first() {
        Some(b'.') => float(text),
        Some(b'0'..=b'9' | b'+' | b'-') => number(&text.replace('_', "")),
        _ => Scalar::Text,
    }
}

fn number(text: &str) -> Scalar {
    let (negative, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, text.get(1..).unwrap_or_default()),
        Some(b'+') => (false, text.get(1..).unwrap_or_default()),
        _ => (false, text),
    };
    match whole(digits) {
        Some(value) if negative && value <= i64::MIN.unsigned_abs() => {
            Scalar::Int(0_i64.wrapping_sub_unsigned(value))
        }
        Some(value) if !negative => i64::try_from(value).map_or(Scalar::Unsigned(value), Scalar::Int),
        _ => float(text),
    }
}

/// Go's strconv with base 0: the base is that of the prefix.
fn whole(digits: &str) -> Option<u64> {
    let lower = digits.to_ascii_lowercase();
    let (digits, radix) = match lower.as_bytes() {
        [b'0', b'x', ..] => (lower.get(2..)?, 16),
        [b'0', b'o', ..] => (lower.get(2..)?, 8),
        [b'0', b'b', ..] => (lower.get(2..)?, 2),
        [b'0', _, ..] => (lower.get(1..)?, 8),
        _ => (lower.as_str(), 10),
    };
    // from_str_radix would take a sign
    if digits.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        u64::from_str_radix(digits, radix).ok()
    } else {
        None
    }
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`, unless it is beyond what a float can hold: goyaml
/// then takes it for a string, such as the hash 7558e98742.
fn float(text: &str) -> Scalar {
    let looks = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
    match text.parse::<f64>() {
        Ok(value) if looks && value.is_finite() => Scalar::Float(value),
        _ => Scalar::Text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_mean_what_goyaml_takes_them_for() {
        use Scalar::*;
        for (text, expected) in [
            ("7558e98742", Text),
            ("1e400", Text),
            ("-1.e400", Text),
            ("1e5", Float(1e5)),
            ("12e03", Float(12e3)),
            ("1.10", Float(1.1)),
            (".5", Float(0.5)),
            ("0x1F", Int(31)),
            ("0o17", Int(15)),
            ("017", Int(15)),
            ("08", Float(8.0)),
            ("0b11", Int(3)),
            ("-0b11", Int(-3)),
            ("1_000", Int(1000)),
            ("-9223372036854775808", Int(i64::MIN)),
            ("-9223372036854775809", Float(-9223372036854775809.0)),
            ("18446744073709551615", Unsigned(u64::MAX)),
            ("18446744073709551616", Float(18446744073709551616.0)),
            ("1:30", Text),
            ("2026-03-01", Text),
            ("2026-03-01T00:00:00Z", Text),
            ("y", Bool(true)),
            ("oFF", Text),
            ("tRue", Text),
            ("nUll", Text),
            ("~", Null),
            (".iNf", Text),
            ("-.inf", Float(f64::NEG_INFINITY)),
            ("=", Text),
            ("<<", Text),
            ("+", Text),
            ("--1", Text),
            ("0x", Text),
            ("0x-1", Text),
            ("1e", Text),
            ("infinity", Text),
            ("e5", Text),
        ] {
            assert_eq!(resolve(text), expected, "{text}");
        }
        assert_eq!(resolve(&"9".repeat(400)), Text);
        assert!(matches!(resolve(".NaN"), Float(value) if value.is_nan()));
    }
}
