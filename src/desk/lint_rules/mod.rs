//! `lint-rules`: finds in users' own rules and dashboards what Longhorn's metrics of a release cannot answer.

mod forms;
mod judge;
mod selectors;
mod series;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use promql_parser::label::{MatchOp, Matcher};
use promql_parser::parser::Expr;
use serde::Serialize;
use serde_json::Value;

use self::judge::Judge;
use crate::facts::releases::LINES;
use crate::longhorn::Release;
use crate::word_enum::word_enum;

word_enum! {
    /// How bad it is.
    #[derive(Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Level {
        /// It cannot work.
        Error = "error",
        /// It works otherwise than it is meant.
        Warning = "warning",
        /// It could not be judged.
        Unknown = "unknown",
        /// Good to know.
        Note = "note",
    }
}

/// What is said of an expression.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Said {
    /// How bad it is.
    pub level: Level,
    /// What kind of thing; a contract.
    pub id: &'static str,
    /// What is the case.
    pub message: String,
    /// What to write instead; empty where nothing is known.
    pub instead: String,
}

/// A problem with its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The file.
    pub file: String,
    /// Its line, from 1.
    pub line: usize,
    /// The rule, panel or variable.
    pub place: String,
    /// The expression as it is written there.
    pub expression: String,
    /// What is said of it.
    #[serde(flatten)]
    pub said: Said,
}

impl Problem {
    /// A file, or what is left of it from this line on, that was not judged.
    pub fn unread(file: &str, line: usize, error: String) -> Self {
        let said = Said { level: Level::Unknown, id: "not_read", message: error, instead: String::new() };
        Problem { file: file.to_owned(), line, place: "file".to_owned(), expression: String::new(), said }
    }
}

/// What `lint-rules -o json` prints. Within v1 keys are only added.
#[derive(Debug, Serialize)]
pub struct Linted {
    /// Version of this shape: `v1`.
    pub schema: &'static str,
    /// The release that it was judged for.
    pub release: String,
    /// How many files were read.
    pub files: usize,
    /// How many expressions name a metric of Longhorn.
    pub expressions: usize,
    /// In the order of files and places.
    pub problems: Vec<Problem>,
    /// What the command ends with: 0 nothing, 1 errors or warnings, 2 something could not be judged.
    pub exit_code: u8,
}

/// An expression in a file.
#[derive(Debug)]
struct Written {
    file: usize,
    line: usize,
    place: String,
    text: String,
    /// Whether it is that of an alert.
    is_alert: bool,
}

/// Judges files, each with its name and text. What of them cannot be read as YAML or JSON is reported, and the others are judged.
pub fn lint(files: &[(String, String)], release: Release) -> Result<Linted, String> {
    let mut found = Vec::new();
    let mut records = BTreeSet::new();
    let mut unread = Vec::new();
    for (index, (name, text)) in files.iter().enumerate() {
        let mut reader = Reader::new(index, &mut found, &mut records);
        if let Err(error) = reader.read(text) {
            unread.push(Problem::unread(name, reader.offset + 1, error));
        }
    }
    let newest = LINES.last().map_or(release, |line| line.newest());
    let judged_as = if release > newest { newest } else { release };
    let judge = || -> Vec<Problem> {
        let of = |written: &Written| {
            let mut judge = Judge { release: judged_as, records: &records, said: Vec::new(), asked: 0 };
            judge.text(&written.text, written.is_alert);
            let file = files.get(written.file).map_or("", |(name, _)| name.as_str()).to_owned();
            let (line, place, expression) = (written.line, written.place.clone(), written.text.clone());
            let with_place = move |said| Problem {
                file: file.clone(),
                line,
                place: place.clone(),
                expression: expression.clone(),
                said,
            };
            judge.said.into_iter().map(with_place).collect::<Vec<_>>()
        };
        found.iter().flat_map(of).collect()
    };
    let builder = std::thread::Builder::new().stack_size(STACK);
    let problems = std::thread::scope(|scope| builder.spawn_scoped(scope, judge).map(|thread| thread.join()));
    let mut problems = problems.ok().and_then(Result::ok).ok_or("no expression could be judged")?;
    problems.append(&mut unread);
    let has = |level: Level| problems.iter().any(|problem| problem.said.level == level);
    let bad = has(Level::Error) || has(Level::Warning);
    let unknown = has(Level::Unknown) || (judged_as != release && !found.is_empty());
    let exit_code = if bad { 1 } else { u8::from(unknown) * 2 };
    let judged = if judged_as == release {
        release.to_string()
    } else {
        format!("{release} (unknown, so judged as {judged_as}, the newest known)")
    };
    Ok(Linted {
        schema: "v1",
        release: judged,
        files: files.len(),
        expressions: found.len(),
        problems,
        exit_code,
    })
}

