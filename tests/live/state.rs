//! A restart neither forgets ages nor which pods went.

use std::collections::BTreeSet;
use std::sync::Arc;

use longhorn_health_exporter::checks;
use longhorn_health_exporter::exporter::state_file::{Loaded, StateFile};
use longhorn_health_exporter::history::Observation;
use longhorn_health_exporter::source::Source;

use crate::support::*;

#[tokio::test]
async fn the_history_of_one_run_is_that_of_the_next() {
    let server = server().await;
    server.put("pods", pod("instance-manager-a", "u1"));
    let first = synced(&server).await;
    let key = Observation { check: checks::CATALOGUE.checks[0].id, fact: "idle", object: "a".into() };
    let since = now();
    first.keep_observed(vec![key.clone()], &BTreeSet::new(), since);
    server.put("pods", pod("instance-manager-a", "u2"));
    until(&first, "the replacement", |cluster| cluster.history.gone_pods().count() == 1).await;
    let directory = tempfile::tempdir().unwrap();
    let file = StateFile::new(directory.path().join("state.json"));
    file.store(&first.saved(NAMESPACE, now())).unwrap();
    first.stop().await;

    let second = Arc::new(start(&server, options()).await);
    let Loaded::History(saved) = file.load() else { panic!("no history") };
    second.restore(*saved, now(), |id| checks::CATALOGUE.id_of(id));
    within("the sync", second.synced()).await;
    let cluster = second.snapshot(now());
    assert_eq!(cluster.history.first_seen(&key).map(|since| since.as_second()), Some(since.as_second()));
    let gone: Vec<_> = cluster.history.gone_pods().collect();
    assert_eq!(gone.len(), 1);
    assert_eq!((gone[0].last.metadata.uid.as_str(), gone[0].replaced_by.as_str()), ("u1", "u2"));
    // a check that still waits for its kinds has not seen the fact end
    second.keep_observed(vec![], &BTreeSet::from([key.check]), now());
    assert!(second.snapshot(now()).history.first_seen(&key).is_some());
    second.keep_observed(vec![key.clone()], &BTreeSet::new(), now());
    assert_eq!(second.snapshot(now()).history.begun(key.check, key.fact), 0, "it was counted before");
}
