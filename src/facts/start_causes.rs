//! What keeps a manager from finishing its start, whether it hangs in it (`manager_start_stuck`) or ends in it and tries again
//! (`manager_crash_loop`): one fault has one id, one meaning and one fix. Each of the two checks lists those that it finds.

use super::{installation, probes, releases, ways};
use crate::check::{BY_ROLLOUT, Cluster, Name, Remedy, causes};
use crate::longhorn::Pod;

const LAST_LOG: &str = "kubectl -n <namespace> logs <object> -c longhorn-manager --previous --tail=100";
const DESCRIBE: &str = "kubectl -n <namespace> describe pod <object>";
const SETTINGS: &str = "kubectl -n <namespace> get settings.longhorn.io";
const DEFAULTS: &str = "kubectl -n <namespace> get configmap longhorn-default-setting -o yaml";
const ISCSI: &str = "ssh <node> 'command -v iscsiadm; systemctl is-active iscsid'";
const INSTALL: &str = "Install open-iscsi (iscsi-initiator-utils on RPM systems) on the node and start iscsid. The manager starts at its next \
                       attempt, within five minutes.";
const INSTALL_AND_RESTART: &str = "Install open-iscsi (iscsi-initiator-utils on RPM systems) on the node, start iscsid, and reboot the node: the \
                                   install needs it. The manager starts at its next attempt, within five minutes.";
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

