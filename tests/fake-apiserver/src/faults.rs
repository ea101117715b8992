//! What goes wrong, per resource and verb, switchable at run time.

use std::time::Duration;

use bytes::Bytes;

use crate::recorder::Verb;
use crate::server::FakeApiServer;
use crate::state::Inject;
use crate::status::Failure;

/// A way to fail. Faults other than [`Fault::Silence`] hit new requests and leave open watches alone, as revoked
/// permissions do on a real server; for open watches see [`FakeApiServer::drop_watches`] and its siblings.
#[derive(Clone, Debug)]
pub enum Fault {
    /// 403, RBAC denies.
    Forbid,
    /// 403 except for requests inside these namespaces: what a Role without a ClusterRole gives.
    ForbidOutside(Vec<String>),
    /// 401, the token is not accepted.
    Unauthorized,
    /// Any failure code as a `Status`, with an optional `Retry-After` in seconds.
    Status(u16, Option<u32>),
    /// Any code and body, for what proxies and load balancers answer.
    Raw(u16, &'static str),
    /// The request is accepted and never answered, also not after the fault is cleared.
    Hang,
    /// Lists arrive in pieces of this many bytes, with a pause after each.
    SlowBody(usize, Duration),
    /// The JSON of lists and single objects stops half-way, while the HTTP answer ends cleanly.
    TruncatedBody,
    /// The connection closes half-way through a list or a single object.
    BrokenBody,
    /// Watches, also those already open, send nothing and do not end, not even at their timeout.
    Silence,
}

impl Fault {
    /// Only for this verb.
    #[must_use]
    pub fn on(self, verb: Verb) -> Rule {
        Rule::from(self).on(verb)
    }

    /// Only for the next `n` requests.
    #[must_use]
    pub fn times(self, n: u32) -> Rule {
        Rule::from(self).times(n)
    }
}

/// A fault and when it applies.
#[derive(Clone, Debug)]
pub struct Rule {
    fault: Fault,
    verb: Option<Verb>,
    remaining: Option<u32>,
    /// Requests that pass before each one that fails, and how many of them have.
    passes: (u32, u32),
}

impl From<Fault> for Rule {
    fn from(fault: Fault) -> Self {
        Self { fault, verb: None, remaining: None, passes: (0, 0) }
    }
}

impl Rule {
    /// Only for this verb.
    #[must_use]
    pub fn on(mut self, verb: Verb) -> Self {
        self.verb = Some(verb);
        self
    }

    /// Only for each `n`th request.
    #[must_use]
    pub fn every(mut self, n: u32) -> Self {
        self.passes = (n.saturating_sub(1), 0);
        self
    }

    /// Only for the next `n` requests. [`Fault::Silence`] has no count: it lasts until cleared.
    #[must_use]
    pub fn times(mut self, n: u32) -> Self {
        self.remaining = Some(n);
        self
    }
}

/// The rules in force; the first that applies wins.
#[derive(Default)]
pub(crate) struct Faults(Vec<(String, Rule)>);

impl Faults {
    /// The fault of a request, counted down if it is limited.
    pub fn take(&mut self, key: &str, verb: Verb, namespace: Option<&str>) -> Option<Fault> {
        let index = self.position(key, verb, namespace)?;
        let rule = &mut self.0[index].1;
        if rule.passes.1 < rule.passes.0 {
            rule.passes.1 += 1;
            return None;
        }
        rule.passes.1 = 0;
        let fault = rule.fault.clone();
        if let Some(remaining) = &mut rule.remaining {
            *remaining -= 1;
            if *remaining == 0 {
                self.0.remove(index);
            }
        }
        Some(fault)
    }

    /// Whether RBAC would deny, without counting down.
    pub fn forbids(&self, key: &str, verb: Verb, namespace: Option<&str>) -> bool {
        self.position(key, verb, namespace)
            .is_some_and(|i| matches!(self.0[i].1.fault, Fault::Forbid | Fault::ForbidOutside(_)))
    }

    pub fn silences(&self, key: &str) -> bool {
        self.0.iter().any(|(k, rule)| (k == key || k == "*") && matches!(rule.fault, Fault::Silence))
    }

