//! Environment variables of containers.

use super::lenient::narrow;
use super::shared_text::SharedText;

/// An environment variable. Values may be secrets and are not kept, but for [`DISTRO_VARIABLE`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EnvVar {
    pub name: SharedText,
    pub value: SharedText,
}

/// Names who built a manager (longhorn v1.12.1 deploy/longhorn.yaml: `longhorn`).
pub const DISTRO_VARIABLE: &str = "LONGHORN_DISTRO";

impl<'de> serde::Deserialize<'de> for EnvVar {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let WrittenVariable { name, value } = serde::Deserialize::deserialize(deserializer)?;
        let value = if name == DISTRO_VARIABLE { value } else { SharedText::default() };
        Ok(EnvVar { name, value })
    }
}

impl super::Compact for EnvVar {
    fn compact(&mut self) {
        self.name.compact();
        self.value.compact();
    }
}

narrow! {
    /// A variable as it is written.
    pub struct WrittenVariable {
        pub name: SharedText,
        pub value: SharedText,
    }
}
