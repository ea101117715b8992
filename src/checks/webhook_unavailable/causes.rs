//! Why a webhook does not answer as it should.

use crate::check::{causes, ways};
use crate::facts::ways::{REFUSED, UNREACHED};

// Where something else holds it up, that has to be fixed: the finding of another check.
ways! { HELD_UP:
    HOLDER_HANGS "the holder of the start Lease hangs"
        fix "This does not end on its own: the holder of the start Lease hangs, and the others wait for it. Fix what its log names (the finding of \
             manager_start_stuck); it goes on on its own then. Deleting its pod does not help: the next one hangs in the same place." [
            read "kubectl -n <namespace> logs <manager> -c <workload> --tail=50",
            read "kubectl -n <namespace> get pods -l app=<workload> -o wide --show-labels",
        ];
    PROBE_FOREIGN "the readiness probe asks a port that the release does not serve"
        fix "This does not end on its own: the readiness probe asks a port that the release does not serve. Apply the manifest of the release (the \
             finding of cause manifest_stale).";
    CRASH_LOOPS "pods behind the Service crash-loop"
        fix "This does not end on its own: pods behind the Service crash-loop. Follow the finding of manager_crash_loop.";
    POD_HANGS "a pod behind the Service hangs in its start"
        fix "This does not end on its own: a pod behind the Service hangs in its start. Follow the finding of manager_start_stuck.";
    RUNTIME_REFUSES "the container runtime refuses a container"
        fix "Change what the runtime's refusal names, often the security profile of the cluster or a policy that sets runAsNonRoot; the kubelet \
             tries again on its own." [
            read "kubectl -n <namespace> describe pods -l app=<workload>",
            read "kubectl -n <namespace> get pods -l app=<workload> -o yaml",
        ];
}

