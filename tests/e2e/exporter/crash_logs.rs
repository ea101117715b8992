//! Logs of crashed managers come through the API server from a kubelet. Here is none, so this is
//! the path on which the exporter does without them.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::{Exporter, bench, scenario, scenarios};

/// A log is asked for as soon as the crash is seen.
const TRIED: Duration = Duration::from_secs(15);

#[tokio::test]
async fn without_a_kubelet_causes_come_from_fingerprints() -> Result<()> {
    let Some(bench) = bench("crash-logs").await? else { return Ok(()) };
    scenarios::load(&bench, &scenario("incident-004-webhook-deadlock")).await?;
    let exporter = Exporter::start(&bench, "exporter", &[]).await?;
    let text = wait_for(&exporter, "could not be read").await?;
    println!("{text}");
    assert!(text.contains("the API server answers 5"), "{text}");

    // Without the right nobody is asked, and the evidence names the right.
    bench.delete(super::RBAC, "RoleBinding", super::NAMESPACE, "longhorn-health-exporter-crash-logs").await?;
    let refused = Exporter::start(&bench, "refused", &[]).await?;
    let text = wait_for(&refused, "crash logs cannot be read (forbidden)").await?;
    assert!(text.contains("'get' on 'pods/log' in namespace longhorn-system"), "{text}");
    assert!(refused.log()?.contains("no right to get pods/log"));
    Ok(())
}

/// The evidence that every crash loop has, once it says `part`. The cause is known all the while.
async fn wait_for(exporter: &Exporter, part: &str) -> Result<String> {
    let began = std::time::Instant::now();
    loop {
        let report = exporter.report().await?;
        let findings = report["findings"].as_array().context("no findings")?;
        let loops: Vec<&Value> =
            findings.iter().filter(|finding| finding["check"] == "manager_crash_loop").collect();
        assert_eq!(loops.len(), 3);
        assert!(loops.iter().all(|finding| finding["cause"] == "webhook_service_unreachable"), "{loops:#?}");
        let said = |finding: &&Value| {
            let evidence = finding["evidence"].as_array().into_iter().flatten();
            let texts = evidence.filter_map(|fact| fact["text"].as_str());
            texts.filter(|text| text.contains(part)).map(str::to_owned).next()
        };
        let texts: Vec<String> = loops.iter().filter_map(said).collect();
        if texts.len() == loops.len() {
            return texts.into_iter().next().context("no crash loop");
        }
        if began.elapsed() > TRIED {
            bail!("no evidence {part:?} in {loops:#?}");
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
