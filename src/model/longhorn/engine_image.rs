//! `engineimages.longhorn.io`.

use super::lenient::{Int, manifests, narrow, open_enum};
use super::map::Map;
use super::shared_text::SharedText;

manifests! {
    EngineImage { spec: EngineImageSpec, status: EngineImageStatus }
}

narrow! {
    pub struct EngineImageSpec {
        pub image: SharedText as name,
    }

    /// How far it is deployed.
    pub struct EngineImageStatus {
        pub state: EngineImageState,
        /// 1.6 and later.
        pub incompatible: bool,
        pub ref_count: Int,
        /// Of what the image was built; missing until it was deployed once.
        pub git_commit: SharedText,
        /// Missing until it was deployed once.
        pub cli_api_version: Option<Int> = "cliAPIVersion",
        pub controller_api_version: Option<Int> = "controllerAPIVersion",
        pub node_deployment_map: Map<bool> as keys,
    }
}

open_enum! {
    /// State of an engine image.
    pub enum EngineImageState {
        Deploying = "deploying",
        Deployed = "deployed",
        Incompatible = "incompatible",
        Error = "error",
    }
}
