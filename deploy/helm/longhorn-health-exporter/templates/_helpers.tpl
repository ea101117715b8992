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
helm.sh/chart: {{ printf "%s-%s" .Chart.Name (.Chart.Version | replace "+" "_") }}
{{ include "exporter.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/component: metrics
app.kubernetes.io/part-of: {{ .Chart.Name }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
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
{{- if and .serviceMonitor.enabled .podMonitor.enabled -}}
{{- fail "serviceMonitor.enabled and podMonitor.enabled together would scrape every pod twice" -}}
{{- end -}}
{{- end -}}
{{- end }}
