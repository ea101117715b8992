//! As much of Prometheus' templates as alert descriptions use, to say in advance what an alert
//! reads like. promtool renders the same template with the real engine, so an error here fails a
//! case and cannot hide one.

use std::collections::BTreeMap;

/// Labels by name.
pub type Labels = BTreeMap<String, String>;

/// Renders a template for an alert with these labels and this value.
pub fn render(template: &str, labels: &Labels, value: f64) -> Result<String, String> {
    let parts = parse(template)?;
    let scope = Scope { labels, value };
    let mut out = String::new();
    let rest = scope.block(&parts, None, true, &mut out)?;
    match rest.first() {
        None => Ok(out),
        Some(part) => Err(format!("unexpected {part:?}")),
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Part {
    Text(String),
    Action(String),
}

fn parse(template: &str) -> Result<Vec<Part>, String> {
    let mut parts = Vec::new();
    let mut rest = template;
    while let Some((text, after)) = rest.split_once("{{") {
        let (action, after) = after.split_once("}}").ok_or("{{ without }}")?;
        let trim_before = action.starts_with("- ");
        parts.push(Part::Text(if trim_before { text.trim_end() } else { text }.to_owned()));
        let action = action.strip_prefix('-').unwrap_or(action);
        let trimmed = action.strip_suffix(" -");
        parts.push(Part::Action(trimmed.unwrap_or(action).trim().to_owned()));
        rest = if trimmed.is_some() { after.trim_start() } else { after };
    }
    parts.push(Part::Text(rest.to_owned()));
    Ok(parts)
}

struct Scope<'a> {
    labels: &'a Labels,
    value: f64,
}

impl Scope<'_> {
    /// Renders up to the `else` or `end` that closes this block and returns what follows, that
    /// action included. `write` is false in a branch not taken.
    fn block<'p>(
        &self,
        mut parts: &'p [Part],
        dot: Option<&str>,
        write: bool,
        out: &mut String,
    ) -> Result<&'p [Part], String> {
        while let Some((part, after)) = parts.split_first() {
            parts = match part {
                Part::Text(text) => {
                    if write {
                        out.push_str(text);
                    }
                    after
                }
                Part::Action(action) if action == "end" || action.starts_with("else") => return Ok(parts),
                Part::Action(action) => match action.split_once(' ') {
                    Some((word @ ("with" | "if"), condition)) => {
                        self.branch(after, word == "with", condition, dot, write, out)?
                    }
                    _ => {
                        if write {
                            out.push_str(&self.pipeline(action, dot)?);
                        }
                        after
                    }
                },
            };
        }
        Ok(parts)
    }

    fn branch<'p>(
        &self,
        parts: &'p [Part],
        rebinds: bool,
        condition: &str,
        dot: Option<&str>,
        write: bool,
        out: &mut String,
    ) -> Result<&'p [Part], String> {
        let value = self.condition(condition, dot)?;
        let holds = !value.is_empty();
        let inner = if rebinds { Some(value.as_str()) } else { dot };
        let rest = self.block(parts, inner, write && holds, out)?;
        match rest.split_first() {
            Some((Part::Action(action), after)) if action == "end" => Ok(after),
            Some((Part::Action(action), after)) if action == "else" => {
                let rest = self.block(after, dot, write && !holds, out)?;
                match rest.split_first() {
                    Some((Part::Action(action), after)) if action == "end" => Ok(after),
                    _ => Err("else without end".to_owned()),
                }
            }
            Some((Part::Action(action), after)) => {
                let (word, condition) = action
                    .strip_prefix("else ")
                    .and_then(|chained| chained.split_once(' '))
                    .ok_or_else(|| format!("cannot read {{{{ {action} }}}}"))?;
                self.branch(after, word == "with", condition, dot, write && !holds, out)
            }
            _ => Err(format!("{condition} without end")),
        }
    }

    /// Empty for false.
    fn condition(&self, condition: &str, dot: Option<&str>) -> Result<String, String> {
        let words = words(condition);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words[..] {
            ["eq", left, right] => {
                let same = self.operand(left, dot)? == self.operand(right, dot)?;
                Ok(if same { "true".to_owned() } else { String::new() })
            }
            ["match", pattern, text] => {
                let pattern = regex::Regex::new(&self.operand(pattern, dot)?);
                let pattern = pattern.map_err(|error| format!("cannot match: {error}"))?;
                let fits = pattern.is_match(&self.operand(text, dot)?);
                Ok(if fits { "true".to_owned() } else { String::new() })
            }
            [operand] => self.operand(operand, dot),
            _ => Err(format!("cannot read the condition {condition}")),
        }
    }

    fn pipeline(&self, action: &str, dot: Option<&str>) -> Result<String, String> {
        let mut steps = action.split(" | ");
        let first = steps.next().unwrap_or_default().trim();
        let mut text = match &words(first)[..] {
            [operand] => self.operand(operand, dot)?,
            [function @ .., operand] => apply(&function.join(" "), &self.operand(operand, dot)?)?,
            [] => return Err("empty action".to_owned()),
        };
        for function in steps {
            text = apply(function.trim(), &text)?;
        }
        Ok(text)
    }

    fn operand(&self, operand: &str, dot: Option<&str>) -> Result<String, String> {
        let label = operand.strip_prefix("$labels.");
        if let Some(label) = label {
            return Ok(self.labels.get(label).cloned().unwrap_or_default());
        }
        match operand {
            "." => dot.map(str::to_owned).ok_or_else(|| "a dot outside of with".to_owned()),
            "$value" => Ok(self.value.to_string()),
            _ if operand.starts_with("$externalLabels.") => Ok(String::new()),
            _ if operand.starts_with('"') => Ok(operand.trim_matches('"').to_owned()),
            _ => Err(format!("cannot read {operand}")),
        }
    }
}

