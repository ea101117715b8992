//! Ways that causes of several checks share.

use crate::check::ways;

const DNS: &str = "kubectl -n kube-system get pods -l k8s-app=kube-dns -o wide";
const SERVICE: &str = "kubectl -n <namespace> get service <service> -o wide";
const SLICES: &str =
    "kubectl -n <namespace> get endpointslices -l kubernetes.io/service-name=<service> -o yaml";
const ON_NODE: &str = "kubectl get pods -A -o wide --field-selector spec.nodeName=<node>";
/// What keeps multipathd away from Longhorn's devices, and what shows that it holds one.
pub const BLACKLIST: &str = "Blacklist Longhorn's devices in /etc/multipath.conf on <node> and restart multipathd, which otherwise claims them. \
    Longhorn's article troubleshooting-volume-with-multipath shows how. Do not run fsck or mkfs.";
pub const MULTIPATH: &str = "ssh <node> 'sudo multipath -ll; lsblk'";
/// Of a manager that still waits, and of one that gave up: a finding names the one or the other.
const WAITS: &str = "kubectl -n <namespace> logs <manager> -c longhorn-manager --tail=50";
const GAVE_UP: &str = "kubectl -n <namespace> logs <pod> -c longhorn-manager --previous --tail=100";

// Why a manager does not reach the Service of a webhook, no matter what serves it. Deleting its pod changes none of it.
ways! { UNREACHED:
    NO_SUCH_NAME "DNS cannot resolve the webhook name"
        means "the last attempt failed in DNS: a server answered that the Service's name does not exist"
        fix "Find the DNS server that answers NXDOMAIN for the webhook's Service, often the node's own (resolv.conf, search domain). Then \
             check the kubelet's cluster domain and that the Service exists."
        [read SERVICE, read DNS, read WAITS, read GAVE_UP];
    NO_DNS "DNS gives no answer for the webhook"
        means "the last attempt failed in DNS: no server answered for the Service's name"
        fix "Restore cluster DNS for <node>: check the CoreDNS pods, and UDP and TCP port 53 from <node> to them."
        [read DNS, read ON_NODE, read WAITS, read GAVE_UP];
    OUTSIDE "DNS resolves the webhook to an outside address"
        means "the last attempt went to a public address, which no Service has"
        fix "Check /etc/resolv.conf in a pod on <node>. A search domain's wildcard record or a wrong cluster domain makes the Service's name \
             resolve wrongly. Correct the kubelet's resolvConf or clusterDomain."
        [read "ssh <node> 'cat /etc/resolv.conf'", read DNS, read SERVICE, read WAITS, read GAVE_UP];
    NO_ROUTE "no network route to the webhook"
        means "the last attempt failed with `no route to host`: a firewall rejected it, or no route exists between the nodes"
        fix "Open the nodes' firewall for the pod network (firewalld can reject it, and RHEL's nm-cloud-setup removes its routes). Then check the CNI and \
             the routes between the nodes."
        [read ON_NODE, read SLICES, read WAITS, read GAVE_UP];
    TIMEOUT "packets to the webhook are lost"
        means "the last attempt timed out: packets to the Service or its pod are being lost"
        fix "Check the pod network between <node> and the other nodes: CNI pods, firewall, MTU, VXLAN checksum offload. If the only endpoint is on the \
             same node, check hairpin traffic too."
        [read ON_NODE, read SLICES, read WAITS, read GAVE_UP];
}

// Why a name is not resolved, no matter who asks. Nothing of Longhorn is to be changed.
ways! { UNRESOLVED:
    DNS_DOWN "cluster DNS is down"
        fix "Read a CoreDNS pod's previous log and fix its error, such as a forwarding loop through the nodes' resolver. Do not change \
             Longhorn: it retries."
        [read DNS, read "kubectl -n kube-system logs -l k8s-app=kube-dns --previous --tail=20"];
    DNS_SILENT "DNS queries get no answer"
        fix "Check the CoreDNS pods. If they are Ready, the querying node is probably losing packets: test DNS from a pod there. Then check its \
             firewall, MTU and VXLAN checksum offload."
        [read DNS, read ON_NODE];
}

/// For pods that a policy cuts off from the API server.
pub const LET_OUT: &str = "Delete NetworkPolicy <value> at its source (<reason>), or allow egress to the API server and DNS. Until then, do not restart \
    Longhorn's pods or nodes: Longhorn's status may be outdated.";

