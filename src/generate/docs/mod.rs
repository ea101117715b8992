//! References for readers: checks with their alerts and series, runbooks, the configuration file, the
//! report and the command line, and the two tables of the README.

mod access;
mod checks;
mod command_line;
mod configuration;
mod markdown;
mod report_schema;
mod runbooks;

use clap::Command;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

pub use runbooks::runbook;

use super::{Artifact, GenerateError, Section, Settings, Target};

pub fn artifacts(settings: &Settings, command: &Command) -> Result<Vec<Artifact>, GenerateError> {
    let page = |name: &str, content: String| Artifact::new(format!("docs/{name}"), content);
    let mut artifacts = vec![
        page("checks.md", checks::page(settings)?),
        page("access.md", access::page()),
        page("configuration.md", configuration::page()),
        page(configuration::SCHEMA, configuration::schema()),
        page("report.schema.json", report_schema::schema()),
        page("command-line.md", command_line::page(command)),
    ];
    artifacts.extend(runbooks::pages(settings)?);
    Ok(artifacts)
}

/// The parts of files that are otherwise written by hand.
pub fn sections() -> Vec<Section> {
    let section = |name, content| Section { path: "README.md", name, content };
    vec![section("checks", checks::overview()), section("access", access::overview())]
}

/// The JSON schema of a type, as a value to be completed.
fn json_schema<T: JsonSchema>(settings: SchemaSettings, title: &str) -> Value {
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.insert("title".to_owned(), title.into());
    schema.insert("$comment".to_owned(), Target::Docs.header().into());
    schema.to_value()
}
