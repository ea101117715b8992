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
