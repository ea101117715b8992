//! What single values of the chart do.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::*;

/// The rule of an alert.
fn alert<'a>(objects: &'a [Value], kind: &str, name: &str) -> Result<&'a Value> {
    let groups = find(objects, kind, "")?["spec"]["groups"].as_array().context("no groups")?;
    let mut rules = groups.iter().flat_map(|group| group["rules"].as_array().into_iter().flatten());
    rules.find(|rule| rule["alert"] == name).with_context(|| format!("no {name}"))
}

#[test]
fn thresholds_and_severities_are_values() -> Result<()> {
    let Some(tools) = Tools::find() else { return Ok(()) };
    let of = |values: &str| {
        render(&tools, &format!("{{prometheusRule: {{enabled: true, overrides: {{{values}}}}}}}"))
    };
    let stock = of("")?;
    let stock = alert(&stock, "PrometheusRule", "LonghornManagerHighRestarts")?;
    let set = of("LonghornManagerHighRestarts: {thresholds: {restarts: 7}, severity: critical}")?;
    let set = alert(&set, "PrometheusRule", "LonghornManagerHighRestarts")?;
    assert_eq!(set["labels"]["severity"], "critical");
    assert_eq!(set["expr"], stock["expr"].as_str().unwrap_or_default().replace("> 3", "> 7"));
    ensure!(set["expr"] != stock["expr"], "{set}");
    // the default written out changes nothing
    let same = of("LonghornManagerHighRestarts: {thresholds: {restarts: 3}}")?;
    assert_eq!(alert(&same, "PrometheusRule", "LonghornManagerHighRestarts")?, stock);
    for (wrong, said) in [
        ("LonghornManagerHighRestarts: {thresholds: {restart: 7}}", "there is no threshold restart"),
        ("LonghornManagerHighRestarts: {thresholds: {restarts: -1}}", "at least"),
        ("LonghornVolumeFaulted: {thresholds: {restarts: 7}}", "there is no threshold"),
        ("LonghornVolumeFaulted: {severity: fatal}", "severity"),
    ] {
        let error = of(wrong).err().map(|error| error.to_string()).unwrap_or_default();
        ensure!(error.contains(said), "{wrong}: {error}");
    }
    Ok(())
}

#[test]
fn rules_on_longhorns_own_metrics_are_one_value() -> Result<()> {
    let Some(tools) = Tools::find() else { return Ok(()) };
    let of = |values: &str| render(&tools, &format!("prometheusRule: {{enabled: true, {values}}}"));
    let (name, kind) = ("LonghornDiskFillingUp", "PrometheusRule");
    ensure!(alert(&of("")?, kind, name).is_err());
    for mode in ["causes", "incidents"] {
        let objects = of(&format!(
            "longhornMetrics: true, mode: {mode}, overrides: {{{name}: {{thresholds: {{ahead: 7200}}}}}}"
        ))?;
        let rule = alert(&objects, kind, name)?;
        ensure!(rule["expr"].as_str().is_some_and(|expr| expr.contains(", 7200)")), "{rule}");
    }
    for (release, is_there) in
        [("", true), ("v1.8.2", false), ("1.10.0", false), ("v1.10.1", true), ("1.12.1", true)]
    {
        let objects =
            of(&format!("longhornMetrics: true, longhornRelease: '{release}', dashboardUrl: 'https://g'"))?;
        assert_eq!(alert(&objects, kind, "LonghornNodeOvercommitted").is_ok(), is_there, "{release}");
        let rule = alert(&objects, kind, "LonghornVolumeLatencyHigh")?;
        assert_eq!(rule["annotations"]["dashboard_url"], "https://g/d/longhorn-health-longhorn-metrics");
    }
    ensure!(of("longhornMetrics: true, longhornRelease: '1.8'").is_err());
    Ok(())
}

