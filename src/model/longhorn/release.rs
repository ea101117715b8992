//! Longhorn releases and their order.

use std::cmp::Ordering;
use std::fmt;

/// A Longhorn release such as `v1.8.1`, `v1.10.0-hotfix-1` or `v1.13.0-dev`.
///
/// A hotfix sorts after its release and a pre-release (`-dev`, `-rc1`) before it. What else follows the
/// numbers names a build of the release itself, as registries of distributions do (`-amd64`, `-3.1`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Release {
    /// First number, 1 for every release so far.
    pub major: u32,
    pub minor: u32,
    pub patch: u32,
    /// What follows the numbers.
    pub suffix: Suffix,
}

/// What follows the three numbers of a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Suffix {
    /// `-dev`, `-rc1`, `-beta`: before the release.
    PreRelease,
    /// Nothing, or the name of a build: the release itself.
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
        let (numbers, suffix) = match text.find(['-', '+', '_']) {
            Some(at) => text.split_at(at),
            None => (text, ""),
        };
        let mut parts = numbers.split('.').map(|part| part.parse::<u32>().ok());
        let (major, minor) = (parts.next()??, parts.next()??);
        let patch = parts.next().unwrap_or(Some(0))?;
        if parts.next().is_some() {
            return None;
        }
        let suffix = Suffix::parse(suffix);
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

impl Suffix {
    fn parse(text: &str) -> Self {
        // what follows a plus is the build in any case (Semantic Versioning 2.0.0, item 10)
        let text = text.split('+').next().unwrap_or_default().to_ascii_lowercase();
        if let Some(at) = text.find("hotfix") {
            let number = text[at..].trim_start_matches("hotfix").trim_start_matches('-');
            let digits = number.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
            return Suffix::Hotfix(digits.parse().unwrap_or(1));
        }
        const EARLY: [&str; 7] = ["dev", "rc", "alpha", "beta", "preview", "head", "sprint"];
        let early = |word: &str| EARLY.iter().any(|early| word.starts_with(early));
        if text.split(['-', '_', '.']).any(early) { Suffix::PreRelease } else { Suffix::None }
    }
}

impl PartialOrd for Release {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Release {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.major, self.minor, self.patch, self.suffix)
            .cmp(&(other.major, other.minor, other.patch, other.suffix))
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
    fn builds_of_a_release_are_the_release() {
        for build in [
            "v1.9.2-amd64", "1.9.2-3.1", "v1.9.2+up1.9.2", "v1.9.2_build7", "v1.9.2-20250924", "v1.9.2-prime",
        ] {
            assert_eq!(Release::parse(build), Some(Release::new(1, 9, 2)), "{build}");
        }
        for early in
            ["v1.9.2-rc2", "v1.9.2-dev-20250727", "v1.9.2-preview1", "v1.9.2-arm64-rc1", "v1.9.2-head+k3s1"]
        {
            assert!(release(early) < Release::new(1, 9, 2), "{early}");
            assert!(release(early) > Release::new(1, 9, 1), "{early}");
        }
        let hotfix = Release { suffix: Suffix::Hotfix(2), ..Release::new(1, 10, 1) };
        for text in
            ["v1.10.1-hotfix-2", "v1.10.1-hotfix-2-amd64", "v1.10.1-hotfix2", "v1.10.1-arm64-hotfix-2"]
        {
            assert_eq!(Release::parse(text), Some(hotfix), "{text}");
        }
    }

    #[test]
    fn image_tags() {
        let image = "registry:5000/longhornio/longhorn-manager:v1.9.2@sha256:abc";
        assert_eq!(Release::from_image(image), Some(Release::new(1, 9, 2)));
        assert_eq!(Release::from_image("registry:5000/longhornio/longhorn-manager"), None);
        assert_eq!(Release::from_image("longhorn-manager:master-head"), None);
        assert_eq!(Release::from_image("longhorn-manager@sha256:abc"), None);
        assert_eq!(Release::from_image("longhorn-manager:v1.9.x-head"), None);
        let mirrored = "registry.example:5000/rancher/mirrored-longhornio-longhorn-manager:v1.8.1-amd64";
        assert_eq!(Release::from_image(mirrored), Some(Release::new(1, 8, 1)));
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
