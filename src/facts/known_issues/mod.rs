//! Known bugs of Longhorn releases that stop the manager or hurt its node, and whether this
//! cluster meets what triggers them.
//!
//! Ranges are those of the tags of longhorn-manager in which the faulty code stands, from the first
//! such tag to the first with the fix; change logs name the issue but not where it begins. That a
//! tag has the code does not prove that the bug can strike in it, only that nothing keeps it away.
//! Two issues of the change logs are not here, because no tag has their bug: that of 10749 (a disk
//! without UUID) reached its first tags (v1.7.4, v1.8.2, v1.9.0) together with its guard
//! (datastore/longhorn.go), as did that of 6987 (annotations of settings, v1.5.2,
//! upgrade/util/util.go).

mod table;
#[cfg(test)]
mod tests;
mod triggers;

use super::releases;
use crate::check::{CommandTemplate, Remedy, capitalised};
use crate::cluster::Cluster;
use crate::longhorn::Release;

pub use table::ALL;
pub use triggers::once_failed;

/// A bug of some releases.
#[derive(Debug)]
pub struct KnownIssue {
    /// Number in github.com/longhorn/longhorn.
    pub number: u32,
    /// Cause id in findings: `issue_` and the number.
    pub cause: &'static str,
    /// What goes wrong, as the second half of a sentence.
    pub effect: &'static str,
    pub harms: Harms,
    /// Releases that have it, from the first up to but not including the second of a pair.
    pub ranges: &'static [(Release, Release)],
    /// Releases to go to, one per minor line that has one.
    pub fixed: &'static [Release],
    /// Texts of which one stands in what the manager writes last: in the stack trace of a panic, else
    /// in its fatal line. Empty when the manager does not end by it.
    pub frames: &'static [&'static str],
    /// What to do, in general: the upgrade and what keeps it away until then.
    pub fix: &'static str,
    pub steps: &'static [CommandTemplate],
    /// What keeps it away until the upgrade, as the second half of a sentence.
    pub until_then: &'static str,
    /// An upgrade without that does harm.
    is_first: bool,
    /// Whether this cluster meets what triggers it.
    trigger: fn(&Cluster) -> Trigger,
}

/// Whom a bug harms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Harms {
    /// The manager: its process panics (exit code 2).
    ManagerPanics,
    /// Instance managers. Those of an old image run on after an upgrade, as long as volumes hold them.
    InstanceManagers,
    Other,
}

/// Whether a cluster meets what triggers a bug.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trigger {
    /// It does; the text says where.
    Met(String),
    /// It can come at any time or does not show in the API; the text says what it is, as a reason for what keeps the bug away.
    Possible(&'static str),
    /// What the bug needs is not there.
    Absent,
}

impl KnownIssue {
    /// True when the manager process ends by it, in a panic or a fatal error.
    pub fn ends_the_manager(&self) -> bool {
        !self.frames.is_empty()
    }

    /// True when what the manager wrote last shows this bug.
    pub fn shows_in(&self, last_words: &str) -> bool {
        self.frames.iter().any(|frame| last_words.contains(frame))
    }

    /// True when this release has the bug.
    pub fn affects(&self, release: Release) -> bool {
        self.ranges.iter().any(|(first, fixed)| *first <= release && release < *fixed)
    }

    /// True when the manager process panics by it.
    pub fn panics(&self) -> bool {
        self.harms == Harms::ManagerPanics
    }

    /// True when it concerns a cluster whose managers run this release: they have it, or instance managers that outlived an
    /// upgrade.
    pub fn concerns(&self, cluster: &Cluster, release: Release) -> bool {
        let has_it = |image: &str| Release::from_image(image).is_some_and(|release| self.affects(release));
        // nearly all have the same as the one before them
        let mut last = "";
        let mut images = cluster.objects.instance_managers.iter().map(|one| one.spec.image.as_str());
        self.affects(release)
            || self.harms == Harms::InstanceManagers
                && images.any(|image| std::mem::replace(&mut last, image) != image && has_it(image))
    }

    /// The release to go to from this one, among those that exist and run on this Kubernetes: the first fixed one of the same minor
    /// line, else the first fixed one after it, else the first newest one of a line that does not have the bug.
    pub fn way_out(&self, cluster: &Cluster, release: Release) -> Option<Release> {
        let later = || {
            let fixed = self.fixed.iter().copied().filter(|fixed| *fixed > release);
            fixed.filter(|fixed| releases::can_be_reached(cluster, *fixed))
        };
        let same_line = |fixed: &Release| (fixed.major, fixed.minor) == (release.major, release.minor);
        let newest = || {
            let newest = releases::LINES
                .iter()
                .map(releases::Line::newest)
                .filter(|newest| *newest > release && !self.affects(*newest));
            newest.filter(|newest| releases::can_be_reached(cluster, *newest)).min()
        };
        later().filter(same_line).min().or_else(|| later().min()).or_else(newest)
    }

    /// The fixed release of the same line that this Kubernetes is too old for, and what it needs.
    fn out_of_reach(&self, cluster: &Cluster, release: Release) -> Option<String> {
        let line = releases::Line::of(release)?;
        let is_later =
            |fixed: &&Release| fixed.minor == line.minor && release < **fixed && fixed.patch <= line.last;
        let fixed = *self.fixed.iter().filter(is_later).min()?;
        let needed = line.kubernetes_for(fixed.patch);
        (!releases::can_be_reached(cluster, fixed)).then(|| format!("; {fixed} needs Kubernetes 1.{needed}"))
    }

    /// Where it is described.
    pub fn link(&self) -> String {
        format!("https://github.com/longhorn/longhorn/issues/{}", self.number)
    }

    /// What to do on this release, as sentences; the first is the fix. Why until then, where the cluster does not show it.
    pub fn advice(&self, cluster: &Cluster, release: Release, why: &str) -> String {
        let link = self.link();
        let until_then = match why {
            "" => self.until_then.to_owned(),
            why => format!("{}: {why}.", self.until_then.trim_end_matches('.')),
        };
        if !self.affects(release) {
            return format!("{} See {link}.", capitalised(&until_then));
        }
        let link = link + &self.out_of_reach(cluster, release).unwrap_or_default();
        let way_out = match self.way_out(cluster, release) {
            Some(fixed) if releases::is_refused(release, fixed) => {
                let next = releases::next_step(cluster, release);
                let next = next.map_or_else(String::new, |next| format!(", {next} first"));
                format!("Upgrade to {fixed}, one minor release at a time{next}")
            }
            Some(fixed) => format!("Upgrade to {fixed} or later"),
            None => "Upgrade once a release with the fix exists".to_owned(),
        };
        match self.is_first {
            true => format!("{until_then} {way_out} ({link})."),
            false => format!("{way_out} ({link}). Until then, {until_then}"),
        }
    }

    /// The same with its commands.
    pub fn remedy(&self, cluster: &Cluster, release: Release) -> Remedy {
        self.steps.iter().fold(Remedy::new(self.advice(cluster, release, "")), |remedy, step| {
            let run = step.run.replace("<namespace>", &cluster.namespace);
            if step.changes { remedy.change(run) } else { remedy.read(run) }
        })
    }

    /// Whether this cluster meets what triggers the bug.
    pub fn trigger(&self, cluster: &Cluster) -> Trigger {
        (self.trigger)(cluster)
    }
}
