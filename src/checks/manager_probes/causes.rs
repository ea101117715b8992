//! Why probes and starts of managers are in trouble.

use crate::check::causes;

causes! {
    READINESS_TIMEOUT_SHORT = info "readiness_timeout_short"
        "the manager's readiness probe gives up sooner than in any stock release"
        fix "Set the readiness probe back to period 10 s and failure threshold 3 (as shipped) or higher. The patch \
             below also sets timeout 5 s and restarts all managers." [
            read "kubectl -n <namespace> get daemonset <object> -o yaml | grep -A8 Probe:",
            change "kubectl -n <namespace> patch daemonset <object> -p \
                '{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"longhorn-manager\",\"readinessProbe\":{\"timeoutSeconds\":5,\"periodSeconds\":10,\"failureThreshold\":3}}]}}}}'",
        ];
    STARTUP_WINDOW_SHORT = info "startup_window_short"
        "an added startup or liveness probe kills managers that are waiting for their turn to start the webhook"
        fix "Give managers 300 s to start: raise the startup probe's failureThreshold, or the liveness probe's initialDelaySeconds. This restarts all \
             managers." [
            read "kubectl -n <namespace> get daemonset <object> -o yaml | grep -A8 Probe:",
        ];
    SLOW_START = info "slow_start"
        "the manager's startup took longer than its release waits for the webhook, so its next startup may fail"
        fix "Find out what is slow on <node>: CPU, pod network, TLS Secrets, or another container's image. A longer probe timeout does not extend the \
             manager's own wait." [
            read "kubectl -n <namespace> get events --field-selector involvedObject.name=<object>",
            read "kubectl -n <namespace> logs <object> -c longhorn-manager --tail=100",
            read "kubectl describe node <node>",
        ];
    PROBE_FAILING = warning "probe_failing" "a probe of a manager keeps failing after startup"
        fix "Read the Unhealthy event: timeout (CPU load, hanging manager), refused (no listener), unreachable (CNI), \
             tls (Secret longhorn-webhook-tls). If no port answers for minutes, save the log, then delete the pod." [
            read "kubectl -n <namespace> logs <object> -c longhorn-manager --tail=100",
            read "kubectl -n <namespace> get events --field-selector involvedObject.name=<object>",
            read "kubectl describe node <node>",
            change "kubectl -n <namespace> delete pod <object>",
        ] proven "no port of the manager answers for minutes; a DaemonSet recreates its pod, and I/O does not pass through it";
}
