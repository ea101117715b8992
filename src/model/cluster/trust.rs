//! What of the cluster could be read, and so what can be said of it.

use super::left_out::LeftOut;
use super::{Cluster, Readability};
use crate::longhorn::Resource;

impl Cluster {
    /// How a kind could be read.
    pub fn readability(&self, resource: Resource) -> Readability {
        self.resources.get(&resource).map_or(Readability::Pending, |status| status.readability)
    }

    /// True when the store of this kind can be trusted: it was read, or a recording has none, and nothing proves
    /// that there are any, or the kind is younger than the Longhorn release at hand.
    pub fn can_read(&self, resource: Resource) -> bool {
        match self.readability(resource) {
            Readability::Readable | Readability::NotRecorded => self.proof(resource).is_none(),
            Readability::NotInstalled => resource.is_optional(),
            Readability::Pending | Readability::Forbidden | Readability::Stale | Readability::Incomplete => {
                false
            }
        }
    }

    pub(super) fn left_out(&self) -> &LeftOut {
        self.joins.left_out.get_or_init(|| LeftOut::of(self))
    }

    /// What proves that there are objects of a kind of which none is there.
    fn proof(&self, resource: Resource) -> Option<&String> {
        if self.objects.count(resource) > 0 { None } else { self.left_out().kinds.get(&resource) }
    }

    /// True where the right to read a kind was there and is withdrawn: nothing tells what became of its objects.
    pub fn has_lost(&self, resource: Resource) -> bool {
        let status = self.resources.get(&resource);
        status.is_some_and(|status| {
            status.readability == Readability::Forbidden && status.last_success.is_some()
        })
    }

    /// The kinds a check needs but that cannot be trusted, with the reason.
    pub fn blind_spots(&self, needs: &[Resource]) -> Vec<String> {
        let unreadable = needs.iter().filter(|resource| !self.can_read(**resource));
        unreadable.map(|resource| self.obstacle(*resource)).collect()
    }

    /// Why a kind cannot be trusted.
    fn obstacle(&self, resource: Resource) -> String {
        let readability = self.readability(resource);
        if !self.resources.contains_key(&resource) {
            return format!("{resource} were not asked for");
        }
        let state = readability.as_str().replace('_', " ");
        if let Some(proof) = self.proof(resource) {
            let state = if readability == Readability::Readable { "missing" } else { &state };
            return format!("{resource} are {state}, although {proof}");
        }
        match self.resources.get(&resource).and_then(|status| status.error.as_deref()) {
            Some(error) if readability == Readability::Incomplete => {
                format!("{resource} are {state} ({error})")
            }
            _ => format!("{resource} are {state}"),
        }
    }

    /// What a check reads and could not see whole: the rest was judged. Objects that did not decode or have no status; and
    /// what a recording lost or a cluster must have. Live, a right that was withheld is no gap but a choice. Of a kind that is not served
    /// there is nothing to see.
    pub fn gaps(&self, needs: &[Resource], uses: &[Resource]) -> Vec<String> {
        let undecodable = |resource: &Resource| {
            let undecodable = self.resources.get(resource).map_or(0, |status| status.undecodable);
            let objects = if undecodable == 1 { "object" } else { "objects" };
            (undecodable > 0).then(|| {
                format!("{undecodable} {objects} of {resource} could not be decoded, so they are not judged")
            })
        };
        let unwritten = |resource: &Resource| self.left_out().statuses.get(resource).cloned();
        let lost = |resource: &&Resource| {
            let served = self.readability(**resource) != Readability::NotInstalled;
            let missing = self.is_recorded() && served || self.proof(**resource).is_some();
            missing && !self.can_read(**resource)
        };
        let all = || needs.iter().chain(uses);
        let mut gaps: Vec<String> =
            all().filter_map(undecodable).chain(all().filter_map(unwritten)).collect();
        gaps.extend(uses.iter().filter(lost).map(|resource| self.obstacle(*resource)));
        gaps
    }

    /// True when every object of a kind could be read: only then does one that is not there not exist.
    pub fn knows_all(&self, resource: Resource) -> bool {
        self.can_read(resource) && self.decoded_all(resource)
    }

    /// False where an object of a kind is there and could not be decoded: what is missing then may be that one.
    pub fn decoded_all(&self, resource: Resource) -> bool {
        self.resources.get(&resource).is_none_or(|status| status.undecodable == 0)
    }
}
