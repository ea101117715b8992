{{/* Full name of the objects. */}}
{{- define "exporter.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "exporter.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride -}}
{{- end }}

{{- define "exporter.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "exporter.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- required "serviceAccount.name is needed when serviceAccount.create is false" .Values.serviceAccount.name -}}
{{- end -}}
{{- end }}

{{/* The name label is fixed: rules and dashboards select the job of this name. */}}
{{- define "exporter.selectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "exporter.labels" -}}
{{ include "exporter.selectorLabels" . }}
{{ include "exporter.releaseLabels" . }}
{{ include "exporter.lastingLabels" . }}
{{- end }}

{{/* Labels that change with the chart; not those of pods, which would be replaced for it. */}}
{{- define "exporter.releaseLabels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name (.Chart.Version | replace "+" "_") }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{- define "exporter.lastingLabels" -}}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/component: metrics
app.kubernetes.io/part-of: {{ .Chart.Name }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Where alerts find runbooks: as told, or below the host at which the exporter serves them; else nothing. */}}
{{- define "exporter.runbookUrl" -}}
{{- if .Values.prometheusRule.runbookUrl -}}
{{- .Values.prometheusRule.runbookUrl -}}
{{- else if and .Values.ingress.enabled .Values.ingress.host -}}
{{- printf "%s://%s%s/runbooks" (ternary "https" "http" (not (empty .Values.ingress.tls))) .Values.ingress.host (trimSuffix "/" .Values.ingress.path) -}}
{{- else if and .Values.httpRoute.enabled .Values.httpRoute.hostnames -}}
{{- printf "https://%s%s/runbooks" (first .Values.httpRoute.hostnames) (trimSuffix "/" .Values.httpRoute.path) -}}
{{- end -}}
{{- end }}

{{/* The annotations of an object, from the root and its own; nothing without any. */}}
{{- define "exporter.annotations" -}}
{{- with merge (dict) (index . 1) (index . 0).Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Pull secrets as objects, the ones of a parent chart first; it may give names alone. */}}
{{- define "exporter.pullSecrets" -}}
{{- $secrets := list -}}
{{- range concat (default list (default dict .Values.global).imagePullSecrets) .Values.imagePullSecrets -}}
{{- $secrets = append $secrets (ternary (dict "name" .) . (kindIs "string" .)) -}}
{{- end -}}
{{- with uniq $secrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* An image reference from the root and {registry, repository, tag, digest}; the last of the list is the default tag. */}}
{{- define "exporter.image" -}}
{{- $image := index . 1 -}}
{{- with default $image.registry (default dict (index . 0).Values.global).imageRegistry }}{{ . }}/{{ end }}{{ $image.repository }}
{{- if $image.digest }}@{{ $image.digest }}{{ else }}:{{ default (index . 2) $image.tag }}{{ end }}
{{- end }}

{{- define "exporter.scheme" -}}
{{- ternary "https" "http" .Values.web.tls.enabled -}}
{{- end }}

{{/* Not empty when the exporter reads a web configuration file. */}}
{{- define "exporter.webConfigSecret" -}}
{{- if .Values.web.existingConfigSecret -}}
{{- .Values.web.existingConfigSecret -}}
{{- else if or .Values.web.tls.enabled .Values.web.config -}}
{{- include "exporter.fullname" . }}-web-config
{{- end -}}
{{- end }}

{{/* The web configuration file. */}}
{{- define "exporter.webConfig" -}}
{{- $config := deepCopy .Values.web.config -}}
{{- if .Values.web.tls.enabled -}}
{{- $tls := dict "cert_file" "/etc/longhorn-health-exporter/tls/tls.crt" "key_file" "/etc/longhorn-health-exporter/tls/tls.key" -}}
{{- if .Values.web.tls.clientCaSecretName -}}
{{- $_ := set $tls "client_ca_file" "/etc/longhorn-health-exporter/client-ca/ca.crt" -}}
{{- $_ := set $tls "client_auth_type" "RequireAndVerifyClientCert" -}}
{{- end -}}
{{- $config = mergeOverwrite (dict "tls_server_config" $tls) $config -}}
{{- end -}}
{{- toYaml $config -}}
{{- end }}

{{/* The handler of a probe; a kubelet has no client certificate to show. */}}
{{- define "exporter.probe" -}}
{{- if (index . 0).Values.web.tls.clientCaSecretName -}}
tcpSocket:
  port: metrics
{{- else -}}
httpGet:
  path: {{ index . 1 }}
  port: metrics
  scheme: {{ include "exporter.scheme" (index . 0) | upper }}
{{- end }}
{{- end }}

{{/* The fields that endpoints of ServiceMonitor and PodMonitor share. */}}
{{- define "exporter.endpoint" -}}
{{- $root := index . 0 -}}
{{- $monitor := index . 1 -}}
{{- $endpoint := dict "port" "metrics" "path" $root.Values.web.telemetryPath "scheme" (include "exporter.scheme" $root) -}}
{{- range $key := list "interval" "scrapeTimeout" "honorLabels" "relabelings" "metricRelabelings" -}}
{{- with index $monitor $key }}{{ $_ := set $endpoint $key . }}{{ end -}}
{{- end -}}
{{- if and $root.Values.web.tls.enabled (not (hasKey $monitor.endpoint "tlsConfig")) -}}
{{- $_ := set $endpoint "tlsConfig" (dict "insecureSkipVerify" true) -}}
{{- end -}}
{{- /* as PodMonitors cannot: only a Secret could hold the token of those */ -}}
{{- if and (eq $root.Values.web.auth "kubernetes") $root.Values.serviceMonitor.enabled -}}
{{- $credentials := pick $monitor.endpoint "authorization" "basicAuth" "bearerTokenFile" "bearerTokenSecret" "oauth2" -}}
{{- if not $credentials -}}
{{- $_ := set $endpoint "bearerTokenFile" "/var/run/secrets/kubernetes.io/serviceaccount/token" -}}
{{- end -}}
{{- end -}}
{{- toYaml (merge (deepCopy $monitor.endpoint) $endpoint) -}}
{{- end }}

{{/* What the schema cannot say. */}}
{{- define "exporter.validate" -}}
{{- with .Values -}}
{{- if and (eq .web.auth "kubernetes") (not .web.tls.enabled) -}}
{{- fail "web.auth=kubernetes needs web.tls.enabled, since tokens must not travel in clear text" -}}
{{- end -}}
{{- if and .web.tls.enabled (not .web.tls.secretName) (not .web.existingConfigSecret) -}}
{{- fail "web.tls.enabled needs web.tls.secretName, a secret with tls.crt and tls.key" -}}
{{- end -}}
{{- if and .web.existingConfigSecret .web.config -}}
{{- fail "web.config and web.existingConfigSecret exclude each other" -}}
{{- end -}}
{{- if and .web.tls.clientCaSecretName (not .web.tls.enabled) -}}
{{- fail "web.tls.clientCaSecretName needs web.tls.enabled" -}}
{{- end -}}
{{- if and .dashboards.grafanaOperator.enabled (not .dashboards.enabled) -}}
{{- fail "dashboards.grafanaOperator.enabled needs dashboards.enabled, whose ConfigMaps it reads" -}}
{{- end -}}
{{- if and .httpRoute.enabled (or (not .httpRoute.parentRefs) (not .httpRoute.hostnames)) -}}
{{- fail "httpRoute.enabled needs httpRoute.parentRefs and httpRoute.hostnames" -}}
{{- end -}}
{{- if and .victoriaMetrics.enabled (or .serviceMonitor.enabled .podMonitor.enabled .prometheusRule.enabled) -}}
{{- fail "victoriaMetrics.enabled excludes serviceMonitor, podMonitor and prometheusRule: the VictoriaMetrics operator converts those too, and would scrape and alert twice" -}}
{{- end -}}
{{- if and .serviceMonitor.enabled .podMonitor.enabled -}}
{{- fail "serviceMonitor.enabled and podMonitor.enabled together would scrape every pod twice" -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* Groups of alerts with what the values say of them, as YAML. */}}
{{- define "exporter.ruleGroups" -}}
{{- $settings := .Values.prometheusRule }}
{{- $unknown := deepCopy $settings.overrides }}
{{- $thresholds := .Files.Get "files/thresholds.yaml" | fromYaml }}
{{- $groups := list }}
{{- $of := dict "causes" (($.Files.Get "files/causes.yaml" | fromYaml).groups) "incidents" (($.Files.Get "files/incidents.yaml" | fromYaml).groups) "longhorn" (($.Files.Get "files/longhorn-metrics.yaml" | fromYaml).groups) }}
{{- range $groups := values $of }}
{{- range $group := $groups }}
{{- range $rule := $group.rules }}
{{- $unknown = omit $unknown (default "" $rule.alert) }}
{{- end }}
{{- end }}
{{- end }}
{{- range $group := concat (get $of $settings.mode) (ternary $of.longhorn list $settings.longhornMetrics) }}
{{- $rules := list }}
{{- /* longhorn-health.longhorn-metrics.from-v1.10.1: what the group needs */}}
{{- $board := regexReplaceAll "\\.from-.*" $group.name "" }}
{{- $from := trimPrefix $board $group.name | trimPrefix ".from-" }}
{{- $lacks := and $from $settings.longhornRelease (semverCompare (printf "<%s" (default "0" $from)) (default "0" $settings.longhornRelease)) }}
{{- range $rule := ternary list $group.rules (not (not $lacks)) }}
{{- $override := default dict (get $settings.overrides (default "" $rule.alert)) }}
{{- if and (not $override.disabled) (ne (toString $override.enabled) "false") }}
{{- $labelled := $rule }}
{{- if $rule.alert }}
{{- $links := dict }}
{{- with include "exporter.runbookUrl" $ }}
{{- $page := ternary "{{ $labels.runbook }}" $rule.alert (hasPrefix "LonghornIncident" $rule.alert) }}
{{- $_ := set $links "runbook_url" (printf "%s/%s%s" (trimSuffix "/" .) $page (ternary ".md" "" (contains "/blob/" .))) }}
{{- end }}
{{- with $settings.dashboardUrl }}
{{- $_ := set $links "dashboard_url" (printf "%s/d/%s" (trimSuffix "/" .) (replace "." "-" $board)) }}
{{- end }}
{{- $common := dict "labels" (deepCopy $settings.ruleLabels) "annotations" (merge $links $settings.ruleAnnotations) }}
{{- $labelled = mergeOverwrite (deepCopy $rule) $common (omit (deepCopy $override) "disabled" "enabled" "thresholds" "severity") }}
{{- with $override.severity }}
{{- $_ := set $labelled.labels "severity" . }}
{{- end }}
{{- with $override.thresholds }}
{{- $open := get $thresholds $rule.alert }}
{{- range $name, $_ := . }}
{{- if not (hasKey (default dict (default dict $open).thresholds) $name) }}
{{- fail (printf "prometheusRule.overrides.%s.thresholds: there is no threshold %s" $rule.alert $name) }}
{{- end }}
{{- end }}
{{- $expr := $open.expr }}
{{- $description := $open.description }}
{{- range $name, $threshold := $open.thresholds }}
{{- $number := $threshold.value }}
{{- if hasKey $override.thresholds $name }}{{ $number = get $override.thresholds $name }}{{ end }}
{{- if lt (float64 $number) (float64 $threshold.least) }}
{{- fail (printf "prometheusRule.overrides.%s.thresholds.%s: at least %v" $rule.alert $name $threshold.least) }}
{{- end }}
{{- $text := ternary (printf "%.0fs" (float64 $number)) (toString $number) $threshold.range }}
{{- $expr = replace (printf "@%s@" $name) $text $expr }}
{{- $description = replace (printf "@%s@" $name) $text $description }}
{{- end }}
{{- if not $override.expr }}{{ $_ := set $labelled "expr" $expr }}{{ end }}
{{- if not (default dict $override.annotations).description }}{{ $_ := set $labelled.annotations "description" $description }}{{ end }}
{{- end }}
{{- /* the command that alerts print names the Deployment */}}
{{- $command := printf "deploy/%s " (include "exporter.fullname" $) }}
{{- $_ := set $labelled.annotations "description" (replace "deploy/longhorn-health-exporter " $command $labelled.annotations.description) }}
{{- end }}
{{- $rules = append $rules $labelled }}
{{- end }}
{{- end }}
{{- if $rules }}
{{- $groups = append $groups (set (deepCopy $group) "rules" $rules) }}
{{- end }}
{{- end }}
{{- with keys $unknown }}
{{- fail (printf "prometheusRule.overrides: there is no alert %s" (sortAlpha . | join ", ")) }}
{{- end }}
{{- toYaml (concat $groups $settings.extraGroups) }}
{{- end }}
