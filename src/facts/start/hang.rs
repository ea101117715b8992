//! Whether a start that is under way comes to its end, and what speaks against it: one answer for all that ask.

use std::collections::BTreeMap;

use jiff::SignedDuration;

use super::{CONTAINER, START_GRACE, Starts, UnderWay, WAIT_WITHOUT_LIMIT, turns};
use crate::check::Evidence;
use crate::cluster::Cluster;
use crate::complaints::{self, Complaint};
use crate::longhorn::{Pod, Release};
use crate::looping::looping;
use crate::probes::{self, ForeignProbe};
use crate::releases::release_of;
use crate::unreached::{self, WaitingManager};

/// A start is more than its waits: it fills caches and opens listeners, on a loaded node not at once.
const GRACE: i64 = 30;

/// What a start under way is found to be.
#[derive(Debug)]
pub enum Outlook<'a> {
    /// It may come to its end, or give up on its own, and its crash is the finding.
    Open,
    /// It waits for its turn for longer than a turn lasts.
    Queueing,
    /// It does not come to its end.
    Hangs(Hang<'a>),
}

/// Why a start does not come to its end.
#[derive(Debug)]
pub enum Hang<'a> {
    /// Its log says what it lacks.
    Says(Complaint<'a>),
    /// Its readiness probe asks a port that its release does not serve: it gives up, again and again.
    Misprobed(ForeignProbe),
    /// The Service of its webhook cannot be reached: so does it.
    Unreached(WaitingManager<'a>),
    /// Others had a Lease that was free for it, too.
    Overtaken(Vec<Evidence>),
    /// It leaves a free Lease alone.
    LeavesLease,
    /// It neither serves its first webhook nor gives up in the time of its release.
    Overdue,
}

impl Hang<'_> {
    /// True where it does not end either, however it ended before.
    pub fn lasts(&self) -> bool {
        matches!(self, Hang::Says(_) | Hang::Overtaken(_) | Hang::LeavesLease)
    }
}

/// The starts that do not come to their end, by the names of their pods.
pub type Hanging<'a> = BTreeMap<&'a str, Hang<'a>>;

