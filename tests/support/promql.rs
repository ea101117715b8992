//! As much PromQL as the tests need: seeing which series an expression reads, and changing it in
//! places. Whether an expression is right is for promtool to say.

#![allow(dead_code, reason = "each test uses a part")]

/// A part of an expression. Joined together the texts give the expression back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token<'a> {
    /// What it is.
    pub kind: Kind,
    /// As written.
    pub text: &'a str,
}

/// What a [`Token`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// White space.
    Space,
    /// Name of a metric, function, label or keyword.
    Word,
    /// Number or duration.
    Number,
    /// Quoted string.
    Text,
    /// Anything else: an operator, a bracket, a comma.
    Sign,
}

/// The part `name{matchers}` of an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selector {
    /// Name of the metric.
    pub metric: String,
    /// Label, operator and unquoted value.
    pub matchers: Vec<(String, String, String)>,
}

/// Words after which a parenthesis holds label names.
const GROUPING: [&str; 6] = ["by", "without", "on", "ignoring", "group_left", "group_right"];
/// Words of the language that may stand without a parenthesis.
const KEYWORDS: [&str; 8] = ["and", "or", "unless", "bool", "offset", "inf", "nan", "atan2"];

/// Cuts an expression into tokens.
pub fn tokens(expr: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = expr;
    while let Some(first) = rest.chars().next() {
        let (kind, length) = match first {
            c if c.is_whitespace() => (Kind::Space, prefix(rest, char::is_whitespace)),
            c if c.is_ascii_alphabetic() || c == '_' || c == ':' => (Kind::Word, prefix(rest, is_word)),
            c if c.is_ascii_digit() => {
                (Kind::Number, prefix(rest, |c| c.is_ascii_alphanumeric() || c == '.'))
            }
            '"' | '\'' | '`' => (Kind::Text, quoted(rest, first)),
            _ => (Kind::Sign, sign(rest, first)),
        };
        let (text, after) = rest.split_at(length);
        tokens.push(Token { kind, text });
        rest = after;
    }
    tokens
}

fn prefix(text: &str, wanted: impl Fn(char) -> bool) -> usize {
    text.find(|c| !wanted(c)).unwrap_or(text.len())
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == ':'
}

fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (index, c) in text.char_indices().skip(1) {
        if c == quote && !escaped {
            return index + c.len_utf8();
        }
        escaped = c == '\\' && !escaped && quote != '`';
    }
    text.len()
}

fn sign(text: &str, first: char) -> usize {
    let two = ["==", "!=", ">=", "<=", "=~", "!~"];
    if two.iter().any(|sign| text.starts_with(sign)) { 2 } else { first.len_utf8() }
}

/// The selectors of an expression, in the order in which they stand.
pub fn selectors(expr: &str) -> Vec<Selector> {
    let tokens: Vec<_> = tokens(expr).into_iter().filter(|token| token.kind != Kind::Space).collect();
    let mut selectors = Vec::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let next = tokens.get(at + 1).map_or("", |next| next.text);
        at += 1;
        if token.kind != Kind::Word || KEYWORDS.contains(&token.text) {
            continue;
        }
        if GROUPING.contains(&token.text) && next == "(" {
            at = closing(&tokens, at, ")");
        } else if next == "{" {
            let end = closing(&tokens, at, "}");
            let matchers = matchers(tokens.get(at + 1..end).unwrap_or_default());
            selectors.push(Selector { metric: token.text.to_owned(), matchers });
            at = end;
        } else if next != "(" && !GROUPING.contains(&next) {
            selectors.push(Selector { metric: token.text.to_owned(), matchers: Vec::new() });
        }
    }
    selectors
}

/// Index of the first `sign` from `at` on, or the end.
fn closing(tokens: &[Token<'_>], at: usize, sign: &str) -> usize {
    let found = tokens.iter().skip(at).position(|token| token.text == sign);
    found.map_or(tokens.len(), |distance| at + distance)
}

fn matchers(tokens: &[Token<'_>]) -> Vec<(String, String, String)> {
    let matcher = |part: &[Token<'_>]| match part {
        [label, operator, value] => {
            let value = value.text.trim_matches(['"', '\'', '`']).to_owned();
            Some((label.text.to_owned(), operator.text.to_owned(), value))
        }
        _ => None,
    };
    tokens.split(|token| token.text == ",").filter_map(matcher).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(expr: &str) -> Vec<String> {
        selectors(expr).into_iter().map(|selector| selector.metric).collect()
    }

    #[test]
    fn tokens_give_the_expression_back() {
        let expr = "max without (pod) (a{b=~\"c\\\"}|d\", e!='f'}[5m] offset 1h) >= bool 1.5e3 # x";
        assert_eq!(tokens(expr).iter().map(|token| token.text).collect::<String>(), expr);
    }

    #[test]
    fn selectors_are_metrics_only() {
        assert_eq!(names("max without (pod, x) (a{b=\"c\"}) > 0"), ["a"]);
        assert_eq!(
            names("sum by (node) (rate(a_total[5m])) / on (node) group_left (x) b > 1e3"),
            ["a_total", "b"]
        );
        assert_eq!(
            names("absent(up{job=\"x\"} == 1) or time() - c_timestamp_seconds > 60"),
            ["up", "c_timestamp_seconds"]
        );
        assert_eq!(names("sum(a) by (cluster) unless b offset 5m"), ["a", "b"]);
    }

    #[test]
    fn matchers_keep_operator_and_value() {
        let [selector] = &selectors("a{b=\"c\", d=~\"e|f\"}")[..] else { panic!("one selector") };
        let expected = [("b", "=", "c"), ("d", "=~", "e|f")];
        let expected = expected.map(|(l, o, v)| (l.to_owned(), o.to_owned(), v.to_owned()));
        assert_eq!(selector.matchers, expected);
    }

    #[test]
    fn odd_expressions_do_not_panic() {
        for expr in ["", "a{", "a{b", "by (", "\"", "$", "a{b=}", "{}", "ä"] {
            let _ = selectors(expr);
        }
    }
}
