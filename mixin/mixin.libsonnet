// The rules and dashboards of this repository as a monitoring mixin, from the files of rules/ and dashboards/: there is no
// second copy of them. `longhorn-health-exporter generate --config` sets more than this: thresholds, selectors, the
// label of clusters.
{
  _config+:: {
    // Where runbooks are: the alert's name is appended. Empty: no link.
    runbookBaseUrl: '',
    // Labels of every alert.
    alertLabels: {},
    // Alerts to leave out, by name.
    disabledAlerts: [],
    // Rules on Longhorn's own metrics, too, which need no exporter.
    longhornMetrics: false,
    // Longhorn's release, such as 'v1.8.2': leaves out those of them that need a newer one. Empty: all.
    longhornRelease: '',
  },

  local config = self._config,
  local groups = std.parseYaml(importstr '../rules/longhorn-health.rules.yaml').groups,
  local ofLonghorn = std.parseYaml(importstr '../rules/longhorn-metrics.rules.yaml').groups,
  local version(text) = [std.parseInt(part) for part in std.split(std.lstripChars(text, 'v'), '.')],
  // longhorn-health.longhorn-metrics.from-v1.10.1 names what the group needs
  local needed(name) = [std.substr(name, at + 6, 20) for at in std.findSubstr('.from-', name)],
  local works(group) =
    std.all([version(from) <= version(config.longhornRelease) for from in needed(group.name)]),
  local set(rule) =
    if std.objectHas(rule, 'record') then rule
    else rule {
      labels+: config.alertLabels,
      annotations+: if config.runbookBaseUrl == '' then {}
      else { runbook_url: config.runbookBaseUrl + '/' + rule.alert },
    },
  local wanted(rule) =
    !(std.objectHas(rule, 'alert') && std.member(config.disabledAlerts, rule.alert)),

  // Records stand in the group of the alerts that read them, before them.
  prometheusAlerts+:: {
    groups+: [
      group { rules: [set(rule) for rule in group.rules if wanted(rule)] }
      for group in groups + if config.longhornMetrics then ofLonghorn else []
      if config.longhornRelease == '' || works(group)
    ],
  },

  grafanaDashboards+:: {
    'longhorn-health-eviction.json': import '../dashboards/longhorn-health-eviction.json',
    'longhorn-health-exporter.json': import '../dashboards/longhorn-health-exporter.json',
    'longhorn-health-fleet.json': import '../dashboards/longhorn-health-fleet.json',
    'longhorn-health-instance-managers.json': import '../dashboards/longhorn-health-instance-managers.json',
    'longhorn-health-longhorn-metrics.json': import '../dashboards/longhorn-health-longhorn-metrics.json',
    'longhorn-health-managers.json': import '../dashboards/longhorn-health-managers.json',
    'longhorn-health-overview.json': import '../dashboards/longhorn-health-overview.json',
    'longhorn-health-storage.json': import '../dashboards/longhorn-health-storage.json',
    'longhorn-health-volumes.json': import '../dashboards/longhorn-health-volumes.json',
  },
}
