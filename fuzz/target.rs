//! Every target: the parser that it is named after.
#![no_main]

use libfuzzer_sys::fuzz_target;
use longhorn_health_exporter::parsers::{PARSERS, told};

fuzz_target!(|bytes: &[u8]| {
    let parser = PARSERS.iter().find(|parser| parser.name == env!("CARGO_BIN_NAME")).expect("a parser");
    told(parser, bytes).expect("an error for users");
});
