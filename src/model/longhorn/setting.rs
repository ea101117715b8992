//! `settings.longhorn.io`.

use std::collections::BTreeMap;

use super::instance_manager::DataEngine;
use super::lenient::{manifests, narrow};
use super::shared_text::SharedText;

manifests! {
    /// A setting. It has no spec: the value stands at the root.
    Setting { value: SharedText, status: SettingStatus }
}

narrow! {
    /// Whether the value is in force.
    pub struct SettingStatus {
        /// 1.7.0 and later. Absent is not false.
        pub applied: Option<bool>,
    }
}

impl Setting {
    /// The value for one data engine. From 1.10 on a value may be JSON such as
    /// `{"v1":"12","v2":"12"}`; before, and for settings without engines, it is plain text.
    pub fn value_for(&self, engine: DataEngine) -> String {
        let json = serde_json::from_str::<BTreeMap<String, serde_json::Value>>(&self.value);
        match json {
            Err(_) => self.value.to_string(),
            Ok(values) => match values.get(engine.or_v1().as_str()) {
                None => String::new(),
                Some(serde_json::Value::String(text)) => text.clone(),
                Some(other) => other.to_string(),
            },
        }
    }
}

/// A boolean in any spelling that Longhorn accepts: from 1.10 on those of Go (longhorn-manager v1.10.1 to v1.12.1 types/setting.go
/// validateBool, strconv.ParseBool), before `true` and `false`.
pub fn boolean(value: &str) -> Option<bool> {
    match value {
        "1" | "t" | "T" | "true" | "True" | "TRUE" => Some(true),
        "0" | "f" | "F" | "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value_for(value: &str, engine: DataEngine) -> String {
        Setting { value: value.into(), ..Setting::default() }.value_for(engine)
    }

    #[test]
    fn plain_and_json_values() {
        let json = r#"{"v1":"12","v2":15}"#;
        for (value, engine, expected) in [
            ("12", DataEngine::V1, "12"),
            ("12", DataEngine::V2, "12"),
            (json, DataEngine::V1, "12"),
            (json, DataEngine::Unset, "12"),
            (json, DataEngine::V2, "15"),
            (r#"{"v1":"12"}"#, DataEngine::V2, ""),
            ("{broken", DataEngine::V1, "{broken"),
            ("", DataEngine::V1, ""),
        ] {
            assert_eq!(value_for(value, engine), expected, "{value} {engine:?}");
        }
    }

    proptest! {
        #[test]
        fn any_value_is_read(value in ".{0,60}") {
            let _ = value_for(&value, DataEngine::V1);
        }

        #[test]
        fn a_value_in_json_is_the_value(value in "[ -~]{0,20}") {
            let json = serde_json::json!({ "v1": value, "v2": "other" }).to_string();
            prop_assert_eq!(value_for(&json, DataEngine::V1), value);
        }
    }
}
