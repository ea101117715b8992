//! Why an engine image cannot be used.

use crate::check::Cause;

pub const DEPLOYED_NOWHERE: Cause = Cause::critical(
    "deployed_nowhere",
    "the image is on none of the nodes that are Ready, so nothing that needs it can be attached",
);
pub const MISSING_ON_NODE: Cause = Cause::warning(
    "missing_on_node",
    "the image is missing on a node that is Ready; info where no volume needs it there",
);
pub const IMAGE_UNKNOWN: Cause =
    Cause::warning("image_unknown", "volumes name an image of which there is no EngineImage");
pub const INCOMPATIBLE: Cause =
    Cause::warning("incompatible", "the image is too old or too new for the managers, and volumes use it");

pub const ALL: &[&Cause] = &[&DEPLOYED_NOWHERE, &MISSING_ON_NODE, &IMAGE_UNKNOWN, &INCOMPATIBLE];
