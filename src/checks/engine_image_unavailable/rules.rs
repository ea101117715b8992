//! Alerts and panels.

use super::IMAGES;
use super::causes::*;
use crate::check::*;

pub(super) const ALERTS: &[Alert] = &[
    alert! { "LonghornEngineImageNowhere",
        when: When::Found(&[&DEPLOYED_NOWHERE]),
        for_: "2m",
        summary: "A Longhorn engine image is missing on all nodes.",
        description: "Engine image {{ $labels.object }} is missing on all Ready nodes. Volumes that need this image cannot attach. Find out why the image's \
                      pods are failing.",
        why: "The check allows 10 min for pulling the image. The alert waits only 2 min more, because every pod that needs a volume is waiting.",
    },
    alert! { "LonghornEngineImageUnavailable",
        when: When::Found(&[&MISSING_ON_NODE, &IMAGE_UNKNOWN, &INCOMPATIBLE]),
        only: Some(Severity::Warning),
        for_: "5m",
        keep_firing_for: "5m",
        summary: "A Longhorn engine image is missing where volumes need it.",
        description: "Engine image {{ $labels.object }}{{ with $labels.node }} on node {{ . }}{{ end }} is missing, unknown or incompatible. Volumes that need \
                      this image cannot attach{{ with $labels.node }} there{{ end }}. Find out why the image's pod is failing.",
        why: "The check allows 10 min for pulling the image. The alert waits 5 min more for a rollout over many nodes to finish.",
    },
    alert! { "LonghornEngineUpgradeStuck",
        when: When::Found(&[&UPGRADE_STUCK]),
        for_: "15m",
        summary: "The live upgrade of a Longhorn engine is stuck.",
        description: "The engine upgrade of volume {{ $labels.object }} has been running for more than 30 min. The volume still serves I/O but \
                      cannot be migrated. Check that its new replicas are running.",
        why: "One upgrade takes a minute or two, but the check allows 30 min because many can run at once. The alert waits 15 min more for the last one.",
    },
];

pub(super) const PANELS: &[Panel] = &[
    Panel {
        dashboard: Dashboard::Storage,
        title: "Engine images by state",
        description: "Engine images by reported state: deployed on every Ready node, still deploying, or incompatible with the managers.",
        width: Width::Third,
        no_data: "there is no engine image, or the exporter cannot read engineimages.longhorn.io",
        ..Panel::STAT.of(&IMAGES)
    },
    Panel {
        dashboard: Dashboard::Storage,
        title: "Engine images unavailable",
        description: "Engine images that are missing on a node or everywhere, unknown or incompatible, with the cause.",
        columns: &["severity", "cause", "object", "node"],
        no_data: "every image is on every node that needs it, or the exporter is not reporting",
        ..Panel::TABLE.of_findings("engine_image_unavailable")
    },
];
