//! What keeps a manager from finishing its start, whether it hangs in it (`manager_start_stuck`) or ends in it and tries again
//! (`manager_crash_loop`): one fault has one id, one meaning and one fix. Each of the two checks lists those that it finds.

use super::ways::{CUT, UNREACHED};
use super::{installation, probes, releases};
use crate::check::{BY_POLICY, BY_ROLLOUT, Cause, Cluster, Name, Remedy, causes, ways};
use crate::longhorn::Pod;

const LAST_LOG: &str = "kubectl -n <namespace> logs <object> -c longhorn-manager --previous --tail=100";
const DESCRIBE: &str = "kubectl -n <namespace> describe pod <object>";
const SETTINGS: &str = "kubectl -n <namespace> get settings.longhorn.io";
const DEFAULTS: &str = "kubectl -n <namespace> get configmap longhorn-default-setting -o yaml";
const ISCSI: &str = "ssh <node> 'command -v iscsiadm; systemctl is-active iscsid'";
const INSTALL: &str = "Install open-iscsi (iscsi-initiator-utils on RPM systems) on the node and start iscsid. The manager starts at its next \
                       attempt, within five minutes.";
const INSTALL_AND_RESTART: &str = "Install open-iscsi (iscsi-initiator-utils on RPM systems) on the node and enable iscsid. Then reboot \
                                   the node to activate the package. The manager starts at its next attempt, within five minutes.";
const NODE: &str = "kubectl get node <node> -o wide";
const WHOM: &str = "kubectl get validatingwebhookconfigurations longhorn-webhook-validator -o jsonpath='{.webhooks[*].clientConfig.service}'";
const ASK: &str = "kubectl get --raw /api/v1/namespaces/<namespace>/services/https:longhorn-admission-webhook:9502/proxy/v1/healthz";
const API_SERVER: &str =
    "kubectl -n kube-system get pods -l component=kube-apiserver -o yaml | grep -i -A1 proxy";
const SLICES: &str =
    "kubectl -n <namespace> get endpointslices -l kubernetes.io/service-name=<service> -o yaml";
const MANAGERS: &str = "kubectl -n <namespace> get pods -l app=longhorn-manager -o wide";
const CONFIGURE_AGAIN: &str = "kubectl delete validatingwebhookconfigurations/longhorn-webhook-validator \
                               mutatingwebhookconfigurations/longhorn-webhook-mutator";
const LOG: &str = "kubectl -n <namespace> logs <object> -c longhorn-manager --tail=50";
const INSTALLED: &str = "kubectl -n <namespace> get settings.longhorn.io current-longhorn-version";
const MANIFEST: &str = "kubectl -n <namespace> get daemonset longhorn-manager -o yaml";
const NODE_STATE: &str = "kubectl describe node <node>";
const CRDS: &str = "kubectl get customresourcedefinitions -o name | grep longhorn.io";
const ON_NODE: &str = "kubectl get pods -A -o wide --field-selector spec.nodeName=<node>";
const DNS: &str = "kubectl -n kube-system get pods -l k8s-app=kube-dns -o wide";
const IMAGES: &str = "kubectl -n <namespace> get daemonset longhorn-manager -o jsonpath='{..image}'";

ways! { NEXT_TRY:
    NEXT_START "its next start should succeed"
        fix "Wait for the manager's next start, within five minutes: <value>. If it crashes again, read its new log." [read MANAGERS, read LAST_LOG];
}

