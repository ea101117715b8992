//! Which release of Longhorn runs where, which may follow which, and what each needs: the releases up to August 2026.
//!
//! The path is the rule of longhorn-manager v1.5.0 to v1.12.1 upgrade/util/util.go (CheckUpgradePathSupported,
//! checkLHUpgradePath); 1.3 and 1.4 check nothing, and their documentation asks for the same. Engine versions are those of
//! longhorn-engine pkg/meta/version.go as vendored at each tag. Kubernetes minima are kubeVersion of the charts; that of
//! 1.11.3 is in its change log alone (csi-provisioner 6.3, issue 13576).
//!
//! Ends of support are those of Longhorn's wiki page Release Schedule & Support, as endoflife.date (products/longhorn.md) had them
//! in August 2026: from 1.8 on 18 months after the first release of a line, before that about a year after its first stable one.

use jiff::civil::{Date, date};

use crate::cluster::Cluster;
use crate::longhorn::{Container, Pod, Release, Suffix};

/// A minor line that is known.
#[derive(Debug)]
pub struct Line {
    pub minor: u32,
    /// The last patch with a manifest and a chart.
    pub last: u32,
    /// Versions of the engine's command line that its managers accept, from and to; none are checked before 1.6.
    pub cli: Option<(i64, i64)>,
    /// The same of the engine's controller.
    pub controller: Option<(i64, i64)>,
    /// The oldest Kubernetes 1.x.
    pub kubernetes: u32,
    /// A patch that needs another Kubernetes.
    pub but: Option<(u32, u32)>,
    /// The last day of Longhorn's support.
    pub support_ends: Date,
}

const fn line(
    minor: u32,
    last: u32,
    engines: Option<(i64, i64)>,
    kubernetes: u32,
    support_ends: Date,
) -> Line {
    let (cli, controller) = match engines {
        Some((cli, controller)) => (Some((8, cli)), Some((4, controller))),
        None => (None, None),
    };
    Line { minor, last, cli, controller, kubernetes, but: None, support_ends }
}

/// Every line that is known, oldest first.
pub const LINES: &[Line] = &[
    line(3, 3, None, 18, date(2023, 8, 11)),
    line(4, 4, None, 21, date(2024, 3, 13)),
    line(5, 5, None, 21, date(2024, 7, 19)),
    line(6, 4, Some((10, 5)), 21, date(2025, 3, 29)),
    line(7, 3, Some((10, 5)), 21, date(2025, 9, 4)),
    line(8, 2, Some((10, 5)), 25, date(2026, 7, 22)),
    line(9, 2, Some((10, 5)), 25, date(2026, 11, 27)),
    line(10, 2, Some((10, 5)), 25, date(2027, 3, 25)),
    Line { but: Some((3, 34)), ..line(11, 3, Some((11, 6)), 25, date(2027, 7, 29)) },
    line(12, 1, Some((12, 6)), 25, date(2027, 12, 2)),
];

/// The last Kubernetes that still has PodSecurityPolicies, which the manifest of 1.3 holds.
pub const NEWEST_FOR_1_3: u32 = 24;

impl Line {
    /// The line of a release.
    pub fn of(release: Release) -> Option<&'static Line> {
        LINES.iter().find(|line| release.major == 1 && release.minor == line.minor)
    }

    /// The oldest Kubernetes 1.x for one of its patches.
    pub fn kubernetes_for(&self, patch: u32) -> u32 {
        match self.but {
            Some((from, minimum)) if patch >= from => minimum,
            _ => self.kubernetes,
        }
    }

    /// Its last patch that has images and a manifest.
    pub fn newest(&self) -> Release {
        Release::new(1, self.minor, self.last)
    }

    /// The patch to take on this Kubernetes: the last, or the last that runs there.
    pub fn advised(&self, kubernetes: Option<Release>) -> Release {
        let patch = (0..=self.last).rev().find(|patch| self.runs(*patch, kubernetes));
        Release { patch: patch.unwrap_or(self.last), ..self.newest() }
    }

    /// False where the Kubernetes is known, and too old for a patch.
    pub fn runs(&self, patch: u32, kubernetes: Option<Release>) -> bool {
        kubernetes.is_none_or(|is| is >= Release::new(1, self.kubernetes_for(patch), 0))
    }
}

