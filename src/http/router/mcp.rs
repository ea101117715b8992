//! The same answers as tools of the Model Context Protocol, over HTTP at `/mcp` or over standard input and output.
//!
//! A tool is a GET of a path of this server: a model can ask what a browser can, and nothing else.

use std::convert::Infallible;
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Body;
use hyper::{HeaderMap, Request, StatusCode, Uri};
use rmcp::ErrorData;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, JsonObject,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Value, json};

use super::{EXPLAIN, RUNBOOKS, Router};
use crate::did_you_mean;
use crate::http::names;
use crate::http::respond::{Answer, Refusal};
use crate::plan::Which;

/// The largest question, and how long one may take to arrive and to be answered.
const MAX_QUESTION: usize = 64 * 1024;
const PATIENCE: Duration = Duration::from_secs(30);

const PLAN: &str = "/plan/";

const INSTRUCTIONS: &str = "Health of one Longhorn installation, read from the Kubernetes API. Begin with `report`; its incidents are \
    numbered, the root cause first, each with a fix. `report` with `details` has the evidence and the commands. Before anyone upgrades, \
    drains, restarts or removes something, ask `plan`. Nothing here changes the cluster. UNKNOWN is not healthy.";

/// A question, and the path that answers it.
struct Question {
    name: &'static str,
    about: &'static str,
    path: &'static str,
    /// What the path ends with.
    last: Option<Parameter>,
    query: &'static [Parameter],
}

/// Its name, and what it means.
type Parameter = (&'static str, &'static str);

const QUESTIONS: &[Question] = &[
    Question {
        name: "report",
        about: "What is wrong with Longhorn now: status, data at stake, incidents with cause, consequences, fix and first command.",
        path: "/report.txt",
        last: None,
        query: &[
            ("details", "all, or the number of an incident: evidence and all commands"),
            ("node", "only what affects these nodes (comma-separated)"),
            ("volume", "only what affects these Longhorn volumes"),
            ("pvc", "only what affects the volumes of these claims, as namespace/name"),
            ("namespace", "only what affects claims in these namespaces"),
            ("check", "only findings of these checks"),
            ("severity", "the mildest severity shown: info, warning or critical"),
        ],
    },
    Question {
        name: "explain",
        about: "What a check sees, or what one of its causes means, with the fix and the commands.",
        path: EXPLAIN,
        last: Some(("subject", "CHECK or CHECK/CAUSE, as in the report's findings")),
        query: &[],
    },
    Question {
        name: "runbook",
        about: "The runbook of an alert; without a name, the runbooks by symptom.",
        path: RUNBOOKS,
        last: Some(("alert", "name of the alert, such as LonghornVolumeFaulted")),
        query: &[
            ("volume", "fills in the name of a volume in the commands"),
            ("node", "fills in the name of a node in the commands"),
        ],
    },
    Question {
        name: "plan",
        about: "Before you act: can Longhorn be upgraded (upgrade), can a node be drained, restarted, emptied or \
                removed (drain), what would be lost if a node, disk or zone failed (loss), how much room is left and \
                whether a new volume fits (capacity). Answers go, not yet or no, with the reasons and the steps.",
        path: PLAN,
        last: Some(("what", "upgrade, drain, loss or capacity")),
        query: &[
            ("to", "upgrade: the target release, such as v1.10.2"),
            ("node", "drain: nodes that are drained at the same time (comma-separated)"),
            ("intent", "drain: drain, reboot, evict or remove"),
            ("volume", "capacity: the size of a new volume, such as 100Gi"),
            ("replicas", "capacity: its number of replicas"),
            ("node-selector", "capacity: tags that its nodes must have (comma-separated)"),
            ("disk-selector", "capacity: tags that its disks must have (comma-separated)"),
            ("data-engine", "capacity: its data engine, v1 or v2"),
        ],
    },
    Question {
        name: "timeline",
        about: "What changed lately, newest first: settings, images, nodes, pods that ended, incidents that began.",
        path: "/timeline.txt",
        last: None,
        query: &[],
    },
];

impl Question {
    fn parameters(&self) -> impl Iterator<Item = &Parameter> {
        self.last.iter().chain(self.query)
    }

    /// What it cannot do without; the runbooks have a page of their own.
    fn required(&self) -> Option<Parameter> {
        self.last.filter(|_| self.path != RUNBOOKS)
    }

    fn tool(&self) -> Tool {
        let properties: JsonObject = self
            .parameters()
            .map(|(name, about)| (String::from(*name), json!({"type": "string", "description": about})))
            .collect();
        let required: Vec<&str> = self.required().iter().map(|(name, _)| *name).collect();
        let schema = json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
        let schema = schema.as_object().cloned().unwrap_or_default();
        let annotations = ToolAnnotations::new().read_only(true).destructive(false).open_world(false);
        Tool::new(self.name, self.about, Arc::new(schema)).with_annotations(annotations)
    }