/// Reads one file.
struct Reader<'a> {
    file: usize,
    /// Lines before the document.
    offset: usize,
    lines: Vec<String>,
    /// Lines that hold nothing but a value, by the value.
    values: HashMap<String, Vec<usize>>,
    /// How many bytes may still be searched for expressions that fill no line.
    search: usize,
    /// How often an expression was seen in the document, as the same one may stand there several times.
    seen: BTreeMap<String, usize>,
    found: &'a mut Vec<Written>,
    records: &'a mut BTreeSet<String>,
}

impl<'a> Reader<'a> {
    fn new(file: usize, found: &'a mut Vec<Written>, records: &'a mut BTreeSet<String>) -> Self {
        let (lines, values, seen) = (Vec::new(), HashMap::new(), BTreeMap::new());
        Reader { file, offset: 0, lines, values, search: SEARCH, seen, found, records }
    }

    fn read(&mut self, text: &str) -> Result<(), String> {
        if text.trim_start().starts_with('{') && serde_json::from_str::<Value>(text).is_ok() {
            return self.document(text);
        }
        let mut document = String::new();
        let mut first_error = None;
        for (index, line) in text.lines().enumerate() {
            if line.trim_end() == "---" {
                let read = self.document(&std::mem::take(&mut document));
                first_error = first_error.or(read.err());
                self.offset = index + 1;
            } else {
                document.push_str(line);
                document.push('\n');
            }
        }
        let read = self.document(&document);
        first_error.or(read.err()).map_or(Ok(()), Err)
    }

    fn document(&mut self, text: &str) -> Result<(), String> {
        let value: Value = match serde_json::from_str(text) {
            Ok(value) => value,
            Err(_)
                if text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) =>
            {
                return Ok(());
            }
            Err(_) => yaml(text).map_err(|error| {
                let error = error.to_string();
                format!(
                    "neither YAML nor JSON: {} (render Helm templates first)",
                    error.lines().next().unwrap_or_default()
                )
            })?,
        };
        self.lines = text.lines().map(str::to_owned).collect();
        self.values.clear();
        for (index, line) in self.lines.iter().enumerate() {
            self.values.entry(value_of(line).to_owned()).or_default().push(index);
        }
        self.seen.clear();
        self.walk(&value, "", 0);
        Ok(())
    }

    /// Finds expressions wherever they are: rules, PrometheusRules, values of charts, panels, variables, and files within ConfigMaps.
    fn walk(&mut self, value: &Value, place: &str, depth: usize) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.walk(item, place, depth)),
            Value::String(text) if depth < 3 && text.contains("longhorn_") && text.contains("expr") => {
                if let Ok(inner @ (Value::Object(_) | Value::Array(_))) = serde_yaml::from_str(text) {
                    self.walk(&inner, place, depth + 1);
                }
            }
            Value::Object(map) => {
                let text = |key: &str| map.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
                self.records.extend(text("record").map(str::to_owned));
                let named = ["alert", "record", "title"].into_iter().find_map(text);
                let named = named.or_else(|| text("name").filter(|_| text("query").is_some()));
                let place = named.unwrap_or(place);
                for (key, item) in map {
                    match item {
                        Value::String(expr) if key == "expr" || key == "query" => {
                            self.push(expr, place, map.contains_key("alert"));
                        }
                        item => self.walk(item, place, depth),
                    }
                }
            }
            _ => {}
        }
    }

    /// The line is that of the text as it stands in the file, which a JSON file escapes.
    fn push(&mut self, text: &str, title: &str, is_alert: bool) {
        if !text.contains("longhorn_") {
            return;
        }
        let written: Vec<&str> = text.trim().lines().map(str::trim).collect();
        // the longest line, as the first one is often no more than a bracket
        let (above, longest) =
            written.iter().enumerate().max_by_key(|(_, line)| line.len()).unwrap_or((0, &""));
        let escaped = Value::from(text).to_string();
        let escaped = escaped.trim_matches('"');
        let turn = self.seen.entry(text.to_owned()).or_default();
        let filled = |value: &str| self.values.get(value)?.get(*turn).copied();
        let alone = || filled(escaped).or_else(|| Some(filled(longest)?.saturating_sub(above)));
        let search = &mut self.search;
        let mut affordable = |(_, line): &(usize, &String)| {
            *search = search.saturating_sub(line.len());
            *search > 0
        };
        let place = |(index, line): (usize, &String)| match () {
            () if line.contains(escaped) => Some(index),
            () if line.contains(longest) => Some(index.saturating_sub(above)),
            () => None,
        };
        let searched =
            || self.lines.iter().enumerate().take_while(&mut affordable).filter_map(place).nth(*turn);
        let line = alone().or_else(searched).unwrap_or(0);
        *turn += 1;
        let line = self.offset + line + 1;
        let (place, text) = (title.to_owned(), text.to_owned());
        self.found.push(Written { file: self.file, line, place, text, is_alert });
    }
}

