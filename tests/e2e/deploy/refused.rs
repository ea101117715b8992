//! Values that must not install: typos at every depth, wrong types, contradictions.

use anyhow::{Result, ensure};

use super::*;

/// Values, and what the complaint has to name.
const REFUSED: &[(&str, &str)] = &[
    // typos, from the top down
    ("{longhornNamespace: a}", "longhornNamespace"),
    ("{longhorn: {namepace: a}}", "namepace"),
    ("{image: {repo: a}}", "repo"),
    ("{rbac: {rights: {secrets: true}}}", "secrets"),
    ("{web: {tls: {enable: true}}}", "enable"),
    ("{web: {config: {basic_auth_user: {a: b}}}}", "basic_auth_user"),
    ("{web: {config: {http_server_config: {header: {}}}}}", "header"),
    ("{serviceMonitor: {intervall: 30s}}", "intervall"),
    ("{prometheusRule: {override: {}}}", "override"),
    ("{prometheusRule: {overrides: {LonghornX: {disable: true}}}}", "disable"),
    ("{dashboards: {grafanaOperator: {labels: {}}}}", "labels"),
    ("{networkPolicy: {from: [{podSelecter: {}}]}}", "podSelecter"),
    ("{livenessProbe: {httpGet: {}}}", "httpGet"),
    ("{tests: {image: {name: a}}}", "name"),
    // types and values
    ("{replicaCount: two}", "replicaCount"),
    ("{replicaCount: -1}", "replicaCount"),
    ("{longhorn: {namespace: ''}}", "/longhorn/namespace"),
    ("{longhorn: {namespace: Storage}}", "/longhorn/namespace"),
    ("{web: {port: '10945'}}", "/web/port"),
    ("{web: {port: 70000}}", "/web/port"),
    ("{web: {auth: kubernetse}}", "/web/auth"),
    ("{web: {telemetryPath: metrics}}", "/web/telemetryPath"),
    ("{web: {scrapers: [{name: a}]}}", "/web/scrapers/0"),
    ("{web: {readers: [{name: a}]}}", "/web/readers/0"),
    ("{web: {readers: [{kind: User}]}}", "/web/readers/0"),
    ("{web: {readers: [{kind: Team, name: a}]}}", "/web/readers/0/kind"),
    ("{web: {readers: [{kind: Group, name: a, namespace: b}]}}", "/web/readers/0"),
    ("{web: {readers: [{name: a b, namespace: c}]}}", "/web/readers/0/name"),
    ("{log: {level: verbose}}", "/log/level"),
    ("{crashLogs: on}", "/crashLogs"),
    ("{image: {digest: abc}}", "/image/digest"),
    ("{image: {pullPolicy: Sometimes}}", "/image/pullPolicy"),
    ("{commonLabels: {a: 1}}", "/commonLabels/a"),
    ("{extraArgs: [serve]}", "/extraArgs/0"),
    ("{extraEnv: {A: b}}", "/extraEnv"),
    ("{serviceMonitor: {enabled: yess}}", "/serviceMonitor/enabled"),
    ("{serviceMonitor: {interval: 30}}", "/serviceMonitor/interval"),
    ("{serviceMonitor: {endpoint: {port: http}}}", "/serviceMonitor/endpoint"),
    ("{prometheusRule: {overrides: {LonghornX: {for: soon}}}}", "/for"),
    ("{podDisruptionBudget: {maxUnavailable: half}}", "maxUnavailable"),
    ("{networkPolicy: {apiServerPorts: []}}", "apiServerPorts"),
    ("{tolerations: [{effect: NoScheduling}]}", "/tolerations/0/effect"),
    // contradictions
    ("{web: {auth: kubernetes}}", "web.auth=kubernetes needs web.tls.enabled"),
    ("{web: {tls: {enabled: true}}}", "web.tls.enabled needs web.tls.secretName"),
    ("{web: {tls: {clientCaSecretName: a}}}", "web.tls.clientCaSecretName needs web.tls.enabled"),
    ("{web: {existingConfigSecret: a, config: {basic_auth_users: {a: b}}}}", "exclude each other"),
    ("{dashboards: {grafanaOperator: {enabled: true}}}", "needs dashboards.enabled"),
    ("{serviceMonitor: {enabled: true}, podMonitor: {enabled: true}}", "scrape every pod twice"),
    ("{serviceAccount: {create: false}}", "serviceAccount.name is needed"),
    ("{prometheusRule: {enabled: true, overrides: {LonghornNoSuch: {disabled: true}}}}", "LonghornNoSuch"),
];

#[test]
fn bad_values_are_refused_by_name() -> Result<()> {
    let Some(tools) = Tools::find() else { return Ok(()) };
    for (values, named) in REFUSED {
        let complaint = match template(&tools, values) {
            Ok(_) => anyhow::bail!("{values} was accepted"),
            Err(error) => error.to_string(),
        };
        ensure!(complaint.contains(named), "{values}: {named} is not named in {complaint}");
    }
    println!("{} values refused", REFUSED.len());
    Ok(())
}

/// What a parent chart passes down, and what commonly stands in values, is no typo.
#[test]
fn values_of_a_parent_chart_are_accepted() -> Result<()> {
    let Some(tools) = Tools::find() else { return Ok(()) };
    for values in ["{global: {any: thing}, enabled: true}", "{resources: {limits: {cpu: 1, memory: 1Gi}}}"] {
        template(&tools, values)?;
    }
    Ok(())
}
