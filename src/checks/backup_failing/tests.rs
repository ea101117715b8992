use super::CHECK;
use crate::testing::*;

const NOW: &str = "2026-03-10T12:00:00Z";
const LONG_AGO: &str = "2026-03-10T10:00:00Z";
const JUST_NOW: &str = "2026-03-10T11:55:00Z";

fn volume(status: &str) -> String {
    format!(
        "apiVersion: longhorn.io/v1beta2\nkind: Volume\nmetadata: {{name: vol-1, namespace: longhorn-system, creationTimestamp: \
         '2026-01-01T00:00:00Z', labels: {{recurring-job-group.longhorn.io/default: enabled, x: z}}}}\n\
         status: {{{status}, kubernetesStatus: {{pvcName: data, namespace: db}}}}\n---\n"
    )
}

fn backup(name: &str, created: &str, status: &str) -> String {
    format!(
        "apiVersion: longhorn.io/v1beta2\nkind: Backup\nmetadata: {{name: {name}, namespace: longhorn-system, creationTimestamp: '{created}', \
         labels: {{backup-volume: vol-1}}}}\nspec: {{snapshotName: snap}}\nstatus: {{{status}}}\n---\n"
    )
}

#[test]
fn complete_backups_are_not_held() {
    let many: String =
        (0..50).map(|number| backup(&format!("b{number}"), LONG_AGO, "state: Completed")).collect();
    let cluster =
        cluster_at(NOW, &(volume("state: attached") + &many + &backup("c", JUST_NOW, "state: InProgress")));
    assert_eq!(cluster.objects.backups.len(), 1);
    assert_eq!(
        sample(&run(&CHECK, &cluster), "longhorn_health_incomplete_backups", &["in_progress"]),
        Some(1.0)
    );
}
