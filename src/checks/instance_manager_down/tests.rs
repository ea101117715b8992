//! What cases.yaml cannot say: pods that were there and are deleted.

use super::CHECK;
use crate::cluster::Cluster;
use crate::testing::instance_managers::*;

/// Longhorn deletes each pod that the kubelet does not take and creates the next one; the state lasts, whatever is there at the moment.
#[test]
fn pods_that_the_node_does_not_take_are_one_state() {
    let im = im("im-1", NEW, "type: aio, dataEngine: v1", "error", "");
    let tainted = node().replace(
        "metadata: {name: node-1}\n",
        "metadata: {name: node-1}\nspec: {taints: [{key: key, value: value, effect: NoExecute}]}\n",
    );
    let base = release("v1.12.1") + &tainted + &manager_pod(true, NEW) + &im;
    let pod =
        |uid: &str, phase: &str, status: &str| im_pod("im-1", uid, "2026-01-02T11:59:58Z", phase, "", status);
    let rejected = "reason: TaintToleration, message: \"Pod was rejected: Predicate TaintToleration failed: node(s) had taints \
                    that the pod didn't tolerate\"";
    for now in [String::new(), pod("uid-1", "Pending", ""), pod("uid-1", "Failed", rejected)] {
        let mut cluster = live_at("2026-01-02T12:00:00Z", &(base.clone() + &now));
        for at in ["6:30", "8:00", "9:30"] {
            let Cluster { mut objects, .. } = crate::testing::cluster(&pod(at, "Failed", rejected));
            let last = objects.pods.remove("im-1").unwrap();
            cluster.history.pod_gone(last, "", time(&format!("2026-01-02T11:5{at}Z")));
        }
        let finding = run(&CHECK, &cluster).report.findings.remove(0);
        assert_eq!((finding.cause.id, finding.severity.as_str()), ("pod_rejected", "critical"));
        assert!(finding.message.ends_with("taint key=value:NoExecute"), "{}", finding.message);
        // after Longhorn's longest back-off it is another state
        let said = found(&CHECK, &later(cluster, 180));
        assert_eq!(said.iter().any(|one| one.contains("pod_rejected")), now.contains("Failed"), "{said:?}");
    }
}
