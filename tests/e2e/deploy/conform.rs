//! kubeconform without a network: its schemas are made from what the apiserver publishes.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value, json};

use super::*;

/// Foreign kinds, for which the apiserver has no schema and we do not invent one.
const FOREIGN: &str = "ServiceMonitor,PodMonitor,PrometheusRule,GrafanaDashboard";

#[tokio::test]
async fn kubeconform_accepts_every_rendering() -> Result<()> {
    let Some(bench) = Bench::start("conform").await? else { return Ok(()) };
    let tools = bench.tools();
    let components: &[&str] =
        &["prometheus-operator", "grafana-sidecar", "network-policy", "ha", "tls", "kubernetes-auth"];
    let renderings = [
        ("chart, defaults", template(tools, "")?),
        ("chart, everything", template(tools, EVERYTHING)?),
        ("chart, TLS and reviewed tokens", template(tools, TLS)?),
        ("base", kustomize(tools, &[])?),
        ("base with all components", kustomize(tools, components)?),
    ];
    let mut wanted = BTreeSet::new();
    for (_, text) in &renderings {
        for object in objects(text)? {
            let part = |field: &str| object[field].as_str().unwrap_or_default().to_owned();
            wanted.insert((part("apiVersion"), part("kind")));
        }
    }
    let directory = tempfile::tempdir()?;
    let published: Value = bench.admin().request(http::Request::get("/openapi/v2").body(Vec::new())?).await?;
    write_schemas(published, &wanted, directory.path())?;
    for (what, text) in &renderings {
        println!("{what}: {}", kubeconform(tools, directory.path(), text)?);
    }
    let misspelt = renderings[0].1.replace("readOnlyRootFilesystem", "readonlyRootFilesystem");
    ensure!(kubeconform(tools, directory.path(), &misspelt).is_err(), "a misspelt field was accepted");
    Ok(())
}

fn kubeconform(tools: &Tools, schemas: &Path, text: &str) -> Result<String> {
    let file = schemas.join("input.yaml");
    std::fs::write(&file, text)?;
    let location = format!("{}/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json", schemas.display());
    let mut program = Command::new(&tools.kubeconform);
    program.args(["-strict", "-summary", "-skip", FOREIGN, "-schema-location", &location]).arg(&file);
    let output = program.output()?;
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    ensure!(output.status.success(), "{said}");
    Ok(said)
}

/// One file a kind, with all definitions in it.
fn write_schemas(published: Value, wanted: &BTreeSet<(String, String)>, directory: &Path) -> Result<()> {
    let mut definitions = published["definitions"].as_object().context("no definitions")?.clone();
    for (name, definition) in &mut definitions {
        match name.rsplit('.').next() {
            Some("IntOrString") => *definition = json!({"type": ["string", "integer"]}),
            Some("Quantity") => *definition = json!({"type": ["string", "number"]}),
            _ => close(definition),
        }
    }
    for (api_version, kind) in wanted {
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        let is_it = |definition: &Value| {
            let kinds = definition["x-kubernetes-group-version-kind"].as_array();
            kinds.is_some_and(|kinds| {
                kinds.iter().any(|is| is["group"] == group && is["version"] == version && is["kind"] == *kind)
            })
        };
        let Some((name, _)) = definitions.iter().find(|(_, definition)| is_it(definition)) else {
            ensure!(FOREIGN.split(',').any(|foreign| foreign == kind), "no schema of {api_version} {kind}");
            continue;
        };
        let schema = json!({"$ref": format!("#/definitions/{name}"), "definitions": definitions});
        let short = group.split('.').next().unwrap_or_default();
        let suffix =
            [short, version].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-");
        let file = directory.join(format!("{}-{suffix}.json", kind.to_lowercase()));
        std::fs::write(file, schema.to_string())?;
    }
    Ok(())
}

/// Lets an object have the fields it declares only, as `-strict` promises.
fn close(schema: &mut Value) {
    let Some(fields) = schema.as_object_mut() else { return };
    // formats of this dialect that JSON schema validators read otherwise
    fields.remove("format");
    if fields.contains_key("properties") && !fields.contains_key("additionalProperties") {
        fields.insert("additionalProperties".to_owned(), json!(false));
    }
    let each = |value: &mut Value| {
        value.as_object_mut().into_iter().flat_map(Map::values_mut).for_each(close);
    };
    fields.get_mut("properties").into_iter().for_each(each);
    ["items", "additionalProperties"].iter().for_each(|key| {
        if let Some(inner) = fields.get_mut(*key) {
            close(inner);
        }
    });
}
