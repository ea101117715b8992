//! Paths into objects: `status.conditions[type=Ready].reason`, `spec.disks[*].path`, `status.parameters[numberOfReplicas]`.

use std::fmt;

use crate::check::plain;
use crate::did_you_mean::hint;
use crate::longhorn::shape::Shape;
use crate::longhorn::{Look, Step};

/// Where a value is in an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    written: String,
    steps: Vec<Step>,
}

/// What of metadata is kept of every kind.
const METADATA: [&str; 4] = ["name", "creationTimestamp", "deletionTimestamp", "annotations"];
/// Of which other things are kept than the manifest has.
const OPAQUE: [&str; 2] = ["affinity", "env"];

impl Path {
    /// Reads a path and checks that it leads to something that is read of this kind.
    pub fn parse(text: &str, shape: &Shape) -> Result<(Self, Shape), String> {
        let mut steps = Vec::new();
        let mut rest = text;
        loop {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            // keys of annotations have dots in them, and stand in brackets
            let is_name =
                !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_/".contains(c));
            if !is_name {
                return Err(
                    "expected names and dots, such as status.conditions[type=Ready].reason".to_owned()
                );
            }
            steps.push(Step::Field(name.to_owned()));
            rest = after;
            while let Some(inner) = rest.strip_prefix('[') {
                let (inner, after) = inner.split_once(']').ok_or("a bracket is not closed")?;
                steps.push(match inner.split_once('=') {
                    _ if inner == "*" => Step::Any,
                    Some((field, value)) => Step::With(field.to_owned(), value.to_owned()),
                    None => Step::Entry(inner.to_owned()),
                });
                rest = after;
            }
            match rest.strip_prefix('.') {
                Some(after) => rest = after,
                None if rest.is_empty() => break,
                None => return Err("expected a dot behind the bracket".to_owned()),
            }
        }
        let found = Self::check(&steps, shape)?;
        Ok((Path { written: text.to_owned(), steps }, found))
    }

    fn check(steps: &[Step], shape: &Shape) -> Result<Shape, String> {
        let mut at = shape;
        let mut before = "";
        for step in steps {
            at = match (step, at) {
                (Step::Field(name), Shape::Struct(fields)) => {
                    let of_metadata = before == "metadata";
                    let is_kept = |field: &str| match of_metadata {
                        true => METADATA.contains(&field),
                        false => !OPAQUE.contains(&field),
                    };
                    before = name;
                    let mut kept = fields.iter().filter(|(field, _)| is_kept(field));
                    let Some((_, found)) = kept.clone().find(|(field, _)| field == name) else {
                        let names: Vec<&str> = kept.by_ref().map(|(field, _)| *field).collect();
                        return Err(format!(
                            "no field {} is read there; {}",
                            plain(name),
                            hint(name, &names)
                        ));
                    };
                    found
                }
                (Step::Any, Shape::List(inner) | Shape::Map(inner)) => inner,
                (Step::Entry(_), Shape::Map(inner)) => inner,
                (Step::With(field, _), Shape::List(inner) | Shape::Map(inner)) => {
                    Self::check(&[Step::Field(field.clone())], inner)?;
                    inner
                }
                (_, Shape::List(_)) => return Err(brackets(before, "[*] or [type=Ready]", "a list")),
                (_, Shape::Map(_)) => return Err(brackets(before, "[*] or [NAME]", "a map")),
                _ => return Err(format!("{} has nothing below it", plain(before))),
            };
        }
        Ok(at.clone())
    }

    /// Calls `see` for each value there is.
    pub fn look(&self, object: &impl Look, see: &mut dyn FnMut(&str)) {
        object.look(&self.steps, see);
    }
}

fn brackets(name: &str, which: &str, what: &str) -> String {
    format!("{} is {what}; use {which} behind it", plain(name))
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}
