// Alerts, recording rules and dashboards of longhorn-health-exporter, as `_config` sets them. config.libsonnet lists its keys.
// rules.libsonnet and dashboards.libsonnet have formats such as %(selector)s in the place of settings, and choices (if, then, else).
local defaults = (import 'config.libsonnet')._config;
local rules = import 'rules.libsonnet';

// Keys that the defaults lack, except names of labels, and values of another type: a misspelt name would change nothing.
local problems(path, set, known) =
  if std.type(set) != std.type(known) then ['%s is no %s' % [path, std.type(known)]]
  else if !std.isObject(set) || std.endsWith(path, 'abels') then []
  else std.flatMap(
    function(key)
      if key in known then problems(path + '.' + key, set[key], known[key]) else [path + '.' + key + ' is unknown'],
    std.objectFieldsAll(set)
  );

(import 'config.libsonnet') + {
  grafanaDashboardFolder: 'Longhorn',

  local config = self._config,
  // other keys are those of mixins beside this one
  local found = problems('_config', { [key]: config[key] for key in std.objectFields(defaults) }, defaults),
  assert found == [] : std.join(', ', found),

  local formats = config {
    runbookBaseUrl: std.rstripChars(config.runbookBaseUrl, '/'),
    // files in a repository end in .md, published pages do not
    runbookEnding: if std.length(std.findSubstr('/blob/', config.runbookBaseUrl)) > 0 then '.md' else '',
    dashboardBaseUrl: std.rstripChars(config.dashboardBaseUrl, '/'),
    expectedClusters: std.join(' ', [
      resolved(rules.expectedCluster, formats { expectedCluster: cluster })[0]
      for cluster in config.expectedClusters
    ]),
  },
  local version(text) = [std.parseInt(part) for part in std.split(std.lstripChars(text, 'v'), '.')],
  // A condition is a key of `_config` that is set, or the release of Longhorn that brought something.
  local holds(condition) =
    if condition[0] == 'v' then config.longhornRelease == '' || version(condition) <= version(config.longhornRelease)
    else !std.member(['', [], false], config[condition]),

  // A list of what a value becomes; of nothing where it is left out.
  local resolved(value, formats) =
    if std.isString(value) then [if std.member(value, '%') then value % formats else value]
    else if std.isArray(value) then [std.flatMap(function(part) resolved(part, formats), value)]
    else if !std.isObject(value) then [value]
    else if 'threshold' in value then [config.alerts[value.threshold[0]].thresholds[value.threshold[1]]]
    else if 'if' in value then
      local side = if holds(value['if']) then 'then' else 'else';
      if side in value then resolved(value[side], formats) else []
    else
      local number(name, value) = if std.isNumber(value) then '%.15g' % value else value;
      local thresholds = if 'alert' in value then config.alerts[value.alert].thresholds else {};
      local own = formats + std.mapWithKey(number, thresholds);
      [{
        [resolved(key, own)[0]]: sorted(key, part)
        for key in std.objectFields(value)
        for part in resolved(value[key], own)
        // tables hide the label `prometheus`, unless it tells clusters apart
        if key != config.clusterLabel || part != true
      }],
  // Colours of a panel begin at ascending values.
  local sorted(key, value) =
    if key != 'steps' then value else std.sort(value, function(step) if step.value == null then -1e300 else step.value),

  // The rules of an alert: none, one, or one for each severity.
  local alerts(rule) =
    local set = config.alerts[rule.alert];
    local exprs = if !set.enabled then {} else if set.severity == 'as found' then rule.found else { [set.severity]: rule.expr };
    local labels = config.alertLabels + set.labels;
    local waits = std.stripChars(set['for'], '0dhmsw') != '';  // '0m' is none
    [
      {
        alert: rule.alert,
        expr: exprs[severity],
        [if waits then 'for']: set['for'],
        [if set.keep_firing_for != '' then 'keep_firing_for']: set.keep_firing_for,
        labels: { [name]: labels[name] for name in std.objectFields(labels) if labels[name] != '' } { severity: severity },
        annotations: rule.annotations,
      }
      for severity in std.objectFields(exprs)
    ],
  local groups(ending, rules_of) = [
    { name: group.name + ending, rules: std.flatMap(rules_of, group.rules) }
    for group in resolved(rules.groups, formats)[0]
    if std.flatMap(rules_of, group.rules) != []
  ],

  prometheusAlerts+:: { groups+: groups('', function(rule) if 'alert' in rule then alerts(rule) else []) },
  prometheusRules+:: { groups+: groups('.rules', function(rule) if 'record' in rule then [rule] else []) },
  grafanaDashboards+:: resolved(import 'dashboards.libsonnet', formats)[0],
}
