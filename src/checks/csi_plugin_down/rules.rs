//! Alerts and panels.

use super::PLUGINS;
use super::causes::*;
use crate::check::*;

pub(super) const ALERTS: &[Alert] = &[
    alert! { "LonghornDeleted",
        when: When::Found(&[&DELETED_IN_USE]),
        summary: "Longhorn was deleted, but volumes are still in use.",
        description: "Longhorn was deleted without its uninstaller, but volumes are still in use. Any longhorn-manager that starts now deletes \
                      their data. Before you install Longhorn again, copy the replica directories.",
        why: "The alert does not wait: the deletion never finishes by itself, because the managers that delete volumes are missing. An exporter in Longhorn's \
              namespace cannot report the deletion, because it is deleted too.",
    },
    alert! { "LonghornManagersDeleted",
        when: When::Found(&[&MANAGERS_DELETED]),
        for_: "2m",
        summary: "All longhorn-managers were deleted, but volumes are still in use.",
        description: "DaemonSet longhorn-manager and all its pods were deleted. Running I/O continues, but no volume can attach, rebuild or fail over. Apply \
                      the installed release's manifest again, and do not delete anything.",
        why: "The check waits 3 min and the alert 2 min more, so reapplying a manifest does not trigger the alert.",
    },
    alert! { "LonghornUninstallBegun",
        when: When::Found(&[&UNINSTALL_BEGUN]),
        summary: "Someone has started Longhorn's uninstaller.",
        description: "Job longhorn-uninstall, which deletes every volume, was started. If deleting-confirmation-flag is false, the Job fails and deletes \
                      nothing. Delete the Job and bring the Helm release back, unless you are uninstalling Longhorn.",
        why: "The alert does not wait, because the uninstaller deletes volumes within seconds. The check reports an uninstall only if volumes are in use.",
    },
    alert! { "LonghornCsiControllerDown",
        when: When::Found(&[&CONTROLLER_DOWN]),
        for_: "2m",
        keep_firing_for: "5m",
        summary: "Longhorn's CSI attacher or provisioner is down.",
        description: "Deployment {{ $labels.object }} has no working pod. Longhorn volumes cannot be attached (csi-attacher) or created \
                      (csi-provisioner). Find out why its pods fail, then check the CSI plugin.",
        why: "The check allows 5 min for a rollout. The alert waits only 2 min more, because rescheduled pods are waiting for their volumes.",
    },
    alert! { "LonghornCsiSidecarDown",
        when: When::Found(&[&SIDECAR_DOWN]),
        for_: "10m",
        summary: "Longhorn's CSI resizer or snapshotter is down.",
        description: "Deployment {{ $labels.object }} has no working pod. Claims cannot be resized (csi-resizer), or VolumeSnapshots cannot be \
                      taken (csi-snapshotter). Find out why its pods fail.",
        why: "Running pods are not affected, so the alert waits 10 min more for an upgrade to finish.",
    },
    alert! { "LonghornCsiSidecarsRestarting",
        when: When::Found(&[&SIDECARS_RESTARTING]),
        without: &["object", "object_kind"],
        for_: "30m",
        keep_firing_for: "1h",
        summary: "Longhorn's CSI sidecars keep restarting.",
        description: "Several of Longhorn's CSI sidecars keep restarting. Each restart delays attaching and creating volumes. Read the sidecars' previous \
                      logs: if Leases were lost, find out why the API server or etcd is slow.",
        why: "The check needs 4 restarts in a day and 1 in the last 2 h. The alert waits 30 min more, in case someone is working on the API servers.",
    },
    alert! { "LonghornCsiPluginDown",
        when: When::Found(OF_NODES),
        only: Some(Severity::Warning),
        without: &["object", "object_kind"],
        for_: "5m",
        keep_firing_for: "5m",
        summary: "Longhorn's CSI plugin is down on a node.",
        description: "The CSI plugin{{ with $labels.node }} on node {{ . }}{{ end }} is down. Pods with a Longhorn volume cannot start or terminate on the \
                      node. Find out why the plugin's pod is failing or missing.",
        why: "The check allows 5 min for a reboot or a rollout. The alert waits 5 min more, in case the image is being pulled slowly.",
    },
];

pub(super) const PANELS: &[Panel] = &[
    Panel {
        dashboard: Dashboard::Storage,
        title: "CSI plugins by state",
        description: "Nodes by state of Longhorn's CSI plugin. Not registered: the plugin is running, but the kubelet lacks the driver.",
        width: Width::Third,
        no_data: "the exporter cannot read pods or DaemonSets",
        ..Panel::STAT.of(&PLUGINS)
    },
    Panel {
        dashboard: Dashboard::Storage,
        title: "CSI driver down",
        description: "Nodes whose CSI plugin is down, and CSI controllers without a working pod, with the cause.",
        no_data: "the CSI driver is up everywhere, or the exporter is not reporting",
        ..Panel::TABLE.of_findings("csi_plugin_down")
    },
];