    /// The address of the answer.
    fn address(&self, arguments: &JsonObject) -> Result<Uri, String> {
        let known: Vec<&str> = self.parameters().map(|(name, _)| *name).collect();
        let mut last = String::new();
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (key, value) in arguments {
            if !known.contains(&key.as_str()) {
                let hint = match known.as_slice() {
                    [] => "it takes none".to_owned(),
                    known => did_you_mean::hint(key, known),
                };
                return Err(format!("{} has no parameter {key:?}; {hint}", self.name));
            }
            let value = match value {
                Value::Null => continue,
                Value::String(text) => text.clone(),
                Value::Number(number) => number.to_string(),
                Value::Array(names) if names.iter().all(Value::is_string) => {
                    names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(",")
                }
                _ => return Err(format!("{key} must be a text")),
            };
            if self.last.is_none_or(|(name, _)| name != key) {
                query.append_pair(key, &value);
                continue;
            }
            let plans = Which::ALL.map(Which::as_str);
            if self.path == PLAN && !plans.contains(&value.as_str()) {
                return Err(format!("no such plan; {}", did_you_mean::hint(&value, &plans)));
            }
            if !value.is_empty() && !names::is_name(&value) {
                return Err(format!("{key} is not a name"));
            }
            last = value;
        }
        if let Some((name, about)) = self.required()
            && last.is_empty()
        {
            return Err(format!("{} needs {name:?}: {about}", self.name));
        }
        let query = query.finish();
        let address = if query.is_empty() {
            format!("{}{last}", self.path)
        } else {
            format!("{}{last}?{query}", self.path)
        };
        address.parse().map_err(|_| "the arguments are too long".to_owned())
    }
}

/// Answers a model's questions; no notifications, no sessions, no state.
#[derive(Clone)]
pub struct Tools(Router);

impl Tools {
    /// The tools of what this router shows.
    pub fn new(router: Router) -> Self {
        Tools(router)
    }

    async fn call(&self, name: &str, arguments: &JsonObject) -> Result<String, String> {
        let Some(question) = QUESTIONS.iter().find(|question| question.name == name) else {
            let known: Vec<&str> = QUESTIONS.iter().map(|question| question.name).collect();
            return Err(format!("no tool {name:?}; {}", did_you_mean::hint(name, &known)));
        };
        self.0.read(question.address(arguments)?).await
    }
}

impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("longhorn-health-exporter", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(QUESTIONS.iter().map(Question::tool).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        // an error is for the model, which can ask again
        let result = match self.call(&request.name, &request.arguments.unwrap_or_default()).await {
            Ok(text) => CallToolResult::success(vec![ContentBlock::text(text)]),
            Err(message) => CallToolResult::error(vec![ContentBlock::text(message)]),
        };
        Ok(result.into())
    }
}

/// The tools over HTTP.
pub type Service = StreamableHttpService<Tools, NeverSessionManager>;

/// Each request stands alone and gets JSON. Pages of other origins are refused; any name of this host is right, as on
/// the other paths.
pub fn service(tools: Tools) -> Service {
    let mut config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(Vec::<String>::new())
        .enforce_origin_validation();
    config.legacy_session_mode = false;
    config.json_response = true;
    config.max_request_body_bytes = MAX_QUESTION;
    StreamableHttpService::new(move || Ok(tools.clone()), Arc::default(), config)
}

/// The answer to a request for [`super::paths::MCP`].
pub async fn answer<B>(service: &Service, request: Request<B>) -> Result<Answer, Refusal>
where
    B: Body + Send + 'static,
    B::Error: Display,
{
    let answered = tokio::time::timeout(PATIENCE, async {
        let (parts, body) = service.handle(request).await.into_parts();
        let body: Result<_, Infallible> = body.collect().await;
        let bytes = body.map(http_body_util::Collected::to_bytes).unwrap_or_else(|never| match never {});
        Answer::from_parts(parts, Full::new(bytes))
    });
    answered.await.map_err(|_| Refusal::new(StatusCode::REQUEST_TIMEOUT, "the question took too long"))
}

impl Router {
    /// The same, with the tools at [`super::paths::MCP`].
    pub fn with_tools(mut self) -> Self {
        self.tools = Some(Arc::new(service(Tools::new(self.clone()))));
        self
    }

    /// The text at an address, for someone who may read it.
    async fn read(&self, address: Uri) -> Result<String, String> {
        let read = async {
            let route = self.route(address.path())?;
            let config = self.access.config().await;
            self.make(&config, route, address, HeaderMap::new()).await
        };
        let answer = read.await.map_err(|refusal| refusal.message)?;
        let body: Bytes = answer.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
        String::from_utf8(body.into()).map_err(|_| "the answer is not a text".to_owned())
    }
}
