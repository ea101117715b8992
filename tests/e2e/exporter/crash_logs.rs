//! Logs of crashed managers come through the API server from a kubelet: from one that answers, from
//! one that is away, and not at all without the right.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::{ACCOUNT, Exporter, NAMESPACE, RBAC, SOON, bench, scenario, scenarios};
use crate::support::{Bench, Kubelet, port};

/// Time for requests that must not come, of the 40 s in which three attempts are made.
const TO_HAMMER: Duration = Duration::from_secs(2);

/// All managers crash here, 120 s after each start: by this fingerprint and the Service without
/// endpoint the webhook cannot be reached.
const SCENARIO: &str = "incident-004-webhook-deadlock";
const FINGERPRINT: &str = "webhook_unserved";
const MANAGERS: usize = 3;

const NO_ISCSI: &str = "time=\"2026-03-01T11:56:10Z\" level=info msg=\"Starting longhorn-manager\"\n\
    time=\"2026-03-01T11:56:11Z\" level=fatal msg=\"Error starting manager: environment check failed: failed to \
    execute: nsenter [iscsiadm --version]: exit status 127\"\n";
const NOT_READY: &str = "time=\"2026-03-01T11:58:11Z\" level=fatal msg=\"Error starting webhooks: admission webhook is not ready on \
    localhost after 2m0s sec\"\n";

#[tokio::test]
async fn without_a_kubelet_causes_come_from_fingerprints() -> Result<()> {
    let Some(bench) = bench("crash-logs").await? else { return Ok(()) };
    scenarios::load(&bench, &scenario(SCENARIO)).await?;
    let exporter = Exporter::start(&bench, "exporter", &[]).await?;
    let loops = until(&exporter, "no log", |loops| all_say(loops, "could not be read")).await?;
    ensure!(loops.iter().all(|one| one.is(FINGERPRINT, "fingerprint")), "{loops:#?}");
    ensure!(all_say(&loops, "the API server answers 5"), "{loops:#?}");

    // Without the right no kubelet is asked, and the evidence names the right.
    withdraw_logs(&bench).await?;
    let refused = Exporter::start(&bench, "refused", &[]).await?;
    let forbidden = "crash logs cannot be read (forbidden)";
    let loops = until(&refused, "no right", |loops| all_say(loops, forbidden)).await?;
    ensure!(loops.iter().all(|one| one.is(FINGERPRINT, "fingerprint")), "{loops:#?}");
    ensure!(all_say(&loops, "'get' on 'pods/log' in namespace longhorn-system"), "{loops:#?}");
    ensure!(refused.log()?.contains("no right to get pods/log"));
    Ok(())
}

#[tokio::test]
async fn a_kubelet_is_asked_once_per_termination_and_the_log_tells_the_cause() -> Result<()> {
    let Some(bench) = bench("kubelet").await? else { return Ok(()) };
    let objects = scenarios::load(&bench, &scenario(SCENARIO)).await?;
    let (kubelet, managers) = (Kubelet::start(port::free()?).await?, managers(&objects)?);
    let [(first, first_node), (second, second_node), (third, third_node)] = &managers;
    for node in [first_node, second_node, third_node] {
        kubelet.take(&bench, node).await?;
    }
    kubelet.set_log(first, "longhorn-manager", NO_ISCSI);
    kubelet.set_log(second, "longhorn-manager", NOT_READY);

    let exporter = Exporter::start(&bench, "exporter", &[]).await?;
    let loops = until(&exporter, "the logs", |loops| {
        of(loops, first).is("open_iscsi_missing", "log") && of(loops, second).is("webhook_not_ready", "log")
    })
    .await?;
    println!("{}: {}", first, of(&loops, first).texts("log").join("; "));
    // a kubelet that has no log of the third says so, and the fingerprint must do
    let loops = until(&exporter, "the log that is not", |loops| {
        of(loops, third).says("the API server answers 400: previous terminated container")
    })
    .await?;
    ensure!(of(&loops, third).is(FINGERPRINT, "fingerprint"), "{loops:#?}");
    let asked = |pod: &str| {
        let path = format!("/containerLogs/{NAMESPACE}/{pod}/longhorn-manager?");
        crashes(&kubelet).into_iter().filter(|request| request.starts_with(&path)).collect::<Vec<_>>()
    };
    for (pod, _) in &managers {
        let requests = asked(pod);
        let [request] = requests.as_slice() else { bail!("{pod} was asked for by {requests:?}") };
        for part in ["previous=true", "tailLines=200", "limitBytes=262144"] {
            ensure!(request.contains(part), "{request}");
        }
    }

    // The pod changes, its last termination does not.
    for restarts in 32..35 {
        restart(&bench, &exporter, first, restarts, None).await?;
    }
    ensure!(crashes(&kubelet).len() == MANAGERS, "{:?}", crashes(&kubelet));
    // It ends again, and for another reason.
    kubelet.set_log(first, "longhorn-manager", NOT_READY);
    restart(&bench, &exporter, first, 35, Some("2026-03-02T00:00:00Z")).await?;
    until(&exporter, "the second log", |loops| of(loops, first).is("webhook_not_ready", "log")).await?;
    ensure!(asked(first).len() == 2 && crashes(&kubelet).len() == MANAGERS + 1, "{:?}", crashes(&kubelet));

    // Without the right an earlier log is not taken for the last one, and no kubelet is asked.
    withdraw_logs(&bench).await?;
    restart(&bench, &exporter, first, 36, Some("2026-03-02T00:05:00Z")).await?;
    let loops =
        until(&exporter, "no right", |loops| of(loops, first).says("crash logs cannot be read (forbidden)"))
            .await?;
    ensure!(of(&loops, first).is(FINGERPRINT, "fingerprint"), "{loops:#?}");
    ensure!(of(&loops, second).is("webhook_not_ready", "log"), "what was read stays true: {loops:#?}");
    ensure!(crashes(&kubelet).len() == MANAGERS + 1, "{:?}", crashes(&kubelet));
    Ok(())
}