// Why pods of Longhorn get no answer of the API server.
ways! { CUT:
    CUT_OFF "a NetworkPolicy cuts it off"
        fix LET_OUT
        [
            read "kubectl -n <namespace> get networkpolicy <value> -o yaml",
            change "kubectl -n <namespace> delete networkpolicy <value>",
            read "kubectl -n <namespace> get pods -o wide",
        ] proven "since the policy exists, the pods that it selects get no answer; a policy holds no data";
}

const POD: &str = "kubectl -n <namespace> describe pod <pod>";
/// Where there is no pod.
const SET: &str = "kubectl -n <namespace> describe daemonset <workload>";
/// What Kubernetes' controllers are refused.
const REFUSALS: &str =
    "kubectl -n <namespace> get events --field-selector reason=FailedCreate --sort-by=.lastTimestamp";
const NODE: &str = "kubectl describe node <node>";
const RUNTIME_LOG: &str = "ssh <node> 'sudo journalctl -n 50 --no-pager -u containerd -u rke2-agent -u k3s'";
const NETWORKS: &str = "kubectl -n <namespace> get settings.longhorn.io storage-network";
const REPLICAS: &str = "kubectl -n <namespace> get replicas.longhorn.io -l longhornnode=<node>";

// Why the API server takes no pods of Longhorn.
ways! { REFUSED:
    QUOTA "a ResourceQuota leaves no room"
        fix "Raise or remove the ResourceQuota in Longhorn's namespace. Kubernetes retries within minutes. Until then, do not restart \
             Longhorn's pods or nodes."
        [read "kubectl -n <namespace> describe resourcequota"];
    QUOTA_LIMITS "a ResourceQuota requires limits"
        fix "Exempt Longhorn's namespace from the ResourceQuota (Rancher: use a project without one). Raising the quota does not help. Until then, \
             do not restart Longhorn's pods or nodes."
        [read "kubectl -n <namespace> describe resourcequota", read REFUSALS];
    DENIED "a policy rejects its pods"
        fix "<known_error>Exempt Longhorn's namespace from the policy in the evidence. Kubernetes then creates the pods. Until then, do not restart managers, \
             instance managers or nodes: their pods fail too." [
            read REFUSALS,
            read "kubectl -n <namespace> logs -l app=longhorn-manager -c longhorn-manager --prefix --tail=2000 | grep 'denied the request'",
            read "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations",
        ];
    POD_SECURITY "privileged pods are not allowed"
        fix "Allow privileged pods in Longhorn's namespace: Longhorn requires them. If a DaemonSet lacks pods, restart its rollout: its controller \
             retries only at growing intervals." [
            change "kubectl label namespace <namespace> pod-security.kubernetes.io/enforce=privileged --overwrite",
            change "kubectl -n <namespace> rollout restart daemonset <workload>",
        ];
    ADMISSION "a ServiceAccount, a PriorityClass or a webhook is missing"
        fix "<known_error>Create the missing ServiceAccount or PriorityClass, start the webhook that is down, or change the policy that rejects the pods. The \
             DaemonSet controller then retries." [read POD, read SET];
}

