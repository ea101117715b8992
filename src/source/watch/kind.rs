//! One task per kind: list, watch, and start over whatever goes wrong.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use kube::Client;
use kube::api::Api;
use kube::runtime::watcher::{self, Event, watcher};
use tokio::time::Instant;

use super::backoff::{Backoff, Pauses};
use super::item::{Item, of_kind};
use super::state::SharedState;
use super::trouble::WatchTrouble;
use crate::ApiErrorReason;
use crate::longhorn::{Kind, Resource, Scope, Store};

/// Objects asked for in one page of a list. A page is held as text, more than once, while it is
/// decoded; engines carry their whole chain of snapshots, pods and nodes are large too.
fn page_size(resource: Resource) -> u32 {
    match resource {
        Resource::Engines | Resource::Pods | Resource::KubeNodes | Resource::InstanceManagers => 100,
        _ => 250,
    }
}

/// Follows a kind for as long as the process lives.
pub(super) async fn follow<T: Kind>(shared: Arc<SharedState>, client: Client) {
    let (api, config) = (api(client, T::RESOURCE, &shared.options.namespace), config(T::RESOURCE, &shared));
    let mut backoff = Backoff::new(shared.options.pauses);
    let mut by_pages = false;
    loop {
        let config = if by_pages { config.clone() } else { config.clone().streaming_lists() };
        let listed = of_kind::<T, _>(follow_once::<T>(&shared, api.clone(), config, &mut backoff)).await;
        if listed && shared.options.once {
            return std::future::pending().await;
        }
        // A list that did not come whole comes in pages next, of which each can be asked for again; and a
        // server that has just started may have no list in memory yet (429).
        by_pages = !listed && !by_pages;
    }
}

/// A list and the watches after it, until another list is due. True if the list was completed.
async fn follow_once<T: Kind>(
    shared: &SharedState,
    api: Api<Item>,
    config: watcher::Config,
    backoff: &mut Backoff,
) -> bool {
    let streams = config.initial_list_strategy == watcher::InitialListStrategy::StreamingList;
    let mut events = pin!(watcher(api, config));
    let mut listing = Listing::<T>::default();
    let mut failing_since = None;
    let mut relist = Instant::now() + jittered(shared.options.relist_every);
    loop {
        let event = match tokio::time::timeout_at(relist, events.next()).await {
            Ok(Some(event)) => event,
            Ok(None) => return listing.done,
            // an event that was lost, however that came, is made good by a list
            Err(_) if !listing.under_way => return listing.done,
            Err(_) => match events.next().await {
                Some(event) => event,
                None => return listing.done,
            },
        };
        let error = match event {
            Ok(event) => {
                failing_since = None;
                let listed = matches!(event, Event::InitDone);
                if listing.is_endless(&event, shared.options.most_objects) {
                    listing = Listing::default();
                    shared.traffic.count_error(T::RESOURCE, ApiErrorReason::Other);
                    shared.failed::<T>(&WatchTrouble::endless(shared.options.most_objects));
                    tokio::time::sleep(backoff.failed(Instant::now())).await;
                    return listing.done;
                }
                if listing.take(shared, event) {
                    backoff.worked();
                }
                if listed && shared.options.once {
                    return true;
                }
                if listed && listing.nameless {
                    relist = relist.min(Instant::now() + jittered(shared.options.rebuild_after));
                }
                continue;
            }
            Err(error) => error,
        };
        let trouble = WatchTrouble::of(&error, streams && !listing.done);
        if streams && !listing.done && trouble.reason == ApiErrorReason::Throttled {
            tracing::debug!(resource = %T::RESOURCE, message = trouble.message, "listing in pages");
            return false;
        }
        if trouble.in_band {
            shared.traffic.count_error(T::RESOURCE, trouble.reason);
        }
        let doubtful = shared.failed::<T>(&trouble);
        // soon, however long the server was away before
        let pause = if doubtful { shared.options.pauses.jittered(1) } else { backoff.failed(Instant::now()) };
        let absent = trouble.reason == ApiErrorReason::NotInstalled;
        tokio::time::sleep(if absent { shared.options.look_again } else { pause }).await;
        let since = *failing_since.get_or_insert_with(Instant::now);
        let broken = streams && !listing.done;
        if broken || trouble.relist || since.elapsed() > shared.options.rebuild_after {
            return listing.done;
        }
    }
}