    fn position(&self, key: &str, verb: Verb, namespace: Option<&str>) -> Option<usize> {
        self.0.iter().position(|(k, rule)| {
            (k == key || k == "*")
                && rule.verb.is_none_or(|v| v == verb)
                && rule.remaining != Some(0)
                && match &rule.fault {
                    Fault::Silence => false,
                    Fault::ForbidOutside(allowed) => {
                        !namespace.is_some_and(|n| allowed.iter().any(|a| a == n))
                    }
                    _ => true,
                }
        })
    }
}

/// Faults.
impl FakeApiServer {
    /// Lets requests for a resource fail from now on; `*` means all resources. Rules add up, the first that applies
    /// wins. Subresources have their own name: `pods/log`.
    pub fn fault(&self, resource: &str, rule: impl Into<Rule>) {
        self.change(|state| {
            state.faults.0.push((resource.to_owned(), rule.into()));
            state.wake_watches("*");
        });
    }

    /// Removes the faults of one resource; `*` removes only those set for `*`.
    pub fn clear_fault(&self, resource: &str) {
        self.change(|state| {
            state.faults.0.retain(|(key, _)| key != resource);
            state.wake_watches("*");
        });
    }

    /// Removes all faults.
    pub fn clear_faults(&self) {
        self.change(|state| {
            state.faults.0.clear();
            state.wake_watches("*");
        });
    }

    /// Closes the connections of the open watches without ending their answers.
    pub fn drop_watches(&self, resource: &str) {
        self.inject(resource, Inject::Reset);
    }

    /// Ends the open watches cleanly, as at their timeout.
    pub fn end_watches(&self, resource: &str) {
        self.inject(resource, Inject::End);
    }

    /// Sends the open watches an ERROR event of code 410 and ends them, as when a client falls behind.
    pub fn expire_watches(&self, resource: &str) {
        let failure = Failure::expired("The resourceVersion for the provided watch is too old.");
        self.inject(resource, Inject::Error(failure));
    }

    /// Sends the open watches an ERROR event of any code, and goes on.
    pub fn send_watch_error(&self, resource: &str, code: u16) {
        self.inject(resource, Inject::Line(crate::watch::error_line(&Failure::from_code(code, None)).into()));
    }

    /// Sends the open watches raw bytes, for example half an event. End them with a newline unless the next event
    /// must become part of the same line.
    pub fn send_raw(&self, resource: &str, bytes: impl Into<Bytes>) {
        self.inject(resource, Inject::Line(bytes.into()));
    }

    /// Sends a bookmark now to the open watches that asked for bookmarks.
    pub fn send_bookmarks(&self, resource: &str) {
        self.inject(resource, Inject::Bookmark);
    }

    /// Stores an object whose fields have the wrong types: `spec` is text, `status` a number, `labels` a list.
    pub fn put_malformed(&self, resource: &str, namespace: &str, name: &str) -> u64 {
        let mut object = serde_json::json!({
            "metadata": {"name": name, "labels": ["not", "a", "map"]},
            "spec": "not an object",
            "status": 42,
        });
        if !namespace.is_empty() {
            object["metadata"]["namespace"] = namespace.into();
        }
        self.put(resource, object)
    }

    fn inject(&self, resource: &str, what: Inject) {
        self.change(|state| {
            let at = state.store.rv;
            for collection in state.store.find_all(resource) {
                for watcher in collection.watchers.values_mut() {
                    watcher.injected.push_back((at, what.clone()));
                }
                collection.changed.send_replace(());
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rule_that_applies_wins_and_counts_down() {
        let mut faults = Faults(vec![
            ("pods".into(), Fault::Status(503, None).on(Verb::List).times(1)),
            ("pods".into(), Fault::ForbidOutside(vec!["mine".into()]).into()),
        ]);
        assert!(matches!(faults.take("pods", Verb::List, Some("mine")), Some(Fault::Status(503, None))));
        assert!(faults.take("pods", Verb::List, Some("mine")).is_none());
        assert!(matches!(faults.take("pods", Verb::List, None), Some(Fault::ForbidOutside(_))));
        assert!(faults.forbids("pods", Verb::Watch, None));
        assert!(!faults.forbids("nodes", Verb::Watch, None));
    }
}