/// The reader refuses more than some 32 comments in a row: without those of long rows, which are no part of the value.
fn yaml(text: &str) -> Result<Value, serde_yaml::Error> {
    const ROW: usize = 16;
    serde_yaml::from_str(text).or_else(|error| {
        let lines: Vec<&str> = text.lines().collect();
        let is_comment = |line: &&str| line.trim_start().starts_with('#');
        let mut kept = String::new();
        for row in lines.chunk_by(|one, next| is_comment(one) == is_comment(next)) {
            let left_out = row.len() > ROW && row.iter().all(is_comment);
            row.iter().for_each(|line| {
                kept.push_str(if left_out { "" } else { line });
                kept.push('\n');
            });
        }
        serde_yaml::from_str(&kept).map_err(|_| error)
    })
}

/// Bytes searched for the lines of expressions in a file, many times what people write; then their lines are not told.
const SEARCH: usize = 256 << 20;

/// What a line of YAML or JSON holds beside a key: `"expr": "up",` and `- expr: up` hold `up`.
fn value_of(line: &str) -> &str {
    let line = line.trim().trim_start_matches("- ");
    let keyed = |key: &&str| line.trim_start_matches('"').starts_with(*key);
    let value = ["expr", "query"].iter().find(|key| keyed(key)).and(line.split_once(':'));
    value.map_or(line, |(_, value)| value).trim().trim_end_matches(',').trim_matches(['"', '\''])
}

/// Longer expressions are not parsed. Trees are walked recursively, at worst as deep as the expression has letters.
const LONGEST: usize = 16 * 1024;
const STACK: usize = 128 << 20;

impl Judge<'_> {
    fn text(&mut self, text: &str, is_alert: bool) {
        let trimmed = text.trim();
        if let Some(inner) = trimmed.strip_prefix("label_values(").and_then(|rest| rest.strip_suffix(')')) {
            return self.variable(inner);
        }
        let inner = trimmed.strip_prefix("query_result(").and_then(|rest| rest.strip_suffix(')'));
        match parsed(inner.unwrap_or(trimmed)) {
            Ok(expr) => {
                self.expression(&expr, false);
                if is_alert {
                    self.vanishing(&expr, trimmed);
                }
            }
            Err(error) => self.unparsed(&error),
        }
    }

    /// `label_values(metric{…}, label)` of a dashboard.
    fn variable(&mut self, inner: &str) {
        let Some((selector, label)) = inner.rsplit_once(',') else { return };
        match parsed(selector) {
            Ok(Expr::VectorSelector(mut selector)) => {
                let matcher = Matcher::new(MatchOp::NotEqual, label.trim(), "");
                selector.matchers.matchers.push(matcher);
                self.expression(&Expr::VectorSelector(selector), true);
            }
            Ok(other) => self.expression(&other, true),
            Err(error) => self.unparsed(&error),
        }
    }

    fn unparsed(&mut self, error: &str) {
        let message = format!("could not be parsed: {}", error.lines().next().unwrap_or_default());
        self.said.push(Said { level: Level::Unknown, id: "not_parsed", message, instead: String::new() });
    }
}

/// Parses an expression, with Grafana's variables replaced; what a variable stands for is unknown, so both are tried.
fn parsed(text: &str) -> Result<Expr, String> {
    if text.len() > LONGEST {
        return Err("it is too long".to_owned());
    }
    let parse = |stand_in: &str| promql_parser::parser::parse(&without_variables(text, stand_in));
    parse("x").or_else(|error| parse("1").map_err(|_| error))
}

/// `$name`, `${name}`, `${name:format}` and `[[name]]` outside of quotes: a duration where one must stand, else `stand_in`.
fn without_variables(text: &str, stand_in: &str) -> String {
    let (mut out, mut quote, mut rest) = (String::new(), None, text);
    while let Some(c) = rest.chars().next() {
        let name =
            |text: &str| text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
        let length = match quote {
            Some(_) => 0,
            None if rest.starts_with("${") => rest.find('}').map_or(0, |end| end + 1),
            None if rest.starts_with("[[") => rest.find("]]").map_or(0, |end| end + 2),
            None if c == '$' => rest.get(1..).map_or(0, |text| name(text) + 1),
            None => 0,
        };
        if let Some(after) = rest.get(length..).filter(|_| length > 1) {
            let before = out.trim_end();
            let duration = before.ends_with(['[', ':']) || before.ends_with("offset");
            out.push_str(if duration { "5m" } else { stand_in });
            rest = after;
            continue;
        }
        match quote {
            Some(open) if c == open => quote = None,
            None if matches!(c, '"' | '\'' | '`') => quote = Some(c),
            _ => {}
        }
        out.push(c);
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
        if c == '\\'
            && quote.is_some_and(|open| open != '`')
            && let Some(next) = rest.chars().next()
        {
            out.push(next);
            rest = rest.get(next.len_utf8()..).unwrap_or_default();
        }
    }
    out
}
