//! The YAML of generated files; the only user of the YAML writer.

use serde::Serialize;

/// A document with a comment on top. Long strings are folded, so that expressions and descriptions
/// can be read and compared line by line.
pub fn document(header: &str, value: &impl Serialize) -> String {
    let options = serde_yaml::ser_options! {
        compact_list_indent: false,
        folded_wrap_chars: 100,
    };
    let mut text: String = header.lines().map(|line| format!("# {line}\n")).collect();
    // writing declared strings into memory does not fail
    let _ = serde_yaml::to_fmt_writer_with_options(&mut text, value, options);
    text
}
