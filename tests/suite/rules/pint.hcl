# What every shipped rule keeps to, beside pint's own checks: `pint --offline --config tests/suite/rules/pint.hcl lint rules/*.rules.yaml`.
parser {
  names = "legacy"
}

rule {
  match {
    kind = "alerting"
  }
  name "Longhorn[A-Za-z]+" {
    severity = "bug"
  }
  label "severity" {
    severity = "bug"
    required = true
    values   = ["critical", "warning", "info", "none"]
  }
  annotation "summary" {
    severity = "bug"
    required = true
  }
  annotation "description" {
    severity = "bug"
    required = true
  }
}

# Clusters are several.
rule {
  aggregate ".+" {
    severity = "bug"
    keep     = ["cluster"]
  }
}

# Two exporter pods are one alert. In kube-state-metrics' series, the pod is what the alert is about.
rule {
  ignore {
    path = ".*kube-state-metrics.*"
  }
  aggregate ".+" {
    severity = "bug"
    strip    = ["instance", "pod"]
  }
}
