//! Alerts and panels.

use super::PLUGINS;
use super::causes::*;
use crate::check::*;

pub(super) const ALERTS: &[Alert] = &[
    Alert {
        name: "LonghornDeleted",
        when: When::Found(&[&DELETED_IN_USE]),
        summary: "Longhorn was deleted while volumes are in use.",
        description: "Longhorn was deleted without its uninstaller while volumes are in use, and their engines end. A \
                      longhorn-manager that starts now deletes their data. Start none, and copy the directories of the \
                      replicas first.",
        why: "No temporary state looks like this: volumes wait to be deleted, and what would do it is missing. An exporter in Longhorn's namespace \
              is deleted with it.",
        runbook: include_str!("LonghornDeleted.md"),
        ..Alert::DEFAULT
    },
    Alert {
        name: "LonghornManagersDeleted",
        when: When::Found(&[&MANAGERS_DELETED]),
        for_: "2m",
        summary: "Longhorn's managers are deleted while volumes are in use.",
        description: "No longhorn-manager and no DaemonSet of it is left, while volumes are attached: nothing attaches, rebuilds or fails over. Apply the \
                      manifest of the release that ran; delete nothing.",
        why: "The finding waits three minutes, so that a manifest that is applied again is not reported.",
        runbook: include_str!("LonghornManagersDeleted.md"),
        ..Alert::DEFAULT
    },
    Alert {
        name: "LonghornCsiControllerDown",
        when: When::Found(&[&CONTROLLER_DOWN]),
        for_: "2m",
        keep_firing_for: "5m",
        summary: "Longhorn's CSI attacher or provisioner is down.",
        description: "Deployment {{ $labels.object }} has no working pod. Kubernetes cannot attach or create Longhorn \
                      volumes. Find out why its pods fail, then check the CSI plugin.",
        why: "The finding allows five minutes for a rollout; by then pods that move wait for their volumes.",
        runbook: include_str!("LonghornCsiControllerDown.md"),
        ..Alert::DEFAULT
    },
    Alert {
        name: "LonghornCsiSidecarDown",
        when: When::Found(&[&SIDECAR_DOWN]),
        for_: "10m",
        summary: "Longhorn's CSI resizer or snapshotter is down.",
        description: "Deployment {{ $labels.object }} has no working pod. Claims are not resized, or VolumeSnapshots not \
                      taken. Find out why its pods fail.",
        why: "Nothing that runs is affected, so ten minutes more let an upgrade end.",
        runbook: include_str!("LonghornCsiSidecarDown.md"),
        ..Alert::DEFAULT
    },
    Alert {
        name: "LonghornCsiPluginDown",
        when: When::Found(OF_NODES),
        only: Some(Severity::Warning),
        without: &["object", "object_kind"],
        for_: "5m",
        keep_firing_for: "5m",
        summary: "Longhorn's CSI plugin is down on a node.",
        description: "The CSI plugin{{ with $labels.node }} of node {{ . }}{{ end }} does not work. Pods with a Longhorn \
                      volume cannot start or end there. Find out why its pod fails, or is missing.",
        why: "The finding allows five minutes for a reboot or a rollout; five more let a slow image arrive.",
        runbook: include_str!("LonghornCsiPluginDown.md"),
        ..Alert::DEFAULT
    },
];

pub(super) const PANELS: &[Panel] = &[
    Panel {
        dashboard: Dashboard::Storage,
        title: "CSI plugins by state",
        description: "Nodes by state of Longhorn's CSI plugin. Not registered: it runs, but the kubelet does not know the driver.",
        width: Width::Third,
        no_data: "the exporter cannot read pods or DaemonSets",
        ..Panel::STAT.of(&PLUGINS)
    },
    Panel {
        dashboard: Dashboard::Storage,
        title: "CSI driver down",
        description: "Nodes whose CSI plugin is down, and CSI controllers without a working pod, with the cause.",
        no_data: "the CSI driver works everywhere, or the exporter does not report",
        ..Panel::TABLE.of_findings("csi_plugin_down")
    },
];
