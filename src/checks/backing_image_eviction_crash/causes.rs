//! Why a copy of a backing image endangers the manager of its node.

use crate::check::causes;

/// Prints each copy that is in the status only, one a line; nothing when it is safe.
pub const STATUS_ONLY: &str = "kubectl -n <namespace> get backingimages.longhorn.io -o go-template='{{range .items}}{{$b := .}}\
    {{range $disk, $copy := .status.diskFileStatusMap}}{{if not (and $b.spec.diskFileSpecMap (index $b.spec.diskFileSpecMap $disk))}}\
    {{$b.metadata.name}} {{$disk}}{{\"\\n\"}}{{end}}{{end}}{{end}}'";

causes! {
    AT_RISK = critical "at_risk"
        "eviction is requested where a copy is in the status but no longer in the spec: the manager of the node panics"
        fix "Cancel the eviction of <value>, wait until no copy is in the status only, then request it again. Upgrade to 1.8.2, 1.9.1 or later to get \
             rid of it." [
            change "kubectl -n <namespace> patch nodes.longhorn.io <node> --type merge -p '{\"spec\":{\"evictionRequested\":false}}'",
            read STATUS_ONLY,
            change "kubectl -n <namespace> patch nodes.longhorn.io <node> --type merge -p '{\"spec\":{\"evictionRequested\":true}}'",
        ];
    LATENT = warning "latent"
        "a copy has been in the status only for minutes: a request for eviction would make the manager panic"
        fix "Do not request eviction of <value> before the copy is gone from the status. See why the backing image manager of the disk does not remove \
             it; where its pod hangs, delete that: what runs is not touched, and copies that are being synced start over." [
            read "kubectl -n <namespace> get backingimagemanagers.longhorn.io -o wide | grep -E 'NAME|<key>'",
            read STATUS_ONLY,
            read "kubectl -n <namespace> get pods -l longhorn.io/component=backing-image-manager -o wide",
            read "kubectl -n <namespace> get backingimages.longhorn.io <object> -o yaml",
        ] proven "its pod hangs, as the reader is to see; copies on the disk stay, and only those that are being synced start over";
    TRANSIENT = info "transient"
        "a copy has been in the status only for seconds, as it is after every removal of a copy"
        fix "Wait a few seconds before requesting eviction of <value>." [read STATUS_ONLY];
}
