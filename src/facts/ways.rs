//! Ways that causes of several checks share.

use crate::check::ways;

const DNS: &str = "kubectl -n kube-system get pods -l k8s-app=kube-dns -o wide";
const SERVICE: &str = "kubectl -n <namespace> get service <service> -o wide";
const SLICES: &str =
    "kubectl -n <namespace> get endpointslices -l kubernetes.io/service-name=<service> -o yaml";
const ON_NODE: &str = "kubectl get pods -A -o wide --field-selector spec.nodeName=<node>";
/// Of a manager that still waits, and of one that gave up: a finding names the one or the other.
const WAITS: &str = "kubectl -n <namespace> logs <manager> -c longhorn-manager --tail=50";
const GAVE_UP: &str = "kubectl -n <namespace> logs <pod> -c longhorn-manager --previous --tail=100";

// Why a manager does not reach the Service of a webhook, no matter what serves it. Deleting its pod changes none of it.
ways! { UNREACHED:
    NO_SUCH_NAME "cluster DNS says that there is no such name"
        means "its last attempt failed in DNS: the name of the Service does not resolve in this pod, a server answers that there is none"
        fix "Find the DNS server that says that the Service does not exist: one of the node instead of the cluster's (resolv.conf, a search \
             domain for which a server outside answers), another cluster domain in the kubelet's configuration, or a Service that was \
             deleted."
        [read SERVICE, read DNS, read WAITS, read GAVE_UP];
    NO_DNS "cluster DNS does not answer for its name"
        means "its last attempt failed in DNS: no server answers for the name of the Service in this pod"
        fix "Bring cluster DNS back for this node: the CoreDNS pods, and UDP and TCP port 53 from this node to them."
        [read DNS, read ON_NODE, read WAITS, read GAVE_UP];
    NO_ROUTE "a firewall rejects the packets, or there is no route"
        means "its last attempt was rejected on the way (no route to host): by a firewall, or there is no way between the nodes"
        fix "Open the nodes' firewall for the pod network (firewalld rejects it, and nm-cloud-setup of RHEL takes its routes away), then \
             look at the CNI and at the routes between the nodes."
        [read ON_NODE, read SLICES, read WAITS, read GAVE_UP];
    TIMEOUT "packets are lost on the way"
        means "its last attempt timed out: packets to the Service or to the pod behind it are lost"
        fix "Look at the pod network of this node: firewall, kube-proxy, the CNI, and hairpin traffic where the only endpoint is on the same \
             node."
        [read ON_NODE, read SLICES, read WAITS, read GAVE_UP];
}

const POD: &str = "kubectl -n <namespace> describe pod <pod>";
/// Where there is no pod.
const SET: &str = "kubectl -n <namespace> describe daemonset <workload>";
const NODE: &str = "kubectl describe node <node>";
const REPLICAS: &str = "kubectl -n <namespace> get replicas.longhorn.io -l longhornnode=<node>";

// Why the API server takes no pods of a DaemonSet.
ways! { REFUSED:
    QUOTA "a ResourceQuota leaves no room"
        fix "Raise or remove the ResourceQuota of Longhorn's namespace. The DaemonSet controller tries again within minutes."
        [read "kubectl -n <namespace> describe resourcequota"];
    POD_SECURITY "the namespace allows no privileged pods"
        fix "Allow privileged pods in Longhorn's namespace; Longhorn cannot do without. The DaemonSet controller tries again at growing intervals: a restart \
             of the rollout makes it try at once." [
            change "kubectl label namespace <namespace> pod-security.kubernetes.io/enforce=privileged --overwrite",
            change "kubectl -n <namespace> rollout restart daemonset <workload>",
        ];
    ADMISSION "a ServiceAccount, a PriorityClass or a webhook is missing"
        fix "Create what the refusal names (a ServiceAccount, a PriorityClass), start the webhook that does not answer, or change the policy that refuses the \
             pods." [read POD, read SET];
}

// What else keeps a pod of a DaemonSet from its node.
ways! { NOT_STARTED:
    IMAGE "its image cannot be pulled"
        fix "Make the image available to this node: the name and tag in the DaemonSet, the registry and its pull secret, DNS and proxy of the node. The \
             kubelet tries again within five minutes." [read POD, read SET];
    NODE_LACKS "the node lacks what it needs"
        fix "Give the node what the pod needs there: the path, Secret or ConfigMap that it mounts, the CNI plugin, a working container runtime. The kubelet \
             tries again on its own." [read POD, read SET, read NODE];
    INIT "an init container fails"
        fix "Fix what the init container complains about in its log."
        [read POD, read SET, read "kubectl -n <namespace> logs <pod> --all-containers --previous --tail=30"];
    NO_PLACE "the node has no room for it"
        fix "Make room on the node, or lower what the DaemonSet requests: CPU, memory, pods, ports." [read POD, read SET, read NODE];
    TAINT "the node has a taint that it does not tolerate"
        fix "Decide whether this node should run Longhorn. If it should, remove the taint or add a toleration to the DaemonSet. If not, let the manager run \
             once more until its replicas are evicted, which only the manager of a node does." [read NODE, read REPLICAS];
    LABEL "the node lacks a label that it asks for"
        fix "Decide whether this node should run Longhorn. If it should, put the label back on the node or change the nodeSelector of the DaemonSet. If not, \
             let the manager run once more until its replicas are evicted, which only the manager of a node does." [read NODE, read REPLICAS];
    WAITING "it waits, and nothing says for what"
        fix "Fix what the Events of the pod name; the kubelet then continues on its own." [read POD, read SET];
}

// Why neither engine nor replicas of a volume start.
ways! { BACKING_IMAGE:
    WAITS_FOR_IMAGE "its backing image has no copy that is ready"
        fix "Get backing image <backing_image> ready first: the volume then attaches on its own. The image's message says what it lacks." [
            read "kubectl -n <namespace> get backingimages.longhorn.io <backing_image> -o yaml",
            read "kubectl -n <namespace> get backingimagedatasources.longhorn.io <backing_image> -o yaml",
            read "kubectl -n <namespace> get pods -l longhorn.io/component=backing-image-manager -o wide",
        ];
}
