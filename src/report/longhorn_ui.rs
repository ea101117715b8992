//! Pages of Longhorn's UI. Its router reads the part of an address behind `#`: `/volume/NAME` is a volume, and `/node` lists the nodes, of
//! which `field` and `value` choose (longhorn-ui v1.3.3 to v1.11.3 src/main.js, src/router.js, src/routes/host/index.js).

use crate::check::Finding;

/// The page of a volume. `None` for a name that Kubernetes does not allow.
pub fn volume(base: &str, name: &str) -> Option<String> {
    is_name(name).then(|| format!("{}/#/volume/{name}", base.trim_end_matches('/')))
}

/// The list of nodes with this one alone. `None` for a name that Kubernetes does not allow.
pub fn node(base: &str, name: &str) -> Option<String> {
    is_name(name).then(|| format!("{}/#/node?field=name&value={name}", base.trim_end_matches('/')))
}

/// The page of what a finding is about: its object or its only volume, else its node.
pub fn of(base: &str, finding: &Finding) -> Option<String> {
    let object = &finding.object;
    match (object.kind, finding.volumes.as_slice()) {
        ("Volume", _) => volume(base, &object.name),
        ("Node" | "nodes.longhorn.io", _) => node(base, &object.name),
        (_, [only]) => volume(base, &only.name),
        _ => node(base, finding.node.as_deref()?),
    }
}

/// Recordings of others are not to be trusted to hold names that need no escape.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_volumes_and_nodes_and_none_of_names_that_kubernetes_does_not_allow() {
        let base = "https://longhorn.example.org/ui/";
        assert_eq!(volume(base, "pvc-1").as_deref(), Some("https://longhorn.example.org/ui/#/volume/pvc-1"));
        let page = "https://longhorn.example.org/ui/#/node?field=name&value=worker-1.example.org";
        assert_eq!(node(base, "worker-1.example.org").as_deref(), Some(page));
        for wrong in ["", "a b", "a&b=c", "\"><script>", "a/../b"] {
            assert_eq!((volume(base, wrong), node(base, wrong)), (None, None), "{wrong}");
        }
    }
}
