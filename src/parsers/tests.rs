//! Every parser of text from outside reads what it is meant to read, and hundreds of mutations of it: none
//! panics or hangs, and errors are for users. The same parsers are fuzzed with the targets of fuzz/.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::{PARSERS, complaint};
use crate::longhorn::{Objects, Resource};

#[path = "../../tests/support/numbers.rs"]
mod numbers;

use numbers::Numbers;

/// What parsers stumble over.
const ODD: &[&str] = &[
    "\0", "\t", "\r\n", "\u{feff}", "\u{202e}", "\u{1f980}", "'", "\"", "\\", "\\u0000", "\\ud800", ": ",
    "- ", "? ", "{", "}", "[", "]", ",", "&a ", "*a", "!!binary ", "!x ", "|\n", ">-\n", "---\n", "...\n",
    "%YAML 9\n", "<<: ", "~", "null", "true", ".inf", ".nan", "-0", "0x", "1e999", "-9223372036854775809",
    "99999999999999999999999999", "9999-12-31T23:59:59Z", "-009999-01-01T00:00:00Z", "24:00:00", "%00",
    "%zz", "+", "q=", ";", "=", "Basic ", "*/0", "1-0",
];

fn mutate(bytes: &mut Vec<u8>, numbers: &mut Numbers) {
    for _ in 0..=numbers.below(4) {
        let (at, other) = (numbers.below(bytes.len() + 1), numbers.below(bytes.len() + 1));
        let (from, to) = (at.min(other), at.max(other));
        match numbers.below(8) {
            0 if at < bytes.len() => bytes[at] ^= 1 << numbers.below(8),
            1 => bytes.truncate(at),
            2 => drop(bytes.drain(from..to.min(from + 40))),
            3 => {
                let part = bytes[from..to].to_vec();
                bytes.splice(from..from, part);
            }
            4 => drop(
                bytes
                    .splice(at..at, ODD[numbers.below(ODD.len())].repeat(1 + 999 * numbers.below(2)).bytes()),
            ),
            _ => drop(bytes.splice(at..at, ODD[numbers.below(ODD.len())].bytes())),
        }
    }
}

#[test]
fn parsers_stand_what_is_not_meant_for_them() {
    for parser in PARSERS {
        let mut numbers = Numbers(parser.name.len() as u64);
        let (begun, mut slowest, mut refused) = (Instant::now(), Duration::ZERO, 0);
        for round in 0..120 {
            let mut bytes = parser.seeds[round % parser.seeds.len()].to_vec();
            mutate(&mut bytes, &mut numbers);
            let one = Instant::now();
            match complaint(parser, &bytes) {
                Ok(said) => refused += usize::from(said.is_some()),
                Err(said) => panic!("{}: {said:?} for {:?}", parser.name, String::from_utf8_lossy(&bytes)),
            }
            slowest = slowest.max(one.elapsed());
        }
        println!(
            "{:18} {refused:3} of 120 refused, {:.1?}, slowest {slowest:.1?}",
            parser.name,
            begun.elapsed()
        );
        assert!(slowest < Duration::from_secs(60), "{}: {slowest:?}", parser.name);
    }
}

#[test]
fn each_seed_is_what_its_parser_is_meant_to_read() {
    // values of options and headers: one parser reads one of them
    for parser in PARSERS.iter().filter(|parser| !["options", "headers", "api_object"].contains(&parser.name))
    {
        for seed in parser.seeds {
            let shown = String::from_utf8_lossy(seed);
            match parser.name {
                // the second object has no name, and an archive is empty
                "recording_json" => {
                    assert!(complaint(parser, seed).unwrap().unwrap().contains("metadata.name is missing"))
                }
                name => assert_eq!(complaint(parser, seed), Ok(None), "{name}: {shown}"),
            }
        }
    }
}

#[test]
fn advice_for_programmers_is_noticed() {
    let twice = "accepted: []\naccepted: []\n";
    let parser = |name: &str| PARSERS.iter().find(|parser| parser.name == name).unwrap();
    assert_eq!(
        complaint(parser("accepted_findings"), twice.as_bytes()),
        Ok(Some("a.yaml:2: duplicate key accepted".to_owned()))
    );
    let documents = b"basic_auth_users: {}\n---\na: b\n";
    let said = complaint(parser("web_config"), documents).unwrap().unwrap();
    assert!(said.contains("more than one document"), "{said}");
    let secret = b"users: [{name: a, user: {token: [hush]}}]\n";
    let said = complaint(parser("kubeconfig"), secret).unwrap().unwrap();
    assert!(!said.contains("hush"), "{said}");
}

#[test]
fn keys_and_values_of_the_file_do_not_break_the_line() {
    let texts = [
        "\"a\\nb\": 1\n", "\"a\\nb\": 1\n\"a\\nb\": 2\n", "accepted: [{\"a\\nb\": 1}]\n",
        "accepted: \"a\\nb\"\n", "alerts: {\"a\\nb\": {for: 5m}}\n", "labels: {\"a\\nb\": x}\n",
        "tls_server_config: {\"a\\nb\": 1}\n", "users: \"a\\nb\"\n",
    ];
    let files = ["web_config", "settings", "accepted_findings", "kubeconfig"];
    let mut refused = 0;
    for (parser, yaml) in PARSERS
        .iter()
        .filter(|parser| files.contains(&parser.name))
        .flat_map(|parser| texts.map(|yaml| (parser, yaml)))
    {
        let said = complaint(parser, yaml.as_bytes())
            .unwrap_or_else(|said| panic!("{}: {yaml}: {said}", parser.name));
        refused += usize::from(said.is_some());
    }
    assert!(refused > 20, "{refused}");
}

#[test]
fn what_has_another_type_is_told_without_types_of_the_program() {
    let nested = r#"{"spec":{"disks":{"a":1},"diskFileSpecMap":{"a":1},"template":1,"holder":"x"}}"#;
    let texts = ["1", "\"a\"", r#"{"metadata":1}"#, r#"{"spec":1}"#, r#"{"status":"x"}"#, nested];
    let mut refused = 0;
    for (resource, text) in Resource::all().flat_map(|resource| texts.map(|text| (resource, text))) {
        let read = Objects::default().insert(resource, &mut serde_json::Deserializer::from_str(text));
        if let Err(said) = read.map_err(|error| error.to_string()) {
            refused += 1;
            assert!(!said.contains("struct") && !said.contains("enum"), "{resource}: {text}: {said}");
        }
    }
    assert!(refused > 90, "{refused}");
    let list = PARSERS.iter().find(|parser| parser.name == "api_list").unwrap();
    complaint(list, br#"{"metadata":2,"items":[]}"#).unwrap();
    complaint(list, b"[]").unwrap();
}

#[test]
fn every_parser_is_a_fuzz_target() {
    let manifest = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/Cargo.toml")).unwrap();
    let bins = manifest.split("[[bin]]").skip(1);
    let targets: BTreeSet<&str> = bins.map(|bin| bin.split('"').nth(1).unwrap()).collect();
    assert_eq!(targets, PARSERS.iter().map(|parser| parser.name).collect());
}
