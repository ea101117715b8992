//! What can be got wrong in a rule: each of these changes must make some case fail.

use longhorn_health_exporter::generate::promtool::seconds;
use longhorn_health_exporter::generate::rules::{Entry, RecordingRule, Rule};

use crate::promql::{Kind, Token, tokens};

/// A rule with one mistake.
#[derive(Debug, Clone)]
pub struct Mutant {
    /// The mistake.
    pub what: String,
    /// The rule with it.
    pub rule: Entry,
}

/// Every mutant of a rule.
pub fn of(rule: &Entry) -> Vec<Mutant> {
    match rule {
        Entry::Record(rule) => {
            let mutant =
                |(what, expr)| Mutant { what, rule: Entry::Record(RecordingRule { expr, ..rule.clone() }) };
            expressions(&rule.expr).into_iter().map(mutant).collect()
        }
        Entry::Alert(rule) => of_alert(rule),
    }
}

fn of_alert(rule: &Rule) -> Vec<Mutant> {
    let alert = |what, rule| Mutant { what, rule: Entry::Alert(rule) };
    let mutant = |(what, expr)| alert(what, Rule { expr, ..rule.clone() });
    let mut mutants: Vec<Mutant> = expressions(&rule.expr).into_iter().map(mutant).collect();
    for for_ in other_durations(&rule.for_) {
        let what = format!("for {} -> {for_}", rule.for_);
        mutants.push(alert(what, Rule { for_, ..rule.clone() }));
    }
    for keep in other_durations(&rule.keep_firing_for) {
        let what = format!("keep_firing_for {} -> {keep}", rule.keep_firing_for);
        mutants.push(alert(what, Rule { keep_firing_for: keep, ..rule.clone() }));
    }
    mutants
}

/// Half and double; of nothing, some minutes.
fn other_durations(duration: &str) -> Vec<String> {
    match seconds(duration).unwrap() {
        0 => vec!["10m".to_owned()],
        some => vec![format!("{}s", some / 2), format!("{}s", some * 2)],
    }
}

/// Where a token stands.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Place {
    Plain,
    Braces,
    Window,
    /// In the list of labels after this word.
    Labels,
}

/// Changed expressions with the change in words.
fn expressions(expr: &str) -> Vec<(String, String)> {
    let all = tokens(expr);
    let places = places(&all);
    let mut mutants = Vec::new();
    for (at, (token, place)) in all.iter().zip(&places).enumerate() {
        let replaced = |by: &str| {
            let text = |(index, token): (usize, &Token<'_>)| {
                if index == at { by.to_owned() } else { token.text.to_owned() }
            };
            all.iter().enumerate().map(text).collect::<String>()
        };
        let mut swap = |by: &str| {
            mutants.push((format!("{} -> {by} at {}", token.text, offset(&all, at)), replaced(by)));
        };
        match (place, token.kind) {
            (Place::Plain, Kind::Sign) => operators(token.text).iter().for_each(|by| swap(by)),
            (Place::Plain, Kind::Number) => shifted(token.text).iter().for_each(|by| swap(by)),
            (Place::Plain, Kind::Word) => functions(token.text).iter().for_each(|by| swap(by)),
            (Place::Window, Kind::Number) => other_durations(token.text).iter().for_each(|by| swap(by)),
            (Place::Braces, Kind::Sign) => match token.text {
                "=" => swap("!="),
                "=~" => swap("!~"),
                _ => {}
            },
            (Place::Braces, Kind::Text) => alternatives(token.text).iter().for_each(|by| swap(by)),
            (Place::Braces | Place::Labels, Kind::Word) => {
                let what = format!("drop {} at {}", token.text, offset(&all, at));
                mutants.push((what, dropped(&all, at)));
            }
            _ => {}
        }
    }
    mutants
}

fn places(all: &[Token<'_>]) -> Vec<Place> {
    let mut place = Place::Plain;
    let mut grouping = false;
    let mut places = Vec::new();
    for token in all {
        match token.text {
            "{" => place = Place::Braces,
            "[" => place = Place::Window,
            "(" if grouping => place = Place::Labels,
            "}" | "]" => place = Place::Plain,
            ")" if place == Place::Labels => place = Place::Plain,
            _ => {}
        }
        if token.kind != Kind::Space {
            grouping = ["by", "without", "on", "ignoring"].contains(&token.text);
        }
        places.push(place);
    }
    places
}

fn offset(all: &[Token<'_>], at: usize) -> usize {
    all[..at].iter().map(|token| token.text.len()).sum()
}

fn operators(sign: &str) -> &'static [&'static str] {
    match sign {
        "==" => &["!="],
        ">" => &[">=", "<"],
        "<" => &["<=", ">"],
        "-" => &["+"],
        _ => &[],
    }
}

/// One more and one less; of large numbers a tenth.
fn shifted(number: &str) -> Vec<String> {
    let value: f64 = number.parse().unwrap();
    let by = (value / 10.0).max(1.0);
    vec![(value + by).to_string(), (value - by).to_string()]
}

fn functions(word: &str) -> &'static [&'static str] {
    match word {
        "max" => &["min"],
        "min" => &["max"],
        "increase" => &["rate"],
        "max_over_time" => &["min_over_time", "last_over_time"],
        "and" => &["or", "unless"],
        "or" => &["and"],
        "unless" => &["and"],
        _ => &[],
    }
}

/// A pattern without one of its alternatives.
fn alternatives(text: &str) -> Vec<String> {
    let words: Vec<&str> = text.trim_matches('"').split('|').collect();
    let without = |drop: usize| {
        let kept = words.iter().enumerate().filter(|(index, _)| *index != drop).map(|(_, word)| *word);
        format!("\"{}\"", kept.collect::<Vec<_>>().join("|"))
    };
    if words.len() > 1 { (0..words.len()).map(without).collect() } else { Vec::new() }
}

/// Without the element of a list that starts at a token, and the comma after it.
fn dropped(all: &[Token<'_>], at: usize) -> String {
    let after = all[at..].iter().position(|token| [",", "}", ")"].contains(&token.text)).unwrap() + at;
    let comma = usize::from(all[after].text == ",");
    let (before, rest) = (&all[..at], &all[after + comma..]);
    before.iter().chain(rest).map(|token| token.text).collect()
}
