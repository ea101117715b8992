//! Which paths there are, and what each stands for. Metrics may take none of them.

use crate::plan::Which;

/// What a path stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Route {
    Live,
    Ready,
    Metrics,
    Report,
    Text,
    /// What happened: a page, or text.
    Timeline(bool),
    Plan(Which),
    /// By the name of its alert.
    Runbook(&'static str),
    /// A check or a cause, named by the path.
    Explain,
    /// The index of runbooks.
    Runbooks,
    Landing,
}

/// Fixed paths, whether they are served at present or not.
const FIXED: &[(&str, Route)] = &[
    ("/", Route::Landing),
    ("/livez", Route::Live),
    ("/healthz", Route::Live),
    ("/-/healthy", Route::Live),
    ("/readyz", Route::Ready),
    ("/-/ready", Route::Ready),
    ("/api/v1/report", Route::Report),
    ("/report.txt", Route::Text),
    ("/timeline", Route::Timeline(true)),
    ("/timeline.txt", Route::Timeline(false)),
    ("/plan/upgrade", Route::Plan(Which::Upgrade)),
    ("/plan/drain", Route::Plan(Which::Drain)),
    ("/plan/loss", Route::Plan(Which::Loss)),
    ("/plan/capacity", Route::Plan(Which::Capacity)),
    (RUNBOOKS, Route::Runbooks),
];

/// Where tools of models ask.
pub const MCP: &str = "/mcp";
/// Where the runbooks are: those of this very release, also without access to the internet.
pub(super) const RUNBOOKS: &str = "/runbooks/";
/// What a check or a cause means.
pub(super) const EXPLAIN: &str = "/explain/";
/// What concerns the claims of a namespace.
pub(super) const NAMESPACE: &str = "/namespace/";

/// What a fixed path stands for.
pub(super) fn fixed(path: &str) -> Option<Route> {
    FIXED.iter().find(|(fixed, _)| *fixed == path).map(|(_, route)| *route)
}

/// Whether a path is one of ours, so that metrics there would hide something or be hidden.
pub fn is_taken(path: &str) -> bool {
    let below = [RUNBOOKS, EXPLAIN, NAMESPACE].iter().any(|tree| path.starts_with(tree));
    below || path == MCP || path == RUNBOOKS.trim_end_matches('/') || fixed(path).is_some()
}