/// What the managers say to a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Path {
    Same,
    Allowed,
    /// Let through only where the build of a distribution says so (v1.12.0 and later).
    DistributionOnly,
    /// Refused: more than one minor release at once.
    Skips,
    /// Refused: an older release, of a patch too.
    Downgrade,
    /// Refused: another major release.
    Major,
}

/// The rule of the managers of `to` on a cluster of `from`. Images of hotfixes report the release that they fix.
pub fn path(from: Release, to: Release) -> Path {
    let plain = |release: Release| match release.suffix {
        Suffix::Hotfix(_) => Release { suffix: Suffix::None, ..release },
        _ => release,
    };
    let (from, to) = (plain(from), plain(to));
    if from == to {
        return Path::Same;
    }
    match to.major.cmp(&from.major) {
        std::cmp::Ordering::Less => return Path::Downgrade,
        // accepted from minor 30 on, which no release has
        std::cmp::Ordering::Greater => return Path::Major,
        std::cmp::Ordering::Equal => {}
    }
    match i64::from(to.minor) - i64::from(from.minor) {
        1 => Path::Allowed,
        2 if to.at_least(1, 12, 0) => Path::DistributionOnly,
        more if more > 1 => Path::Skips,
        0 if to > from => Path::Allowed,
        _ => Path::Downgrade,
    }
}

/// True for a step that the managers of `to` refuse.
pub fn is_refused(from: Release, to: Release) -> bool {
    !matches!(path(from, to), Path::Same | Path::Allowed)
}

/// The releases to go through, the target last; empty where there is no way.
pub fn ladder(from: Release, to: Release, kubernetes: Option<Release>) -> Vec<Release> {
    if from.major != to.major || to <= from {
        return Vec::new();
    }
    let between = (from.minor + 1)..to.minor;
    let step = |minor| LINES.iter().find(|line| line.minor == minor).map(|line| line.advised(kubernetes));
    let steps: Option<Vec<_>> = between.map(step).collect();
    let mut steps = steps.unwrap_or_default();
    steps.push(to);
    steps
}

/// The newest release that is known and runs on this Kubernetes.
pub fn newest(kubernetes: Option<Release>) -> Release {
    LINES.last().map_or(Release::new(1, 0, 0), |line| line.advised(kubernetes))
}

/// The release to go to next: that of the next minor line, which Longhorn accepts from every patch; on the last line its newest.
pub fn next_step(cluster: &Cluster, from: Release) -> Option<Release> {
    let kubernetes = cluster.oldest_kubelet();
    let next = Line::of(Release { minor: from.minor + 1, ..from }).map(|line| line.advised(kubernetes));
    next.or_else(|| Line::of(from).map(|line| line.advised(kubernetes)).filter(|newest| *newest > from))
}

/// False for a release that has no images, or that this Kubernetes is known to be too old for.
pub fn can_be_reached(cluster: &Cluster, release: Release) -> bool {
    let runs = |line: &Line| release.patch <= line.last && line.runs(release.patch, cluster.oldest_kubelet());
    Line::of(release).is_some_and(runs)
}

/// The release of the code that the managers run. Hotfix images report the version of the release
/// they fix (longhorn-manager v1.10.0-hotfix-1 version: `v1.10.0`), so only the tag of the image
/// tells them apart.
pub fn manager_release(cluster: &Cluster) -> Option<Release> {
    cluster.manager_image_release().or_else(|| cluster.release())
}

