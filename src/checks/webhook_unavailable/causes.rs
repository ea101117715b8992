//! Why a webhook does not answer as it should.

use crate::check::{BY_POLICY, causes, ways};
use crate::facts::ways::{REFUSED, UNREACHED};

// Where something else holds it up, that has to be fixed: the finding of another check.
ways! { HELD_UP:
    HOLDER_HANGS "the start Lease's holder is hanging"
        fix "Read the log of the manager that holds the start Lease: it is hanging, and others are waiting for it. Do not delete its pod: the \
             next manager hangs too." [
            read "kubectl -n <namespace> logs <manager> -c <workload> --tail=50",
            read "kubectl -n <namespace> get pods -l app=<workload> -o wide --show-labels",
        ];
    PROBE_FOREIGN "the readiness probe's port is wrong"
        fix "Apply this release's manifest: the readiness probe targets a port that this release does not serve. Waiting does not help.";
    CRASH_LOOPS "pods behind the Service are crash-looping"
        fix "Read the previous logs of the pods behind the Service, and fix the crash. The pods do not recover by themselves.";
    POD_HANGS "a pod behind the Service is hanging during startup"
        fix "Read the log of the Service's pod that is stuck during startup, and fix the error there. The pod does not recover by itself.";
    RUNTIME_REFUSES "the container runtime rejects a container"
        fix "Read the container runtime's message and fix its cause, often a security profile or a policy that sets runAsNonRoot. The kubelet \
             then retries automatically."
            [read "kubectl -n <namespace> describe pods -l app=<workload>", read "kubectl -n <namespace> get pods -l app=<workload> -o yaml"];
}

const PODS: &str = "kubectl -n <namespace> get pods -l app=<workload> -o wide --show-labels";
const UNHEALTHY: &str = "kubectl -n <namespace> get events --field-selector reason=Unhealthy";
const LABELS: &str = "kubectl -n <namespace> get pods -l app=longhorn-manager --show-labels";
const MANAGERS: &str = "kubectl -n <namespace> get pods -l app=longhorn-manager -o wide";
const DELETE_MANAGER: &str = "kubectl -n <namespace> delete pod <manager>";
const DELETE_SECRETS: &str = "kubectl -n <namespace> delete secret longhorn-webhook-ca longhorn-webhook-tls";
const RESTART_ALL: &str = "kubectl -n <namespace> rollout restart daemonset/longhorn-manager";
const SLICES: &str =
    "kubectl -n <namespace> get endpointslices -l kubernetes.io/service-name=<object> -o yaml";