causes! {
    API_UNREACHABLE = critical "api_unreachable" "the API server is not answering the manager", changed_by: BY_POLICY
        fix "Restore the connection from pods on <node> to the API server (CNI, kube-proxy, firewall). If every node is affected, check the API \
             server and etcd. Deleting pods does not help." [
            read ON_NODE,
            read "kubectl get endpointslices -n default -l kubernetes.io/service-name=kubernetes -o wide",
            read "kubectl get --raw='/readyz?verbose'",
            read LOG,
        ]
        ways CUT;
    API_CERTIFICATE = critical "api_certificate" "the manager rejects the API server's certificate"
        fix "Compare <node>'s clock with the API server certificate's dates. If the certificate expired, run kubeadm certs renew all and restart the \
             static pods. If its issuer changed, restart the managers." [
            read "ssh <node> 'date -u; echo | openssl s_client -connect <value> 2>/dev/null | openssl x509 -noout -dates -issuer -ext subjectAltName'",
            read "kubectl -n <namespace> get configmap kube-root-ca.crt -o jsonpath='{.data.ca\\.crt}' | openssl x509 -noout -dates -subject",
            read LOG,
        ];
    CRD_MISMATCH = critical "crd_mismatch"
        "custom resource definitions (CRDs) are missing or from another release"
        fix "Apply the CRDs of the image's release. If Longhorn does not support that release change, restore the previous image. If a CRD \
             was deleted, restore its objects from a backup."
            [read CRDS, read INSTALLED, read MANIFEST] proven "a CRD was deleted, and its objects with it; the cluster's backup restores them"
        ways NEXT_TRY;
    MANIFEST_STALE = critical "manifest_stale"
        "the manifest and the image are from different releases", changed_by: BY_ROLLOUT
        fix "Bring the manifest and the image to the same release with the tool that installed Longhorn. If Longhorn does not support \
             going to that release, put the previous image back." [read MANIFEST, read INSTALLED];
    WEBHOOK_SERVICE_UNREACHABLE = critical "webhook_service_unreachable"
        "DNS, a firewall or the pod network prevents the manager from reaching its webhook's Service", changed_by: BY_POLICY
        fix "Fix the network path from <node> to the webhook's Service. The log shows what fails: cluster DNS, a firewall or the pod \
             network. Deleting the manager's pod does not help." [read DNS, read ON_NODE, read LOG]
        way GUARDED "a NetworkPolicy blocks every node"
            fix "Change NetworkPolicy <value> at its source (<reason>) to admit the kubelets' probes and the API server. The managers then start by themselves."
            [read "kubectl -n <namespace> get networkpolicies -o yaml", read MANAGERS, read LOG]
        ways UNREACHED;
    ACCESS_DENIED = critical "access_denied" "the manager lacks a permission that its startup needs"
        fix "Apply ClusterRole longhorn-role and ClusterRoleBinding longhorn-bind again from this release's manifest (ignore errors about \
             other objects). The manager continues within a minute. Find out what changed both (GitOps, cleanup job)." [
            read "kubectl describe clusterrole longhorn-role",
            read "kubectl describe clusterrolebinding longhorn-bind",
            read "kubectl auth can-i <value> --as=system:serviceaccount:<namespace>:longhorn-service-account -n <namespace>",
            read LOG,
            change "kubectl auth reconcile -f https://raw.githubusercontent.com/longhorn/longhorn/<release>/deploy/longhorn.yaml",
        ];
    OPEN_ISCSI_MISSING = critical "open_iscsi_missing" "open-iscsi is missing"
        fix "Install open-iscsi (iscsi-initiator-utils on RPM systems) on <node> and start iscsid. Read-only systems need transactional-update \
             (SUSE Micro), rpm-ostree (CoreOS) or siderolabs/iscsi-tools (Talos). The manager starts within five minutes." [
            read ISCSI,
            change "ssh <node> 'sudo apt-get update && sudo apt-get install -y open-iscsi && sudo systemctl enable --now iscsid'",
            change "ssh <node> 'sudo yum install -y iscsi-initiator-utils && sudo systemctl enable --now iscsid'",
            change "ssh <node> 'sudo zypper install -y open-iscsi && sudo systemctl enable --now iscsid'",
        ]
        way ISCSI_APT "open-iscsi must be installed with apt" fix INSTALL
            [change "ssh <node> 'sudo apt-get update && sudo apt-get install -y open-iscsi && sudo systemctl enable --now iscsid'", read ISCSI]
        way ISCSI_YUM "open-iscsi must be installed with yum" fix INSTALL
            [change "ssh <node> 'sudo yum install -y iscsi-initiator-utils && sudo systemctl enable --now iscsid'", read ISCSI]
        way ISCSI_ZYPPER "open-iscsi must be installed with zypper" fix INSTALL
            [change "ssh <node> 'sudo zypper install -y open-iscsi && sudo systemctl enable --now iscsid'", read ISCSI]
        way ISCSI_PACMAN "open-iscsi must be installed with pacman" fix INSTALL
            [change "ssh <node> 'sudo pacman -S --noconfirm open-iscsi && sudo systemctl enable --now iscsid'", read ISCSI]
        way ISCSI_EMERGE "open-iscsi must be installed with emerge" fix INSTALL
            [change "ssh <node> 'sudo emerge --ask=n sys-block/open-iscsi && sudo systemctl enable --now iscsid'", read ISCSI]
        way ISCSI_RPM_OSTREE "open-iscsi must be installed with rpm-ostree" fix INSTALL_AND_RESTART
            [change "ssh <node> 'sudo rpm-ostree install -y iscsi-initiator-utils && sudo systemctl enable iscsid'", read ISCSI]
        way ISCSI_TRANSACTIONAL "open-iscsi must be installed with transactional-update" fix INSTALL_AND_RESTART
            [change "ssh <node> 'sudo transactional-update --non-interactive pkg install open-iscsi && sudo systemctl enable iscsid'", read ISCSI]
        way ISCSI_INCLUDED "open-iscsi is already installed"
            fix "Start iscsid on the node, which already has open-iscsi. The manager starts at its next attempt, within five minutes."
            [change "ssh <node> 'sudo systemctl enable --now iscsid'", read ISCSI]
        way ISCSI_TALOS "the node runs Talos"
            fix "Add extension siderolabs/iscsi-tools to the Talos node's image and upgrade the node. If the extension is already listed, find \
                 out why service ext-iscsid is down. The manager then starts."
            [read "talosctl -n <node> get extensions", read "talosctl -n <node> service ext-iscsid"]
        way ISCSI_BOTTLEROCKET "the node runs Bottlerocket"
            fix "Run Longhorn on nodes with another operating system: Bottlerocket has no open-iscsi package." [read NODE]
        way ISCSI_NIXOS "the node runs NixOS"
            fix "Set services.openiscsi.enable in the node's NixOS configuration and rebuild it. The manager starts at its next attempt, within five minutes."
            [read NODE]
        way ISCSI_K3D "the node is a k3d container"
            fix "Build a k3s image with open-iscsi, or run Longhorn on real machines: this node is a container (k3d). The manager starts at its \
                 next attempt, within five minutes." [read NODE]
        way ISCSI_ALPINE "the node runs Alpine"
            fix "Run on the node (Alpine): apk add open-iscsi && rc-update add iscsid && rc-service iscsid start && mount --make-rshared /. The manager \
                 starts at its next attempt, within five minutes." [read NODE]
        way ISCSI_K3OS "the node runs k3OS"
            fix "Run Longhorn on nodes with another operating system: k3OS is no longer maintained and cannot install packages." [read NODE];
    CONTAINER_CANNOT_START = critical "container_cannot_start"
        "the manager's container or one of its hooks cannot start"
        fix "Fix what stops the longhorn-manager container on <node>: a mount path, /proc, seccomp, AppArmor or the container runtime. The container's \
             error says which. The kubelet retries automatically." [read DESCRIBE, read NODE_STATE]
        way NOT_SHARED "mount propagation is off"
            fix "Run mount --make-rshared / on <node>, now and at every boot: Longhorn needs bidirectional mount propagation. On k3d, kind and \
                 Docker Desktop, mount the data path with :shared."
            [change "ssh <node> 'sudo mount --make-rshared /'", read "ssh <node> 'findmnt -o TARGET,PROPAGATION / /var/lib/longhorn'", read DESCRIBE]
        way NO_EXEC "the node blocks its binaries"
            fix "Remount the container runtime's file system with exec, and change /etc/fstab to match (hardened systems mount /var with noexec). If SELinux \
                 denies execution instead, allow it in the SELinux policy."
            [read "ssh <node> 'findmnt -O noexec -o TARGET,OPTIONS'", read DESCRIBE, change "ssh <node> 'sudo mount -o remount,exec /var'"]
        way IMAGE_DAMAGED "its image is damaged on the node"
            fix "Remove the damaged longhorn-manager image from <node>'s cache: the kubelet pulls it again. Other nodes run it without \
                 errors. After a power loss, check the node's disk and other images."
            [change "ssh <node> 'sudo crictl rmi <value>'", read "ssh <node> 'sudo dmesg -T | grep -iE \"ext4|xfs|i/o error\" | tail'", read DESCRIBE]
            proven "an image in a node's cache holds no data and is pulled again"
        way OTHER_PROCESSOR "its image has the wrong architecture"
            fix "Provide an image for <node>'s CPU architecture in the registry (Longhorn's own tags are multi-arch). Check pinned digests and \
                 single-platform mirrors. Then remove the wrong image from the node's cache."
            [read "kubectl get node <node> -o jsonpath='{.status.nodeInfo.architecture}'", read LAST_LOG];
    WEBHOOK_UNSERVED = critical "webhook_unserved" "the manager's webhook Service did not answer in time"
        fix "Read the Unhealthy events of the managers behind Service <service>. If the Service has ready endpoints, check DNS, \
             firewall and hairpin traffic from <node>. A startup probe does not help."
            [read SLICES, read "kubectl -n <namespace> get events --field-selector reason=Unhealthy", read DNS]
        way REFUSED "its webhook refuses connections"
            means "the last attempt was refused: the Service had no ready endpoint, or the port was closed"
        way SERVED "the Ready managers are unreachable"
            fix "Check kube-proxy (or its replacement), firewall and hairpin traffic on <node>. Service <service> has <value>, but this manager \
                 reached none." [read ON_NODE, read SLICES, read DNS]
        ways NEXT_TRY;
    WEBHOOK_NOT_READY = critical "webhook_not_ready" "the manager's own webhook server is too slow"
        fix "Check <node>'s CPU load: the manager's own webhook server is too slow. Then check Secrets longhorn-webhook-ca and longhorn-webhook-tls, \
             the webhook configurations and the manager's permissions." [
            read LAST_LOG,
            read "kubectl -n <namespace> get secrets longhorn-webhook-ca longhorn-webhook-tls",
            read "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations | grep longhorn",
            read NODE_STATE,
        ];
    WEBHOOK_CALL_FAILED = critical "webhook_call_failed"
        "the API server cannot call Longhorn's admission webhook"
        but "info in the pod's first 2 min, while other managers start too"
        fix "Check the API server's NO_PROXY (it must contain .svc) and TCP port 9502 to the manager pods (CNI). Then check the \
             Service and CA that the webhook configurations name." [
            read ASK,
            read "kubectl -n <namespace> get endpointslices -l kubernetes.io/service-name=longhorn-admission-webhook -o wide",
            read WHOM,
            read LAST_LOG,
        ]
        way PROXY "a proxy intercepts webhook calls"
            means "the API server's HTTP proxy answered instead of the webhook (NO_PROXY lacks .svc and the service network)"
            fix "Add .svc, .cluster.local, the service network and the pod network to the API server's NO_PROXY. On k3s and RKE2, edit the \
                 service's environment file. Then restart the API server." [read API_SERVER, read SLICES, read LAST_LOG]
        way OUTSIDE_OF_POD_NETWORK "the API server cannot reach pods"
            means "the API server rejects pod addresses: the control plane is outside the pod network (such as on EKS without the AWS CNI)"
            fix "Set hostNetwork to true and dnsPolicy to ClusterFirstWithHostNet in DaemonSet longhorn-manager. Or use a CNI whose pods \
                 the control plane can reach." [read ASK, read SLICES, read LAST_LOG]
        way CONTROL_PLANE "calls to the webhook are lost"
            means "packets from the API server to the managers' port 9502 are lost in a firewall, the CNI or the routes to the pods"
            fix "Open TCP port 9502 (and 9501 up to 1.9) from the control-plane nodes to the pod network. Then curl a pod from there to check the CNI's \
                 routes and interface." [read ASK, read SLICES, read LAST_LOG]
        way NO_LISTENER "nothing listens on port 9502"
            means "the API server reaches an address where nothing listens on port 9502"
            fix "Find the manager whose address refuses connections: it is listed as an endpoint but is not serving. Then read that manager's \
                 log: its end shows what it is waiting for." [read MANAGERS, read SLICES, read LAST_LOG]
        way NONE_READY "the webhook has no Ready manager"
            means "the webhook's Service has no Ready manager"
            fix "Check that DaemonSet longhorn-manager, its pods' labels and the webhook Service's selector belong to one release. Then read the managers' \
                 logs: none is Ready."
                [read MANAGERS, read SLICES, read LAST_LOG]
        way NO_SERVICE "the webhook's Service is missing"
            means "the webhook configuration names a missing Service, so it belongs to another installation or namespace"
            fix "Check that the webhook configurations do not belong to a Longhorn in another namespace. Then delete them: managers recreate \
                 them during startup, with their own namespace and certificate." [read WHOM, read SLICES, change CONFIGURE_AGAIN, read LAST_LOG]
            proven "the API server finds no such Service, so the configurations are wrong; a starting manager writes them again"
        way CERTIFICATE "the webhook certificate is rejected"
            means "the API server rejects the webhook's certificate"
            fix "Delete webhook configurations longhorn-webhook-validator and -mutator: starting managers recreate them with the current certificate. If the \
                 error persists, also delete Secrets longhorn-webhook-ca and longhorn-webhook-tls." [read WHOM, read SLICES, change CONFIGURE_AGAIN, read LAST_LOG]
            proven "the API server names a certificate that does not fit, so the configurations are wrong; a starting manager writes them again";
    WEBHOOK_DENIED = critical "webhook_denied"
        "Longhorn's admission webhook rejects a change that the manager makes during startup"
            but "less severe below 5 restarts"
        fix "Wait if a rollout is running: managers retry. Otherwise correct the object that the webhook rejects, or delete it if \
             unused. If that fails, repeat it on the previous release."
            [read LAST_LOG, read "kubectl -n <namespace> get nodes.longhorn.io -o yaml"] proven "the fix asks for a leftover"
        way SETTING_REFUSED "a setting's value is rejected"
            fix "Set the rejected setting to Longhorn's current value in ConfigMap longhorn-default-setting (the chart's defaultSettings), or \
                 remove it there. Danger-zone settings are rejected while volumes are attached."
            [read DEFAULTS, read SETTINGS, read LAST_LOG]
        way SETTING_ENDS_START "a bad setting (fatal before 1.3.1)"
            fix "Set the rejected setting to Longhorn's current value in ConfigMap longhorn-default-setting (the chart's defaultSettings), \
                 or remove it there. Danger-zone settings are rejected while volumes are attached."
            [read DEFAULTS, read SETTINGS, read LAST_LOG]
        way OTHER_RELEASE_ANSWERED "another release's webhook answered"
            fix "Wait until all managers run the same release: another release's webhook rejected the request. If the rollout stalls, find the \
                 other release's manager. Do not change the rejected object."
            [read "kubectl -n <namespace> get pods -l app=longhorn-manager -o \
                'custom-columns=NODE:.spec.nodeName,POD:.metadata.name,IMAGE:.spec.containers[*].image'",
             read LAST_LOG];
    WRITE_CONFLICT = critical "write_conflict"
        "managers conflict with each other during startup" but "less severe below 5 restarts"
        fix "Wait: the next attempt usually succeeds. If the conflict lasts for minutes, delete the manager pods one at a time. Wait until each \
             new pod is Ready before the next."
            [read MANAGERS, read DEFAULTS, read LAST_LOG]
            proven "a manager's pod holds no data, a DaemonSet recreates it, and pods are deleted one at a time";
    BACKING_IMAGE_EVICTION_PANIC = critical "backing_image_eviction_panic"
        "the manager panics because a stale backing image copy is being evicted"
        fix "Cancel every eviction of nodes and disks (repeat rejected patches). Request evictions again only once the command below lists no stale \
             copy (Longhorn bug, fixed in 1.7.4, 1.8.2 and 1.9.1)." [
            read "kubectl -n <namespace> get backingimages.longhorn.io -o json | jq -r '.items[] | .metadata.name as $n | \
                ((.status.diskFileStatusMap // {} | keys) - (.spec.diskFileSpecMap // {} | keys))[] | \"\\($n) \\(.)\"'",
            change "kubectl -n <namespace> patch nodes.longhorn.io <node> --type merge -p '{\"spec\":{\"evictionRequested\":false}}'",
            change "kubectl -n <namespace> patch nodes.longhorn.io <node> --type json -p \
                '[{\"op\":\"replace\",\"path\":\"/spec/disks/<disk>/evictionRequested\",\"value\":false}]'",
        ];
    UPGRADE_PATH = critical "upgrade_path"
        "Longhorn does not support going from the installed release to this one", changed_by: BY_ROLLOUT
        fix "Restore the release that setting current-longhorn-version names: Longhorn upgrades one minor release at a time and never downgrades. \
             Going back is safe until a new manager is Ready." [read INSTALLED, read IMAGES];
    ENGINE_INCOMPATIBLE = critical "engine_incompatible" "an engine image in use is too old"
        fix "Go back to the release in setting current-longhorn-version. Upgrade all volumes' engines on that release. Then upgrade \
             Longhorn again." [
            read "kubectl -n <namespace> get volumes.longhorn.io -o custom-columns=NAME:.metadata.name,IMAGE:.status.currentImage",
            read "kubectl -n <namespace> get engineimages.longhorn.io",
            read INSTALLED,
        ];
    UPGRADE_OBJECT = critical "upgrade_object" "the manager cannot upgrade one of Longhorn's objects"
        fix "Correct the <value> object that the log's last line names: Longhorn cannot upgrade it. Going back to the previous release is safe \
             until one manager is Ready."
            [read "kubectl -n <namespace> get <value>", read "kubectl -n <namespace> logs <object> -c longhorn-manager --previous --tail=20"]
        way BACKUP_WITHOUT_VOLUME "a failed Backup names no volume"
            fix "Delete Backup <backup>: it is in state Error, names no volume and so holds no data. The manager starts at its next attempt, \
                 within five minutes." [
                read "kubectl -n <namespace> get backups.longhorn.io <backup> -o yaml",
                change "kubectl -n <namespace> delete backups.longhorn.io <backup>",
            ] proven "the backup is in Error and names no volume, so it holds no data";
    OLD_MANAGERS_LINGERING = critical "old_managers_lingering" "pods of the old release still exist"
        fix "Bring back the node that still has a manager pod of the old release. Force-delete that pod only if the node is lost." [
            read MANAGERS,
            change "kubectl -n <namespace> delete pod <manager>",
            change "kubectl -n <namespace> delete pod <pod> --force --grace-period=0",
        ] proven "the node of the pod is lost; a manager's pod holds no data";
    CACHE_SYNC_FAILED = critical "cache_sync_failed"
        "the manager was stopped while it was hanging during startup"
        fix "Find out from the current run's log what the manager is waiting for. A missing permission or CRD keeps it waiting until a probe, \
             drain or person stops it." [
            read LOG,
            read CRDS,
            read "kubectl auth can-i list volumes.longhorn.io -n <namespace> --as system:serviceaccount:<namespace>:longhorn-service-account",
        ];
    POD_UPDATE_REFUSED = critical "pod_update_refused"
        "another webhook changes the manager's pod, so Kubernetes rejects the manager's own update"
        fix "Exempt namespace <namespace> from the mutating webhook that changes its pods (the log shows the field, such as imagePullSecrets). Until then, \
             delete the crashing longhorn-manager pod: its replacement is accepted."
            [read "kubectl get mutatingwebhookconfigurations", read LAST_LOG, change "kubectl -n <namespace> delete pod <object>"]
            proven "a manager's pod holds no data, and a DaemonSet recreates it";
    PORT_IN_USE = critical "port_in_use"
        "another process probably uses one of the manager's ports"
        fix "Check what else uses <value>: an added container or, with hostNetwork, a process on <node>. Move it to another port: the manager's \
             ports are fixed." [
            read "kubectl -n <namespace> get pod <object> -o jsonpath='{.spec.hostNetwork}{\"\\n\"}{.spec.containers[*].name}{\"\\n\"}'",
            read "ssh <node> \"sudo ss -lntp 'sport >= :9500 and sport <= :9503'\"",
            read LAST_LOG,
        ];
    KNOWN_PANIC = critical "known_panic" "this release has a known bug that stops managers"
        fix "Upgrade to the release that fixes the bug. Until then, avoid the bug's trigger. The evidence lists \
             the issue, the fixed release and the trigger."
            [read LAST_LOG, read IMAGES];
    OOM_KILLED = critical "oom_killed" "the manager was OOM-killed"
        fix "Find out what is using <node>'s memory (kubectl top pod). Longhorn sets no limit, so the node itself probably ran out. If someone added a memory \
             limit, remove it."
            [read NODE_STATE, read "kubectl top node <node>", read "kubectl top pod -A --sort-by=memory"];
    PROBE_KILLED = critical "probe_killed"
        "a liveness or startup probe kills the manager"
        fix "Remove the liveness or startup probe from container longhorn-manager and from its manifest or chart values. No Longhorn release \
             has one, and a startup can take minutes." [
            read "kubectl -n <namespace> get daemonset longhorn-manager -o yaml | grep -A8 Probe:",
            change "kubectl -n <namespace> patch daemonset longhorn-manager -p \
                '{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"longhorn-manager\",\"livenessProbe\":null,\"startupProbe\":null}]}}}}'",
        ];
    UNKNOWN = critical "unknown" "the manager keeps crashing (cause unknown)"
        fix "Read the crashing manager's previous log: the line with level=fatal or panic names the cause. If no such line exists, \
             report the crash to Longhorn with a support bundle."
            [read LAST_LOG, read DESCRIBE]
        way READING "its log is still being read"
            fix "Check again in 30 s: the manager's log is still being read and probably names the cause." [read DESCRIBE]
        way UNKNOWN_ERROR "its log ends with an unknown error"
            fix "<known_error>Search Longhorn's GitHub issues for the manager's last error. If the error names a setting, object or address, \
                 correct that. Otherwise report it with a support bundle.";
}

