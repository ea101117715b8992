//! Why an eviction or a drain does not advance.

use crate::check::{BY_CORDON, causes};

const NODES: &str = "kubectl -n <namespace> get nodes.longhorn.io";
const ON_NODE: &str = "kubectl -n <namespace> get replicas.longhorn.io -l longhornnode=<node> -o wide";

causes! {
    NO_PROGRESS = warning "no_progress"
        "what remains on an evicted disk has not decreased for half an hour, and nothing is being rebuilt"
        fix "Find out why nothing moves: detached or unhealthy volumes, a limit of 0 (default 5), or the longhorn-manager of node <node>. Cancel the \
             eviction if it was not meant." [
            read "kubectl -n <namespace> get replicas.longhorn.io -l longhorndiskuuid=<value> -o wide",
            read "kubectl -n <namespace> get volumes.longhorn.io",
            read "kubectl -n <namespace> get backingimages.longhorn.io -o yaml",
            read "kubectl -n <namespace> get events --sort-by=.lastTimestamp | grep -E 'Evict|Rebuild|Schedul|FailedDeleting'",
        ];
    PDB_BLOCKS = warning "pdb_blocks"
        "an instance manager's PodDisruptionBudget blocks the drain of a cordoned node" but "info while only the cordon needs it, for the first \
        quarter of an hour, and while replicas leave", changed_by: BY_CORDON
        fix "Move the volumes and replicas in the evidence off node <node>: Longhorn then removes the budget. Do not delete it or force the drain: it \
             protects the last copy." [
            read "kubectl get pods -A -o wide --field-selector spec.nodeName=<node>",
            read ON_NODE,
            change "kubectl -n <namespace> patch settings.longhorn.io <setting> --type merge -p '{\"value\":\"<value>\"}'",
        ] proven "the budget names another node than its instance manager's, so it protects nothing there; every other budget stays"
        way OF_ANOTHER_NODE "it is for another node"
            fix "Delete the budget: Longhorn recreates it, with the right node from 1.3.3 and 1.4.2 on." [
                read "kubectl -n <namespace> get poddisruptionbudgets -o yaml",
                change "kubectl -n <namespace> delete poddisruptionbudget <object>",
            ]
        way ATTACHED "volumes are still attached"
            fix "Move the workloads that use these volumes off the node. The drain does that, unless their own budget or a missing controller keeps \
                 them."
        way BY_HAND "a volume is attached by hand"
            fix "Detach the volumes that were attached by hand to node <node>, in Longhorn's UI: no drain does that, unless setting \
                 detach-manually-attached-volumes-when-cordoned is true. Then move the workloads of the others."
        way ENGINE_LEFT_OVER "an engine process has no Engine"
            fix "Delete its Orphan (v1.9 or later). Before, delete the instance manager pod while no volume is attached on the node, and wait for the \
                 rebuilds." [
                read "kubectl -n <namespace> get orphans.longhorn.io",
                read "kubectl -n <namespace> get instancemanagers.longhorn.io <object> -o jsonpath='{.status.instanceEngines}'",
                read "kubectl -n <namespace> get engines.longhorn.io -o wide",
            ]
        way REPLICAS_LEAVE "replicas must leave first"
            fix "Wait for the eviction. If it does not advance, read its own findings."
        way ON_UNKNOWN_NODE "a copy's node is unknown"
            fix "Attach these volumes once, by starting what uses them: Longhorn then gives up the copy on the missing node and rebuilds it."
        way UNPROTECTED "no protected copy elsewhere"
            fix "Give these volumes another healthy replica: by a rebuild, by evicting this node, or by a node-drain-policy that evicts."
        way NOTHING_LEFT "nothing is left to wait for"
            fix "Find out why the longhorn-manager of the node does not remove the budget: read its log."
            [read "kubectl -n <namespace> get pods -l app=longhorn-manager -o wide"];
    NO_SCHEDULABLE_DISK = warning "no_schedulable_disk"
        "volumes on an evicted disk need a replica elsewhere, but no disk can take it"
        fix "Make room for the replicas: enable scheduling on another node or disk, add a disk, free space, or fix the volumes' tags and \
             anti-affinity. The evidence gives each disk's reason." [
            read NODES,
            read "kubectl -n <namespace> describe volumes.longhorn.io <volume>",
            read "kubectl -n <namespace> get nodes.longhorn.io -o yaml | grep -B3 -A3 'type: Schedulable'",
        ];
}