causes! {
    NO_READY_ENDPOINT = critical "no_ready_endpoint"
        "a webhook has had no ready endpoint for longer than a rollout takes", rejects_changes: true
        fix "Bring one pod behind Service <object> to Ready: read why its pods do not start, and compare the labels of Ready pods with the selector \
             of the Service. Do not delete the webhook configurations: from 1.9.2 on no manager starts without them." [
            read "kubectl -n <namespace> get pods -l app=<workload> -o wide --show-labels",
            read "kubectl -n <namespace> logs -l app=<workload> -c <workload> --previous --prefix --ignore-errors --tail=20",
            read "kubectl -n <namespace> get endpointslices -l kubernetes.io/service-name=<object> -o yaml",
            read "kubectl -n <namespace> get events --field-selector reason=Unhealthy",
        ]
        way REPLICA_SETS_REFUSED "the API server refuses the pods of its Deployment"
            fix "Change what the refusal names, often the webhook of another product that no one serves; the controller tries again within minutes." [
            read "kubectl -n <namespace> describe replicasets -l app=<workload>",
            read "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations",
        ]
        ways HELD_UP ways UNREACHED ways REFUSED;
    DEADLOCK = critical "deadlock"
        "several managers run or crash-loop, none becomes Ready, and nothing names another reason: each waits for the webhook of another",
        rejects_changes: true
        fix "Find out why none becomes Ready: in the Unhealthy Events timeout means a slow node, no route to host a broken pod network, refused a \
             listener that is not up. Then delete the pod of one manager to end its back-off, of the start Lease's holder where there is one: one \
             that becomes Ready lets the others through." [
            read "kubectl -n <namespace> get events --field-selector reason=Unhealthy",
            read "kubectl -n <namespace> logs -l app=<workload> -c <workload> --previous --prefix --ignore-errors --tail=20",
            read "kubectl -n <namespace> get pods -l app=<workload> -o wide --show-labels",
            change "kubectl -n <namespace> delete pod <pod>",
        ] proven "no manager is Ready; a DaemonSet makes the pod again, and I/O does not pass through it"
        ways HELD_UP ways UNREACHED;
    SELECTOR_WRONG = critical "selector_wrong"
        "the Service of a webhook selects no manager although managers are Ready: its selector is not that of the release"
        fix "Give the Service the selector of its release, from 1.7 on longhorn.io/admission-webhook: longhorn-admission-webhook. Find out who changed it, or it comes back: the manifest of another release, a GitOps \
             source." [
            change "kubectl -n <namespace> patch service <object> --type merge -p '{\"spec\":{\"selector\":<value>}}'",
            read "kubectl -n <namespace> get service <object> -o jsonpath='{.spec.selector}'",
            read "kubectl -n <namespace> get pods -l app=longhorn-manager --show-labels",
        ];
    NOT_LISTED = critical "not_listed"
        "managers are Ready and fit the selector of the Service, and its EndpointSlices do not list them as ready: Kubernetes does not keep them up to date"
        fix "See whether kube-controller-manager works: it alone writes EndpointSlices, and a Lease that it has not renewed for a minute, or errors about \
             endpointslices in its log, say that it does not. Once it does, this ends within seconds. Restarting managers does not help." [
            read "kubectl -n <namespace> get endpointslices -l kubernetes.io/service-name=<object> -o yaml",
            read "kubectl -n kube-system get lease kube-controller-manager -o yaml",
            read "kubectl -n kube-system logs -l component=kube-controller-manager --prefix --tail=50",
            read "kubectl -n <namespace> get pods -l app=<workload> -o wide --show-labels",
        ]
        ways HELD_UP ways UNREACHED;
    LABEL_MISSING = warning "label_missing"
        "a Ready manager lacks the label by which the admission Service selects (from 1.7 on)"
        fix "See whether a share manager of this node fails over: fast failover takes the label away and brings it back when the node proves \
             alive. If the label stays away, delete the pod: the next manager puts it on." [
            read "kubectl -n <namespace> logs <object> -c longhorn-manager --tail=100",
            read "kubectl -n <namespace> get pods -l app=longhorn-manager --show-labels",
            change "kubectl -n <namespace> delete pod <object>",
        ] proven "the manager lacks the label for longer than a failover takes; a DaemonSet makes its pod again";
    LOCK_STUCK = warning "lock_stuck"
        "a node has held the webhook start Lease for longer than a start takes (250 s; 490 s in 1.9.2 and 1.9.3), renews it, and has no manager pod that could"
        fix "Look for a manager process that outlived its pod on this node, and for a second installation: something renews the Lease. Once \
             nothing does, others take it after 20 s." [
            read "kubectl -n <namespace> get lease <object> -o yaml",
            read "kubectl -n <namespace> get pods -l app=longhorn-manager -o wide",
            read "ssh <node> 'ps aux | grep [l]onghorn-manager'",
        ];
    CONFIGURATION_MISSING = critical "configuration_missing"
        "a webhook configuration of Longhorn does not exist or lists no webhook"
        fix "Restart one manager: its start creates both configurations again. If one vanishes again, find out who deletes it (GitOps pruning, a \
             policy engine). From 1.9.2 on a manager gives up after 120 s without them." [
            read "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations | grep longhorn",
            change "kubectl -n <namespace> delete pod <manager>",
        ] proven "a configuration is not there, and the start of a manager writes it";
    CONFIGURATION_FOREIGN = critical "configuration_foreign"
        "a webhook configuration of Longhorn sends the API server to a Service in another namespace"
        fix "See whether another Longhorn runs in namespace <value>: two in one cluster take the configuration from each other, and one has to go. \
             Only if none does, delete the configuration and restart one manager, which writes it for its own namespace." [
            read "kubectl -n <value> get service,pods -l app=longhorn-manager",
            read "kubectl get <webhook> -o jsonpath='{.webhooks[*].clientConfig.service}'",
            change "kubectl delete <webhook>",
            change "kubectl -n <namespace> delete pod <manager>",
        ] proven "the configuration names a Service of another namespace, and no other Longhorn runs there";
    CONFIGURATION_UNTRUSTED = critical "configuration_untrusted"
        "a webhook configuration of Longhorn has no CA bundle, so that the API server trusts no answer"
        fix "Restart one manager: its start writes the configuration with the CA of Secret longhorn-webhook-ca. If the bundle vanishes again, find out \
             who takes it out (a GitOps source that holds the configuration, a CA injector)." [
            read "kubectl get <webhook> -o yaml",
            change "kubectl -n <namespace> delete pod <manager>",
        ] proven "the configuration has no CA bundle, and the start of a manager writes it";
    CA_EXPIRED = critical "ca_expired"
        "the CA of a webhook configuration has run out or is not valid yet, so that the API server trusts no answer"
        fix "Compare the dates with the clocks of the control plane: where a clock is wrong, correct it, and nothing else. Otherwise restart one manager: \
             its start writes the CA of Secret longhorn-webhook-ca, from 1.11.3 on a new one in place of an old one. Where the dates stay, the Secret has \
             them: delete it with longhorn-webhook-tls and restart all managers, which create both again. I/O is not affected." [
            read "date -u; kubectl get <webhook> -o jsonpath='{.webhooks[0].clientConfig.caBundle}' | base64 -d | openssl x509 -noout -subject -dates",
            change "kubectl -n <namespace> delete pod <manager>",
            read "kubectl -n <namespace> get secret longhorn-webhook-ca -o jsonpath='{.data.tls\\.crt}' | base64 -d | openssl x509 -noout -subject -dates",
            change "kubectl -n <namespace> delete secret longhorn-webhook-ca longhorn-webhook-tls",
            change "kubectl -n <namespace> rollout restart daemonset/longhorn-manager",
        ] proven "the CA is not valid now, so that every call fails as it is; managers create both Secrets at their start, and I/O does not pass \
             through them";
    CERTIFICATE_REFUSED = critical "certificate_refused"
        "the two webhook configurations trust different CAs, or the API server has refused the certificate of the webhook for a minute"
        fix "Restart one manager: its start writes both configurations with the CA of Secret longhorn-webhook-ca. If they differ again, find out who \
             writes one of them (a GitOps source that holds it, a CA injector). If the API server still refuses the certificate, delete Secret \
             longhorn-webhook-tls and restart all managers, which create it again. I/O is not affected." [
            read "kubectl get validatingwebhookconfigurations longhorn-webhook-validator -o jsonpath='{.webhooks[0].clientConfig.caBundle}' | base64 -d | openssl x509 -noout -fingerprint -dates",
            read "kubectl get mutatingwebhookconfigurations longhorn-webhook-mutator -o jsonpath='{.webhooks[0].clientConfig.caBundle}' | base64 -d | openssl x509 -noout -fingerprint -dates",
            change "kubectl -n <namespace> delete pod <manager>",
            read "kubectl -n <namespace> get secret longhorn-webhook-tls -o jsonpath='{.data.tls\\.crt}' | base64 -d | openssl x509 -noout -issuer -dates -ext subjectAltName",
            change "kubectl -n <namespace> delete secret longhorn-webhook-tls",
            change "kubectl -n <namespace> rollout restart daemonset/longhorn-manager",
        ] proven "one of the two cannot trust what managers answer, or the API server says so itself; managers create the Secret at their start, \
             and I/O does not pass through them";
    CA_EXPIRES_SOON = warning "ca_expires_soon"
        "the CA of a webhook configuration runs out within 30 days, which rejects every change of a Longhorn object"
        fix "Restart one manager in working hours: from 1.11.3 on its start issues a new CA in the last 90 days. Before 1.11.3 none does: delete Secrets \
             longhorn-webhook-ca and longhorn-webhook-tls and restart all managers, which create both again. I/O is not affected." [
            read "kubectl -n <namespace> get secret longhorn-webhook-ca -o jsonpath='{.data.tls\\.crt}' | base64 -d | openssl x509 -noout -subject -dates",
            change "kubectl -n <namespace> delete pod <manager>",
            change "kubectl -n <namespace> delete secret longhorn-webhook-ca longhorn-webhook-tls",
            change "kubectl -n <namespace> rollout restart daemonset/longhorn-manager",
        ] proven "the date stands in the configuration; managers create both Secrets at their start, and I/O does not pass through them";
    ROLLOUT = info "rollout"
        "no ready endpoint, or no configuration, for less than three minutes: expected in a rollout"
        fix "Wait: a rollout restarts all managers at once, and ends within three minutes." [
            read "kubectl -n <namespace> get pods -l app=longhorn-manager -o wide",
        ]
        ways HELD_UP ways UNREACHED;
}
