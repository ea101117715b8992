use std::sync::Arc;

use super::CHECK;
use crate::testing::*;

const NOW: &str = "2026-03-01T12:00:00Z";
const JUST_NOW: &str = "2026-03-01T11:59:00Z";

fn share(state: &str) -> String {
    object("ShareManager", "vol-1", &format!("status: {{state: {state}, ownerID: n1}}"))
}

fn volume(spec: &str, status: &str) -> String {
    format!(
        "apiVersion: longhorn.io/v1beta2\nkind: Volume\nmetadata: {{name: vol-1, namespace: longhorn-system}}\nspec: {{{spec}}}\n\
         status: {{{status}, kubernetesStatus: {{pvcName: files, namespace: web}}}}\n---\n"
    )
}

fn attached() -> String {
    volume("accessMode: rwx", "state: attached, robustness: healthy")
}

fn tickets(kind: &str) -> String {
    format!(
        "apiVersion: longhorn.io/v1beta2\nkind: VolumeAttachment\nmetadata: {{name: vol-1, namespace: longhorn-system}}\n\
         spec: {{attachmentTickets: {{t: {{type: {kind}, nodeID: n2}}}}}}\n---\n"
    )
}

fn pod(phase: &str, ready: &str, since: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: share-manager-vol-1, namespace: longhorn-system}}\nspec: {{nodeName: n1}}\n\
         status: {{phase: {phase}, conditions: [{{type: Ready, status: '{ready}', lastTransitionTime: '{since}'}}]}}\n---\n"
    )
}

fn wanted(state: &str) -> String {
    share(state) + &attached() + &tickets("csi-attacher")
}

#[test]
fn servers_that_are_replaced_again_and_again_are_found_while_they_run() {
    let yaml = wanted("running") + &pod("Running", "True", JUST_NOW) + MANAGER;
    let with_gone = |times: i64, minutes_ago: i64| {
        let mut cluster = live_at(NOW, &yaml);
        for number in 0..times {
            let mut pod = cluster.objects.pods.get("share-manager-vol-1").unwrap().clone();
            pod.metadata.uid = number.to_string().into();
            cluster.history.pod_gone(
                Arc::new(pod),
                "",
                cluster.now - jiff::SignedDuration::from_mins(minutes_ago),
            );
        }
        cluster
    };
    assert_eq!(found(&CHECK, &with_gone(3, 10)), ["warning restarting ShareManager vol-1"]);
    assert!(found(&CHECK, &with_gone(2, 10)).is_empty());
    assert!(found(&CHECK, &with_gone(3, 31)).is_empty());
}
