//! Amounts as Kubernetes writes them.

/// A Kubernetes quantity such as `250m` or `2Gi`, as written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Quantity(pub String);

impl<'de> serde::Deserialize<'de> for Quantity {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        number_or_text(deserializer).map(Quantity)
    }
}

impl super::Compact for Quantity {}

pub(super) fn number_or_text<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    #[derive(serde::Deserialize)]
    #[serde(untagged, expecting = "expected a number or a string")]
    enum RawState {
        Text(String),
        Number(serde_json::Number),
    }
    Ok(match <RawState as serde::Deserialize>::deserialize(deserializer)? {
        RawState::Text(text) => text,
        RawState::Number(number) => number.to_string(),
    })
}

impl Quantity {
    /// The amount in base units (cores, bytes); `None` when it is not a quantity.
    pub fn value(&self) -> Option<f64> {
        const SUFFIXES: &[(&str, f64)] = &[
            ("Ki", 1024.0),
            ("Mi", 1048576.0),
            ("Gi", 1073741824.0),
            ("Ti", 1099511627776.0),
            ("Pi", 1125899906842624.0),
            ("Ei", 1152921504606846976.0),
            ("n", 1e-9),
            ("u", 1e-6),
            ("m", 1e-3),
            ("k", 1e3),
            ("M", 1e6),
            ("G", 1e9),
            ("T", 1e12),
            ("P", 1e15),
            ("E", 1e18),
        ];
        let text = self.0.trim();
        let finite = |number: f64| number.is_finite().then_some(number);
        if let Ok(number) = text.parse::<f64>() {
            // "inf" and "nan" parse as floats but are no quantities
            return text
                .starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c))
                .then(|| finite(number))?;
        }
        let (suffix, factor) = SUFFIXES.iter().find(|(suffix, _)| text.ends_with(suffix))?;
        let number: f64 = text[..text.len() - suffix.len()].parse().ok()?;
        finite(number * factor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value(text: &str) -> Option<f64> {
        Quantity(text.to_owned()).value()
    }

    #[test]
    fn quantities() {
        for (text, expected) in [
            ("250m", Some(0.25)),
            ("4", Some(4.0)),
            ("1e3", Some(1000.0)),
            ("2Gi", Some(2147483648.0)),
            ("1k", Some(1000.0)),
            ("", None),
            ("inf", None),
            ("nan", None),
            ("m", None),
            ("12 apples", None),
        ] {
            assert_eq!(value(text), expected, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_quantity_is_finite_or_none(text in ".{0,20}") {
            if let Some(amount) = value(&text) {
                prop_assert!(amount.is_finite());
            }
        }

        #[test]
        fn thousandths_are_thousandths(amount in 0..1_000_000_u32) {
            let (whole, milli) = (value(&amount.to_string()), value(&format!("{}m", u64::from(amount) * 1000)));
            prop_assert!((whole.unwrap() - milli.unwrap()).abs() < 1e-6);
        }
    }
}
