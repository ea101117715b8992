//! docs/plan.md: what the plans ask, from their conditions.

use super::markdown::{Document, codes};
use crate::plan::{Condition, Weight, conditions};

pub fn page() -> String {
    let mut page = Document::new("Plans: before it breaks");
    page.paragraph(
        "`plan` answers before something is done: may Longhorn be upgraded, may a node be drained, what is lost with what. It reads what \
         `check` reads, `plan upgrade` also the API server's release, definitions, StorageClasses, NetworkPolicies and what Helm, Flux and \
         Argo CD have of Longhorn, live, from a recording or a support bundle (`--from`), or the demo (`--demo`), and changes nothing.",
    );
    page.code(
        "console",
        "longhorn-health-exporter plan upgrade            # the steps to the newest release that is known\n\
         longhorn-health-exporter plan upgrade v1.10.2    # one step; afterwards: is it done?\n\
         longhorn-health-exporter plan drain node-1       # also --evict, --reboot, --remove\n\
         longhorn-health-exporter plan drain --all        # each node on its own\n\
         longhorn-health-exporter plan loss               # what is lost with each node, disk and zone",
    );
    page.paragraph(
        "The verdict is *go*, *not yet*, *no* or *unknown*. What decides and could not be read makes it unknown, never go. Exit codes: 0 go, \
         1 no or not yet, 2 unknown, 64 bad usage. `-o json` follows [plan.schema.json](plan.schema.json); `-o markdown` and `-o junit` are for \
         CI. `--accept` ignores a condition in the verdict; it is still shown. `plan loss` says *nothing*, *some* or *accepted* instead: volumes of one \
         copy count until you take `--accept one_copy_by_choice`. `serve` answers the same at `/plan/upgrade?to=v1.10.2`, \
         `/plan/drain?node=node-1&intent=reboot` and `/plan/loss`: a page for browsers, text otherwise, JSON with `o=json`. What only \
         `plan upgrade` reads it asks the API server for when someone opens that page, at most every half minute.",
    );
    page.heading(2, "In a pipeline");
    page.paragraph(
        "Before a chart of Longhorn is rolled out, by an Argo CD PreSync hook or a Job: exit codes other than 0 stop it; \
         `deploy/plan/job.yaml` is one.",
    );
    page.code(
        "yaml",
        "# GitHub Actions\n- run: longhorn-health-exporter plan upgrade \"$TARGET\" -o markdown >> \"$GITHUB_STEP_SUMMARY\"\n\
         # GitLab\nlonghorn-plan:\n  script: [longhorn-health-exporter plan upgrade \"$TARGET\" -o junit > plan.xml]\n  \
         artifacts: {when: always, reports: {junit: plan.xml}}",
    );
    page.paragraph(
        "kured and system-upgrade-controller take one node after the other: a job before them that runs `plan drain --all --reboot` \
         ends with 0 when each node may go on its own.",
    );
    for (plan, title) in [
        ("upgrade", "What plan upgrade asks"),
        ("drain", "What plan drain asks"),
        ("loss", "What plan loss asks"),
    ] {
        page.heading(2, title);
        let rows = conditions().filter(|(of, _)| *of == plan).map(|(_, condition)| row(condition));
        page.table(["condition", "when it is the case", "is", "needs", "from"], rows);
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
