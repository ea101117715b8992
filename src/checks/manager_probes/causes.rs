//! Why probes and starts of managers are in trouble.

use crate::check::causes;

causes! {
    READINESS_TIMEOUT_SHORT = info "readiness_timeout_short"
        "the readiness probe, an HTTPS request, gives up sooner than that of every stock release"
        fix "Give the readiness probe at least the stock period of 10 s and threshold of 3. The patch also sets a timeout of 5 s, restarts all \
             managers, and is undone by the next upgrade of Longhorn." [
            read "kubectl -n <namespace> get daemonset <object> -o yaml | grep -A8 Probe:",
            change "kubectl -n <namespace> patch daemonset <object> -p '{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"longhorn-manager\",\"readinessProbe\":{\"timeoutSeconds\":5,\"periodSeconds\":10,\"failureThreshold\":3}}]}}}}'",
        ];
    STARTUP_WINDOW_SHORT = info "startup_window_short"
        "a startup or liveness probe kills managers that wait for their turn to start the webhook"
        fix "Widen the window to 300 s or more, by a startup probe with failureThreshold 30 and periodSeconds 10." [
            read "kubectl -n <namespace> get daemonset <object> -o yaml | grep -A8 Probe:",
        ];
    SLOW_START = info "slow_start"
        "a start that is over took longer than the release waits for its webhook: a warning for the next one"
        fix "Nothing to do if the reason was fixed meanwhile (a permission, a CRD, the route to the API server). Otherwise find out what is slow \
             on this node: CPU, the pod network (CNI), TLS secrets, or the image of another container of the pod. A longer probe does not \
             lengthen the manager's own wait." [
            read "kubectl -n <namespace> get events --field-selector involvedObject.name=<object>",
            read "kubectl -n <namespace> logs <object> -c longhorn-manager --tail=100",
            read "kubectl describe node <node>",
        ];
    PROBE_FAILING = warning "probe_failing" "a probe of a manager fails after its start"
        fix "timeout: the node is short of CPU, or the process hangs. refused: the listener is gone, its log says why. unreachable: look at the \
             CNI. tls: look at the secrets longhorn-webhook-tls and longhorn-webhook-ca. A manager that answers on no port for minutes hangs: \
             keep its log, then delete its pod." [
            read "kubectl -n <namespace> logs <object> -c longhorn-manager --tail=100",
            read "kubectl -n <namespace> get events --field-selector involvedObject.name=<object>",
            read "kubectl describe node <node>",
            change "kubectl -n <namespace> delete pod <object>",
        ] proven "the manager answers on no port for minutes; a DaemonSet makes its pod again, and I/O does not pass through it";
}
