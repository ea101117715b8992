//! Why an engine image cannot be used.

use crate::check::causes;
use crate::facts::ways::KUBELET_SAYS;

const PODS: &str = "kubectl -n <namespace> get pods -l longhorn.io/engine-image=<object> -o wide";
const DAEMON_SET: &str = "kubectl -n <namespace> describe daemonset engine-image-<object>";
const PLACED: &str = "kubectl -n <namespace> get settings.longhorn.io taint-toleration system-managed-components-node-selector";
const IMAGES: &str = "kubectl -n <namespace> get engineimages.longhorn.io";
const VOLUMES: &str = "kubectl -n <namespace> get volumes.longhorn.io -o custom-columns=NAME:.metadata.name,WANTED:.spec.image,IMAGE:.status.currentImage";

causes! {
    DEPLOYED_NOWHERE = critical "deployed_nowhere"
        "the engine image is missing on all Ready nodes, so no volume that needs it can be attached"
        fix "Read the Events of the engine image's pods, and fix the cause (registry, pull secret, taint, node selector). If the pods exit, read their logs. \
             Longhorn then uses the nodes." [read PODS, read DAEMON_SET, read PLACED]
        ways KUBELET_SAYS;
    MISSING_ON_NODE = warning "missing_on_node"
        "the engine image is missing on a Ready node" but "info if no volume needs it there"
        fix "Read the Events of the engine image's pod on node <node>. Fix the cause, usually a failed image pull, full disk, node selector or taint missing \
             from setting taint-toleration." [read PODS, read DAEMON_SET, read PLACED]
        way TAINTED "setting taint-toleration lacks the node's taint"
            fix "Remove the taint from <node>, or keep pods with Longhorn volumes off <node>. To tolerate the taint, add it to taint-toleration while no \
                 volume is attached. This restarts Longhorn's pods."
            [read "kubectl describe node <node>", read PLACED, read DAEMON_SET]
        way NOT_EXECUTABLE "its engine cannot be executed"
            fix "Check /var/lib/longhorn on <node> for mount option noexec (findmnt). Check the audit log for SELinux, AppArmor or fapolicyd denials. Do \
                 not delete replicas: they start once this is fixed."
            [read "ssh <node> 'findmnt -T /var/lib/longhorn -o TARGET,OPTIONS'", read PODS]
        ways KUBELET_SAYS;
    IMAGE_UNKNOWN = warning "image_unknown" "volumes use an engine image that has no EngineImage object"
        fix "Add engine image <image> again, in Longhorn's UI or as an EngineImage. Once it is deployed, upgrade the engines of these volumes to the default \
             image." [read IMAGES, read VOLUMES];
    INCOMPATIBLE = warning "incompatible"
        "the engine image is too old or too new for the managers, but volumes use it"
        fix "Upgrade all engines on this engine image before you upgrade Longhorn further. If you skipped minor releases and managers cannot start, return to \
             the last release that supports both images." [read IMAGES, read VOLUMES];
    UPGRADE_STUCK = warning "upgrade_stuck"
        "a volume's engine upgrade has been running for half an hour"
        but "info while it waits for a detach"
        fix "Check new replicas that are down (instance manager, cordon, failed start). If all are running, read the owning manager's log. Or detach and \
             reattach the volume, which interrupts its workload." [
            read "kubectl -n <namespace> get replicas.longhorn.io -l longhornvolume=<object> -o wide",
            read IMAGES,
            change "kubectl -n <namespace> patch volumes.longhorn.io <object> --type merge -p '{\"spec\":{\"numberOfReplicas\":<value>}}'",
        ]
        way SURPLUS "more replicas are running than numberOfReplicas allows"
            fix "Raise the volume's numberOfReplicas to the number of running replicas, and lower it again after the engine upgrade. This release \
                 waits until both numbers are equal."
        way SAME_COMMIT "both images were built from the same commit"
            fix "Detach and attach the volume when its workload can pause: that switches its engine image. Waiting is safe, because both images hold the same \
                 engine." [
                read "kubectl -n <namespace> get engineimages.longhorn.io -o custom-columns='IMAGE:.spec.image,COMMIT:.status.gitCommit'",
                read VOLUMES,
            ];
}
