//! Why an engine image cannot be used.

use crate::check::causes;

causes! {
    DEPLOYED_NOWHERE = critical "deployed_nowhere"
        "the image is on none of the nodes that are Ready, so nothing that needs it can be attached";
    MISSING_ON_NODE = warning "missing_on_node"
        "the image is missing on a node that is Ready" but "info where no volume needs it there";
    IMAGE_UNKNOWN = warning "image_unknown" "volumes name an image of which there is no EngineImage";
    INCOMPATIBLE = warning "incompatible"
        "the image is too old or too new for the managers, and volumes use it";
    UPGRADE_STUCK = warning "upgrade_stuck"
        "the live upgrade of a volume's engine has not ended for half an hour";
}
