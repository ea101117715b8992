//! An in-process Kubernetes API server for tests and benchmarks.
//!
//! It speaks real HTTP/1.1 on a loopback port, so that a client is tested with its own connection handling,
//! pagination, decoding and back-off, and it fails on demand in the ways real servers fail.
//!
//! ```no_run
//! # async fn example() {
//! use fake_apiserver::{FakeApiServer, Fault, ResourceDef, Verb};
//! use serde_json::json;
//!
//! let server = FakeApiServer::start().await;
//! server.serve_builtin();
//! server.serve(ResourceDef::custom("example.io/v1", "widgets", "Widget"));
//! server.put("widgets.example.io", json!({"metadata": {"name": "w", "namespace": "default"}}));
//! server.fault("pods", Fault::Forbid.on(Verb::Watch));
//! server.wait_for_watch("widgets.example.io").await;
//! # }
//! ```
//!
//! Resources are named the way `kubectl` names them: `pods`, `volumes.longhorn.io`, or with a version,
//! `volumes.v1beta1.longhorn.io`. Faults and counters know no versions (RBAC does not either) and also take
//! subresources, `pods/log`.
//!
//! The map: [`resource`](ResourceDef) what is served; `store` objects, event log, snapshots; `route` and `query`
//! take a request apart; `serve` dispatches it to `list`, `watch`, `logs`, `reviews` or `discovery`; `faults` what goes
//! wrong; `recorder` what was asked, and waiting for it; `data` how a test changes objects.
//!
//! Mistakes of the test itself (an object without a name, a resource never served) panic at once.

mod body;
mod data;
mod discovery;
mod faults;
mod list;
mod logs;
mod query;
mod recorder;
mod resource;
mod reviews;
mod route;
mod serve;
mod server;
mod settings;
mod state;
mod status;
mod store;
mod watch;

pub use faults::{Fault, Rule};
pub use recorder::{RecordedRequest, Verb};
pub use resource::ResourceDef;
pub use reviews::UserInfo;
pub use server::FakeApiServer;
pub use settings::{Date, Expired, StreamingLists, Unserved};
