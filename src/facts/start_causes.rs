//! What keeps a manager from finishing its start, whether it hangs in it (`manager_start_stuck`) or ends in it and tries again
//! (`manager_crash_loop`): one fault has one id, one meaning and one fix. Each of the two checks lists those that it finds.

use super::{installation, probes, releases, ways};
use crate::check::{Cluster, Name, Remedy, causes};
use crate::longhorn::Pod;

const LAST_LOG: &str = "kubectl -n <namespace> logs <object> -c longhorn-manager --previous --tail=100";
const DESCRIBE: &str = "kubectl -n <namespace> describe pod <object>";
const SETTINGS: &str = "kubectl -n <namespace> get settings.longhorn.io";
const DEFAULTS: &str = "kubectl -n <namespace> get configmap longhorn-default-setting -o yaml";
const ISCSI: &str = "ssh <node> 'command -v iscsiadm; systemctl is-active iscsid'";
const INSTALL: &str = "Install open-iscsi (iscsi-initiator-utils on RPM systems) on the node and start iscsid. The manager starts at its next \
                       attempt, within five minutes.";
const INSTALL_AND_RESTART: &str = "Install open-iscsi (iscsi-initiator-utils on RPM systems) on the node and start iscsid. The node has to be \
                                   restarted for it. The manager starts at its next attempt, within five minutes.";
const NODE: &str = "kubectl get node <node> -o wide";
const WHOM: &str = "kubectl get validatingwebhookconfigurations longhorn-webhook-validator -o jsonpath='{.webhooks[*].clientConfig.service}'";
const ASK: &str = "kubectl get --raw /api/v1/namespaces/<namespace>/services/https:longhorn-admission-webhook:9502/proxy/v1/healthz";
const SLICES: &str =
    "kubectl -n <namespace> get endpointslices -l kubernetes.io/service-name=<service> -o yaml";
const MANAGERS: &str = "kubectl -n <namespace> get pods -l app=longhorn-manager -o wide";
const CONFIGURE_AGAIN: &str = "kubectl delete validatingwebhookconfigurations/longhorn-webhook-validator \
                               mutatingwebhookconfigurations/longhorn-webhook-mutator";