#[tokio::test]
async fn a_kubelet_that_is_away_is_not_hammered_and_is_read_when_it_returns() -> Result<()> {
    let Some(bench) = bench("kubelet-away").await? else { return Ok(()) };
    let objects = scenarios::load(&bench, &scenario(SCENARIO)).await?;
    let (kubelet, managers) = (Kubelet::start(port::free()?).await?, managers(&objects)?);
    for (_, node) in &managers {
        kubelet.take(&bench, node).await?;
    }
    let port = kubelet.port();
    drop(kubelet);
    let began = Instant::now();
    let exporter = Exporter::start(&bench, "exporter", &[]).await?;
    // by the count of the API server: a page may be late by more than three attempts take
    while log_requests(&bench).await? < MANAGERS {
        ensure!(began.elapsed() < SOON, "no log was asked for");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }

    // Each change of a pod would be an occasion to ask again.
    for restarts in 32..36 {
        change(&bench, &managers[0].0, restarts, None).await?;
        tokio::time::sleep(TO_HAMMER).await;
    }
    let asked = log_requests(&bench).await?;
    // the first attempt, and one more after each 20 s; the log of a manager that runs every 30 s
    let seconds = began.elapsed().as_secs() as usize;
    let allowed = (1 + seconds / 20) * MANAGERS + (1 + seconds / 30) * MANAGERS;
    ensure!(asked >= MANAGERS && asked <= allowed, "{asked} requests in {:?}", began.elapsed());

    let kubelet = Kubelet::start(port).await?;
    for (pod, _) in &managers {
        kubelet.set_log(pod, "longhorn-manager", NO_ISCSI);
    }
    until(&exporter, "the logs", |loops| loops.iter().all(|one| one.is("open_iscsi_missing", "log"))).await?;
    println!("read {:.1?} after the start, {asked} requests before", began.elapsed());
    ensure!(crashes(&kubelet).len() == MANAGERS, "{:?}", crashes(&kubelet));
    Ok(())
}

/// Requests for logs of crashed containers; those for containers that run are another matter.
fn crashes(kubelet: &Kubelet) -> Vec<String> {
    kubelet.asked().into_iter().filter(|request| request.contains("previous=true")).collect()
}

/// One finding of manager_crash_loop.
#[derive(Debug)]
struct Looping(Value);

impl Looping {
    /// Has this cause, and evidence of this source.
    fn is(&self, cause: &str, source: &str) -> bool {
        self.0["cause"] == cause && !self.texts(source).is_empty()
    }

    fn says(&self, part: &str) -> bool {
        self.texts("history").iter().any(|text| text.contains(part))
    }

    fn texts(&self, source: &str) -> Vec<&str> {
        let evidence = self.0["evidence"].as_array().into_iter().flatten();
        evidence.filter(|fact| fact["source"] == source).filter_map(|fact| fact["text"].as_str()).collect()
    }
}

