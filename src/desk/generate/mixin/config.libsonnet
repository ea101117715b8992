{
  _config+:: {
    // Selects the exporter's series, as matchers of PromQL.
    selector: $selector,
    // Label that distinguishes clusters. Empty: none.
    clusterLabel: $cluster_label,
    // Values of that label that must always have an exporter.
    expectedClusters: $expected_clusters,
    // Longhorn's namespace, for panels on metrics of cAdvisor and kube-state-metrics.
    longhornNamespace: $namespace,
    // Where runbooks are. The alert's name is appended. Empty: no links.
    runbookBaseUrl: $runbook_base_url,
    // Where Grafana is, for the alerts' links to dashboards. Empty: no links.
    dashboardBaseUrl: $dashboard_base_url,
    // Labels of every alert.
    alertLabels: $labels,
    // Alerts on Longhorn's own metrics, too. They need no exporter.
    longhornMetrics: false,
    // Longhorn's release, such as 'v1.8.2': leaves out alerts and panels on Longhorn's own metrics that need a newer one. Empty: all.
    longhornRelease: $longhorn_release,
    // Settings of each alert. Severity 'as found': a critical rule and a warning, each on findings of its severity.
    // Thresholds are explained in the alert's runbook. '0m': fires at once.
    alerts: {
$alerts    },
  },
}
