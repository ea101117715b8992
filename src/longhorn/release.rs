//! Longhorn releases and their order.

use std::cmp::Ordering;
use std::fmt;

/// A Longhorn release such as `v1.8.1`, `v1.10.0-hotfix-1` or `v1.13.0-dev`.
///
/// A hotfix sorts after its release and a pre-release (`-dev`, `-rc1`) before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Release {
    /// First number, 1 for every release so far.
    pub major: u32,
    /// Second number.
    pub minor: u32,
    /// Third number.
    pub patch: u32,
    /// What follows the numbers.
    pub suffix: Suffix,
}

/// What follows the three numbers of a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Suffix {
    /// `-dev`, `-rc1`, `-beta`: before the release.
    PreRelease,
    /// Nothing: the release itself.
    None,
    /// `-hotfix-N`: after the release.
    Hotfix(u32),
}

impl Release {
    /// The release itself, without suffix.
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Release { major, minor, patch, suffix: Suffix::None }
    }

    /// Reads `v1.8.1`, `1.8.1`, `v1.10.0-hotfix-1` or `v1.13.0-dev`; `None` for anything else,
    /// such as `master-head`.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let text = text.strip_prefix(['v', 'V']).unwrap_or(text);
        let (numbers, suffix) = match text.find(['-', '+']) {
            Some(at) => (&text[..at], &text[at + 1..]),
            None => (text, ""),
        };
        let mut parts = numbers.split('.').map(|part| part.parse::<u32>().ok());
        let (major, minor) = (parts.next()??, parts.next()??);
        let patch = parts.next().unwrap_or(Some(0))?;
        if parts.next().is_some() {
            return None;
        }
        let suffix = match suffix.strip_prefix("hotfix") {
            _ if suffix.is_empty() => Suffix::None,
            Some(number) => Suffix::Hotfix(number.trim_start_matches('-').parse().unwrap_or(1)),
            None => Suffix::PreRelease,
        };
        Some(Release { major, minor, patch, suffix })
    }

    /// Reads the tag of an image reference; digests and registries with ports are understood.
    pub fn from_image(image: &str) -> Option<Self> {
        let image = image.split('@').next().unwrap_or_default();
        let (_, tag) = image.rsplit('/').next()?.split_once(':')?;
        Release::parse(tag)
    }

    /// True from release `major.minor.patch` on, within any minor release line after it.
    pub fn at_least(self, major: u32, minor: u32, patch: u32) -> bool {
        self >= Release::new(major, minor, patch)
    }

    /// True when this release contains a fix that went into each of `fixes`, one per minor line:
    /// the fix of its own line or, without one there, of any earlier line.
    ///
    /// `has_fix([1.7.4, 1.8.2, 1.9.1])` is false for 1.8.1 although 1.8.1 sorts after 1.7.4, and
    /// true for 1.10.0. A pre-release of a line later than all of them has it.
    pub fn has_fix(self, fixes: &[Release]) -> bool {
        let line = (self.major, self.minor);
        match fixes.iter().find(|fix| (fix.major, fix.minor) == line) {
            Some(fix) => self >= *fix,
            None => fixes.iter().map(|fix| (fix.major, fix.minor)).max().is_some_and(|last| line > last),
        }
    }
}

impl PartialOrd for Release {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Release {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.major, self.minor, self.patch, self.suffix).cmp(&(
            other.major,
            other.minor,
            other.patch,
            other.suffix,
        ))
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}.{}.{}", self.major, self.minor, self.patch)?;
        match self.suffix {
            Suffix::None => Ok(()),
            Suffix::PreRelease => f.write_str("-dev"),
            Suffix::Hotfix(number) => write!(f, "-hotfix-{number}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release(text: &str) -> Release {
        Release::parse(text).unwrap()
    }

    #[test]
    fn order_of_suffixes() {
        assert!(release("v1.13.0-dev") < release("v1.13.0"));
        assert!(release("v1.10.0") < release("v1.10.0-hotfix-1"));
        assert!(release("v1.10.0-hotfix-1") < release("v1.10.1"));
        assert_eq!(Release::parse("master-head"), None);
        assert_eq!(Release::parse("v1.2.3.4"), None);
    }

    #[test]
    fn image_tags() {
        let image = "registry:5000/longhornio/longhorn-manager:v1.9.2@sha256:abc";
        assert_eq!(Release::from_image(image), Some(Release::new(1, 9, 2)));
        assert_eq!(Release::from_image("registry:5000/longhornio/longhorn-manager"), None);
        assert_eq!(Release::from_image("longhorn-manager:master-head"), None);
    }

    #[test]
    fn fixes_per_line() {
        let fixes = [Release::new(1, 7, 4), Release::new(1, 8, 2), Release::new(1, 9, 1)];
        for (text, fixed) in [
            ("v1.6.4", false),
            ("v1.7.3", false),
            ("v1.7.4", true),
            ("v1.8.1", false),
            ("v1.8.2", true),
            ("v1.9.0", false),
            ("v1.9.1", true),
            ("v1.10.0", true),
            ("v1.13.0-dev", true),
        ] {
            assert_eq!(release(text).has_fix(&fixes), fixed, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".{0,40}") {
            let _ = (Release::parse(&text), Release::from_image(&text));
        }

        #[test]
        fn what_is_written_reads_back(major in 0..9_u32, minor in 0..99_u32, patch in 0..99_u32, hotfix in 0..9_u32) {
            let suffix = if hotfix == 0 { Suffix::None } else { Suffix::Hotfix(hotfix) };
            let release = Release { major, minor, patch, suffix };
            proptest::prop_assert_eq!(Release::parse(&release.to_string()), Some(release));
            let image = format!("registry:5000/longhornio/longhorn-manager:{release}");
            proptest::prop_assert_eq!(Release::from_image(&image), Some(release));
        }

        #[test]
        fn the_order_is_that_of_the_numbers(a in (0..3_u32, 0..20_u32, 0..20_u32), b in (0..3_u32, 0..20_u32, 0..20_u32)) {
            let order = Release::new(a.0, a.1, a.2).cmp(&Release::new(b.0, b.1, b.2));
            proptest::prop_assert_eq!(order, a.cmp(&b));
        }
    }
}
