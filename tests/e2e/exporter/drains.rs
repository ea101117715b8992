//! The steps of `plan drain`, followed with kubectl on the API server, which keeps the PodDisruptionBudgets, while stand-ins
//! do what Longhorn's controllers and a kubelet do: what may go reaches its end, what is blocked is refused.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use kube::api::{Api, DynamicObject, ListParams, PostParams};
use serde_json::{Value, json};

use super::remedies::{line, said};
use super::{NAMESPACE, bench, scenarios};
use crate::longhorn_drain::{Longhorn, text};
use crate::support::Bench;
use testing::plan_cases::{self, Case};

/// What Longhorn's controllers look at.
const KINDS: [(&str, &str); 9] = [
    ("longhorn.io/v1beta2", "Volume"),
    ("longhorn.io/v1beta2", "Replica"),
    ("longhorn.io/v1beta2", "InstanceManager"),
    ("longhorn.io/v1beta2", "Setting"),
    ("longhorn.io/v1beta2", "Engine"),
    ("longhorn.io/v1beta2", "Node"),
    ("longhorn.io/v1beta2", "VolumeAttachment"),
    ("policy/v1", "PodDisruptionBudget"),
    ("v1", "Node"),
];

async fn all(bench: &Bench, api_version: &str, kind: &str) -> Result<Vec<Value>> {
    let api = bench.api(api_version, kind, NAMESPACE).await?;
    let list = api.list(&ListParams::default()).await?;
    let typed = |one: DynamicObject| {
        let mut one = serde_json::to_value(one)?;
        (one["apiVersion"], one["kind"]) = (json!(api_version), json!(kind));
        Ok(one)
    };
    list.items.into_iter().map(typed).collect()
}

/// Everything Longhorn looks at, now.
async fn seen(bench: &Bench, node: &str) -> Result<Longhorn> {
    let mut objects = Vec::new();
    for (api_version, kind) in KINDS {
        objects.extend(all(bench, api_version, kind).await?);
    }
    Ok(Longhorn::new(objects, node))
}

/// One look of Longhorn's controllers and of the kubelet.
async fn look(bench: &Bench, node: &str) -> Result<()> {
    let mut longhorn = seen(bench, node).await?;
    let before = longhorn.objects.clone();
    longhorn.look();
    for old in before {
        let [api_version, kind, name] = ["/apiVersion", "/kind", "/metadata/name"].map(|at| text(&old, at));
        let same =
            |new: &&Value| new["metadata"]["uid"] == old["metadata"]["uid"] && new["kind"] == old["kind"];
        let Some(new) = longhorn.objects.iter().find(same) else {
            bench.delete(api_version, kind, NAMESPACE, name).await?;
            continue;
        };
        let api: Api<DynamicObject> = bench.api(api_version, kind, NAMESPACE).await?;
        if new["status"] != old["status"] {
            api.replace_status(name, &PostParams::default(), &serde_json::from_value(new.clone())?).await?;
        } else if *new != old {
            api.replace(name, &PostParams::default(), &serde_json::from_value(new.clone())?).await?;
        }
    }
    for pod in all(bench, "v1", "Pod").await? {
        if !text(&pod, "/metadata/deletionTimestamp").is_empty() {
            bench.delete("v1", "Pod", NAMESPACE, text(&pod, "/metadata/name")).await?;
        }
    }
    Ok(())
}

