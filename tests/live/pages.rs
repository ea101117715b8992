//! Pages are bounded by what they weigh.

use fake_apiserver::Verb;
use longhorn_health_exporter::longhorn::Resource;
use longhorn_health_exporter::source::{ApiErrorReason, Source};
use serde_json::json;

use crate::support::*;

#[tokio::test]
async fn heavy_objects_come_in_small_pages_and_all_of_them_come() {
    let server = server().await;
    let note = "x".repeat(1 << 20);
    for number in 0..40 {
        let mut heavy = volume(&format!("v{number}"));
        heavy["metadata"]["annotations"] = json!({ "note": note });
        server.put(VOLUMES, heavy);
    }
    in_pages(&server);
    let live = synced(&server).await;
    assert_eq!(live.snapshot(now()).objects.volumes.len(), 40);
    // the first was the list without pages
    let limits = parameters(&server, VOLUMES, Verb::List, "limit").split_off(1);
    assert_eq!(limits[..3], ["250", "31", "3"], "{limits:?}");
    assert!(limits[2..].iter().all(|limit| limit == "3"), "{limits:?}");
    assert_eq!(limits.len(), 2 + 40usize.div_ceil(3));
    let failed: u64 = ApiErrorReason::ALL.map(|reason| errors(&live, Resource::Volumes, reason)).iter().sum();
    assert_eq!(failed, 1, "a page that is too heavy is no failure of the API server");
}

#[tokio::test]
async fn an_object_too_heavy_for_a_whole_list_comes_alone() {
    let server = server().await;
    for (name, megabytes) in [("a", 1), ("b", 20), ("c", 0)] {
        let mut heavy = volume(name);
        heavy["metadata"]["annotations"] = json!({ "note": "x".repeat(megabytes << 20) });
        server.put(VOLUMES, heavy);
    }
    let live = synced(&server).await;
    assert_eq!(volume_names(&live.snapshot(now())), ["a", "b", "c"]);
    let limits = parameters(&server, VOLUMES, Verb::List, "limit");
    assert_eq!(limits[..2], ["", "250"], "{limits:?}");
    assert!(limits.contains(&"1".to_owned()), "{limits:?}");
    assert_eq!(errors(&live, Resource::Volumes, ApiErrorReason::Decode), 1, "the whole list");
}