fn api(client: Client, resource: Resource, namespace: &str) -> Api<Item> {
    match resource.info().scope {
        Scope::Namespaced => Api::namespaced_with(client, namespace, &resource),
        Scope::InNamespace { namespace, .. } => Api::namespaced_with(client, namespace, &resource),
        Scope::Cluster | Scope::ClusterNamed(_) | Scope::ClusterLabelled(_) => {
            Api::all_with(client, &resource)
        }
    }
}

/// The namespace of a kind; empty for one without.
fn home<T: Kind>(longhorn: &str) -> &str {
    match T::RESOURCE.info().scope {
        Scope::Namespaced => longhorn,
        Scope::InNamespace { namespace, .. } => namespace,
        Scope::Cluster | Scope::ClusterNamed(_) | Scope::ClusterLabelled(_) => "",
    }
}

fn config(resource: Resource, shared: &SharedState) -> watcher::Config {
    let config =
        watcher::Config::default().timeout(shared.options.watch_seconds).page_size(page_size(resource));
    match resource.info().scope {
        Scope::InNamespace { field_selector, .. } => config.fields(field_selector),
        Scope::ClusterNamed(name) => config.fields(&format!("metadata.name={name}")),
        Scope::ClusterLabelled(label) => config.labels(label),
        Scope::Namespaced | Scope::Cluster => config,
    }
}

/// Spread over a quarter, so that kinds are not listed in step.
fn jittered(every: Duration) -> Duration {
    let once = Pauses { first: every, longest: every };
    once.jittered(1)
}

/// A list under way; it takes the place of the store when complete.
struct Listing<T> {
    under_way: bool,
    /// A list was completed.
    done: bool,
    objects: Store<T>,
    /// An object has no name by which an event could make it good.
    nameless: bool,
    /// Objects that do not decode, with the reason.
    undecodable: BTreeMap<Box<str>, String>,
}

impl<T> Default for Listing<T> {
    fn default() -> Self {
        Listing {
            under_way: false,
            done: false,
            objects: Store::default(),
            nameless: false,
            undecodable: BTreeMap::new(),
        }
    }
}

impl<T: Kind> Listing<T> {
    /// Whether another object would be more than any cluster has.
    fn is_endless(&self, event: &Event<Item>, most: usize) -> bool {
        let held = self.objects.len() + self.undecodable.len();
        matches!(event, Event::InitApply(_)) && held >= most
    }

    /// Takes in an event; true if it proves that the watch works.
    fn take(&mut self, shared: &SharedState, event: Event<Item>) -> bool {
        match event {
            // a broken proxy may mix what others asked for
            Event::InitApply(item) | Event::Apply(item) | Event::Delete(item)
                if item.is_elsewhere(home::<T>(&shared.options.namespace)) =>
            {
                shared.traffic.count_error(T::RESOURCE, ApiErrorReason::Decode);
            }
            Event::Init => {
                *self = Listing { under_way: true, ..Listing::default() };
                shared.list_begun(T::RESOURCE);
            }
            Event::InitApply(mut item) => {
                let name = item.meta.name.take().unwrap_or_default();
                match item.into_object::<T>() {
                    Ok(object) => self.objects.insert(object),
                    Err(error) => {
                        self.undecodable.insert(name.into(), error);
                    }
                }
            }
            Event::InitDone => {
                let nameless = self.undecodable.contains_key("");
                let listed = std::mem::replace(self, Listing { done: true, nameless, ..Listing::default() });
                shared.listed(listed.objects, listed.undecodable);
            }
            Event::Apply(item) | Event::Delete(item) if item.name().is_empty() => {
                // nothing says which object this was
                shared.traffic.count_error(T::RESOURCE, ApiErrorReason::Decode);
            }
            Event::Apply(item) => {
                shared.traffic.count_event(T::RESOURCE);
                shared.traffic.saw(T::RESOURCE, item.meta.resource_version.as_deref());
                let name = item.name().to_owned();
                match item.into_object::<T>() {
                    Ok(object) => shared.applied(object),
                    Err(error) => shared.applied_odd::<T>(&name, &error),
                }
                return true;
            }
            Event::Delete(item) => {
                shared.traffic.count_event(T::RESOURCE);
                shared.traffic.saw(T::RESOURCE, item.meta.resource_version.as_deref());
                let name = item.name().to_owned();
                shared.deleted(&name, item.into_object::<T>().ok());
                return true;
            }
        }
        false
    }
}