causes! {
    API_UNREACHABLE = critical "api_unreachable" "the API server does not answer the manager"
        fix "Restore the connection of pods on node <node> to the API server: CNI, kube-proxy, firewall. If every node is affected, check API server \
             and etcd. Deleting pods does not help." [
            read "kubectl get pods -A -o wide --field-selector spec.nodeName=<node>",
            read "kubectl get endpointslices -n default -l kubernetes.io/service-name=kubernetes -o wide",
            read "kubectl get --raw='/readyz?verbose'",
            read "kubectl -n <namespace> logs <object> -c longhorn-manager --tail=50",
        ];
    API_CERTIFICATE = critical "api_certificate" "the API server's certificate is rejected"
        fix "Check the clock of node <node> and the API server's certificate. Renew an expired one: run kubeadm certs renew all and restart its static \
             pods, or restart k3s or RKE2. If the issuer changed, restart the managers once ConfigMap kube-root-ca.crt has it." [
            read "ssh <node> 'date -u; echo | openssl s_client -connect <value> 2>/dev/null | openssl x509 -noout -dates -issuer -ext subjectAltName'",
            read "kubectl -n <namespace> get configmap kube-root-ca.crt -o jsonpath='{.data.ca\\.crt}' | openssl x509 -noout -dates -subject",
            read "kubectl -n <namespace> logs <object> -c longhorn-manager --tail=50",
        ];
    CRD_MISMATCH = critical "crd_mismatch"
        "CRDs are missing or of another release"
        fix "Apply the definitions of the image's release, or put the image back if Longhorn does not support that step. If a definition was deleted, \
             restore its objects from a backup." [
            read "kubectl get customresourcedefinitions -o name | grep longhorn.io",
            read "kubectl -n <namespace> get settings.longhorn.io current-longhorn-version",
            read "kubectl -n <namespace> get daemonset longhorn-manager -o yaml",
        ] proven "a definition was deleted, and its objects with it; the backup of the cluster restores them";
    MANIFEST_STALE = critical "manifest_stale"
        "manifest and image are of different releases", changed_by: BY_ROLLOUT
        fix "Set manifest and image to one release with the tool that installed Longhorn. If Longhorn does not support the step to that release, \
             put the image back instead." [
            read "kubectl -n <namespace> get daemonset longhorn-manager -o yaml",
            read "kubectl -n <namespace> get settings.longhorn.io current-longhorn-version",
        ];
    WEBHOOK_SERVICE_UNREACHABLE = critical "webhook_service_unreachable"
        "DNS, firewall or pod network keep the manager from its webhook's Service"
        fix "Fix what the log names between node <node> and the Service: cluster DNS, the nodes' firewall, or the pod network (CNI, kube-proxy). \
             Deleting the manager's pod does not help." [
            read "kubectl -n kube-system get pods -l k8s-app=kube-dns -o wide",
            read "kubectl get pods -A -o wide --field-selector spec.nodeName=<node>",
            read "kubectl -n <namespace> logs <object> -c longhorn-manager --tail=50",
        ] ways ways::UNREACHED;
    ACCESS_DENIED = critical "access_denied" "the manager lacks a permission for its start"
        fix "Restore ClusterRole longhorn-role and ClusterRoleBinding longhorn-bind of this release (ignore errors about other objects). The manager \
             then continues within a minute. Find out who changed them: GitOps, policy engine, cleanup." [
            read "kubectl describe clusterrole longhorn-role",
            read "kubectl describe clusterrolebinding longhorn-bind",
            read "kubectl auth can-i <value> --as=system:serviceaccount:<namespace>:longhorn-service-account -n <namespace>",
            read "kubectl -n <namespace> logs <object> -c longhorn-manager --tail=50",
            change "kubectl auth reconcile -f https://raw.githubusercontent.com/longhorn/longhorn/<release>/deploy/longhorn.yaml",
        ];
    OPEN_ISCSI_MISSING = critical "open_iscsi_missing" "open-iscsi is missing"
        fix "Install open-iscsi (iscsi-initiator-utils on RPM systems) on node <node> and start iscsid. Read-only systems need transactional-update \
             (SUSE Micro), rpm-ostree (CoreOS) or siderolabs/iscsi-tools (Talos). The manager starts within five minutes." [
            read "ssh <node> 'command -v iscsiadm; systemctl is-active iscsid'",
            change "ssh <node> 'sudo apt-get update && sudo apt-get install -y open-iscsi && sudo systemctl enable --now iscsid'",
            change "ssh <node> 'sudo yum install -y iscsi-initiator-utils && sudo systemctl enable --now iscsid'",
            change "ssh <node> 'sudo zypper install -y open-iscsi && sudo systemctl enable --now iscsid'",
        ]
        way ISCSI_APT "with apt" fix INSTALL
            [change "ssh <node> 'sudo apt-get update && sudo apt-get install -y open-iscsi && sudo systemctl enable --now iscsid'", read ISCSI]
        way ISCSI_YUM "with yum" fix INSTALL
            [change "ssh <node> 'sudo yum install -y iscsi-initiator-utils && sudo systemctl enable --now iscsid'", read ISCSI]
        way ISCSI_ZYPPER "with zypper" fix INSTALL
            [change "ssh <node> 'sudo zypper install -y open-iscsi && sudo systemctl enable --now iscsid'", read ISCSI]
        way ISCSI_PACMAN "with pacman" fix INSTALL
            [change "ssh <node> 'sudo pacman -S --noconfirm open-iscsi && sudo systemctl enable --now iscsid'", read ISCSI]
        way ISCSI_EMERGE "with emerge" fix INSTALL
            [change "ssh <node> 'sudo emerge --ask=n sys-block/open-iscsi && sudo systemctl enable --now iscsid'", read ISCSI]
        way ISCSI_RPM_OSTREE "with rpm-ostree" fix INSTALL_AND_RESTART
            [change "ssh <node> 'sudo rpm-ostree install -y iscsi-initiator-utils && sudo systemctl enable iscsid'", read ISCSI]
        way ISCSI_TRANSACTIONAL "with transactional-update" fix INSTALL_AND_RESTART
            [change "ssh <node> 'sudo transactional-update --non-interactive pkg install open-iscsi && sudo systemctl enable iscsid'", read ISCSI]
        way ISCSI_INCLUDED "the system has it"
            fix "Start iscsid on the node, which already has open-iscsi. The manager starts at its next attempt, within five minutes."
            [change "ssh <node> 'sudo systemctl enable --now iscsid'", read ISCSI]
        way ISCSI_TALOS "Talos"
            fix "Add extension siderolabs/iscsi-tools to the Talos node's image and upgrade the node. If it is listed already, find out why service \
                 ext-iscsid is down. The manager then starts."
            [read "talosctl -n <node> get extensions", read "talosctl -n <node> service ext-iscsid"]
        way ISCSI_BOTTLEROCKET "Bottlerocket"
            fix "Run Longhorn on nodes of another system: Bottlerocket has no open-iscsi package. The manager starts at its next attempt, within \
                 five minutes." [read NODE]
        way ISCSI_NIXOS "NixOS"
            fix "Set services.openiscsi.enable on NixOS and rebuild the system. The manager starts at its next attempt, within five minutes."
            [read NODE]
        way ISCSI_K3D "k3d"
            fix "Build a k3s image with open-iscsi, or run Longhorn on machines: this node is a container (k3d). The manager starts at its next \
                 attempt, within five minutes." [read NODE]
        way ISCSI_ALPINE "Alpine"
            fix "Run apk add open-iscsi, rc-update add iscsid, rc-service iscsid start and mount --make-rshared / on the node (Alpine). The manager \
                 starts at its next attempt, within five minutes." [read NODE]
        way ISCSI_K3OS "k3OS"
            fix "Use nodes of another system: k3OS is no longer maintained and takes no packages. The manager starts at its next attempt, within \
                 five minutes." [read NODE];
    CONTAINER_CANNOT_START = critical "container_cannot_start"
        "the manager's container or its hook fails"
        fix "Fix what the container runtime's message names on node <node>: a path to mount, /proc, seccomp or AppArmor, or the runtime itself. The \
             kubelet then retries automatically." [read "kubectl -n <namespace> describe pod <object>", read "kubectl describe node <node>"]
        way NOT_SHARED "its node's mounts are not shared"
            fix "Make the node's mounts shared, now and at every boot: Longhorn needs bidirectional mount propagation. On k3d, kind and Docker \
                 Desktop, mount the data path with :shared."
            [change "ssh <node> 'sudo mount --make-rshared /'", read "ssh <node> 'findmnt -o TARGET,PROPAGATION / /var/lib/longhorn'", read DESCRIBE]
        way NO_EXEC "its node forbids executing its files"
            fix "Mount the runtime's file system with exec, also in /etc/fstab (hardened systems mount /var with noexec), or allow it in SELinux: the \
                 node forbids executing the container's files."
            [read "ssh <node> 'findmnt -O noexec -o TARGET,OPTIONS'", read DESCRIBE, change "ssh <node> 'sudo mount -o remount,exec /var'"]
        way OTHER_PROCESSOR "its image is for another processor"
            fix "Provide an image for the processor of node <node> in the registry, as Longhorn's tags do. Check digests and one-platform mirrors, and \
                 remove wrong images from the node's cache."
            [read "kubectl get node <node> -o jsonpath='{.status.nodeInfo.architecture}'", read LAST_LOG];
    WEBHOOK_UNSERVED = critical "webhook_unserved"
        "the webhook's Service did not answer"
        fix "Bring one manager to Ready behind Service <service>. If it has ready endpoints, check DNS, firewall and hairpin traffic from node <node>. \
             A startup probe does not help." [
            read "kubectl -n <namespace> get endpointslices -l kubernetes.io/service-name=<service> -o yaml",
            read "kubectl -n <namespace> get events --field-selector reason=Unhealthy",
            read "kubectl -n kube-system get pods -l k8s-app=kube-dns -o wide",
        ]
        way REFUSED "nothing answers behind the webhook"
            means "its last attempt was refused: the Service has no Ready endpoint, or nothing listens behind it";
    WEBHOOK_NOT_READY = critical "webhook_not_ready" "the manager's own webhook server is too slow"
        fix "Find out why the manager's own webhook server is slow or fails: CPU of node <node>, Secrets longhorn-webhook-ca and longhorn-webhook-tls, \
             a missing webhook configuration or permission." [
            read "kubectl -n <namespace> logs <object> -c longhorn-manager --previous --tail=100",
            read "kubectl -n <namespace> get secrets longhorn-webhook-ca longhorn-webhook-tls",
            read "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations | grep longhorn",
            read "kubectl describe node <node>",
        ];
    WEBHOOK_CALL_FAILED = critical "webhook_call_failed"
        "the API server cannot call the webhook"
        but "info in the first two minutes of a pod, while others start with it"
        fix "Open the connection from the API server to the webhook: .svc in its NO_PROXY, TCP port 9502 to the pods, the CNI, or Service and \
             certificate in the configurations." [
            read ASK,
            read "kubectl -n <namespace> get endpointslices -l kubernetes.io/service-name=longhorn-admission-webhook -o wide",
            read WHOM,
            read "kubectl -n <namespace> logs <object> -c longhorn-manager --previous --tail=100",
        ]
        way PROXY "the API server's proxy takes webhook calls"
            means "the answer did not come from the webhook but from an HTTP proxy of the API server (NO_PROXY lacks .svc and the service network)"
            fix "Add .svc, .cluster.local, the service network and the pod network to the API server's NO_PROXY (on k3s and RKE2 in the service's \
                 environment file), and restart it." [read API_SERVER, read SLICES, read LAST_LOG]
        way OUTSIDE_OF_POD_NETWORK "the control plane is outside the pod network"
            means "the API server rejects pod addresses: the control plane is outside the pod network, such as on EKS with another CNI"
            fix "Let managers use the host network (hostNetwork true, dnsPolicy ClusterFirstWithHostNet in the DaemonSet), or use a CNI whose pods \
                 the control plane can reach." [read ASK, read SLICES, read LAST_LOG]
        way CONTROL_PLANE "webhook calls from the API server are lost"
            means "packets from the API server to port 9502 of the managers are lost: a firewall, the CNI or routes between control plane and pods"
            fix "Open TCP port 9502 (up to 1.9 also 9501) from the control-plane nodes to the pod network. Check the CNI's routes and interface there: \
                 curl the pod address." [read ASK, read SLICES, read LAST_LOG]
        way NO_LISTENER "nothing listens at the webhook's endpoint"
            means "the API server reaches an address where nothing listens on port 9502"
            fix "Find the manager behind the address that refuses: it is listed as an endpoint but does not serve. Its log shows what it waits for." [read MANAGERS, read SLICES, read LAST_LOG]
        way NONE_READY "no manager is Ready behind the webhook"
            means "no manager is Ready behind the Service of the webhook"
            fix "Bring one manager to Ready. Check that the DaemonSet, its pods' labels and the Service's selector belong to \
                 one release." [read MANAGERS, read SLICES, read LAST_LOG]
        way NO_SERVICE "the webhook's Service does not exist"
            means "the webhook configuration names a Service that does not exist: it belongs to another installation or namespace"
            fix "Delete the webhook configurations, unless another Longhorn is in the namespace that they name: starting managers recreate them \
                 with their own namespace and certificate." [read WHOM, read SLICES, change CONFIGURE_AGAIN, read LAST_LOG]
            proven "the API server finds no such Service: the configurations are wrong, and the startup of a manager writes them again"
        way CERTIFICATE "the webhook's certificate is rejected"
            means "the API server rejects the webhook's certificate"
            fix "Delete the webhook configurations: starting managers recreate them with the present certificate. If it does not help, delete the \
                 secrets longhorn-webhook-ca and longhorn-webhook-tls too." [read WHOM, read SLICES, change CONFIGURE_AGAIN, read LAST_LOG]
            proven "the API server names a certificate that does not fit: the configurations are wrong, and the startup of a manager writes them \
                    again";
    WEBHOOK_DENIED = critical "webhook_denied"
        "Longhorn's validator rejects a startup change" but "warning while restarts are few, info in the first two minutes of a pod"
        fix "Wait for the next attempt during a rollout. Otherwise change the object that the rejection names, or delete it if it is a leftover, if \
             necessary with the previous release." [
            read "kubectl -n <namespace> logs <object> -c longhorn-manager --previous --tail=100",
            read "kubectl -n <namespace> get nodes.longhorn.io -o yaml",
        ] proven "the fix asks for a leftover"
        way SETTING_REFUSED "a setting's value is rejected"
            fix "Correct the setting that the line names: use Longhorn's current value in ConfigMap longhorn-default-setting (the chart's \
                 defaultSettings), or none. Danger-zone settings are rejected while volumes are attached."
            [read DEFAULTS, read SETTINGS, read LAST_LOG]
        way SETTING_ENDS_START "a setting's value is rejected (before 1.3.1)"
            fix "Correct the setting that the line names: use Longhorn's current value in ConfigMap longhorn-default-setting (the chart's \
                 defaultSettings), or none. Danger-zone settings need detached volumes. From 1.3.1 on, managers start anyway."
            [read DEFAULTS, read SETTINGS, read LAST_LOG]
        way OTHER_RELEASE_ANSWERED "another release's webhook answered it"
            fix "Wait until all managers run the same release: another release rejected it. If the rollout stalls, find that manager. Do \
                 not change the object that the rejection names."
            [read "kubectl -n <namespace> get pods -l app=longhorn-manager -o 'custom-columns=NODE:.spec.nodeName,POD:.metadata.name,IMAGE:.spec.containers[*].image'",
             read LAST_LOG];
    WRITE_CONFLICT = critical "write_conflict"
        "managers that start together conflict" but "warning while restarts are few, info in the first two minutes of a pod"
        fix "Wait for the next attempt: the later manager then succeeds. If it repeats for minutes, delete one pod, wait until it is Ready, then \
             delete the next." [
            read "kubectl -n <namespace> get pods -l app=longhorn-manager -o wide",
            read "kubectl -n <namespace> get configmap longhorn-default-setting -o yaml",
            read "kubectl -n <namespace> logs <object> -c longhorn-manager --previous --tail=100",
        ] proven "a manager's pod holds no data, a DaemonSet recreates it, and pods are deleted one at a time";
    BACKING_IMAGE_EVICTION_PANIC = critical "backing_image_eviction_panic"
        "a stale backing image copy is being evicted"
        fix "Cancel every eviction of nodes and disks, and repeat patches that are rejected. Request it again only once no copy is in the status alone \
             (fixed in 1.7.4, 1.8.2, 1.9.1)." [
            read "kubectl -n <namespace> get backingimages.longhorn.io -o json | jq -r '.items[] | .metadata.name as $n | ((.status.diskFileStatusMap // {} | keys) - (.spec.diskFileSpecMap // {} | keys))[] | \"\\($n) \\(.)\"'",
            change "kubectl -n <namespace> patch nodes.longhorn.io <node> --type merge -p '{\"spec\":{\"evictionRequested\":false}}'",
            change "kubectl -n <namespace> patch nodes.longhorn.io <node> --type json -p '[{\"op\":\"replace\",\"path\":\"/spec/disks/<disk>/evictionRequested\",\"value\":false}]'",
        ];
    UPGRADE_PATH = critical "upgrade_path"
        "this step between releases is not supported", changed_by: BY_ROLLOUT
        fix "Put back the release in current-longhorn-version: Longhorn upgrades one minor release at a time and never downgrades. Going back is safe \
             until a manager has become Ready." [
            read "kubectl -n <namespace> get settings.longhorn.io current-longhorn-version",
            read "kubectl -n <namespace> get daemonset longhorn-manager -o jsonpath='{..image}'",
        ];
    ENGINE_INCOMPATIBLE = critical "engine_incompatible" "an engine image in use is too old"
        fix "Go back to the release in current-longhorn-version, upgrade the engines of all volumes there, then upgrade Longhorn again." [
            read "kubectl -n <namespace> get volumes.longhorn.io -o custom-columns=NAME:.metadata.name,IMAGE:.status.currentImage",
            read "kubectl -n <namespace> get engineimages.longhorn.io",
            read "kubectl -n <namespace> get settings.longhorn.io current-longhorn-version",
        ];
    UPGRADE_OBJECT = critical "upgrade_object" "an old object stops Longhorn's upgrade"
        fix "Fix the object that the last line names: a <value> that Longhorn cannot upgrade ends the manager. Going back to the previous release is \
             safe until one manager is Ready." [
            read "kubectl -n <namespace> get <value>",
            read "kubectl -n <namespace> logs <object> -c longhorn-manager --previous --tail=20",
        ]
        way BACKUP_WITHOUT_VOLUME "a backup in Error has no volume"
            fix "Delete Backup <backup>, which is in Error and names no volume, so it holds no data. The manager starts at its next attempt, within five minutes." [
                read "kubectl -n <namespace> get backups.longhorn.io <backup> -o yaml",
                change "kubectl -n <namespace> delete backups.longhorn.io <backup>",
            ] proven "the backup is in Error and names no volume, so it holds no data";
    OLD_MANAGERS_LINGERING = critical "old_managers_lingering" "manager pods of the old release remain"
        fix "Bring back the node that still has a manager pod of the old release. Force-delete that pod only if the node is lost." [
            read "kubectl -n <namespace> get pods -l app=longhorn-manager -o wide",
            change "kubectl -n <namespace> delete pod <manager>",
            change "kubectl -n <namespace> delete pod <pod> --force --grace-period=0",
        ] proven "the node of the pod is lost; a manager's pod holds no data";
    CACHE_SYNC_FAILED = critical "cache_sync_failed"
        "the manager was stopped while it hung"
        fix "Find out what the current run waits for: a missing permission or definition keeps a manager waiting forever, and only a probe, a drain \
             or a person ends it." [
            read "kubectl -n <namespace> logs <object> -c longhorn-manager --tail=50",
            read "kubectl get customresourcedefinitions -o name | grep longhorn.io",
            read "kubectl auth can-i list volumes.longhorn.io -n <namespace> --as system:serviceaccount:<namespace>:longhorn-service-account",
        ];
    POD_UPDATE_REFUSED = critical "pod_update_refused"
        "another webhook changes the manager's pod"
        fix "Exempt namespace <namespace> from the mutating webhook that changes pods: the line shows the field, such as imagePullSecrets. Until then, \
             delete the pod: the next one is accepted." [
            read "kubectl get mutatingwebhookconfigurations",
            read "kubectl -n <namespace> logs <object> -c longhorn-manager --previous --tail=100",
            change "kubectl -n <namespace> delete pod <object>",
        ] proven "a manager's pod holds no data, and a DaemonSet recreates it";
    PORT_IN_USE = critical "port_in_use"
        "a port of the manager is probably in use"
        fix "Move what else listens on <value> in the pod (or on node <node> with hostNetwork) to another port, usually an added container: the \
             manager's ports are fixed." [
            read "kubectl -n <namespace> get pod <object> -o jsonpath='{.spec.hostNetwork}{\"\\n\"}{.spec.containers[*].name}{\"\\n\"}'",
            read "ssh <node> \"sudo ss -lntp 'sport >= :9500 and sport <= :9503'\"",
            read "kubectl -n <namespace> logs <object> -c longhorn-manager --previous --tail=100",
        ];
    KNOWN_PANIC = critical "known_panic" "a known bug of this release"
        fix "Upgrade to the release that fixes the bug. Until then, avoid its trigger: the finding names issue, release and trigger." [
            read "kubectl -n <namespace> logs <object> -c longhorn-manager --previous --tail=100",
            read "kubectl -n <namespace> get daemonset longhorn-manager -o jsonpath='{..image}'",
        ];
    OOM_KILLED = critical "oom_killed" "the manager was OOM-killed"
        fix "Find out what uses the memory of node <node>: the container has no limit, so the node ran out. If someone set a limit, remove it: \
             Longhorn ships none." [read "kubectl describe node <node>", read "kubectl top node <node>", read "kubectl top pod -A --sort-by=memory"];
    PROBE_KILLED = critical "probe_killed"
        "a probe kills the manager"
        fix "Remove the liveness or startup probe of container longhorn-manager, also in the source of its manifest: no release of Longhorn has \
             one, and a startup may take minutes." [
            read "kubectl -n <namespace> get daemonset longhorn-manager -o yaml | grep -A8 Probe:",
            change "kubectl -n <namespace> patch daemonset longhorn-manager -p '{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"longhorn-manager\",\"livenessProbe\":null,\"startupProbe\":null}]}}}}'",
        ];
    UNKNOWN = critical "unknown" "cause unknown"
        fix "Read the container's last log: the line with level=fatal or panic names the cause. If it shows nothing, report it to Longhorn with a \
             support bundle." [
            read "kubectl -n <namespace> logs <object> -c longhorn-manager --previous --tail=100",
            read "kubectl -n <namespace> describe pod <object>",
        ]
        way READING "cause not known yet, its log is being read"
            fix "Check again in half a minute: its log is being read, and probably names the cause." [read DESCRIBE]
        way UNKNOWN_ERROR "its log ends with an unknown error"
            fix "Correct the setting, object or address that the error names. If it names none, search Longhorn's issues for its words, and \
                 report it with a support bundle.";
}