// What a kubelet, a container runtime or a registry says of why a pod does not start.
ways! { KUBELET_SAYS:
    RATE_LIMITED "the registry's rate limit is exceeded"
        fix "Load the pod's image onto the node by hand. Or let the node pull it through a mirror or with registry credentials (setting registry-secret). The \
             kubelet retries every five minutes." [read POD, read SET];
    OTHER_REGISTRY "its image registry differs from the other pods'"
        fix "Set the image's registry in the chart values or manifest back to that of the running pods, or roll back. In an air-gapped cluster, push the \
             new images there first."
            [read POD, read "kubectl -n <namespace> get pods -o custom-columns='POD:.metadata.name,IMAGES:.spec.containers[*].image'"];
    REGISTRY_CERTIFICATE "the registry's certificate is rejected"
        fix "Check this node's clock and trusted CAs if other nodes accept the registry's (or mirror's) certificate. Otherwise renew that \
             certificate. Do not reboot other nodes: they may need images too." [read POD, read SET];
    PULL_REFUSED "the registry refuses access"
        fix "Correct the registry's pull secret (setting registry-secret) or the image's name. Registries also deny access to images that \
             do not exist. The kubelet retries every five minutes." [read POD, read SET];
    NO_SUCH_IMAGE "the registry has no such image"
        fix "Correct the image's name and tag, or push the image to its registry for the node's architecture too. The kubelet retries every five \
             minutes." [read POD, read SET];
    REGISTRY_UNREACHABLE "the node cannot reach the registry"
        fix "Restore the node's connection to the registry (DNS, proxy, firewall), or load the pod's image onto the node by hand. The kubelet retries \
             every five minutes." [read POD, read SET, read NODE];
    NAME_RESERVED "its container name is still taken"
        fix "Delete the pod that is not starting: the runtime still reserves its containers' names. If the new pod fails too, restart the node's container \
             runtime (containerd, rke2 or k3s)."
        [change "kubectl -n <namespace> delete pod <pod>", read POD] proven "the pod has not started, and nothing runs in it";
    RUNTIME_HANGS "the container runtime hangs"
        fix "Cordon the node, so that new pods start elsewhere. Restart its container runtime (containerd, rke2 or k3s), or reboot the node if \
             that does not help. Then uncordon it." [read POD, read RUNTIME_LOG, read NODE];
    RUNTIME_DAMAGED "its container runtime cannot unpack images"
        fix "Cordon the node and move its pods away. Then stop kubelet and container runtime, move the runtime's directory (/var/lib/containerd) \
             aside, and start both again. Keep /var/lib/longhorn." [read POD, read RUNTIME_LOG, read NODE];
    NO_ADDRESS "no pod address is free"
        fix "Free up pod IP addresses, or correct the pod network's IP range and exclusions (the storage network's, if one is set). The kubelet then retries \
             automatically." [read POD, read NETWORKS];
    NO_STORAGE_NETWORK "the storage network fails"
        fix "Restore what is missing: the NetworkAttachmentDefinition of setting storage-network, or the node's interface that it uses. Do \
             not reboot other nodes: their instance managers would not return."
        [read POD, read NETWORKS];
    NO_POD_NETWORK "its pod network setup fails"
        fix "<known_error>Fix the CNI plugin on the node: its pod, and its files in /etc/cni/net.d and /opt/cni/bin. The \
             kubelet then retries automatically." [read POD, read "kubectl -n kube-system get pods -o wide --field-selector spec.nodeName=<node>"];
    NO_CGROUP "systemd cannot create its cgroup"
        fix "Check the node's inodes, /run space, cgroups and systemd units: one has run out. Its disks may be fine. Keep the instance \
             manager running: it could not restart."
        [read POD, read NODE];
    DISK_FULL "the node's disk is full"
        fix "Free disk space on the node (unused images, logs, the container runtime's file system). The kubelet then retries \
             automatically."
        [read POD, read NODE];
}

// What asks Longhorn's API and finds no Service.
ways! { NO_SERVICE:
    BACKEND_GONE "Service longhorn-backend is missing"
        fix "Create Service longhorn-backend again from this release's chart or manifest. If Argo CD or Flux pruned it, exclude it from pruning. Do \
             not restart managers or the CSI plugin."
        [read "kubectl -n <namespace> get services"];
}

// What a kubelet that lives says of why its node is not Ready.
ways! { NODE_SAYS:
    NODE_WITHOUT_RUNTIME "its container runtime is not answering"
        fix "Restart the container runtime on <node> (containerd, rke2 or k3s). Until then, do not delete or taint the node or \
             force-delete its pods: its containers may still be running."
        [read NODE, read RUNTIME_LOG];
    NODE_DISK_FAILS "its system disk has I/O errors"
        fix "Fix or replace <node>'s system disk. Do not wipe the node while a volume has its only copy there. Force-delete the node's pods only \
             once it is powered off."
        [read NODE, read RUNTIME_LOG, read REPLICAS];
    NODE_WITHOUT_NETWORK "its pod network is not set up"
        fix "Fix the CNI plugin on <node>: its pod, and its files in /etc/cni/net.d and /opt/cni/bin. The node is then Ready again, and Longhorn \
             continues."
        [read NODE, read "kubectl -n kube-system get pods -o wide --field-selector spec.nodeName=<node>"];
}

// What keeps engines from their replicas.
ways! { BETWEEN_INSTANCE_MANAGERS:
    REPLICAS_SHUT_OUT "a NetworkPolicy may block replica traffic"
        fix "Let NetworkPolicy <value> (from <reason>) admit all ports between Longhorn's pods, or save and remove it. Until then, do not restart pods \
             or nodes: open connections still work."
        [read "kubectl -n <namespace> get networkpolicy <value> -o yaml"];
}

