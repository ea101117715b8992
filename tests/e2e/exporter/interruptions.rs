//! Rights that are withdrawn, an API server that is away, and a history that is gone: each shows,
//! and heals without a restart of the exporter.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::page::Page;
use super::{NAMESPACE, RBAC, SOON, healthy};

const STATE: &str = "longhorn_health_exporter_resource_unreadable";
const UNKNOWN: &str = "longhorn_health_check_unknown";
const ERRORS: &str = "longhorn_health_exporter_api_errors_total";
const LAST_SUCCESS: &str = "longhorn_health_exporter_last_success_timestamp_seconds";
const VOLUMES: &str = "volumes.longhorn.io";
const STALE: &str = "instance_manager_old";

/// How long the API server is away.
const OUTAGE: Duration = Duration::from_secs(120);

fn stands(page: &Page, resource: &str, state: &str) -> bool {
    match state {
        // what is readable has no series
        "readable" => page.value(STATE, &[("resource", resource)]).is_none(),
        _ => page.is(STATE, &[("resource", resource), ("reason", state)], 1.0),
    }
}

#[tokio::test]
async fn withdrawn_rights_show_within_a_minute_and_heal() -> Result<()> {
    let Some((bench, _, exporter)) = healthy("withdrawn", &[]).await? else { return Ok(()) };
    let all = ["volumes.longhorn.io", "pods", "settings.longhorn.io", "leases.coordination.k8s.io"];
    let mut bindings = Vec::new();
    for (kind, name) in
        [("RoleBinding", "longhorn-health-exporter"), ("ClusterRoleBinding", "longhorn-health-exporter")]
    {
        let binding = bench.api(RBAC, kind, NAMESPACE).await?.get(name).await?;
        bindings.push(serde_json::to_value(&binding)?);
        bench.delete(RBAC, kind, NAMESPACE, name).await?;
    }
    let took = exporter
        .until("all of Longhorn's namespace and the nodes to be forbidden", SOON, |page| {
            all.iter().chain(&["nodes"]).all(|resource| stands(page, resource, "forbidden"))
                && page.is(UNKNOWN, &[("check", STALE)], 1.0)
                && page.is(UNKNOWN, &[("check", "manager_crash_loop")], 1.0)
        })
        .await?;
    println!("withdrawn rights seen after {took:.1?}");
    assert!(stands(&exporter.page().await?, "node-events", "readable"));
    let report = exporter.report().await?;
    ensure!(report["status"] == "unknown", "{}", report["status"]);

    for binding in &bindings {
        bench.apply_value(binding).await?;
    }
    let took = exporter
        .until("the rights to be used again", SOON, |page| {
            all.iter().chain(&["nodes"]).all(|resource| stands(page, resource, "readable"))
                && !page.has(UNKNOWN, &[("check", STALE)])
        })
        .await?;
    println!("restored rights used after {took:.1?}");
    Ok(())
}

#[tokio::test]
async fn an_api_server_that_is_away_for_two_minutes_is_seen_and_outlived() -> Result<()> {
    let Some((mut bench, _, exporter)) = healthy("outage", &["--stale-after=90s"]).await? else {
        return Ok(());
    };
    let success = [];
    bench.stop_apiserver().await?;
    let began = Instant::now();
    let last = exporter.page().await?.value(LAST_SUCCESS, &success).context("no last success")?;
    let took = exporter
        .until("stale kinds", OUTAGE + SOON, |page| {
            stands(page, VOLUMES, "stale") && page.is(UNKNOWN, &[("check", STALE)], 1.0)
        })
        .await?;
    println!("an API server that is away: stale with --stale-after=90s after {took:.1?}");
    tokio::time::sleep(OUTAGE.saturating_sub(began.elapsed())).await;
    let page = exporter.page().await?;
    assert!(page.is(LAST_SUCCESS, &success, last), "freshness ages");
    assert!(page.value(ERRORS, &[("reason", "connection")]) > Some(0.0));
    // Alive and ready all the while: a restart would not help.
    ensure!(exporter.is_ready().await, "not ready");

    bench.start_apiserver().await?;
    let began = Instant::now();
    exporter
        .until("every kind to be read again", SOON, |page| {
            // A server that starts may also refuse for a moment; the kinds of other products are never there.
            ["stale", "forbidden", "pending"]
                .iter()
                .all(|state| !page.has_value(STATE, &[("reason", state)], 1.0))
                && page.value(LAST_SUCCESS, &success) > Some(last)
                && !page.has(UNKNOWN, &[("check", STALE)])
        })
        .await?;
    println!(
        "after {OUTAGE:.0?} without API server, all kinds fresh {:.1?} after its return",
        began.elapsed()
    );
    Ok(())
}

#[tokio::test]
async fn a_watch_older_than_the_history_lists_anew() -> Result<()> {
    let Some((mut bench, objects, exporter)) = healthy("history", &[]).await? else { return Ok(()) };
    let is_volume = |object: &&Value| object["kind"] == "Volume";
    let volume = objects.iter().find(is_volume).context("no volume")?;
    let count = objects.iter().filter(is_volume).count() as f64;
    let held = |page: &Page| page.sum("longhorn_health_volumes");
    assert_eq!(held(&exporter.page().await?), count);

    // While no one watches a volume is deleted, and then every trace that it went.
    bench.stop_apiserver().await?;
    ensure!(bench.erase(volume).await?, "the volume was not in etcd");
    bench.compact().await?;
    bench.start_apiserver().await?;
    let began = Instant::now();
    exporter.until("the erased volume to be gone", SOON, |page| held(page) == count - 1.0).await?;
    println!("a volume erased with its history is gone {:.1?} after the return", began.elapsed());
    exporter
        .until("all kinds to be readable", SOON, |page| {
            // a server that starts refuses watches for a moment, and what follows a refusal is a list anyway
            let anew = |reason| page.value(ERRORS, &[("reason", reason)]) > Some(0.0);
            (anew("expired") || anew("forbidden")) && stands(page, VOLUMES, "readable")
        })
        .await?;
    Ok(())
}