/// Words of an action; a quoted string is one word.
fn words(action: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut in_quotes = false;
    for c in action.chars() {
        in_quotes ^= c == '"';
        match words.last_mut() {
            Some(word) if in_quotes || c != ' ' => word.push(c),
            _ => words.push(String::new()),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn apply(function: &str, text: &str) -> Result<String, String> {
    let number = || text.parse::<f64>().map_err(|_| format!("{function} of {text}"));
    match function {
        "humanizeDuration" => Ok(humanize_duration(number()?)),
        "humanize" if number()?.abs() < 1000.0 => Ok(text.to_owned()),
        "printf \"%.0f\"" => Ok(format!("{:.0}", number()?)),
        "printf \"%.1f\"" => Ok(format!("{:.1}", number()?)),
        "toLower" => Ok(text.to_lowercase()),
        _ => Err(format!("cannot apply {function} to {text}")),
    }
}

fn humanize_duration(seconds: f64) -> String {
    let (sign, whole) = (if seconds < 0.0 { "-" } else { "" }, seconds.abs() as u64);
    let (days, hours, minutes) = (whole / 86_400, whole / 3_600 % 24, whole / 60 % 60);
    let rest = whole % 60;
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds}s"),
        (0, 0, _) => format!("{sign}{minutes}m {rest}s"),
        (0, ..) => format!("{sign}{hours}h {minutes}m {rest}s"),
        _ => format!("{sign}{days}d {hours}h {minutes}m {rest}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(template: &str) -> Result<String, String> {
        let labels = [("node", "n1"), ("kind", "a")].map(|(k, v)| (k.to_owned(), v.to_owned()));
        render(template, &labels.into(), 3661.0)
    }

    #[test]
    fn what_descriptions_use() {
        for (template, text) in [
            ("plain", "plain"),
            ("on {{ $labels.node }}.", "on n1."),
            ("{{ $labels.disk }}", ""),
            ("x{{ with $labels.node }} on {{ . }}{{ end }}.", "x on n1."),
            ("x{{ with $labels.disk }} on {{ . }}{{ else }} nowhere{{ end }}.", "x nowhere."),
            (
                "{{ if eq $labels.kind \"a b\" }}1{{ else if eq $labels.kind \"a\" }}2{{ else }}3{{ end }}",
                "2",
            ),
            ("{{ if match \"^(a|n)\" $labels.node }}1{{ else }}2{{ end }}", "1"),
            ("{{ if match \"^(a|b)\" $labels.node }}1{{ else }}2{{ end }}", "2"),
            ("{{ with $labels.disk }}{{ if $labels.node }}a{{ end }}{{ end }}b", "b"),
            ("a {{- with $labels.node }} {{ . }} {{- end }} b", "a n1 b"),
            ("{{ $value | humanizeDuration }}", "1h 1m 1s"),
            ("{{ printf \"%.0f\" $value }}", "3661"),
        ] {
            assert_eq!(rendered(template).as_deref(), Ok(text), "{template}");
        }
    }

    #[test]
    fn what_is_not_understood_is_an_error() {
        for template in [
            "{{ x",
            "{{ if match \"(\" $labels.node }}{{ end }}",
            "{{ end }}",
            "{{ query \"x\" }}",
            "{{ with $labels.node }}",
            "{{ . }}",
            "{{ }}",
        ] {
            assert!(rendered(template).is_err(), "{template}");
        }
    }
}