causes! {
    API_UNREACHABLE = critical "api_unreachable" "the manager gets no answer of the Kubernetes API server"
        fix "Restore the way from pods on node <node> to the API server: CNI, kube-proxy and firewall there, and the address and certificate that \
             the log names. If every node is affected, look at the API server and etcd. The manager then continues within a minute; deleting \
             its pod does not help." [
            read "kubectl get pods -A -o wide --field-selector spec.nodeName=<node>",
            read "kubectl get endpointslices -n default -l kubernetes.io/service-name=kubernetes -o wide",
            read "kubectl get --raw='/readyz?verbose'",
            read "kubectl -n <namespace> logs <object> -c longhorn-manager --tail=50",
        ];
    API_CERTIFICATE = critical "api_certificate" "the manager refuses the certificate of the Kubernetes API server"
        fix "Look at the dates, names and issuer of the certificate that the API server shows to node <node>, and at its clock. One that ran out is \
             renewed on the control plane (kubeadm certs renew all and a restart of its static pods; k3s and RKE2 renew when they restart); \
             kubectl fails until then, too. If the issuer is another, restart the managers once ConfigMap kube-root-ca.crt has it." [
            read "ssh <node> 'date -u; echo | openssl s_client -connect <value> 2>/dev/null | openssl x509 -noout -dates -issuer -ext subjectAltName'",
            read "kubectl -n <namespace> get configmap kube-root-ca.crt -o jsonpath='{.data.ca\\.crt}' | openssl x509 -noout -dates -subject",
            read "kubectl -n <namespace> logs <object> -c longhorn-manager --tail=50",
        ];
    CRD_MISMATCH = critical "crd_mismatch"
        "the custom resource definitions do not match this release, or one is missing"
        fix "Bring the definitions to the release of the image with the tool that installed Longhorn; where Longhorn refuses the step to that \
             release, put the image back instead. The objects of a definition that was deleted are gone with it: restore them from a backup of \
             the cluster." [
            read "kubectl get customresourcedefinitions -o name | grep longhorn.io",
            read "kubectl -n <namespace> get settings.longhorn.io current-longhorn-version",
            read "kubectl -n <namespace> get daemonset longhorn-manager -o yaml",
        ] proven "a definition was deleted, and its objects with it; the backup of the cluster brings them back";
    MANIFEST_STALE = critical "manifest_stale"
        "manifest and image of the manager are of different releases: a flag, a variable or the port of the readiness probe"
        fix "Bring manifest and image to one release with the tool that installed Longhorn; where Longhorn refuses the step to that release, put \
             the image back instead." [
            read "kubectl -n <namespace> get daemonset longhorn-manager -o yaml",
            read "kubectl -n <namespace> get settings.longhorn.io current-longhorn-version",
        ];
    WEBHOOK_SERVICE_UNREACHABLE = critical "webhook_service_unreachable"
        "DNS, a firewall or the pod network keeps the manager from the Service of a webhook that it waits for"
        fix "Bring back what the log names between node <node> and the Service: cluster DNS, the firewall of the nodes, or the pod network (CNI, \
             kube-proxy). Deleting the manager's pod does not help." [
            read "kubectl -n kube-system get pods -l k8s-app=kube-dns -o wide",
            read "kubectl get pods -A -o wide --field-selector spec.nodeName=<node>",
            read "kubectl -n <namespace> logs <object> -c longhorn-manager --tail=50",
        ] ways ways::UNREACHED;
    ACCESS_DENIED = critical "access_denied" "the manager's service account lacks a right that a start needs"
        fix "Restore ClusterRole longhorn-role and ClusterRoleBinding longhorn-bind of this release with the tool that installed Longhorn, and find \
             out who changed them (GitOps, a policy engine, a cleanup). The manager then continues within a minute; deleting its pod does not \
             help. kubectl auth reconcile prints an error for each object that is no role or binding: ignore those." [
            read "kubectl describe clusterrole longhorn-role",
            read "kubectl describe clusterrolebinding longhorn-bind",
            read "kubectl auth can-i <value> --as=system:serviceaccount:<namespace>:longhorn-service-account -n <namespace>",
            read "kubectl -n <namespace> logs <object> -c longhorn-manager --tail=50",
            change "kubectl auth reconcile -f https://raw.githubusercontent.com/longhorn/longhorn/<release>/deploy/longhorn.yaml",
        ];
    OPEN_ISCSI_MISSING = critical "open_iscsi_missing" "open-iscsi is missing"
        fix "Install open-iscsi (iscsi-initiator-utils on RPM systems) on node <node> and start iscsid; the manager starts at its next attempt, \
             within five minutes. A read-only system takes it otherwise: transactional-update on SUSE Micro, rpm-ostree on CoreOS, the extension \
             siderolabs/iscsi-tools on Talos." [
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
            fix "Start iscsid on the node; the system has open-iscsi. The manager starts at its next attempt, within five minutes."
            [change "ssh <node> 'sudo systemctl enable --now iscsid'", read ISCSI]
        way ISCSI_TALOS "Talos"
            fix "On Talos the system extension siderolabs/iscsi-tools has to be in the image of the node and its service ext-iscsid has to run: \
                 where the extension is missing, add it to the image and upgrade the node; where it is listed, see why the service does not \
                 run. The manager starts at its next attempt, within five minutes."
            [read "talosctl -n <node> get extensions", read "talosctl -n <node> service ext-iscsid"]
        way ISCSI_BOTTLEROCKET "Bottlerocket"
            fix "Bottlerocket has no package for it: run Longhorn on nodes of another system. The manager starts at its next attempt, within five \
                 minutes." [read NODE]
        way ISCSI_NIXOS "NixOS"
            fix "On NixOS set services.openiscsi.enable and rebuild the system. The manager starts at its next attempt, within five minutes."
            [read NODE]
        way ISCSI_K3D "k3d"
            fix "The node is a container of the image of k3s (k3d), which takes no package and has no systemd: build an image with open-iscsi, \
                 or run Longhorn on nodes that are machines. The manager starts at its next attempt, within five minutes." [read NODE]
        way ISCSI_ALPINE "Alpine"
            fix "On Alpine run apk add open-iscsi, rc-update add iscsid and rc-service iscsid start on the node, and mount --make-rshared /. The \
                 manager starts at its next attempt, within five minutes." [read NODE]
        way ISCSI_K3OS "k3OS"
            fix "k3OS is no longer maintained and takes no packages: use nodes of another system. The manager starts at its next attempt, \
                 within five minutes." [read NODE];
    CONTAINER_CANNOT_START = critical "container_cannot_start"
        "the container cannot be created or started, or its postStart hook fails: nothing of Longhorn runs"
        fix "Fix on node <node> what the message of the container runtime names: a path to mount, /proc, seccomp or AppArmor, the runtime \
             itself. The kubelet tries again on its own." [
            read "kubectl -n <namespace> describe pod <object>",
            read "kubectl describe node <node>",
        ]
        way NOT_SHARED "the mounts of its node are not shared"
            fix "Make the mounts of the node shared, which Longhorn needs for bidirectional mount propagation, and let its start-up do so \
                 (systemd does; OpenRC, LXC and container images as nodes do not). Nodes that are containers (k3d, kind, Docker Desktop) need \
                 the data path mounted with :shared."
            [change "ssh <node> 'sudo mount --make-rshared /'", read "ssh <node> 'findmnt -o TARGET,PROPAGATION / /var/lib/longhorn'", read DESCRIBE]
        way NO_EXEC "its node does not let the runtime execute what is in the container"
            fix "The node does not let the runtime execute what is in the container: the filesystem of the runtime is mounted with noexec (/var \
                 on hardened systems), or SELinux denies it. Mount it with exec, also in /etc/fstab."
            [read "ssh <node> 'findmnt -O noexec -o TARGET,OPTIONS'", read DESCRIBE, change "ssh <node> 'sudo mount -o remount,exec /var'"]
        way OTHER_PROCESSOR "its image is made for another processor than that of the node"
            fix "The image holds a program for another processor than that of node <node>: give the registry images for both, as Longhorn's own \
                 tags have, and take care with digests and mirrors of one platform. Where the node has the wrong one in its cache, remove it there."
            [read "kubectl get node <node> -o jsonpath='{.status.nodeInfo.architecture}'", read LAST_LOG];
    WEBHOOK_UNSERVED = critical "webhook_unserved"
        "the manager gave up waiting for the Service of a webhook: no manager answers behind it, or the cause is unknown"
        fix "Bring one manager to Ready behind Service <service>. If it has ready endpoints, look at DNS, firewall and hairpin traffic from node \
             <node>. A startup probe does not help: the manager gives up on its own." [
            read "kubectl -n <namespace> get endpointslices -l kubernetes.io/service-name=<service> -o yaml",
            read "kubectl -n <namespace> get events --field-selector reason=Unhealthy",
            read "kubectl -n kube-system get pods -l k8s-app=kube-dns -o wide",
        ]
        way REFUSED "nothing answers behind it"
            means "its last attempt was refused: the Service has no Ready endpoint, or nothing listens behind it";
    WEBHOOK_NOT_READY = critical "webhook_not_ready" "the manager's own webhook server does not come up in time"
        fix "Find out why the manager's own webhook server is too slow or cannot start: the CPU of node <node>, the secrets longhorn-webhook-ca \
             and longhorn-webhook-tls, a missing webhook configuration or right." [
            read "kubectl -n <namespace> logs <object> -c longhorn-manager --previous --tail=100",
            read "kubectl -n <namespace> get secrets longhorn-webhook-ca longhorn-webhook-tls",
            read "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations | grep longhorn",
            read "kubectl describe node <node>",
        ];
    WEBHOOK_CALL_FAILED = critical "webhook_call_failed"
        "the API server cannot call Longhorn's webhook and therefore refuses what the manager writes"
        but "info in the first two minutes of a pod, while others start with it"
        fix "Open the way from the API server to the webhook: a proxy of the API server without .svc in NO_PROXY, a firewall between the control \
             plane and TCP port 9502 of the pods, the CNI, or webhook configurations with another Service or certificate." [
            read ASK,
            read "kubectl -n <namespace> get endpointslices -l kubernetes.io/service-name=longhorn-admission-webhook -o wide",
            read WHOM,
            read "kubectl -n <namespace> logs <object> -c longhorn-manager --previous --tail=100",
        ]
        way PROXY "a proxy of the API server answers in its place"
            means "what answered is not the webhook: an HTTP proxy of the API server stands in between (NO_PROXY lacks .svc and the service network)"
            fix "Add .svc, .cluster.local, the service network and the pod network to NO_PROXY of the API server (on k3s and RKE2 in the environment \
                 file of the service) and restart it."
            [read "kubectl -n kube-system get pods -l component=kube-apiserver -o yaml | grep -i -A1 proxy", read SLICES, read LAST_LOG]
        way OUTSIDE_OF_POD_NETWORK "the control plane is outside of the pod network"
            means "the API server refuses pod addresses: the control plane is outside of the pod network, as on EKS with a CNI of its own"
            fix "Let managers use the host network (hostNetwork: true and dnsPolicy: ClusterFirstWithHostNet in the DaemonSet), or use a CNI whose \
                 pods the control plane can reach." [read ASK, read SLICES, read LAST_LOG]
        way CONTROL_PLANE "packets from the API server to the managers are lost"
            means "packets from the API server to port 9502 of the managers are lost: a firewall, the CNI or routes between control plane and pods"
            fix "Open TCP port 9502 from the control-plane nodes to the pod network (up to 1.9 also 9501), and check that the control-plane nodes have \
                 the CNI's routes and interface: curl the pod address from there." [read ASK, read SLICES, read LAST_LOG]
        way NO_LISTENER "nothing listens at its endpoint"
            means "the API server reaches an address where nothing listens on port 9502"
            fix "Find the manager behind the address that refuses: it is listed as an endpoint and does not serve; its log says what it waits for." [read MANAGERS, read SLICES, read LAST_LOG]
        way NONE_READY "no manager is Ready behind its Service"
            means "no manager is Ready behind the Service of the webhook"
            fix "Bring one manager to Ready. The DaemonSet, the labels of its pods and the selector of the Service have to be \
                 of one release." [read MANAGERS, read SLICES, read LAST_LOG]
        way NO_SERVICE "its configuration names a Service that does not exist"
            means "the webhook configuration names a Service that does not exist: it belongs to another installation or namespace"
            fix "Delete the webhook configurations, unless another Longhorn is in the namespace that they name: managers create them again with their \
                 own namespace and certificate when they start." [read WHOM, read SLICES, change CONFIGURE_AGAIN, read LAST_LOG]
            proven "the API server names no such Service: the configurations are wrong, and the start of a manager writes them again"
        way CERTIFICATE "the API server does not accept its certificate"
            means "the API server does not accept the certificate of the webhook"
            fix "Delete the webhook configurations: managers create them again with the present certificate when they start. If it does not help, \
                 delete the secrets longhorn-webhook-ca and longhorn-webhook-tls too." [read WHOM, read SLICES, change CONFIGURE_AGAIN, read LAST_LOG]
            proven "the API server names a certificate that does not fit: the configurations are wrong, and the start of a manager writes them again";
    WEBHOOK_DENIED = critical "webhook_denied"
        "Longhorn's own validator refuses a change that the manager makes at start" but "warning while restarts are few, info in the first two minutes of a pod"
        fix "Bring the object in order that the refusal names, as the rule in it asks: change it, or delete it if it is a leftover, with the release \
             before if this one does not come up. A refusal during a rollout passes at the next attempt." [
            read "kubectl -n <namespace> logs <object> -c longhorn-manager --previous --tail=100",
            read "kubectl -n <namespace> get nodes.longhorn.io -o yaml",
        ] proven "the object that the refusal names is a leftover, as the reader is to see"
        way SETTING_REFUSED "it refuses the value of a setting"
            fix "The line names the setting and the rule. Where ConfigMap longhorn-default-setting (the chart's defaultSettings) gives the value, \
                 give the one that Longhorn has, or none: settings of the danger zone are refused while volumes are attached."
            [read DEFAULTS, read SETTINGS, read LAST_LOG]
        way SETTING_ENDS_START "it refuses the value of a setting, before 1.3.1"
            fix "The line names the setting and the rule. Where ConfigMap longhorn-default-setting (the chart's defaultSettings) gives the value, \
                 give the one that Longhorn has, or none: settings of the danger zone are refused while volumes are attached. From 1.3.1 on a \
                 manager starts without a value that is refused."
            [read DEFAULTS, read SETTINGS, read LAST_LOG]
        way OTHER_RELEASE_ANSWERED "a manager of another release answered its webhook"
            fix "Leave the object that the refusal names as it is: a manager of another release answered the webhook, and has no rule for its kind. \
                 It passes once all managers run one release. Where the rollout stands still, see which manager still runs the other one, and \
                 whether the definitions could be applied."
            [read "kubectl -n <namespace> get pods -l app=longhorn-manager -o 'custom-columns=NODE:.spec.nodeName,POD:.metadata.name,IMAGE:.spec.containers[*].image'",
             read LAST_LOG];
    WRITE_CONFLICT = critical "write_conflict"
        "managers that start together get in each other's way" but "warning while restarts are few, info in the first two minutes of a pod"
        fix "Wait for the next attempt: of managers that start together the later one succeeds then. If it repeats for minutes, let them start one \
             after the other: delete one pod, wait until it is Ready, then the next." [
            read "kubectl -n <namespace> get pods -l app=longhorn-manager -o wide",
            read "kubectl -n <namespace> get configmap longhorn-default-setting -o yaml",
            read "kubectl -n <namespace> logs <object> -c longhorn-manager --previous --tail=100",
        ] proven "a manager's pod holds nothing, a DaemonSet makes it again, and one follows the other";
    BACKING_IMAGE_EVICTION_PANIC = critical "backing_image_eviction_panic"
        "eviction meets a backing image copy that is in status but no longer in spec"
        fix "Cancel every eviction request, of nodes and of disks, wait until no copy is left that is in the status only, and only then ask again. \
             A refused patch means that no manager serves the webhook at this moment: repeat it. Fixed in 1.7.4, 1.8.2, 1.9.1 and 1.10.0." [
            read "kubectl -n <namespace> get backingimages.longhorn.io -o json | jq -r '.items[] | .metadata.name as $n | ((.status.diskFileStatusMap // {} | keys) - (.spec.diskFileSpecMap // {} | keys))[] | \"\\($n) \\(.)\"'",
            change "kubectl -n <namespace> patch nodes.longhorn.io <node> --type merge -p '{\"spec\":{\"evictionRequested\":false}}'",
            change "kubectl -n <namespace> patch nodes.longhorn.io <node> --type json -p '[{\"op\":\"replace\",\"path\":\"/spec/disks/<disk>/evictionRequested\",\"value\":false}]'",
        ];
    UPGRADE_PATH = critical "upgrade_path" "the installed release cannot be upgraded or downgraded to this one"
        fix "Put back the release in current-longhorn-version: Longhorn upgrades one minor release at a time and never downgrades. Its managers stop \
             before they change an object, so going back is safe until one of them has become Ready." [
            read "kubectl -n <namespace> get settings.longhorn.io current-longhorn-version",
            read "kubectl -n <namespace> get daemonset longhorn-manager -o jsonpath='{..image}'",
        ];
    ENGINE_INCOMPATIBLE = critical "engine_incompatible" "an engine image in use is too old for this release"
        fix "Go back to the release in current-longhorn-version, upgrade the engines of all volumes there, and upgrade again." [
            read "kubectl -n <namespace> get volumes.longhorn.io -o custom-columns=NAME:.metadata.name,IMAGE:.status.currentImage",
            read "kubectl -n <namespace> get engineimages.longhorn.io",
            read "kubectl -n <namespace> get settings.longhorn.io current-longhorn-version",
        ];
    UPGRADE_OBJECT = critical "upgrade_object" "an object of the release before stops the upgrade of Longhorn's objects"
        fix "Repair the object that the last line names: Longhorn upgrades each <value>, and the one that it cannot ends the manager. Going back to the              release before is safe until one manager is Ready." [
            read "kubectl -n <namespace> get <value>",
            read "kubectl -n <namespace> logs <object> -c longhorn-manager --previous --tail=20",
        ]
        way BACKUP_WITHOUT_VOLUME "a backup in Error has no volume"
            fix "Delete Backup <backup>: it is in Error, names no volume and holds nothing. The manager starts at its next attempt, within five minutes." [
                read "kubectl -n <namespace> get backups.longhorn.io <backup> -o yaml",
                change "kubectl -n <namespace> delete backups.longhorn.io <backup>",
            ] proven "the backup is in Error and names no volume, so it holds no data";
    OLD_MANAGERS_LINGERING = critical "old_managers_lingering" "manager pods of the old release do not go away"
        fix "Bring back the node on which a manager pod of the old release is left or, only if it is gone for good, delete that pod by force." [
            read "kubectl -n <namespace> get pods -l app=longhorn-manager -o wide",
            change "kubectl -n <namespace> delete pod <manager>",
            change "kubectl -n <namespace> delete pod <pod> --force --grace-period=0",
        ] proven "the node of the pod is gone for good; a manager's pod holds nothing";
    CACHE_SYNC_FAILED = critical "cache_sync_failed"
        "the manager was ended while it waited for its caches: it hung in its start"
        fix "Find out what the present run waits for: a right or a definition that is missing keeps a manager waiting forever, and only a probe, a \
             drain or a person ends it." [
            read "kubectl -n <namespace> logs <object> -c longhorn-manager --tail=50",
            read "kubectl get customresourcedefinitions -o name | grep longhorn.io",
            read "kubectl auth can-i list volumes.longhorn.io -n <namespace> --as system:serviceaccount:<namespace>:longhorn-service-account",
        ];
    POD_UPDATE_REFUSED = critical "pod_update_refused"
        "the API server refuses the label that the manager puts on its own pod, because something else changes the pod on the way"
        fix "Exempt namespace <namespace> from the mutating webhook that changes pods: the line shows the field, such as imagePullSecrets. Until \
             then delete the pod: the next one has the change from its creation, and its updates are taken." [
            read "kubectl get mutatingwebhookconfigurations",
            read "kubectl -n <namespace> logs <object> -c longhorn-manager --previous --tail=100",
            change "kubectl -n <namespace> delete pod <object>",
        ] proven "a manager's pod holds nothing, and a DaemonSet makes it again";
    PORT_IN_USE = critical "port_in_use"
        "one of the manager's listeners died, for example because its port is in use"
        fix "Move what else listens on <value> in the pod (with host networking: on node <node>) to another port: those of the manager cannot be \
             changed. A container that was added to the DaemonSet is the usual one." [
            read "kubectl -n <namespace> get pod <object> -o jsonpath='{.spec.hostNetwork}{\"\\n\"}{.spec.containers[*].name}{\"\\n\"}'",
            read "ssh <node> \"sudo ss -lntp 'sport >= :9500 and sport <= :9503'\"",
            read "kubectl -n <namespace> logs <object> -c longhorn-manager --previous --tail=100",
        ];
    KNOWN_PANIC = critical "known_panic" "a known bug of this release"
        fix "Upgrade to the release that fixes the bug, and until then keep its trigger away: the finding names issue, release and trigger." [
            read "kubectl -n <namespace> logs <object> -c longhorn-manager --previous --tail=100",
            read "kubectl -n <namespace> get daemonset longhorn-manager -o jsonpath='{..image}'",
        ];
    OOM_KILLED = critical "oom_killed" "OOM-killed, by its limit or because the node ran out of memory"
        fix "Find out what takes the memory of node <node>: the container has no limit of its own, so the node ran out. Where someone gave it a \
             limit, remove that: Longhorn ships none." [
            read "kubectl describe node <node>",
            read "kubectl top node <node>",
            read "kubectl top pod -A --sort-by=memory",
        ];
    PROBE_KILLED = critical "probe_killed"
        "the kubelet kills the manager because a liveness or startup probe fails, which no release of Longhorn has"
        fix "Remove the liveness or startup probe of container longhorn-manager, also where the manifest comes from: no release of Longhorn has one, \
             and a start may take minutes." [
            read "kubectl -n <namespace> get daemonset longhorn-manager -o yaml | grep -A8 Probe:",
            change "kubectl -n <namespace> patch daemonset longhorn-manager -p '{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"longhorn-manager\",\"livenessProbe\":null,\"startupProbe\":null}]}}}}'",
        ];
    UNKNOWN = critical "unknown" "cause unknown"
        fix "Cause unknown: read the last log of the container; the line with level=fatal, or the one that begins with panic, names it. If it says \
             nothing, report it to Longhorn with a support bundle." [
            read "kubectl -n <namespace> logs <object> -c longhorn-manager --previous --tail=100",
            read "kubectl -n <namespace> describe pod <object>",
        ]
        way READING "why is not known yet, its log is being read"
            fix "Look again in half a minute: its log is being read, and most likely names the cause." [read DESCRIBE]
        way UNKNOWN_ERROR "its log ends with an unknown error"
            fix "Correct what the error names, where it names a setting, an object or an address. Otherwise search Longhorn's issues for its words, \
                 and report it with a support bundle.";
}

/// Brings image, manifest and definitions to one release; the port by which managers become Ready helps until then.
pub fn to_one_release(cluster: &Cluster, pod: &Pod, definitions: bool, reason: &str) -> Remedy {
    let release = releases::release_of(cluster, pod);
    let mut remedy = installation::to_release(cluster, release, definitions, reason);
    let refused = release.is_some_and(|release| installation::refused_step(cluster, release).is_some());
    if let Some(probe) = probes::foreign(cluster, pod).filter(|_| !refused) {
        remedy.fix.push_str(" Until then the port of the readiness probe alone lets managers become Ready; the change restarts all of them.");
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