#[test]
fn alerts_link_to_runbooks_that_can_be_reached_or_to_none() -> Result<()> {
    let Some(tools) = Tools::find() else { return Ok(()) };
    for (values, link) in [
        ("", None),
        ("ingress: {enabled: true, host: h.example, path: /lh/}", Some("http://h.example/lh/runbooks/")),
        (
            "ingress: {enabled: true, host: h.example, tls: [{secretName: s}]}",
            Some("https://h.example/runbooks/"),
        ),
        (
            "httpRoute: {enabled: true, parentRefs: [{name: g}], hostnames: [r.example]}",
            Some("https://r.example/runbooks/"),
        ),
    ] {
        let objects = render(&tools, &format!("prometheusRule: {{enabled: true}}\n{values}\n"))?;
        let rule = alert(&objects, "PrometheusRule", "LonghornVolumeFaulted")?;
        let expected = link.map(|link| format!("{link}LonghornVolumeFaulted"));
        assert_eq!(rule["annotations"]["runbook_url"].as_str(), expected.as_deref(), "{values}");
    }
    Ok(())
}

#[test]
fn a_new_version_of_the_chart_restarts_no_pod() -> Result<()> {
    let Some(tools) = Tools::find() else { return Ok(()) };
    let objects = render(&tools, "")?;
    let deployment = find(&objects, "Deployment", "")?;
    let labels = deployment["spec"]["template"]["metadata"]["labels"].as_object().context("no labels")?;
    ensure!(labels.keys().all(|key| !key.contains("version") && !key.contains("chart")), "{labels:?}");
    // the pod of the test has what all others have
    let test = find(&objects, "Pod", "-test")?["metadata"]["labels"].as_object().context("no labels")?;
    let all = deployment["metadata"]["labels"].as_object().context("no labels")?;
    assert_eq!(test.keys().collect::<Vec<_>>(), all.keys().collect::<Vec<_>>());
    Ok(())
}

#[test]
fn victoria_metrics_gets_the_same_rules_and_one_scrape() -> Result<()> {
    let Some(tools) = Tools::find() else { return Ok(()) };
    let prometheus = render(&tools, "prometheusRule: {enabled: true}\nserviceMonitor: {enabled: true}\n")?;
    let victoria = render(&tools, "victoriaMetrics: {enabled: true}\n")?;
    let groups = |objects: &[Value], kind: &str| {
        Ok::<_, anyhow::Error>(find(objects, kind, "")?["spec"]["groups"].clone())
    };
    // the one function that means something else there
    let (ours, theirs) =
        (groups(&prometheus, "PrometheusRule")?.to_string(), groups(&victoria, "VMRule")?.to_string());
    ensure!(ours.contains("(increase("));
    assert_eq!(ours.replace("(increase(", "(increase_prometheus("), theirs);
    let (monitor, scrape) =
        (find(&prometheus, "ServiceMonitor", "")?, find(&victoria, "VMServiceScrape", "")?);
    for place in ["jobLabel", "selector", "namespaceSelector", "endpoints"] {
        assert_eq!(monitor["spec"][place], scrape["spec"][place], "{place}");
    }
    ensure!(render(&tools, "victoriaMetrics: {enabled: true}\nserviceMonitor: {enabled: true}\n").is_err());
    Ok(())
}

#[test]
fn what_people_misspell_is_refused_before_it_is_installed() -> Result<()> {
    let Some(tools) = Tools::find() else { return Ok(()) };
    for (values, said) in [
        ("accepted: [{check: volume_fauIted, reason: r, until: '2026-12-31'}]", "accepted"),
        ("httpRoute: {enabled: true}", "parentRefs"),
        ("hostAliases: [{hostnames: [a]}]", "ip"),
    ] {
        let error = render(&tools, values).err().map(|error| format!("{error:#}")).unwrap_or_default();
        ensure!(error.contains(said), "{values}: {error}");
    }
    Ok(())
}

/// `namespace:` over the base would move the Roles away from what they are about.
#[test]
fn kustomize_refuses_to_move_the_roles() -> Result<()> {
    let Some(tools) = Tools::find() else { return Ok(()) };
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let base = format!("{}/deploy/kustomize/base", relative(directory.path(), repository())?);
    let build = |text: String| {
        std::fs::write(directory.path().join("kustomization.yaml"), text)?;
        success(Command::new(&tools.kubectl).arg("kustomize").arg(directory.path()).output()?)
    };
    let refused = build(format!("namespace: monitoring\nresources: [{base}]\n"));
    let error = refused.err().context("it was moved")?.to_string();
    ensure!(error.contains("do-not-set-namespace-over-this-base-see-its-readme"), "{error}");
    ensure!(!build(format!("resources: [{base}]\n"))?.contains("do-not-set"), "the guard is installed");
    Ok(())
}