/// Brings image, manifest and definitions to one release; the port by which managers become Ready helps until then.
pub fn to_one_release(cluster: &Cluster, pod: &Pod, definitions: bool, reason: &str) -> Remedy {
    let release = releases::release_of(cluster, pod);
    let mut remedy = installation::to_release(cluster, release, definitions, reason);
    let refused = release.is_some_and(|release| installation::refused_step(cluster, release).is_some());
    if let Some(probe) = probes::foreign(cluster, pod).filter(|_| !refused) {
        remedy.fix.push_str(" Until then, changing the readiness probe's port alone lets managers become Ready; it restarts all of them.");
        let probe = serde_json::json!({ "readinessProbe": { "httpGet": { "port": probe.own } } });
        remedy = remedy.change(installation::patch_managers(cluster, &probe));
    }
    remedy
}

/// What templates name of the rights that a manager lacks, as `list volumes.longhorn.io`, and the manifest that has them.
pub fn lacking(cluster: &Cluster, pod: &Pod, rights: &[String]) -> Vec<(Name, String)> {
    let rights = rights.iter().filter(|right| right.contains(' ') && *right != "be authenticated");
    let release = releases::release_of(cluster, pod)
        .filter(|release| installation::published(cluster, Some(*release)).is_some());
    let release = release.map(|release| (Name::Release, release.to_string()));
    rights.map(|right| (Name::Value, right.clone())).chain(release).collect()
}
