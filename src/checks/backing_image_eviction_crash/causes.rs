//! Why a copy of a backing image endangers the manager of its node.

use crate::check::causes;

/// Prints each copy that is in the status only, one a line; nothing when it is safe.
pub const STATUS_ONLY: &str = "kubectl -n <namespace> get backingimages.longhorn.io -o go-template='{{range .items}}{{$b := .}}\
    {{range $disk, $copy := .status.diskFileStatusMap}}{{if not (and $b.spec.diskFileSpecMap (index $b.spec.diskFileSpecMap $disk))}}\
    {{$b.metadata.name}} {{$disk}}{{\"\\n\"}}{{end}}{{end}}{{end}}'";

causes! {
    AT_RISK = critical "at_risk"
        "eviction is requested on a disk with a stale copy (in the status, not in the spec), so the node's manager panics"
        fix "Cancel the eviction of <value>. Request it again once no copy is only in the status. Upgrade to 1.8.2, 1.9.1 or later, which fix the \
             panic." [
            change "kubectl -n <namespace> patch nodes.longhorn.io <node> --type merge -p '{\"spec\":{\"evictionRequested\":false}}'",
            read STATUS_ONLY,
            change "kubectl -n <namespace> patch nodes.longhorn.io <node> --type merge -p '{\"spec\":{\"evictionRequested\":true}}'",
        ];
    LATENT = warning "latent"
        "a copy has been only in the status for minutes: requesting eviction would make the manager panic"
        fix "Find out why the disk's backing image manager keeps the stale copy. If its pod hangs, delete that pod: volumes keep running. Until then, \
             do not request eviction of <value>." [
            read "kubectl -n <namespace> get backingimagemanagers.longhorn.io -o wide | grep -E 'NAME|<key>'",
            read STATUS_ONLY,
            read "kubectl -n <namespace> get pods -l longhorn.io/component=backing-image-manager -o wide",
            read "kubectl -n <namespace> get backingimages.longhorn.io <object> -o yaml",
        ] proven "the fix asks for a pod that hangs; copies on the disk stay, and only those being synced start over";
    TRANSIENT = info "transient"
        "a copy has been only in the status for seconds, which is normal after a copy is removed"
        fix "Wait a few seconds before requesting eviction of <value>." [read STATUS_ONLY];
}