/// What a headline has room for of a cause.
pub fn briefly(cause: &'static Cause) -> &'static str {
    match *cause {
        API_UNREACHABLE => "the API server is not answering",
        API_CERTIFICATE => "it rejects the API certificate",
        CRD_MISMATCH => "CRDs do not match its release",
        MANIFEST_STALE => "manifest and image do not match",
        WEBHOOK_SERVICE_UNREACHABLE => "its webhook Service is unreachable",
        ACCESS_DENIED => "it lacks a permission",
        WEBHOOK_UNSERVED => "its webhook Service did not answer",
        WEBHOOK_NOT_READY => "its own webhook server is too slow",
        WEBHOOK_CALL_FAILED => "calls to the webhook fail",
        WEBHOOK_DENIED => "the webhook rejects its update",
        BACKING_IMAGE_EVICTION_PANIC => "panic on a stale backing image copy",
        WRITE_CONFLICT => "managers conflict during startup",
        UPGRADE_PATH => "this upgrade step is not supported",
        CACHE_SYNC_FAILED => "it was stopped while it was hanging",
        POD_UPDATE_REFUSED => "another webhook changes its pod",
        PORT_IN_USE => "one of its ports is probably in use",
        OOM_KILLED => "OOM-killed",
        PROBE_KILLED => "a liveness or startup probe kills it",
        UNKNOWN => "cause unknown",
        _ => cause.meaning,
    }
}

/// Brings image, manifest and definitions to one release; the port by which managers become Ready helps until then.
pub fn to_one_release(cluster: &Cluster, pod: &Pod, definitions: bool, reason: &str) -> Remedy {
    let release = releases::release_of(cluster, pod);
    let mut remedy = installation::to_release(cluster, release, definitions, reason);
    let refused = release.is_some_and(|release| installation::refused_step(cluster, release).is_some());
    if let Some(probe) = probes::foreign(cluster, pod).filter(|_| !refused) {
        remedy.fix.push_str(
            " Until then, correct the readiness probe's port: all managers restart and become Ready.",
        );
        let probe = serde_json::json!({ "readinessProbe": { "httpGet": { "port": probe.own } } });
        remedy = remedy.change(installation::patch_managers(cluster, &probe));
    }
    remedy
}

/// What templates name of the rights that a manager lacks, as `list volumes.longhorn.io`, and the manifest that has them.
pub fn lacking(cluster: &Cluster, pod: &Pod, rights: &[String]) -> Vec<(Name, String)> {
    let rights =
        rights.iter().filter(|right| right.contains(' ') && *right != "authenticate to the API server");
    let release = releases::release_of(cluster, pod)
        .filter(|release| installation::published(cluster, Some(*release)).is_some());
    let release = release.map(|release| (Name::Release, release.to_string()));
    rights.map(|right| (Name::Value, right.clone())).chain(release).collect()
}
