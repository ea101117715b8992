//! Why a copy of a backing image endangers the manager of its node.

use crate::check::causes;

/// Prints each copy that is in the status only, one a line; nothing when it is safe.
pub const STATUS_ONLY: &str = "kubectl -n <namespace> get backingimages.longhorn.io -o go-template='{{range .items}}{{$b := .}}\
    {{range $disk, $copy := .status.diskFileStatusMap}}{{if not (and $b.spec.diskFileSpecMap (index $b.spec.diskFileSpecMap $disk))}}\
    {{$b.metadata.name}} {{$disk}}{{\"\\n\"}}{{end}}{{end}}{{end}}'";

causes! {
    AT_RISK = critical "at_risk"
        "eviction is requested on a disk with a stale backing image copy, so the node's manager panics"
        fix "Cancel the eviction of <value>. Once the backing image's status and spec list the same copies, evict again. Upgrade to 1.8.2, 1.9.1 or later." [
            change "kubectl -n <namespace> patch nodes.longhorn.io <node> --type merge -p '{\"spec\":{\"evictionRequested\":false}}'",
            read STATUS_ONLY,
            change "kubectl -n <namespace> patch nodes.longhorn.io <node> --type merge -p '{\"spec\":{\"evictionRequested\":true}}'",
        ];
    LATENT = warning "latent"
        "a backing image copy is in status but not in spec, so eviction would make the manager panic"
        fix "Delete the disk's backing image manager pod if it is hanging (volumes keep running). Otherwise, find in its log why the copy \
             stays. Do not request eviction of <value> yet." [
            read "kubectl -n <namespace> get backingimagemanagers.longhorn.io -o wide | grep -E 'NAME|<key>'",
            read STATUS_ONLY,
            read "kubectl -n <namespace> get pods -l longhorn.io/component=backing-image-manager -o wide",
            read "kubectl -n <namespace> get backingimages.longhorn.io <object> -o yaml",
        ] proven "the fix asks for a pod that hangs; copies on the disk stay, and only those being synced start over";
    TRANSIENT = info "transient"
        "a backing image copy that was removed seconds ago is still in the status (normal)"
        fix "Wait until the copy is removed, usually within seconds, before you request eviction of <value>." [read STATUS_ONLY];
}
