//! Which kind a call is about.

use bytes::Bytes;
use futures::FutureExt as _;
use http_body_util::Full;

use super::*;
use crate::watch::pages;

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

#[test]
fn a_heavy_page_without_a_turn_waits_for_the_one_before() {
    let options = LiveOptions::new("a", || Timestamp::UNIX_EPOCH, std::collections::BTreeSet::new());
    let traffic = Arc::new(Traffic::new(&options));
    let call = traffic.call(&"/api/v1/nodes?limit=250".parse().unwrap()).unwrap();
    let page = |bytes: usize| {
        Full::new(Bytes::from(vec![b'x'; bytes])).map_err(|never: std::convert::Infallible| match never {})
    };
    let read = |bytes, turn: &mut Option<_>| {
        call.collect(page(bytes), turn).now_or_never().map(|page| page.unwrap().len())
    };
    let before = traffic.heavy_page.clone().try_acquire_owned().unwrap();
    let mut turn = None;
    assert_eq!(read(pages::LIGHT, &mut turn), Some(pages::LIGHT));
    assert_eq!(read(pages::LIGHT + 1, &mut turn), None);
    drop(before);
    assert_eq!(read(pages::LIGHT + 1, &mut turn), Some(pages::LIGHT + 1));
    assert!(turn.is_some() && traffic.heavy_page.available_permits() == 0, "held until the page is decoded");
}
