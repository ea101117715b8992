//! One request, from its path to its answer.

use std::sync::Arc;

use futures::stream;
use http::header::{ACCEPT, AUTHORIZATION};
use http::{HeaderMap, Method, Request, StatusCode};
use hyper::body::Incoming;

use crate::body::{self, Answer};
use crate::faults::Fault;
use crate::query::Query;
use crate::recorder::{RecordedRequest, Verb};
use crate::route::{self, Route, Target};
use crate::settings::Unserved;
use crate::state::{Shared, State};
use crate::status::Failure;
use crate::store::Form;
use crate::{discovery, list, logs, reviews, watch};

/// Answers a request.
pub(crate) async fn answer(shared: Arc<Shared>, request: Request<Incoming>) -> Answer {
    let route = route::parse(request.uri().path());
    let query = Query::parse(request.uri().query());
    let verb = verb(request.method(), &route, &query);
    record(&shared, &request, &route, verb);
    match route {
        Route::Version => return discovery::version(&shared.lock()),
        Route::Health => return body::text(StatusCode::OK, "ok"),
        _ if !authenticated(&shared.lock(), request.headers()) => {
            return body::failure(&Failure::unauthorized());
        }
        _ => {}
    }
    match route {
        Route::Resource(target) => match verb {
            Some(verb) => resource(shared, request, target, &query, verb).await,
            None => body::failure(&Failure::method_not_allowed()),
        },
        other => discovery::answer(&shared.lock(), &other),
    }
}

fn record(shared: &Shared, request: &Request<Incoming>, route: &Route, verb: Option<Verb>) {
    let resource = match route {
        Route::Resource(target) => target.fault_key(),
        _ => String::new(),
    };
    let request = RecordedRequest {
        resource,
        verb: verb.unwrap_or(Verb::Get),
        path: request.uri().path().to_owned(),
        query: request.uri().query().unwrap_or_default().to_owned(),
    };
    shared.change(|state| state.recorder.record(request));
}

fn verb(method: &Method, route: &Route, query: &Query) -> Option<Verb> {
    let named = matches!(route, Route::Resource(target) if target.name.is_some());
    match *method {
        Method::GET if query.flag("watch") => Some(Verb::Watch),
        Method::GET if named => Some(Verb::Get),
        Method::GET => Some(Verb::List),
        Method::POST => Some(Verb::Create),
        Method::PUT => Some(Verb::Update),
        Method::PATCH => Some(Verb::Patch),
        Method::DELETE => Some(Verb::Delete),
        _ => None,
    }
}

fn authenticated(state: &State, headers: &HeaderMap) -> bool {
    let Some(tokens) = &state.settings.tokens else {
        return true;
    };
    let header = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    header.and_then(|value| value.strip_prefix("Bearer ")).is_some_and(|token| tokens.contains(token))
}

/// The answer of a path no one serves.
pub(crate) fn unserved(state: &State) -> Answer {
    match state.settings.unserved {
        Unserved::Text => body::text(StatusCode::NOT_FOUND, "404 page not found\n"),
        Unserved::Status => body::failure(&Failure::unserved()),
    }
}

async fn resource(
    shared: Arc<Shared>,
    request: Request<Incoming>,
    target: Target,
    query: &Query,
    verb: Verb,
) -> Answer {
    let fault = shared.lock().faults.take(&target.fault_key(), verb, target.namespace.as_deref());
    match &fault {
        Some(Fault::Forbid | Fault::ForbidOutside(_)) => {
            let user = shared.lock().settings.user.clone();
            return body::failure(&Failure::forbidden(&user, verb, &target));
        }
        Some(Fault::Unauthorized) => return body::failure(&Failure::unauthorized()),
        Some(Fault::Status(code, retry_after)) => {
            return body::failure(&Failure::from_code(*code, *retry_after));
        }
        Some(Fault::Raw(code, content)) => {
            let code = StatusCode::from_u16(*code).unwrap_or(StatusCode::BAD_GATEWAY);
            return body::answer(code, "text/html", body::full(*content));
        }
        Some(Fault::Hang) => return std::future::pending().await,
        _ => {}
    }
    if verb == Verb::Create && reviews::is_review(&target) {
        return reviews::answer(&shared, &target, request).await;
    }
    if target.subresource.as_deref() == Some("log") && target.plural == "pods" && verb == Verb::Get {
        return logs::answer(&shared.lock(), &target, query, fault);
    }
    if !served(&shared.lock(), &target) {
        return unserved(&shared.lock());
    }
    let form = partial(request.headers());
    let outcome = match verb {
        Verb::List => list::answer(&mut shared.lock(), &target, query, form, fault),
        Verb::Watch => watch::answer(&shared, &target, query, form),
        Verb::Get => get(&shared.lock(), &target, form, fault),
        // The clients under test only read; a write shows in the counters.
        _ => Err(Failure::method_not_allowed()),
    };
    outcome.unwrap_or_else(|failure| body::failure(&failure))
}

/// Whether the path addresses a registered resource in its right scope.
fn served(state: &State, target: &Target) -> bool {
    let Some(collection) = state.store.collections.get(&target.gvr()) else {
        return false;
    };
    let scoped = if collection.def.namespaced {
        target.namespace.is_some() || target.name.is_none()
    } else {
        target.namespace.is_none()
    };
    scoped && target.subresource.as_deref().is_none_or(|subresource| subresource == "status")
}

/// Whether the client asked for metadata only.
fn partial(headers: &HeaderMap) -> Form {
    let accept = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if accept.contains("as=PartialObjectMetadata") { Form::Partial } else { Form::Full }
}

fn get(state: &State, target: &Target, form: Form, fault: Option<Fault>) -> Result<Answer, Failure> {
    let namespace = target.namespace.as_deref().unwrap_or_default();
    let name = target.name.as_deref().unwrap_or_default();
    let object = state
        .store
        .collections
        .get(&target.gvr())
        .and_then(|collection| collection.get(namespace, name))
        .ok_or_else(|| Failure::not_found(target))?;
    let bytes = object.bytes(form);
    Ok(body::answer(
        StatusCode::OK,
        "application/json",
        match fault {
            Some(_) => body::faulty(stream::iter([bytes]), fault),
            None => body::full(bytes),
        },
    ))
}
