//! Pods that went or were replaced, for the history. Longhorn recreates its bare pods under the
//! same name, and the failed one is visible for seconds only.

use std::any::Any;
use std::sync::Arc;

use jiff::Timestamp;

use crate::history::History;
use crate::longhorn::{Kind, Objects, Pod, Store};

/// A pod came or changed.
pub(super) fn applied<T: Kind>(history: &mut History, objects: &Objects, object: &T, now: Timestamp) {
    let Some(pod) = (object as &dyn Any).downcast_ref::<Pod>() else { return };
    seen(history, objects, pod, now);
    match objects.pods.get_shared(&pod.metadata.name) {
        Some(old) if old.metadata.uid == pod.metadata.uid => {}
        Some(old) => history.pod_gone(old, &pod.metadata.uid, now),
        None => history.pod_came(&pod.metadata.name, &pod.metadata.uid),
    }
}

/// A pod is gone; this is its last state.
pub(super) fn deleted<T: Kind>(history: &mut History, objects: &Objects, last: Arc<T>, now: Timestamp) {
    let last: Arc<dyn Any + Send + Sync> = last;
    if let Ok(pod) = last.downcast::<Pod>() {
        seen(history, objects, &pod, now); // a forced deletion shows here alone
        history.pod_gone(pod, "", now);
    }
}

/// All pods were listed again: what went or was replaced while no one watched shows by uid.
pub(super) fn relisted<T: Kind>(history: &mut History, objects: &Objects, listed: &Store<T>, now: Timestamp) {
    let Some(listed) = (listed as &dyn Any).downcast_ref::<Store<Pod>>() else { return };
    let old = &objects.pods;
    listed.iter().for_each(|pod| seen(history, objects, pod, now));
    for pod in old.iter() {
        let Some(last) = old.get_shared(&pod.metadata.name) else { continue };
        match listed.get(&pod.metadata.name) {
            Some(new) if new.metadata.uid == pod.metadata.uid => {}
            Some(new) => history.pod_gone(last, &new.metadata.uid, now),
            None => history.pod_gone(last, "", now),
        }
    }
    for pod in listed.iter().filter(|pod| old.get(&pod.metadata.name).is_none()) {
        history.pod_came(&pod.metadata.name, &pod.metadata.uid);
    }
}

fn seen(history: &mut History, objects: &Objects, pod: &Pod, now: Timestamp) {
    history.pod_seen(pod, objects.kube_nodes.get(&pod.spec.node_name), now);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(name: &str, uid: &str) -> Pod {
        let mut pod = Pod::default();
        (pod.metadata.name, pod.metadata.uid) = (name.into(), uid.into());
        pod
    }

    fn store(pods: &[(&str, &str)]) -> Store<Pod> {
        let mut store = Store::default();
        store.replace(pods.iter().map(|(name, uid)| pod(name, uid)));
        store
    }

    fn objects(pods: &[(&str, &str)]) -> Objects {
        Objects { pods: store(pods), ..Objects::default() }
    }

    fn gone(history: &History) -> Vec<(String, String, String)> {
        let text = |gone: &crate::history::GonePod| {
            let meta = &gone.last.metadata;
            (meta.name.to_string(), meta.uid.to_string(), gone.replaced_by.clone())
        };
        history.gone_pods().map(text).collect()
    }

    #[test]
    fn a_relist_shows_what_went_and_what_was_replaced() {
        let now = Timestamp::UNIX_EPOCH;
        let mut history = History::starting(now);
        let (old, new) =
            (objects(&[("a", "1"), ("b", "2"), ("c", "3")]), objects(&[("a", "1"), ("b", "20"), ("d", "4")]));
        relisted(&mut history, &old, &new.pods, now);
        let expected = [("b", "2", "20"), ("c", "3", "")].map(|(a, b, c)| (a.into(), b.into(), c.into()));
        assert_eq!(gone(&history), expected);
        relisted(&mut history, &new, &store(&[("c", "30")]), now);
        assert!(
            gone(&history).contains(&("c".into(), "3".into(), "30".into())),
            "the pod that came back replaces"
        );
    }

    #[test]
    fn the_first_list_replaces_nothing() {
        let mut history = History::starting(Timestamp::UNIX_EPOCH);
        relisted(&mut history, &Objects::default(), &store(&[("a", "1")]), Timestamp::UNIX_EPOCH);
        assert!(gone(&history).is_empty());
    }

    #[test]
    fn a_deleted_pod_and_its_successor_are_joined() {
        let now = Timestamp::UNIX_EPOCH;
        let (mut history, mut objects) = (History::starting(now), Objects::default());
        deleted(&mut history, &objects, Arc::new(pod("im", "1")), now);
        applied(&mut history, &objects, &pod("im", "2"), now);
        objects.pods.insert(pod("im", "2"));
        applied(&mut history, &objects, &pod("im", "3"), now);
        let expected = [("im", "1", "2"), ("im", "2", "3")].map(|(a, b, c)| (a.into(), b.into(), c.into()));
        assert_eq!(gone(&history), expected);
    }
}
