//! What a check sees and what its causes mean, as docs/checks.md has it.

use std::fmt::Write;

use crate::check::{Cause, Check, Remedy};

/// A check with all causes, or with this one.
pub fn text(check: &'static Check, cause: Option<&'static Cause>) -> String {
    let mut text = format!("{}: {}\n{}\n", check.id, check.title, check.summary);
    let causes: Vec<&'static Cause> = match cause {
        Some(cause) => vec![cause],
        None => check.causes.to_vec(),
    };
    for cause in causes {
        // writing to a String cannot fail
        let _ = writeln!(text, "\n{}/{} ({})\n  {}", check.id, cause.id, cause.severity, cause.summary);
        advice(&mut text, "  ", &cause.advice());
        for way in check.ways(cause).filter(|way| !way.advice().is_empty()) {
            let _ = writeln!(text, "  {}:", way.briefly);
            advice(&mut text, "    ", &way.advice());
        }
        if let Some(runbook) = check.runbook(cause) {
            let _ = writeln!(text, "  longhorn-health-exporter runbook {runbook}");
        }
    }
    text
}

/// The advice of a cause or of one of its ways.
fn advice(text: &mut String, indent: &str, advice: &Remedy) {
    if !advice.fix.is_empty() {
        let _ = writeln!(text, "{indent}fix: {}", advice.fix);
    }
    for command in &advice.commands {
        let _ = writeln!(text, "{indent}{} {}", if command.changes { '!' } else { '$' }, command.run);
    }
}
