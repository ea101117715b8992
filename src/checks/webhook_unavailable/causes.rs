//! Why a webhook does not answer as it should.

use crate::check::causes;

causes! {
    NO_READY_ENDPOINT = critical "no_ready_endpoint"
        "a webhook has had no ready endpoint for longer than a rollout takes";
    DEADLOCK = critical "deadlock"
        "several managers run or crash-loop, none becomes Ready, and nothing names another reason: each waits for the webhook of another";
    SELECTOR_WRONG = critical "selector_wrong"
        "the Service of a webhook selects no manager although managers are Ready: its selector is not that of the release";
    LABEL_MISSING = warning "label_missing"
        "a Ready manager lacks the label by which the admission Service selects (from 1.7 on)"
        fix "See whether a share manager of this node fails over: fast failover takes the label away and brings it back when the node proves \
             alive. If the label stays away, delete the pod: the next manager puts it on." [
            read "kubectl -n <namespace> logs <object> -c longhorn-manager --tail=100",
            read "kubectl -n <namespace> get pods -l app=longhorn-manager --show-labels",
            change "kubectl -n <namespace> delete pod <object>",
        ];
    LOCK_STUCK = warning "lock_stuck"
        "a node has held the webhook start Lease for longer than a start takes (250 s; 490 s in 1.9.2 and 1.9.3), renews it, and has no manager pod that could"
        fix "Look for a manager process that outlived its pod on this node, and for a second installation: something renews the Lease. Once \
             nothing does, others take it after 20 s." [
            read "kubectl -n <namespace> get lease <object> -o yaml",
            read "kubectl -n <namespace> get pods -l app=longhorn-manager -o wide",
            read "ssh <node> 'ps aux | grep [l]onghorn-manager'",
        ];
    CONFIGURATION_MISSING = critical "configuration_missing"
        "a webhook configuration of Longhorn does not exist or lists no webhook";
    CONFIGURATION_FOREIGN = critical "configuration_foreign"
        "a webhook configuration of Longhorn sends the API server to a Service in another namespace";
    ROLL_OUT = info "roll_out"
        "no ready endpoint, or no configuration, for less than three minutes: expected in a rollout";
}