fn of<'a>(loops: &'a [Looping], pod: &str) -> &'a Looping {
    let found = loops.iter().find(|one| one.0["object"]["name"] == pod);
    found.unwrap_or_else(|| panic!("no crash loop of {pod} in {loops:#?}"))
}

fn all_say(loops: &[Looping], part: &str) -> bool {
    loops.iter().all(|one| one.says(part))
}

/// The crash loops of all managers, once they show something.
async fn until(exporter: &Exporter, what: &str, shows: impl Fn(&[Looping]) -> bool) -> Result<Vec<Looping>> {
    let began = Instant::now();
    loop {
        let report = exporter.report().await?;
        let findings = report["findings"].as_array().context("no findings")?.iter();
        let loops = findings.filter(|finding| finding["check"] == "manager_crash_loop");
        let loops: Vec<Looping> = loops.cloned().map(Looping).collect();
        ensure!(loops.len() == MANAGERS, "{loops:#?}");
        if shows(&loops) {
            return Ok(loops);
        }
        if began.elapsed() > SOON {
            bail!("waited {SOON:?} in vain for {what}: {loops:#?}\n{}", exporter.log()?);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Names and nodes of the manager pods.
fn managers(objects: &[Value]) -> Result<[(String, String); MANAGERS]> {
    let is_manager = |object: &&Value| {
        object["kind"] == "Pod" && object["metadata"]["labels"]["app"] == "longhorn-manager"
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let found = objects.iter().filter(is_manager);
    let found: Vec<_> =
        found.map(|pod| (text(&pod["metadata"]["name"]), text(&pod["spec"]["nodeName"]))).collect();
    found.try_into().map_err(|found| anyhow::anyhow!("other managers than expected: {found:?}"))
}

/// Writes what a kubelet writes at a restart, and waits until the exporter has seen it.
async fn restart(bench: &Bench, exporter: &Exporter, pod: &str, count: u32, end: Option<&str>) -> Result<()> {
    const EVENTS: &str = "longhorn_health_exporter_watch_events_total";
    let seen = exporter.page().await?.value(EVENTS, &[]).unwrap_or_default();
    change(bench, pod, count, end).await?;
    exporter
        .until("the restart", SOON, |page| page.value(EVENTS, &[]).is_some_and(|events| events > seen))
        .await?;
    Ok(())
}

/// Writes what a kubelet writes at a restart. With an end the container has also terminated again, 124 s after its start.
async fn change(bench: &Bench, pod: &str, count: u32, end: Option<&str>) -> Result<()> {
    let pods = bench.api("v1", "Pod", NAMESPACE).await?;
    let mut statuses = serde_json::to_value(pods.get(pod).await?)?["status"]["containerStatuses"].take();
    let status = statuses
        .as_array_mut()
        .and_then(|all| all.iter_mut().find(|status| status["name"] == "longhorn-manager"))
        .context("no such container")?;
    status["restartCount"] = json!(count);
    if let Some(end) = end {
        let finished: jiff::Timestamp = end.parse()?;
        let ended = &mut status["lastState"]["terminated"];
        ended["startedAt"] = json!((finished - jiff::SignedDuration::from_secs(124)).to_string());
        ended["finishedAt"] = json!(end);
    }
    let patch = Patch::Merge(json!({"status": {"containerStatuses": statuses}}));
    pods.patch_status(pod, &PatchParams::default(), &patch).await?;
    Ok(())
}

/// How often the API server was asked for logs, by its own count.
async fn log_requests(bench: &Bench) -> Result<usize> {
    let request = http::Request::get("/metrics").body(Vec::new())?;
    let page = bench.admin().request_text(request).await?;
    let of_logs =
        |line: &&str| line.starts_with("apiserver_request_total{") && line.contains("subresource=\"log\"");
    let counts = page.lines().filter(of_logs).filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok());
    Ok(counts.sum::<f64>() as usize)
}

/// The Role without the right to read logs.
async fn withdraw_logs(bench: &Bench) -> Result<()> {
    let role = bench.api(RBAC, "Role", NAMESPACE).await?.get(ACCOUNT).await?;
    let mut role = serde_json::to_value(&role)?;
    let rules = role["rules"].as_array_mut().context("no rules")?;
    rules.retain(|rule| !rule["resources"].to_string().contains("pods/log"));
    bench.apply_value(&role).await
}