/// The release of the code that the manager in this pod runs: while managers are rolled out, pods of two
/// releases are there, and the setting has the old one until the upgrade is done.
pub fn release_of(cluster: &Cluster, pod: &Pod) -> Option<Release> {
    let image = |container: &Container| container.image.clone();
    let own = pod.spec.container("longhorn-manager").map(image);
    let from_pod = match own == cluster.manager_container().map(image) {
        true => cluster.manager_image_release(),
        false => own.and_then(|image| Release::from_image(&image)),
    };
    from_pod.or_else(|| manager_release(cluster))
}

/// The release of the code that the manager on a node runs, or would run there.
pub fn release_on(cluster: &Cluster, node: &str) -> Option<Release> {
    match cluster.manager_pod_on(node) {
        Some(pod) => release_of(cluster, pod),
        None => manager_release(cluster),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release(minor: u32) -> Release {
        Release::new(1, minor, 0)
    }

    /// Rows are where from, columns where to, from 1.4 to 1.13: what the code of each target answers, and for 1.4 its documentation.
    const TABLE: [(u32, &str); 10] = [
        (3, "y n n n n n n n n n"),
        (4, "s y n n n n n n n n"),
        (5, "d s y n n n n n n n"),
        (6, "d d s y n n n n n n"),
        (7, "d d d s y n n n n n"),
        (8, "d d d d s y n n n n"),
        (9, "d d d d d s y n n n"),
        (10, "d d d d d d s y b n"),
        (11, "d d d d d d d s y b"),
        (12, "d d d d d d d d s y"),
    ];

    #[test]
    fn every_pair_of_minor_releases() {
        for (from, row) in TABLE {
            for (index, word) in row.split(' ').enumerate() {
                let to = 4 + index as u32;
                let expected = match word {
                    "y" => Path::Allowed,
                    "n" => Path::Skips,
                    "s" => Path::Same,
                    "b" => Path::DistributionOnly,
                    _ => Path::Downgrade,
                };
                assert_eq!(path(release(from), release(to)), expected, "1.{from} to 1.{to}");
            }
        }
    }

    #[test]
    fn patches_hotfixes_and_early_builds() {
        let of = |from: &str, to: &str| path(Release::parse(from).unwrap(), Release::parse(to).unwrap());
        for (from, to, expected) in [
            ("v1.8.0", "v1.8.2", Path::Allowed),
            ("v1.8.2", "v1.8.0", Path::Downgrade),
            ("v1.10.1", "v1.10.1-hotfix-2", Path::Same),
            ("v1.10.1-hotfix-2", "v1.10.2", Path::Allowed),
            ("v1.9.2", "v1.9.2-rc1", Path::Downgrade),
            ("v1.9.2-rc1", "v1.9.2", Path::Allowed),
            ("v1.8.2", "v1.9.0-rc1", Path::Allowed),
            ("v1.12.1", "v2.0.0", Path::Major),
            ("v2.0.0", "v1.12.1", Path::Downgrade),
        ] {
            assert_eq!(of(from, to), expected, "{from} to {to}");
        }
    }

    #[test]
    fn the_patch_depends_on_kubernetes() {
        let steps = |kubernetes: &str| {
            let steps = ladder(Release::new(1, 9, 2), newest(None), Release::parse(kubernetes));
            steps.iter().map(Release::to_string).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(steps("v1.32.5+k3s1"), "v1.10.2 v1.11.2 v1.12.1");
        assert_eq!(steps("v1.34.0"), "v1.10.2 v1.11.3 v1.12.1");
        // no release follows the newest, which is the next one for the rest of its line
        let cluster = crate::testing::cluster_at("2026-01-01T12:00:00Z", "");
        let last = newest(None);
        assert_eq!(next_step(&cluster, last), None);
        assert_eq!(next_step(&cluster, Release::new(last.major, last.minor, 0)), Some(last));
        assert_eq!(ladder(release(12), release(12), None), []);
        assert_eq!(ladder(release(12), release(11), None), []);
    }
}
