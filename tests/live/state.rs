//! A restart neither forgets ages nor which pods went.

use std::collections::BTreeSet;
use std::sync::Arc;

use longhorn_health_exporter::checks;
use longhorn_health_exporter::cluster::Cluster;
use longhorn_health_exporter::exporter::state_file::{Loaded, StateFile};
use longhorn_health_exporter::history::Observation;
use longhorn_health_exporter::history::saved::Saved;
use longhorn_health_exporter::source::Source;
use serde_json::json;

use crate::support::*;

/// A setting, and who wrote it at the start of this minute.
fn setting(value: &str, manager: &str) -> serde_json::Value {
    let managed =
        json!([{ "manager": manager, "operation": "Update", "time": now(), "fieldsV1": { "f:value": {} } }]);
    json!({ "metadata": { "name": "auto-salvage", "namespace": NAMESPACE, "managedFields": managed }, "value": value })
}

#[tokio::test]
async fn what_was_changed_is_known_after_a_restart_with_who_changed_it() {
    const SETTINGS: &str = "settings.longhorn.io";
    let server = server().await;
    server.put(SETTINGS, setting("true", "longhorn-manager"));
    let first = synced(&server).await;
    let listed = first.snapshot(now());
    let writes = |cluster: &Cluster| {
        let setting = cluster.objects.settings.get("auto-salvage").unwrap();
        setting.metadata.managed_fields.iter().map(|write| write.manager.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(writes(&listed), ["longhorn-manager"], "a list keeps it, too");
    assert_eq!(listed.history.edits().count(), 0, "what was there before is no change");
    server.put(SETTINGS, setting("false", "kubectl-edit"));
    until(&first, "the edit", |cluster| cluster.history.edits().count() == 1).await;
    let saved = first.saved(NAMESPACE, now());
    let saved: Saved = serde_json::from_value(serde_json::to_value(saved).unwrap()).unwrap();
    first.stop().await;

    let second = Arc::new(start(&server, options()).await);
    second.restore(saved, now(), |id| checks::CATALOGUE.id_of(id));
    within("the sync", second.synced()).await;
    let history = second.snapshot(now()).history;
    let edited = history.edits().next().unwrap();
    let (before, after) = (edited.edit.before.as_deref(), edited.edit.after.as_deref());
    assert_eq!((before, after, edited.by.as_str()), (Some("true"), Some("false"), "kubectl-edit"));
    assert_eq!(history.edits().count(), 1);
}

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