/// Runs a command while the stand-ins work: whether it succeeded, and what it said.
async fn run(bench: &Bench, node: &str, text: &str) -> Result<(bool, String)> {
    let work = async {
        loop {
            // a write may lose against one of kubectl, as those of Longhorn do; the next look has it
            if let Err(error) = look(bench, node).await {
                println!("  Longhorn: {error:#}");
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let mut command = tokio::process::Command::from(line(bench, text)?);
    tokio::select! {
        done = command.kill_on_drop(true).output() => Ok(said(done?)),
        () = work => unreachable!("it has no end"),
    }
}

/// The objects of the case. Pods get the owners that recordings leave out, because no check reads them: kubectl drains no
/// pod without a controller.
fn objects_of(case: &Case) -> Result<Vec<Value>> {
    let mut cluster = plan_cases::scenario(&case.on);
    cluster.change(case.change.clone());
    let mut objects = scenarios::moved_to_now(&cluster.text())?;
    for object in &mut objects {
        match text(object, "/kind") {
            "Pod" => {
                let of_daemons = object["metadata"]["labels"]["app"] == "longhorn-manager";
                let (api_version, kind, name) = match of_daemons {
                    true => ("apps/v1", "DaemonSet", "longhorn-manager"),
                    false => ("longhorn.io/v1beta2", "InstanceManager", text(object, "/metadata/name")),
                };
                object["metadata"]["ownerReferences"] = json!([{"apiVersion": api_version, "kind": kind, "name": name,
                    "uid": "4ef1f4c2-9f3a-4c1e-8f0b-6d1f5c0e7a11", "controller": true}]);
            }
            // the disruption controller has seen it
            "PodDisruptionBudget" => object["status"]["observedGeneration"] = json!(1),
            _ => {}
        }
    }
    Ok(objects)
}

/// Follows the steps of a plan that says go.
async fn follow(bench: &Bench, case: &Case, node: &str, steps: &[Value]) -> Result<()> {
    let before = seen(bench, node).await?;
    let mut drained = false;
    for step in steps {
        let command = text(step, "/command/run");
        // nothing here rebuilds a replica
        if command.is_empty() || command.starts_with("longhorn-health-exporter ") {
            continue;
        }
        if let Some(wait) = command.strip_suffix(" --watch") {
            let gone = format!("until [ -z \"$({wait} -o name)\" ]; do sleep 0.2; done");
            ensure!(run(bench, node, &format!("timeout 60 sh -c '{gone}'")).await?.0, "{command}");
            continue;
        }
        let (done, said) = run(bench, node, command).await?;
        ensure!(done, "{command}: {said}");
        drained |= command.starts_with("kubectl drain ");
    }
    let mut left = all(bench, "v1", "Pod").await?;
    left.retain(|pod| {
        text(pod, "/spec/nodeName") == node && text(pod, "/metadata/ownerReferences/0/kind") != "DaemonSet"
    });
    let intent = case.intent.as_deref().unwrap_or("drain");
    ensure!(drained == (intent != "evict") && left.is_empty() == drained, "{} pods are left", left.len());
    let lost = before.lost(&seen(bench, node).await?);
    // a policy that lets a stopped last copy go is followed, and the plan says what goes with it
    let said = case.notes.iter().any(|note| note == "last_copy");
    ensure!(lost.is_empty() || said, "lost {lost:?}");
    let mut nodes = all(bench, "v1", "Node").await?;
    nodes.retain(|one| text(one, "/metadata/name") == node);
    let open = nodes.first().map(|one| one["spec"]["unschedulable"] != json!(true));
    ensure!(open == (intent != "remove").then_some(true), "{intent}: {open:?}");
    Ok(())
}

/// What stands against a drain does so for kubectl, too; returns whether the case is of this kind.
async fn refused(bench: &Bench, case: &Case, node: &str) -> Result<bool> {
    let says = |id: &str| case.reasons.iter().any(|reason| reason.ends_with(id));
    // what the policy wants moved holds the budget until there is room
    let budget =
        says("budget_stays") || says("attached_for_good") || says("no_place") && case.intent.is_none();
    if !budget && !says("last_copy") {
        return Ok(false);
    }
    let before = seen(bench, node).await?;
    ensure!(run(bench, node, &format!("kubectl cordon {node}; sleep 1")).await?.0, "cordon");
    let dry = format!(
        "kubectl drain {node} --ignore-daemonsets --delete-emptydir-data --dry-run=server --timeout=2s"
    );
    let (done, said) = run(bench, node, &dry).await?;
    if budget {
        let held = seen(bench, node).await?.budgets_here();
        let named = held.iter().all(|name| said.contains(name.as_str()));
        ensure!(!done && said.contains("disruption budget") && !held.is_empty() && named, "{held:?}: {said}");
    } else {
        let drain = format!("kubectl drain {node} --ignore-daemonsets --delete-emptydir-data --timeout=60s");
        ensure!(done && run(bench, node, &drain).await?.0, "{said}");
        ensure!(!before.lost(&seen(bench, node).await?).is_empty(), "nothing was lost");
    }
    Ok(true)
}

/// The plans for single nodes with this verdict, asked of the live cluster. Returns how many were followed.
async fn each(bench: &Bench, go: bool) -> Result<usize> {
    let cases = plan_cases::cases("drain");
    let mut count = 0;
    for case in cases.iter().filter(|case| case.forbidden.is_empty() && (case.verdict() == "go") == go) {
        let [node] = case.drain.as_slice() else { continue };
        if node == "all" {
            continue;
        }
        let began = std::time::Instant::now();
        let objects = objects_of(case)?;
        // no kubelet ends the pods of a node that is down or missing
        let serves = |one: &Value| {
            let conditions = one["status"]["conditions"].as_array().into_iter().flatten();
            let ready =
                conditions.filter(|one| one["type"] == "Ready").all(|ready| ready["status"] == "True");
            [("/apiVersion", "v1"), ("/kind", "Node"), ("/metadata/name", node)]
                .iter()
                .all(|(at, is)| text(one, at) == *is)
                && ready
        };
        if go && !objects.iter().any(serves) {
            continue;
        }
        bench.load_recorded(&objects).await.with_context(|| case.case.clone())?;
        let intent = case.intent.as_deref().map_or(String::new(), |intent| format!(" --{intent}"));
        let plan = format!("longhorn-health-exporter plan drain {node}{intent} -o json 2>/dev/null");
        let plan: Value = serde_json::from_str(&said(line(bench, &plan)?.output()?).1)?;
        ensure!(plan["verdict"] == case.verdict(), "{}: {}", case.case, plan["answer"]);
        let steps = plan["parts"][0]["steps"].as_array().context("no steps")?;
        let done = match go {
            true => follow(bench, case, node, steps).await.map(|()| true),
            false => refused(bench, case, node).await,
        };
        count += usize::from(done.with_context(|| case.case.clone())?);
        println!("{}: {:.1?}", case.case, began.elapsed());
        bench.delete_all(&objects).await?;
    }
    Ok(count)
}

#[tokio::test]
async fn what_may_go_reaches_its_end() -> Result<()> {
    let Some(bench) = bench("drains-go").await? else { return Ok(()) };
    let count = each(&bench, true).await?;
    ensure!(count > 15, "only {count} were followed");
    Ok(())
}

#[tokio::test]
async fn what_is_blocked_is_refused() -> Result<()> {
    let Some(bench) = bench("drains-blocked").await? else { return Ok(()) };
    let count = each(&bench, false).await?;
    ensure!(count > 4, "only {count} were tried");
    Ok(())
}