causes! {
    NO_READY_ENDPOINT = critical "no_ready_endpoint"
        "a webhook has had no ready endpoint for longer than a rollout takes", rejects_changes: true
        fix "Read the logs of Service <object>'s pods: none is Ready. Compare their labels with its selector. Do not delete the \
             webhook configurations: from 1.9.2 on, managers need them to start." [
            read PODS,
            read "kubectl -n <namespace> logs -l app=<workload> -c <workload> --previous --prefix --ignore-errors --tail=20",
            read SLICES,
            read UNHEALTHY,
        ]
        way REPLICA_SETS_REFUSED "the API server rejects its Deployment's pods"
            fix "Change the quota or policy that rejects the pods, or restore another product's webhook server that is missing. The API server's \
                 message says which. The controller retries within minutes." [
            read "kubectl -n <namespace> describe replicasets -l app=<workload>",
            read "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations",
        ]
        way SERVICE_MISSING "its Service is missing"
            fix "Create Service <object> again with the tool that installed Longhorn (helm upgrade, or the running release's manifest). Do \
                 not restart managers or delete the webhook configurations."
            [read "kubectl -n <namespace> get services", read "helm -n <namespace> list"]
        ways HELD_UP ways UNREACHED ways REFUSED;
    DEADLOCK = critical "deadlock"
        "managers are running or crash-looping, none is Ready, and each is waiting for another's webhook",
        rejects_changes: true
        fix "Read the Unhealthy events and fix the slow node (timeout), pod network (no route) or listener (refused). Then delete pod <pod> to skip \
             its back-off." [
            read UNHEALTHY,
            read "kubectl -n <namespace> logs -l app=<workload> -c <workload> --previous --prefix --ignore-errors --tail=20",
            read PODS,
            change "kubectl -n <namespace> delete pod <pod>",
        ] proven "no manager is Ready; a DaemonSet recreates the pod, and I/O does not pass through it"
        way NODES_REJECTED "v1.11.0's webhook also rejects node updates"
            fix "Remove the rule for resource nodes from ValidatingWebhookConfiguration longhorn-webhook-validator: it keeps the CNI from labelling \
                 nodes. Then upgrade to v1.11.1 or later."
            [read "kubectl get validatingwebhookconfigurations longhorn-webhook-validator -o yaml", read UNHEALTHY, read PODS]
        ways HELD_UP ways UNREACHED;
    SELECTOR_WRONG = critical "selector_wrong"
        "managers are Ready, but a webhook's Service selects none of them: its selector is wrong for this release"
        fix "Set Service <object>'s selector to its release's value (1.7 and later: longhorn.io/admission-webhook=longhorn-admission-webhook). \
             Then find out what changed it, for example another release's manifest or a GitOps source." [
            change "kubectl -n <namespace> patch service <object> --type merge -p '{\"spec\":{\"selector\":<value>}}'",
            read "kubectl -n <namespace> get service <object> -o jsonpath='{.spec.selector}'",
            read LABELS,
        ];
    NOT_LISTED = critical "not_listed"
        "managers are Ready and match the Service's selector, but Kubernetes does not list them in its EndpointSlices"
        fix "Check kube-controller-manager, which writes EndpointSlices. Its Lease must have been renewed within the last minute, and its \
             log must show no endpointslice errors. Restarting managers does not help." [
            read SLICES,
            read "kubectl -n kube-system get lease kube-controller-manager -o yaml",
            read "kubectl -n kube-system logs -l component=kube-controller-manager --prefix --tail=50",
            read PODS,
        ]
        ways HELD_UP ways UNREACHED;
    LABEL_MISSING = warning "label_missing"
        "a Ready manager lacks the label by which the admission Service selects its pods (from 1.7 on)"
        fix "Check whether a share manager on <node> is failing over: that removes the label temporarily. If the label stays missing, delete the \
             node's longhorn-manager pod: its replacement sets the label." [
            read "kubectl -n <namespace> logs <object> -c longhorn-manager --tail=100",
            read LABELS,
            change "kubectl -n <namespace> delete pod <object>",
        ] proven "the manager has lacked the label for longer than a failover takes; a DaemonSet recreates its pod";
    LOCK_STUCK = warning "lock_stuck"
        "a node without a working manager pod has held the start Lease longer than a startup takes"
        fix "Find and stop what renews the Lease: a manager process that outlived its pod on <node>, or a second installation. Another \
             manager then takes the Lease after 20 s."
            [read "kubectl -n <namespace> get lease <object> -o yaml", read MANAGERS, read "ssh <node> 'ps aux | grep [l]onghorn-manager'"];
    CONFIGURATION_MISSING = critical "configuration_missing"
        "one of Longhorn's webhook configurations is missing or lists no webhook"
        fix "Restart one manager: its startup recreates both webhook configurations. If one disappears again, find out what deletes it \
             (GitOps pruning, a policy engine)."
            [read "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations | grep longhorn", change DELETE_MANAGER]
            proven "a configuration is missing, and a starting manager writes it";
    CONFIGURATION_FOREIGN = critical "configuration_foreign"
        "one of Longhorn's webhook configurations names a Service in another namespace"
        fix "Check whether namespace <value> runs another Longhorn. If so, decide which Longhorn to keep: both overwrite the \
             configuration. Otherwise delete the webhook configuration and restart one manager, which recreates it." [
            read "kubectl -n <value> get service,pods -l app=longhorn-manager",
            read "kubectl get <webhook> -o jsonpath='{.webhooks[*].clientConfig.service}'",
            change "kubectl delete <webhook>",
            change DELETE_MANAGER,
        ] proven "the configuration names a Service in another namespace, and no other Longhorn runs there";
    CONFIGURATION_UNTRUSTED = critical "configuration_untrusted"
        "one of Longhorn's webhook configurations has no CA bundle, so the API server does not trust the webhook"
        fix "Restart one manager: during startup, it copies the CA from Secret longhorn-webhook-ca into the webhook configuration. If that \
             CA disappears again, find out what removes it (GitOps, a CA injector)."
            [read "kubectl get <webhook> -o yaml", change DELETE_MANAGER]
            proven "the configuration has no CA bundle, and a starting manager writes it";
    CA_EXPIRED = critical "ca_expired"
        "a webhook configuration's CA has expired or is not yet valid, so the API server distrusts the webhook"
        fix "Correct a wrong control-plane clock. Otherwise restart one manager: it copies the CA from Secret longhorn-webhook-ca. If the \
             dates stay wrong, delete Secrets longhorn-webhook-ca and longhorn-webhook-tls, and restart all managers." [
            read "date -u; kubectl get <webhook> -o jsonpath='{.webhooks[0].clientConfig.caBundle}' | base64 -d | openssl x509 -noout -subject -dates",
            change DELETE_MANAGER,
            read "kubectl -n <namespace> get secret longhorn-webhook-ca -o jsonpath='{.data.tls\\.crt}' | base64 -d | openssl x509 -noout -subject -dates",
            change DELETE_SECRETS,
            change RESTART_ALL,
        ] proven "the CA is not valid now, so every call fails anyway; managers create both Secrets during startup, and I/O does not pass through them";
    CERTIFICATE_REFUSED = critical "certificate_refused"
        "the two webhook configurations trust different CAs, or the API server rejects the webhook's certificate"
        fix "Restart one manager: it copies the CA into both webhook configurations. If they differ again, find what overwrites \
             them. If calls still fail, delete Secret longhorn-webhook-tls and restart all managers." [
            read "kubectl get validatingwebhookconfigurations longhorn-webhook-validator -o jsonpath='{.webhooks[0].clientConfig.caBundle}' | base64 \
                -d | openssl x509 -noout -fingerprint -dates",
            read "kubectl get mutatingwebhookconfigurations longhorn-webhook-mutator -o jsonpath='{.webhooks[0].clientConfig.caBundle}' | base64 -d \
                | openssl x509 -noout -fingerprint -dates",
            change DELETE_MANAGER,
            read "kubectl -n <namespace> get secret longhorn-webhook-tls -o jsonpath='{.data.tls\\.crt}' | base64 -d | openssl x509 -noout -issuer \
                -dates -ext subjectAltName",
            change "kubectl -n <namespace> delete secret longhorn-webhook-tls",
            change RESTART_ALL,
        ] proven "one of the two cannot trust the managers' answers, or the API server reports so itself; managers create the Secret during \
                  startup, and I/O does not pass through them"
        way CLOCK_AHEAD "a node's clock is ahead"
            fix "Correct the clock of <node> (chrony, NTP): the manager there issued the certificate. Only then delete the webhook's Secrets and restart \
                 all managers: they create a new certificate." [
                read "ssh <node> 'date -u; timedatectl'",
                change DELETE_SECRETS,
                change RESTART_ALL,
            ]
        way SERVING_EXPIRED "the certificate has expired or is not yet valid"
            fix "Correct the control plane's clock if it is wrong. Otherwise delete Secret longhorn-webhook-tls and restart all managers: they create a \
                 new certificate. I/O is not affected." [
                read "date -u; kubectl -n <namespace> get secret longhorn-webhook-tls -o jsonpath='{.data.tls\\.crt}' | base64 -d | openssl x509 \
                    -noout -issuer -dates -ext subjectAltName",
                change "kubectl -n <namespace> delete secret longhorn-webhook-tls",
                change RESTART_ALL,
            ];
    CALLS_FAIL = critical "calls_fail"
        "the API server's calls to the admission webhook fail although managers are Ready", rejects_changes: true, changed_by: BY_POLICY
        fix "Check the network path from the API server to the managers' port 9502: NO_PROXY (must contain .svc), CNI and firewall. Do not \
             delete the webhook configurations." [
            read "kubectl get --raw /api/v1/namespaces/<namespace>/services/https:longhorn-admission-webhook:9502/proxy/v1/healthz",
            read MANAGERS,
        ]
        way POLICY "a NetworkPolicy blocks the API server"
            fix "Delete NetworkPolicy <value> at its source (<reason>), or admit the nodes to ports 9502 and 2049 (RWX). Do not restart managers or share \
                 managers, or delete webhook configurations."
            [read "kubectl -n <namespace> get networkpolicies -o yaml", read "kubectl get --raw \
                /api/v1/namespaces/<namespace>/services/https:longhorn-admission-webhook:9502/proxy/v1/healthz"]
        way RESTRICTED "NetworkPolicies may drop the calls"
            fix "Let NetworkPolicy <value> admit port 9502 from anywhere, as Longhorn's own does: Cilium matches no node by ipBlock. If calls still fail, \
                 check NO_PROXY, CNI and firewall."
            [read "kubectl -n <namespace> get networkpolicies -o yaml", read "kubectl get --raw \
                /api/v1/namespaces/<namespace>/services/https:longhorn-admission-webhook:9502/proxy/v1/healthz"]
        way MESH "the managers are in a service mesh"
            fix "Exclude Longhorn's namespace from the service mesh, or let the API server reach port 9502 without mutual TLS. Do not \
                 delete the webhook configurations."
            [read "kubectl get namespace <namespace> --show-labels", read LABELS];
    CA_EXPIRES_SOON = warning "ca_expires_soon"
        "a webhook configuration's CA expires within 30 days, after which every change to a Longhorn object is rejected"
        fix "Restart one manager in working hours if Longhorn is 1.11.3 or later: that issues a new CA. Otherwise delete Secrets longhorn-webhook-ca and \
             longhorn-webhook-tls, then restart all managers. I/O continues." [
            read "kubectl -n <namespace> get secret longhorn-webhook-ca -o jsonpath='{.data.tls\\.crt}' | base64 -d | openssl x509 -noout -subject -dates",
            change DELETE_MANAGER,
            change DELETE_SECRETS,
            change RESTART_ALL,
        ] proven "the configuration holds the date; managers create both Secrets during startup, and I/O does not pass through them";
    ROLLOUT = info "rollout"
        "a webhook's ready endpoint or configuration has been missing for less than three minutes (normal in a rollout)"
        fix "Wait: a rollout restarts all managers together and ends within three minutes." [read MANAGERS]
        ways HELD_UP ways UNREACHED;
}
