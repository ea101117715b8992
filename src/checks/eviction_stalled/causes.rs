//! Why an eviction or a drain does not advance.

use crate::check::causes;

const NODES: &str = "kubectl -n <namespace> get nodes.longhorn.io";
const ON_NODE: &str = "kubectl -n <namespace> get replicas.longhorn.io -l longhornnode=<node> -o wide";

causes! {
    NO_PROGRESS = warning "no_progress"
        "what remains on an evicted disk has not decreased for half an hour, and nothing is being rebuilt"
        fix "See why nothing moves: volumes that are not attached or not healthy, a limit of 0 in the evidence (its default is 5), and the \
             longhorn-manager of node <node>. Withdraw the eviction if it was not meant." [
            read "kubectl -n <namespace> get replicas.longhorn.io -l longhorndiskuuid=<value> -o wide",
            read "kubectl -n <namespace> get volumes.longhorn.io",
            read "kubectl -n <namespace> get backingimages.longhorn.io -o yaml",
            read "kubectl -n <namespace> get events --sort-by=.lastTimestamp | grep -E 'Evict|Rebuild|Schedul|FailedDeleting'",
        ];
    PDB_BLOCKS = warning "pdb_blocks"
        "the PodDisruptionBudget of an instance manager holds up the drain of a cordoned node" but "info while nothing but the cordon asks for it, for the first quarter of an hour, or while replicas leave"
        fix "Let the volumes and replicas that the evidence names leave node <node>: Longhorn removes the budget then. Do not delete it, and do not \
             force the drain: it protects the last copy of data." [
            read "kubectl get pods -A -o wide --field-selector spec.nodeName=<node>",
            read ON_NODE,
            change "kubectl -n <namespace> patch settings.longhorn.io <setting> --type merge -p '{\"value\":\"<value>\"}'",
        ] proven "the budget names another node than that of its instance manager, so it protects nothing there; every other one is \
             to be left"
        way OF_ANOTHER_NODE "it is that of another node"
            fix "Delete the budget: Longhorn makes it again, with the right node from 1.3.3 and 1.4.2 on." [
                read "kubectl -n <namespace> get poddisruptionbudgets -o yaml",
                change "kubectl -n <namespace> delete poddisruptionbudget <object>",
            ]
        way ATTACHED "volumes are still attached on the node"
            fix "Let the workloads that use these volumes leave the node; the drain does that unless their own budget or a missing controller keeps them."
        way REPLICAS_LEAVE "replicas have to leave first"
            fix "Wait for the eviction, and see the findings on it if it does not advance."
        way ON_UNKNOWN_NODE "a copy of a detached volume is on a node that Kubernetes does not have"
            fix "Attach these volumes once, by starting what uses them: Longhorn then gives up the copy on the missing node and rebuilds it."
        way UNPROTECTED "replicas there have no healthy, protected one elsewhere"
            fix "Give these volumes another healthy replica: by a rebuild, by eviction of this node, or by a node-drain-policy that evicts."
        way NOTHING_LEFT "nothing that Longhorn waits for is left"
            fix "See why the longhorn-manager of the node does not remove it."
            [read "kubectl -n <namespace> get pods -l app=longhorn-manager -o wide"];
    NO_SCHEDULABLE_DISK = warning "no_schedulable_disk"
        "volumes on an evicted disk need a replica elsewhere, but no disk can take it"
        fix "Make room for the replicas: enable scheduling on another node or disk, add a disk, free space, or fix the tags and anti-affinity of the \
             volumes; the evidence has the reason of each disk. Longhorn then continues." [
            read NODES,
            read "kubectl -n <namespace> describe volumes.longhorn.io <volume>",
            read "kubectl -n <namespace> get nodes.longhorn.io -o yaml | grep -B3 -A3 'type: Schedulable'",
        ];
}