impl<'a> Starts<'a> {
    /// The starts that do not come to their end.
    pub fn hanging(&self, cluster: &'a Cluster) -> Hanging<'a> {
        let hangs = self.under_way.iter().filter_map(|start| match start.outlook(cluster, self) {
            Outlook::Hangs(hang) => Some((start.pod.metadata.name.as_str(), hang)),
            _ => None,
        });
        hangs.collect()
    }

    /// The holder of the webhook start Lease, where it hangs for a reason of its own.
    pub fn stuck_holder(&self, hanging: &Hanging<'_>) -> Option<&'a Pod> {
        let own = |pod: &Pod| {
            matches!(hanging.get(pod.metadata.name.as_str()), Some(Hang::Says(_) | Hang::Overdue))
        };
        self.under_way.iter().find(|start| start.holds).map(|start| start.pod).filter(|pod| own(pod))
    }
}

impl UnderWay<'_> {
    /// Whether it comes to its end. What speaks most clearly comes first.
    pub fn outlook<'c>(&self, cluster: &'c Cluster, starts: &Starts) -> Outlook<'c> {
        let known = self.complaint(cluster).map(Hang::Says);
        let known = known.or_else(|| self.will_give_up(cluster));
        let known = known.or_else(|| turns::overtaken(cluster, starts, self).map(Hang::Overtaken));
        let known = known.or_else(|| self.lets_its_turn_pass(cluster).then_some(Hang::LeavesLease));
        if let Some(hang) = known {
            return Outlook::Hangs(hang);
        }
        let limit = self.limit(cluster);
        match self.own(cluster) > limit {
            true if self.may_give_up(cluster) => Outlook::Open,
            true => Outlook::Hangs(Hang::Overdue),
            false if !self.holds && cluster.age(self.started) > limit => Outlook::Queueing,
            false => Outlook::Open,
        }
    }

    /// What the manager complains about, once its start lasts for a minute.
    fn complaint<'c>(&self, cluster: &'c Cluster) -> Option<Complaint<'c>> {
        // with the Lease in its hand a start lasts since then
        let long = if self.holds { self.own(cluster) } else { cluster.age(self.started) };
        let log = cluster.history.current_log(self.pod, CONTAINER).filter(|_| long >= START_GRACE)?;
        complaints::newest(&log.text)
    }

    /// What makes it end in vain, before it gives up for the second time and its crash loop is the finding.
    fn will_give_up<'c>(&self, cluster: &'c Cluster) -> Option<Hang<'c>> {
        let made = self.pod.status.start_time.get().unwrap_or(self.started);
        // a holder that is Ready is not over with its start: see the top of this module's parent
        let ready = self.pod.is_ready();
        if self.loops(cluster) || ready && !self.holds || cluster.age(made) < START_GRACE {
            return None;
        }
        // up to 1.9 another port is served in the end where another manager is Ready meanwhile
        let waits = || self.own(cluster) >= START_GRACE || !cluster.manager_pods().any(Pod::is_ready);
        let probe = probes::foreign(cluster, self.pod).filter(|_| !ready && waits());
        probe.map(Hang::Misprobed).or_else(|| unreached::waiting(cluster, self).map(Hang::Unreached))
    }

    /// True when no one holds the Lease and the manager, which tries every two seconds, does not take it: it hangs, however it
    /// ended before. Where its log can still tell why, it has a minute for that.
    pub(super) fn lets_its_turn_pass(&self, cluster: &Cluster) -> bool {
        const TRIES: SignedDuration = SignedDuration::from_secs(30);
        let patience = match cluster.is_recorded() {
            // a rollout that ends all managers at once: none has come to its turn, each fills its caches beside all others
            true if self.is_new(cluster) && !cluster.manager_pods().any(Pod::is_ready) => self.limit(cluster),
            // after a reboot its node starts everything at once, and has no pod network at first
            true if !self.is_rebooted() => TRIES,
            _ => START_GRACE + TRIES,
        };
        self.free && self.own(cluster) >= patience && !self.waits_for_webhook(cluster)
    }

    /// True where the node was lost under the previous run: the kubelet, which did not see its end, calls it Unknown.
    fn is_rebooted(&self) -> bool {
        let ended =
            self.pod.container_status(CONTAINER).and_then(|status| status.last_state.terminated.as_ref());
        ended.is_some_and(|ended| ended.reason == "Unknown")
    }

    /// True for a pod that was created no longer ago than a start of its release may take.
    fn is_new(&self, cluster: &Cluster) -> bool {
        self.pod.metadata.created().is_some_and(|made| cluster.age(made) <= self.limit(cluster))
    }

    /// True for a manager that may still give up on its own, because it waits for its webhook or did give up before: its
    /// crash is the finding.
    fn may_give_up(&self, cluster: &Cluster) -> bool {
        let longest = release_of(cluster, self.pod).and_then(Release::longest_start);
        let longest = longest.map(|seconds| SignedDuration::from_secs(seconds) + START_GRACE);
        (self.waits_for_webhook(cluster) || self.loops(cluster))
            && longest.is_none_or(|longest| self.own(cluster) <= longest)
    }

    fn loops(&self, cluster: &Cluster) -> bool {
        self.pod.container_status(CONTAINER).is_some_and(|status| looping(status, cluster.now).is_some())
    }

    /// True when the manager waits for its own webhook or its Service, which it does for a limited time (webhook/webhook.go
    /// isServiceAvailable).
    fn waits_for_webhook(&self, cluster: &Cluster) -> bool {
        const WAITS: [&str; 2] = ["Failed to check endpoint https://", "webhook configuration"];
        let log = cluster.history.current_log(self.pod, CONTAINER);
        log.is_some_and(|log| {
            log.text.lines().rev().take(5).any(|line| WAITS.iter().any(|words| line.contains(words)))
        })
    }

    /// How long its turn may last: as long as the release at hand waits for one webhook, and a moment. What takes
    /// longer neither serves its first webhook nor has given up.
    pub(super) fn limit(&self, cluster: &Cluster) -> SignedDuration {
        let wait = release_of(cluster, self.pod).and_then(Release::webhook_wait);
        SignedDuration::from_secs(wait.unwrap_or(WAIT_WITHOUT_LIMIT).saturating_add(GRACE))
    }
}
