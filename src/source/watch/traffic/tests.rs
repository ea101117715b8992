//! Which kind a call is about.

use super::*;

fn call(uri: &str) -> Option<(Resource, bool, bool)> {
    call_in("longhorn-system", uri)
}

fn call_in(namespace: &str, uri: &str) -> Option<(Resource, bool, bool)> {
    let options = LiveOptions::new(namespace, || Timestamp::UNIX_EPOCH, std::collections::BTreeSet::new());
    let call = Arc::new(Traffic::new(&options)).call(&uri.parse().unwrap())?;
    Some((call.resource, call.watch, call.first))
}

#[test]
fn paths_name_kinds() {
    use Resource::*;
    let longhorn = "http://api:1/apis/longhorn.io/v1beta2/namespaces/longhorn-system";
    assert_eq!(call(&format!("{longhorn}/volumes?limit=500")), Some((Volumes, false, true)));
    assert_eq!(call(&format!("{longhorn}/volumes?limit=500&continue=x")), Some((Volumes, false, false)));
    assert_eq!(
        call(&format!("{longhorn}/nodes?&watch=true&timeoutSeconds=45")),
        Some((LonghornNodes, true, true))
    );
    assert_eq!(call("/api/v1/nodes"), Some((KubeNodes, false, true)));
    assert_eq!(call("/api/v1/namespaces/longhorn-system/pods"), Some((Pods, false, true)));
    let hooks = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations?fieldSelector=a";
    assert_eq!(call(hooks), Some((ValidatingWebhookConfigurations, false, true)));
}

#[test]
fn two_kinds_of_events_differ_by_namespace_and_selector() {
    use Resource::*;
    let of_nodes = "/api/v1/namespaces/default/events?&limit=500&fieldSelector=involvedObject.kind%3DNode";
    let of_longhorn = |namespace: &str| format!("/api/v1/namespaces/{namespace}/events?limit=500");
    for namespace in ["longhorn-system", "default"] {
        assert_eq!(call_in(namespace, of_nodes), Some((NodeEvents, false, true)));
        assert_eq!(call_in(namespace, &of_longhorn(namespace)), Some((Events, false, true)));
    }
    assert_eq!(call(&of_longhorn("default")), None);
}

#[test]
fn other_paths_are_no_kind() {
    for path in [
        "/version",
        "/api/v1/pods",
        "/api/v1/namespaces/other/pods",
        "/api/v1/namespaces/longhorn-system/pods/p/log?previous=true",
        "/apis/longhorn.io/v1beta1/namespaces/longhorn-system/volumes",
    ] {
        assert_eq!(call(path), None, "{path}");
    }
}
