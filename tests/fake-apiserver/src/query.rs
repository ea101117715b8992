//! Query strings, label selectors and field selectors.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::resource::ResourceDef;
use crate::route::Target;
use crate::status::Failure;
use crate::store::Stored;

/// The decoded parameters of a request; of a repeated one the last counts.
pub(crate) struct Query(BTreeMap<String, String>);

impl Query {
    pub fn parse(query: Option<&str>) -> Self {
        let pairs = query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
        Self(
            pairs
                .map(|pair| {
                    let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
                    (percent_decode(&key.replace('+', " ")), percent_decode(&value.replace('+', " ")))
                })
                .collect(),
        )
    }

    /// A parameter that is present and not empty.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str).filter(|value| !value.is_empty())
    }

    pub fn flag(&self, key: &str) -> bool {
        matches!(self.get(key), Some("true" | "1"))
    }

    /// A number; text that is none is the client's error.
    pub fn number(&self, key: &str) -> Result<Option<u64>, Failure> {
        self.get(key)
            .map(|text| {
                text.parse().map_err(|_| Failure::bad_request(format!("{key}: invalid value: \"{text}\"")))
            })
            .transpose()
    }
}

/// Decodes `%XX`; anything malformed stays as it is.
pub(crate) fn percent_decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while i < bytes.len() {
        let decoded = (bytes[i] == b'%')
            .then(|| text.get(i + 1..i + 3))
            .flatten()
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        out.push(decoded.unwrap_or(bytes[i]));
        i += if decoded.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Which objects of a collection a list or watch is about.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    namespace: Option<String>,
    labels: Vec<Requirement>,
    fields: Vec<Requirement>,
}

#[derive(Clone, Debug)]
struct Requirement {
    key: String,
    test: Test,
}

#[derive(Clone, Debug)]
enum Test {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    Absent,
}

impl Filter {
    /// The filter of a list or watch. A name in the path is `metadata.name=`, as on the real server.
    pub fn new(target: &Target, query: &Query, def: &ResourceDef) -> Result<Self, Failure> {
        let labels = parse_requirements(query.get("labelSelector").unwrap_or_default())?;
        let mut fields = parse_requirements(query.get("fieldSelector").unwrap_or_default())?;
        for field in &fields {
            let known = matches!(field.key.as_str(), "metadata.name" | "metadata.namespace");
            if matches!(field.test, Test::Exists | Test::Absent) {
                return Err(Failure::bad_request(format!("invalid selector: '{}'", field.key)));
            }
            if !known && !def.is_native() {
                return Err(Failure::bad_request(format!("field label not supported: {}", field.key)));
            }
        }
        if let Some(name) = &target.name {
            fields.push(Requirement { key: "metadata.name".into(), test: Test::In(vec![name.clone()]) });
        }
        Ok(Self { namespace: target.namespace.clone(), labels, fields })
    }

    /// Whether every object of the collection passes.
    pub fn is_trivial(&self) -> bool {
        self.namespace.is_none() && !self.has_selectors()
    }

    pub fn has_selectors(&self) -> bool {
        !self.labels.is_empty() || !self.fields.is_empty()
    }

    pub fn matches(&self, object: &Stored) -> bool {
        self.namespace.as_ref().is_none_or(|namespace| *namespace == object.namespace)
            && self.labels.iter().all(|r| r.test.accepts(object.labels.get(&r.key).map(String::as_str)))
            && self.fields.iter().all(|r| match r.key.as_str() {
                "metadata.name" => r.test.accepts(Some(&object.name)),
                "metadata.namespace" => r.test.accepts(Some(&object.namespace)),
                path => r.test.accepts(Some(&field(&object.value(), path))),
            })
    }
}

impl Test {
    fn accepts(&self, value: Option<&str>) -> bool {
        match self {
            Test::In(values) => value.is_some_and(|value| values.iter().any(|v| v == value)),
            Test::NotIn(values) => value.is_none_or(|value| values.iter().all(|v| v != value)),
            Test::Exists => value.is_some(),
            Test::Absent => value.is_none(),
        }
    }
}

/// A field of an object as a selector sees it: absent is the empty string.
fn field(object: &Value, path: &str) -> String {
    match path.split('.').try_fold(object, |value, key| value.get(key)) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    }
}

fn parse_requirements(selector: &str) -> Result<Vec<Requirement>, Failure> {
    split_outside_parentheses(selector).into_iter().map(parse_requirement).collect()
}

fn split_outside_parentheses(selector: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0_i32);
    for (i, c) in selector.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&selector[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    parts.push(&selector[start..]);
    parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).collect()
}

fn parse_requirement(text: &str) -> Result<Requirement, Failure> {
    let requirement = |key: &str, test| Ok(Requirement { key: key.trim().to_owned(), test });
    if let Some((head, values)) = text.strip_suffix(')').and_then(|t| t.split_once('(')) {
        let values = values.split(',').map(|value| value.trim().to_owned()).collect();
        return match head.split_whitespace().collect::<Vec<_>>().as_slice() {
            [key, "in"] => requirement(key, Test::In(values)),
            [key, "notin"] => requirement(key, Test::NotIn(values)),
            _ => Err(Failure::bad_request(format!("unable to parse requirement: {text}"))),
        };
    }
    if let Some((key, value)) = text.split_once("!=") {
        return requirement(key, Test::NotIn(vec![value.trim().to_owned()]));
    }
    if let Some((key, value)) = text.split_once("==").or_else(|| text.split_once('=')) {
        return requirement(key, Test::In(vec![value.trim().to_owned()]));
    }
    match text.strip_prefix('!') {
        Some(key) => requirement(key, Test::Absent),
        None if text.contains(char::is_whitespace) => {
            Err(Failure::bad_request(format!("unable to parse requirement: {text}")))
        }
        None => requirement(text, Test::Exists),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn accepts(selectors: &str) -> bool {
        let def = ResourceDef::custom("v1", "pods", "Pod");
        let object = json!({
            "metadata": {"name": "p", "namespace": "ns", "labels": {"app": "manager", "tier": "x"}},
            "spec": {"nodeName": "node-1"},
        });
        let object = Stored::new(&def, object, 1);
        Filter::new(&Target::default(), &Query::parse(Some(selectors)), &def).unwrap().matches(&object)
    }

    #[test]
    fn selectors_select() {
        assert!(accepts("labelSelector=app%3Dmanager%2Ctier%21%3Dy"));
        assert!(accepts("labelSelector=app+in+(a,manager),!missing,tier"));
        assert!(!accepts("labelSelector=app+notin+(a,manager)"));
        assert!(!accepts("labelSelector=missing%3Dx"));
        assert!(accepts("fieldSelector=metadata.name%3Dp,spec.nodeName%3D%3Dnode-1"));
        assert!(!accepts("fieldSelector=spec.nodeName%3Dnode-2"));
    }

    #[test]
    fn custom_resources_select_on_name_only() {
        let def = ResourceDef::custom("longhorn.io/v1beta2", "volumes", "Volume");
        let query = Query::parse(Some("fieldSelector=spec.nodeID%3Da"));
        let failure = Filter::new(&Target::default(), &query, &def).unwrap_err();
        assert_eq!(failure.message, "field label not supported: spec.nodeID");
    }

    #[test]
    fn malformed_escapes_stay() {
        assert_eq!(percent_decode("a%2Fb%zz%4"), "a/b%zz%4");
        assert_eq!(percent_decode("%é"), "%é");
    }
}
