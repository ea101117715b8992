//! docs/plan.md: the conditions of the plans.

use super::markdown::{Document, codes};
use crate::plan::{Condition, Weight, conditions};

pub fn page() -> String {
    let mut page = Document::new("Plans: before it breaks");
    page.paragraph(
        "Before you act, `plan` tells you whether Longhorn can be upgraded, whether a node can be drained, what would \
         be lost if a node, disk or zone failed, and what still fits. It reads the same objects as `check` and \
         changes nothing. `plan upgrade` also reads the API server's release, CustomResourceDefinitions, \
         StorageClasses, NetworkPolicies, and the objects of Helm, Flux and Argo CD that installed Longhorn. The \
         source is a live cluster, a recording or support bundle (`--from`), or the demo (`--demo`).",
    );
    page.code(
        "console",
        "longhorn-health-exporter plan upgrade            # all steps to the newest known release\nlonghorn-health-exporter plan upgrade v1.10.2 \
            # one step; after it: is the upgrade complete?\nlonghorn-health-exporter plan drain node-1       # also --evict, --reboot, \
         --remove\nlonghorn-health-exporter plan drain --all        # every node by itself\nlonghorn-health-exporter plan loss               # \
         volumes that one node, disk or zone would take down\nlonghorn-health-exporter plan capacity           # room on the disks, \
         also without a node or zone\nlonghorn-health-exporter plan capacity --volume 100Gi --replicas 3 --disk-selector ssd\nlonghorn-health-exporter plan capacity --since-recording last-week.tar.gz   # when disks are full at the rate since then\nlonghorn-health-exporter plan \
         capacity --prometheus http://localhost:9090           # at the rate of the last 7 days",
    );
    page.paragraph(
        "The verdict is *go*, *not yet*, *no* or *unknown*. If needed data cannot be read, the verdict is unknown, never go. Exit codes: 0 go, 1 no \
         or not yet, 2 unknown, 64 bad usage. `-o json` follows [plan.schema.json](plan.schema.json). `-o markdown` and `-o junit` are for CI. \
         `--accept` ignores a condition in the verdict but still shows it. The verdicts of `plan loss` are *nothing*, *at risk* and *accepted*. \
         Volumes with a single copy by choice count until you use `--accept one_copy_by_choice`. The verdicts of `plan capacity` are *enough* and \
         *not enough* or, for a new volume, *fits* and *does not fit*. It follows the installed release's scheduler. It ignores \
         backing images.",
    );
    page.paragraph(
        "`plan loss` says how old the newest backup of each lost volume is. It also says when one of its backups was last restored, if a volume \
         restored from it still exists. That proves that the backup could be read then. Findings about old or failed backups say the same. No series \
         has that time: most restore tests delete their volume, and the series would end with it.",
    );
    page.paragraph(
        "`--prometheus` asks one question: the linear trend of `longhorn_disk_usage_bytes`, Longhorn's own series, over the last 7 days. A disk needs \
         1 h of samples. Disks whose size changed in these days have no rate. If Prometheus holds several clusters, select one with \
         `--prometheus-labels cluster=prod-eu1`. With a recording, the 7 days end at its time. `--prometheus-token-file` names a file with a bearer \
         token. If Prometheus cannot answer, the exit code is 2. Two series of the exporter show both trends: \
         `longhorn_health_fullest_disk_used_ratio` and `longhorn_health_largest_replica_bytes`.",
    );
    page.paragraph(
        "`serve` answers the same questions at `/plan/upgrade?to=v1.10.2`, `/plan/drain?node=node-1&intent=reboot`, `/plan/loss` and \
         `/plan/capacity?volume=100Gi`: as a page for browsers, otherwise as text, and with `o=json` as JSON. The kinds that only `plan upgrade` \
         needs are listed when you open that page, at most once in 30 s.",
    );
    page.heading(2, "In a pipeline");
    page.paragraph(
        "Run a plan before you roll out a Longhorn chart, in an Argo CD PreSync hook or a Job such as `deploy/plan/job.yaml`. Any exit code \
         except 0 stops the rollout.",
    );
    page.code(
        "yaml",
        "# GitHub Actions\n- run: longhorn-health-exporter plan upgrade \"$TARGET\" -o markdown >> \"$GITHUB_STEP_SUMMARY\"\n\
         # GitLab\nlonghorn-plan:\n  script: [longhorn-health-exporter plan upgrade \"$TARGET\" -o junit > plan.xml]\n  \
         artifacts: {when: always, reports: {junit: plan.xml}}",
    );
    page.paragraph(
        "kured and system-upgrade-controller restart one node at a time. Run `plan drain --all --reboot` in a job before them. Exit code 0 means \
         that each node can be restarted alone.",
    );
    for (plan, title) in [
        ("upgrade", "Conditions of plan upgrade"),
        ("drain", "Conditions of plan drain"),
        ("loss", "Conditions of plan loss"),
        ("capacity", "Conditions of plan capacity"),
    ] {
        page.heading(2, title);
        let rows = conditions().filter(|(of, _)| *of == plan).map(|(_, condition)| row(condition));
        page.table(["condition", "what it finds", "verdict", "needs", "source"], rows);
    }
    page.finish()
}

fn row(condition: &Condition) -> [String; 5] {
    let weight = match condition.weight {
        Weight::No => "no",
        Weight::NotYet => "not yet",
        Weight::Unknown => "unknown",
        Weight::Note => "a note",
    };
    let needs = codes(condition.needs.iter().map(|kind| kind.label()));
    let [id, meaning, source] =
        [format!("`{}`", condition.id()), condition.cause.meaning.to_owned(), condition.source.to_owned()];
    [id, meaning, weight.to_owned(), needs, source]
}
