//! The form of a file of signatures, and what is refused in it.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::check::signatures::{Field, Path, Pattern, Place, Releases, Signature, Signatures, Test};
use crate::check::{Severity, is_hidden, plain, takes_away};
use crate::did_you_mean::hint;
use crate::facts::text::shortened;
use crate::longhorn::shape::{Shape, shapes};
use crate::longhorn::{PerKind, Resource};
use crate::yaml_error;

/// The largest file.
pub const MAX_BYTES: usize = 1 << 20;
const MAX_SIGNATURES: usize = 200;
const MAX_NAME: usize = 60;
const MAX_TITLE: usize = 90;
const MAX_TEXT: usize = 500;
/// An error may quote the file.
const MAX_SAID: usize = 300;
/// The same for fields of an object and for steps.
const MAX_LISTED: usize = 10;
/// What a template may name.
const NAMES: [&str; 5] = ["namespace", "kind", "object", "node", "volume"];

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenFile {
    signatures: Vec<Written>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: String,
    title: String,
    severity: Severity,
    releases: Option<String>,
    #[serde(rename = "where")]
    place: Option<WrittenPlace>,
    #[serde(default)]
    impact: String,
    fix: String,
    #[serde(default)]
    steps: Vec<WrittenStep>,
    link: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenPlace {
    log: Option<WrittenLog>,
    event: Option<WrittenEvent>,
    object: Option<WrittenObject>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenLog {
    matches: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenEvent {
    kind: Option<String>,
    reason: Option<String>,
    matches: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenObject {
    kind: String,
    fields: Vec<WrittenField>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenField {
    path: String,
    equals: Option<String>,
    matches: Option<String>,
    exists: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenStep {
    read: Option<String>,
    change: Option<String>,
}

/// What is read of the kinds that signatures can name.
struct Known<'a> {
    kinds: &'a BTreeSet<Resource>,
    shapes: PerKind<Shape>,
}

/// Reads a file of this name; `kinds` are those that are followed. Each error is a line for its author.
pub fn parse(kinds: &BTreeSet<Resource>, name: &str, text: &str) -> Result<Signatures, Vec<String>> {
    if text.len() > MAX_BYTES {
        return Err(vec![format!("{name}: larger than 1 MiB")]);
    }
    let file: WrittenFile =
        yaml_error::read(text).map_err(|said| vec![format!("{name}:{}", shortened(&said, MAX_SAID))])?;
    if file.signatures.len() > MAX_SIGNATURES {
        let count = file.signatures.len();
        return Err(vec![format!(
            "{name}: signatures: {count} signatures; at most {MAX_SIGNATURES} are accepted"
        )]);
    }
    let known = Known { kinds, shapes: shapes() };
    let (mut all, mut errors, mut names) = (Vec::new(), Vec::new(), BTreeSet::new());
    for (place, written) in file.signatures.into_iter().enumerate() {
        let of = format!("{name}: signatures[{place}] {}", plain(&shortened(&written.name, MAX_NAME)));
        if !names.insert(written.name.clone()) {
            errors.push(format!("{of}: name: another signature has this name"));
        }
        match known.signature(written) {
            Ok(signature) => all.push(signature),
            Err(error) => errors.push(format!("{of}: {}", shortened(&error, MAX_SAID))),
        }
    }
    if errors.is_empty() { Ok(Signatures::new(all)) } else { Err(errors) }
}

impl Known<'_> {
    fn signature(&self, written: Written) -> Result<Signature, String> {
        let Written { name, title, severity, releases, place, impact, fix, steps, link } = written;
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c);
        if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(is_plain) {
            return Err(format!("name: expected 1 to {MAX_NAME} of a-z, 0-9, _ and -"));
        }
        line("title", &title, 1, MAX_TITLE)?;
        line("impact", &impact, 0, MAX_TEXT)?;
        template("fix", &fix)?;
        let releases = match releases {
            Some(text) => Some(
                line("releases", &text, 1, MAX_TEXT)
                    .and_then(|()| Releases::parse(&text).map_err(|error| format!("releases: {error}")))?,
            ),
            None => None,
        };
        let place = match place {
            Some(place) => self.place(place)?,
            None if releases.is_some() => Place::Release,
            None => {
                return Err(
                    "where: missing; without it, releases must say which release has the bug".to_owned()
                );
            }
        };
        if let Some(link) = &link {
            line("link", link, 1, MAX_TEXT)?;
            if !link.starts_with("https://")
                || link.contains(|c: char| c.is_whitespace() || "\"'<>".contains(c))
            {
                return Err("link: expected a URL that begins with https://".to_owned());
            }
        }
        at_most("steps", steps.len())?;
        let steps: Result<_, String> =
            steps.into_iter().enumerate().map(|(at, step)| command(&format!("steps[{at}]"), step)).collect();
        let (title, impact, fix) = (trimmed(&title), trimmed(&impact), trimmed(&fix));
        Ok(Signature { name, title, severity, releases, place, impact, fix, steps: steps?, link })
    }

    fn place(&self, place: WrittenPlace) -> Result<Place, String> {
        match place {
            WrittenPlace { log: Some(log), event: None, object: None } => {
                Ok(Place::Log(pattern("where.log.matches", &log.matches)?))
            }
            WrittenPlace { log: None, event: Some(event), object: None } => {
                let WrittenEvent { kind, reason, matches } = event;
                if reason.is_none() && matches.is_none() {
                    return Err("where.event: expected reason, matches or both".to_owned());
                }
                for (key, text) in [("where.event.kind", &kind), ("where.event.reason", &reason)] {
                    text.as_ref().map_or(Ok(()), |text| line(key, text, 1, MAX_TITLE))?;
                }
                let message = matches.map(|text| pattern("where.event.matches", &text)).transpose()?;
                Ok(Place::Event { kind, reason, message })
            }
            WrittenPlace { log: None, event: None, object: Some(object) } => self.object(object),
            _ => Err("where: expected exactly one of log, event and object".to_owned()),
        }
    }

    fn object(&self, object: WrittenObject) -> Result<Place, String> {
        let kind = self.kind(&object.kind).map_err(|error| format!("where.object.kind: {error}"))?;
        if object.fields.is_empty() {
            return Err("where.object.fields: expected at least one field".to_owned());
        }
        at_most("where.object.fields", object.fields.len())?;
        let fields: Result<_, String> = object
            .fields
            .into_iter()
            .enumerate()
            .map(|(at, field)| field_of(&format!("where.object.fields[{at}]"), field, &self.shapes[kind]))
            .collect();
        Ok(Place::Object { kind, fields: fields? })
    }

    /// A kind by the name of its resource, or by its own where no other has it.
    fn kind(&self, name: &str) -> Result<Resource, String> {
        let followed = || {
            self.kinds.iter().copied().filter(|kind| !matches!(kind, Resource::Events | Resource::NodeEvents))
        };
        let called: Vec<Resource> = followed().filter(|kind| kind.info().called() == name).collect();
        match called.as_slice() {
            [only] => return Ok(*only),
            [] => {}
            several => {
                let labels: Vec<String> = several.iter().map(|kind| kind.label()).collect();
                return Err(format!("{} is ambiguous; use {}", plain(name), labels.join(" or ")));
            }
        }
        followed().find(|kind| kind.label() == name).ok_or_else(|| {
            let labels: Vec<String> = followed().map(Resource::label).collect();
            let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
            format!("no kind {} is read; {}", plain(name), hint(name, &labels))
        })
    }
}

fn field_of(key: &str, field: WrittenField, shape: &Shape) -> Result<Field, String> {
    let WrittenField { path, equals, matches, exists } = field;
    line(&format!("{key}.path"), &path, 1, MAX_TEXT)?;
    let (path, found) = Path::parse(&path, shape).map_err(|error| format!("{key}.path: {error}"))?;
    let is_value = matches!(found, Shape::Text | Shape::Scalar);
    let test = match (equals, matches, exists) {
        (Some(text), None, None) => {
            line(&format!("{key}.equals"), &text, 1, MAX_TEXT)?;
            Test::Equals(text)
        }
        (None, Some(text), None) => Test::Matches(pattern(&format!("{key}.matches"), &text)?),
        // of numbers and truth values it is not kept whether they were written
        (None, None, Some(_)) if !matches!(found, Shape::Text | Shape::List(_) | Shape::Map(_)) => {
            return Err(format!("{key}.exists: works on texts, lists and maps; use equals or matches"));
        }
        (None, None, Some(exists)) => return Ok(Field { path, test: Test::Exists(exists) }),
        _ => return Err(format!("{key}: expected exactly one of equals, matches and exists")),
    };
    if !is_value {
        return Err(format!("{key}.path: leads to no single value; name the field below {path}"));
    }
    Ok(Field { path, test })
}

fn pattern(key: &str, text: &str) -> Result<Pattern, String> {
    line(key, text, 1, MAX_TEXT)?;
    Pattern::parse(text).map_err(|error| format!("{key}: {error}"))
}

fn command(key: &str, step: WrittenStep) -> Result<(String, bool), String> {
    let (run, changes) = match step {
        WrittenStep { read: Some(run), change: None } => (run, false),
        WrittenStep { read: None, change: Some(run) } => (run, true),
        _ => return Err(format!("{key}: expected exactly one of read and change")),
    };
    template(key, &run)?;
    if !changes && takes_away(&run) {
        return Err(format!("{key}.read: takes something away; write it as change"));
    }
    Ok((trimmed(&run), changes))
}

/// A text in which names stand in angle brackets.
fn template(key: &str, text: &str) -> Result<(), String> {
    line(key, text, 1, MAX_TEXT)?;
    for part in text.split('<').skip(1) {
        let Some((name, _)) = part.split_once('>') else { continue };
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        if is_name && !NAMES.contains(&name) {
            return Err(format!("{key}: no value for <{name}>; {}", hint(name, &NAMES)));
        }
    }
    Ok(())
}

fn line(key: &str, text: &str, least: usize, most: usize) -> Result<(), String> {
    let length = text.trim().chars().count();
    if length < least || length > most || text.trim().chars().any(|c| c.is_control() || is_hidden(c)) {
        return Err(format!("{key}: expected one line of {least} to {most} characters"));
    }
    Ok(())
}

/// A text that YAML folded ends with its line.
fn trimmed(text: &str) -> String {
    text.trim().to_owned()
}

fn at_most(key: &str, count: usize) -> Result<(), String> {
    if count > MAX_LISTED {
        Err(format!("{key}: {count} entries; at most {MAX_LISTED} are accepted"))
    } else {
        Ok(())
    }
}