// What else keeps a pod of a DaemonSet from its node.
ways! { NOT_STARTED:
    IMAGE "an image cannot be pulled"
        fix "Make the pod's image available to its node. Check the image's name and tag, registry and pull secret, and the node's DNS and proxy. The kubelet \
             retries every five minutes." [read POD, read SET];
    NODE_LACKS "the node lacks a prerequisite"
        fix "<known_error>Read the waiting pod's Events and provide what is missing: a mounted path, Secret, ConfigMap, CNI plugin or \
             container runtime. The kubelet then retries automatically." [read POD, read SET, read NODE];
    INIT "an init container fails"
        fix "<known_error>Read the init container's log and fix the error that it reports."
        [read POD, read SET, read "kubectl -n <namespace> logs <pod> --all-containers --previous --tail=30"];
    ALL_CORDONED "every node is cordoned"
        fix "Uncordon a node (`kubectl uncordon`) once its maintenance is over: every node is cordoned, so no new pod can start."
        [read "kubectl get nodes", read POD];
    NO_SCHEDULER "no scheduler is handling its pods"
        fix "Check kube-scheduler on the control-plane nodes (on K3s, the server process): it has ignored new pods for minutes. Restart the leading scheduler. \
             Longhorn is not the cause."
        [read "kubectl -n kube-system get pods,leases -o wide | grep -i -e scheduler -e NAME",
         read "kubectl get pods -A --field-selector status.phase=Pending -o wide"];
    NO_PLACE "no room for its pod"
        fix "Free CPU, memory, pod slots or ports on the node, or lower the pod's requests." [read POD, read SET, read NODE];
    TAINT "the pod does not tolerate the node's taint"
        fix "Remove the node's taint, or add a toleration for it to the DaemonSet. A node that you remove from Longhorn needs its manager until \
             its replicas are evicted." [read NODE, read REPLICAS];
    LABEL "the node lacks a label from the nodeSelector"
        fix "Put the label back on the node, or change the DaemonSet's nodeSelector. A node that you remove from Longhorn needs its manager until \
             its replicas are evicted." [read NODE, read REPLICAS];
    WAITING "the pod is waiting (cause unknown)"
        fix "<known_error>Read the waiting pod's Events and fix the error that they report. The kubelet then retries automatically." [read POD, read SET];
}

/// The settings by which a disk takes replicas or not.
pub const LIMITS: &str = "kubectl -n <namespace> get settings.longhorn.io storage-minimal-available-percentage storage-over-provisioning-percentage";

/// What to do where replicas are promised all of a disk.
pub const PROMISED: &str = "Add a disk, or lower a disk's reserved space. If the volumes use much less than their sizes, raise \
    storage-over-provisioning-percentage instead.";

// Why disks take no replica although they have room.
ways! { WITHHELD:
    ALLOCATED "its space is fully allocated"
        fix PROMISED [read LIMITS];
    MINIMUM_HIGH "storage-minimal-available-percentage is too high"
        fix "Set storage-minimal-available-percentage back to its old value (default 25): the disk has room, but the setting reserves it."
        [change "kubectl -n <namespace> patch settings.longhorn.io storage-minimal-available-percentage --type merge -p '{\"value\":\"25\"}'", read LIMITS];
    PROMISES_NOTHING "storage-over-provisioning-percentage is 0"
        fix "Set storage-over-provisioning-percentage back to its old value (default 100): at 0, no disk accepts a replica, whatever its \
             free space."
        [change "kubectl -n <namespace> patch settings.longhorn.io storage-over-provisioning-percentage --type merge -p '{\"value\":\"100\"}'", read LIMITS];
}

// Why a volume that is attached is mounted nowhere.
ways! { FILE_SYSTEM:
    DAMAGED "the file system is damaged"
        fix "Take a backup or snapshot. Then scale the workload down and, in Longhorn's UI, attach the volume to a node. On that node, run \
             fsck or xfs_repair on /dev/longhorn/<volume>."
        [
            read "kubectl -n <namespace> logs <pod> --tail=50",
            read "kubectl -n <namespace> get backups.longhorn.io -l backup-volume=<volume>",
            read "kubectl -n <namespace> get volumes.longhorn.io <volume>",
        ] proven "the volume is mounted nowhere, and has a backup, before its file system is repaired";
}

// Why neither engine nor replicas of a volume start.
ways! { BACKING_IMAGE:
    WAITS_FOR_IMAGE "its backing image has no ready copy"
        fix "<known_error>Read the status message of backing image <backing_image>, and fix the cause it gives. The volume then attaches \
             automatically." [
            read "kubectl -n <namespace> get backingimages.longhorn.io <backing_image> -o yaml",
            read "kubectl -n <namespace> get backingimagedatasources.longhorn.io <backing_image> -o yaml",
            read "kubectl -n <namespace> get pods -l longhorn.io/component=backing-image-manager -o wide",
        ];
}
