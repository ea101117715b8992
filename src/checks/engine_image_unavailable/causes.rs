//! Why an engine image cannot be used.

use crate::check::causes;

const PODS: &str = "kubectl -n <namespace> get pods -l longhorn.io/engine-image=<object> -o wide";
const DAEMON_SET: &str = "kubectl -n <namespace> describe daemonset engine-image-<object>";
const PLACED: &str = "kubectl -n <namespace> get settings.longhorn.io taint-toleration system-managed-components-node-selector";
const IMAGES: &str = "kubectl -n <namespace> get engineimages.longhorn.io";
const VOLUMES: &str = "kubectl -n <namespace> get volumes.longhorn.io -o custom-columns=NAME:.metadata.name,WANTED:.spec.image,IMAGE:.status.currentImage";

causes! {
    DEPLOYED_NOWHERE = critical "deployed_nowhere"
        "the image is on none of the nodes that are Ready, so nothing that needs it can be attached"
        fix "Let the pods of the image start: see in their Events which registry, pull secret, taint or node selector keeps all of them, and in their \
             log why they end. Longhorn uses a node as soon as its pod is Ready." [read PODS, read DAEMON_SET, read PLACED];
    MISSING_ON_NODE = warning "missing_on_node"
        "the image is missing on a node that is Ready" but "info where no volume needs it there"
        fix "Let the pod of the image start on node <node>: the evidence says what keeps it, mostly an image that cannot be pulled, a taint that the \
             setting taint-toleration lacks, a node selector or a full disk. Longhorn uses the node as soon as the pod is Ready." [
            read PODS, read DAEMON_SET, read PLACED,
        ];
    IMAGE_UNKNOWN = warning "image_unknown" "volumes name an image of which there is no EngineImage"
        fix "Add image <image> again, by Longhorn's user interface or as an EngineImage, wait until it is deployed, and upgrade the engines of these \
             volumes to the default image then." [read IMAGES, read VOLUMES];
    INCOMPATIBLE = warning "incompatible"
        "the image is too old or too new for the managers, and volumes use it"
        fix "Upgrade the engines of its volumes before Longhorn itself is upgraded further. Where Longhorn has been upgraded over several minor \
             releases at once, go back to the release that both support." [read IMAGES, read VOLUMES];
    UPGRADE_STUCK = warning "upgrade_stuck"
        "the live upgrade of a volume's engine has not ended for half an hour"
        fix "See why the new replicas do not run: their instance manager on that node, a cordon, a failed start; where all run, the log of the \
             longhorn-manager that owns the volume. A volume that is detached and attached again runs the new image, too." [
            read "kubectl -n <namespace> get replicas.longhorn.io -l longhornvolume=<object> -o wide",
            read IMAGES,
            change "kubectl -n <namespace> patch volumes.longhorn.io <object> --type merge -p '{\"spec\":{\"numberOfReplicas\":<value>}}'",
        ]
        way SURPLUS "more replicas run than the volume wants"
            fix "Raise numberOfReplicas to as many as run until the upgrade has ended: more replicas run than the volume wants, and this release counts for \
                 equality.";
}
