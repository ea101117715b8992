//! Why an eviction or a drain does not advance.

use crate::check::{BY_CORDON, causes};

const NODES: &str = "kubectl -n <namespace> get nodes.longhorn.io";
const ON_NODE: &str = "kubectl -n <namespace> get replicas.longhorn.io -l longhornnode=<node> -o wide";

causes! {
    NO_PROGRESS = warning "no_progress"
        "an evicted disk's replicas and copies have not decreased for half an hour, and none is being rebuilt"
        fix "Check for detached or unhealthy volumes, a failing longhorn-manager on <node>, and setting \
             concurrent-replica-rebuild-per-node-limit (0 stops rebuilds). If the eviction was not intended, cancel it." [
            read "kubectl -n <namespace> get replicas.longhorn.io -l longhorndiskuuid=<value> -o wide",
            read "kubectl -n <namespace> get volumes.longhorn.io",
            read "kubectl -n <namespace> get backingimages.longhorn.io -o yaml",
            read "kubectl -n <namespace> get events --sort-by=.lastTimestamp | grep -E 'Evict|Rebuild|Schedul|FailedDeleting'",
        ];
    DRAIN_BLOCKED = warning "drain_blocked"
        "an instance manager's PodDisruptionBudget blocks the drain of a cordoned node"
            but "info in the first 15 min, while replicas are moving off the node, or if the node is only cordoned", changed_by: BY_CORDON
        fix "Move the volumes and replicas that the evidence lists off <node>: Longhorn then removes the PodDisruptionBudget. Do not force \
             the drain or delete the budget: it protects the last copy." [
            read "kubectl get pods -A -o wide --field-selector spec.nodeName=<node>",
            read ON_NODE,
            change "kubectl -n <namespace> patch settings.longhorn.io <setting> --type merge -p '{\"value\":\"<value>\"}'",
        ] proven "the budget names a different node from its instance manager's, so it protects nothing there; every other budget stays"
        way OF_ANOTHER_NODE "the PodDisruptionBudget belongs to another node"
            fix "Delete the PodDisruptionBudget: Longhorn recreates it. In 1.3.3, 1.4.2 and later, the new budget selects the right node." [
                read "kubectl -n <namespace> get poddisruptionbudgets -o yaml",
                change "kubectl -n <namespace> delete poddisruptionbudget <object>",
            ]
        way ATTACHED "volumes are still attached"
            fix "Move pods that use these volumes off node <node> if they lack a controller or have their own PodDisruptionBudget. The drain moves all other \
                 pods itself."
        way BY_HAND "a volume is attached manually"
            fix "Detach <claim> from node <node> in Longhorn's UI: it was attached manually. A drain does that only if setting \
                 detach-manually-attached-volumes-when-cordoned is true."
            [read "kubectl -n <namespace> get volumeattachments.longhorn.io <volume> -o yaml"]
        way ENGINE_LEFT_OVER "an engine process is orphaned"
            fix "Delete the leftover process's Orphan object (1.9 or later). On older releases, delete the instance manager's pod while no volume is \
                 attached to the node. Then wait for the rebuilds." [
                read "kubectl -n <namespace> get orphans.longhorn.io",
                read "kubectl -n <namespace> get instancemanagers.longhorn.io <object> -o jsonpath='{.status.instanceEngines}'",
                read "kubectl -n <namespace> get engines.longhorn.io -o wide",
            ]
        way ENGINE_STOPPED "Longhorn lists a stopped engine"
            fix "Check that no volume is attached to the node. Then delete pod <object>: it runs nothing, so the drain can continue. Longhorn recreates it \
                 after the uncordon." [
                read "kubectl -n <namespace> get engines.longhorn.io -o wide",
                read "kubectl -n <namespace> get instancemanagers.longhorn.io <object> -o jsonpath='{.status}'",
                change "kubectl -n <namespace> delete pod <object>",
            ] proven "the instance manager lists only engines that are stopped, and no replica; the fix asks for attached volumes first"
        way REPLICAS_LEAVE "replicas must be moved first"
            fix "Wait until the replicas are evicted. If the eviction stalls, a separate finding gives the fix."
        way ON_UNKNOWN_NODE "a replica's node is unknown"
            fix "Start these volumes' workloads so that the volumes attach: Longhorn then rebuilds the missing node's copies elsewhere."
        way UNPROTECTED "no other copy is safe"
            fix "Wait until the rebuild gives these volumes a healthy replica on another node. If you cannot wait, request eviction of node <node>, or set a \
                 node-drain-policy that evicts replicas."
        way ONE_COPY "volumes have only one replica"
            fix "Set numberOfReplicas of volume <volume> to 2 and wait until the volume is healthy, or request eviction of node <node>. Do \
                 not delete the PodDisruptionBudget: it protects the only copy." [
                change "kubectl -n <namespace> patch volumes.longhorn.io <volume> --type merge -p '{\"spec\":{\"numberOfReplicas\":2}}'",
                read ON_NODE,
                read "kubectl get pods -A -o wide --field-selector spec.nodeName=<node>",
            ]
        way ALL_CORDONED "every node is cordoned"
            fix "Uncordon node <value> first (in Harvester, end its maintenance mode): nothing can move while every node is cordoned. Do not \
                 drain or reboot another node before all volumes are healthy." [
                change "kubectl uncordon <value>",
                read "kubectl get nodes",
                read ON_NODE,
            ]
        way NOTHING_LEFT "nothing is left to protect"
            fix "Find out from the longhorn-manager's log on <node> why it has not removed the PodDisruptionBudget. If no engine or replica runs in that \
                 node's instance manager, delete the budget." [
                read "kubectl -n <namespace> logs <manager> -c longhorn-manager --tail=2000 | grep <object>",
                read "kubectl -n <namespace> get instancemanagers.longhorn.io <object> -o yaml",
                change "kubectl -n <namespace> delete poddisruptionbudgets <object>",
            ] proven "the fix asks that nothing runs in the instance manager; Longhorn recreates a budget that it needs";
    NO_SCHEDULABLE_DISK = warning "no_schedulable_disk"
        "volumes on an evicted disk need a replica elsewhere, but no disk can take it"
        fix "Allow scheduling on another node or disk, add a disk, free space, or fix the volumes' tags and anti-affinity. The evidence lists what \
             each disk lacks." [
            read NODES,
            read "kubectl -n <namespace> describe volumes.longhorn.io <volume>",
            read "kubectl -n <namespace> get nodes.longhorn.io -o yaml | grep -B3 -A3 'type: Schedulable'",
        ];
}
