//! References for readers: checks with their alerts and series, runbooks, the configuration file, the
//! report and the command line, and the contents of the book.

mod access;
mod checks;
mod command_line;
mod configuration;
mod destructive;
mod markdown;
mod plans;
mod report_schema;
mod runbooks;
mod summary;

use anyhow::Result;
use clap::Command;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

pub use markdown::without_head;
pub use runbooks::runbook;

use super::{Artifact, Settings, Target, pretty};

pub fn artifacts(settings: &Settings, command: &Command) -> Result<Vec<Artifact>> {
    let page = |name: &str, content: String| Artifact::new(format!("docs/{name}"), content);
    let mut artifacts = vec![
        page("checks.md", checks::page(settings)?),
        page("access.md", access::page(settings.declared)),
        page("configuration.md", configuration::page()),
        page("configuration.schema.json", pretty(&configuration::schema())),
        page("report.schema.json", pretty(&report_schema::schema(settings.declared))),
        page("plan.schema.json", pretty(&report_schema::plan())),
        page("plan.md", plans::page()),
        page("destructive.md", destructive::page(settings.declared)),
        page("command-line.md", command_line::page(command)),
        page("SUMMARY.md", summary::page(settings.declared)),
    ];
    artifacts.extend(runbooks::pages(settings)?);
    Ok(artifacts)
}

/// The JSON schema of a type, as a value to be completed.
fn json_schema<T: JsonSchema>(settings: SchemaSettings, title: &str) -> Value {
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.insert("title".to_owned(), title.into());
    schema.insert("$comment".to_owned(), Target::Docs.header().into());
    schema.to_value()
}
