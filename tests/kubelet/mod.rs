//! What a real kubelet wrote, judged: every recording is played through an API server in its order, as `serve` sees
//! it, and is then looked at once, as `check --from` does.
//!
//! `expected.yaml` holds the truth of each; `known-wrong.txt` what is said instead, and must shrink: a verdict that
//! becomes right, or wrong in another way, fails until the file says so (`UPDATE_GOLDEN=1` writes it).
//! `cargo test --test clusters kubelet:: -- --nocapture` prints the table. `KUBELET_ONLY=liveness` plays what has the word in its name.

mod cluster;
mod play;
mod steps;
mod texts;
mod timeline;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// A situation, or several of one truth.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Situation {
    /// Recordings of it, each on its own; `a + b` are played together.
    files: Vec<String>,
    /// What happened.
    truth: String,
    /// What must be said by one who watched.
    live: String,
    /// What must be said by one who looked afterwards; the same where nothing stands here.
    recording: Option<String>,
    /// Why a recording cannot know.
    because: Option<String>,
    /// Ends of instance managers that must be counted, by cause.
    counted: Option<String>,
}

fn here(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kubelet").join(name)
}

fn situations() -> Vec<Situation> {
    serde_yaml::from_str(&std::fs::read_to_string(here("expected.yaml")).unwrap()).unwrap()
}

#[test]
fn every_recording_is_judged_as_it_was() {
    let only = std::env::var("KUBELET_ONLY").unwrap_or_default();
    let mut wrong = Vec::new();
    let mut judged = 0;
    for situation in situations() {
        for files in situation.files.iter().filter(|files| files.contains(&only)) {
            let said = play::play(files);
            let recording = situation.recording.as_ref().unwrap_or(&situation.live);
            let mut views =
                vec![("live", &said.live, &situation.live), ("recording", &said.recording, recording)];
            if let Some(counted) = &situation.counted {
                views.push(("counted", &said.counted, counted));
            }
            for (view, said, expected) in views {
                judged += 1;
                let right = expected.split(" | ").any(|one| one == said);
                match right {
                    true => println!("right {files} {view}: {said}"),
                    false => {
                        println!("WRONG {files} {view}: {said}; but {}: {expected}", situation.truth);
                        wrong.push(format!("{files} {view}: {said}"));
                    }
                }
            }
        }
    }
    println!("{judged} verdicts, {} known to be wrong", wrong.len());
    if !only.is_empty() {
        return;
    }
    let path = here("known-wrong.txt");
    let text: String = wrong.iter().map(|line| format!("{line}\n")).collect();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &text).unwrap();
        return;
    }
    let known = std::fs::read_to_string(&path).unwrap();
    let [known, now]: [BTreeSet<&str>; 2] = [known.lines().collect(), text.lines().collect()];
    let gone: Vec<_> = known.difference(&now).collect();
    let new: Vec<_> = now.difference(&known).collect();
    assert!(
        gone.is_empty() && new.is_empty(),
        "no longer so, to be taken out of known-wrong.txt:\n{gone:#?}\nwrong, and not known to be:\n{new:#?}"
    );
}

#[test]
fn every_recording_is_in_the_table_once() {
    let mut listed = Vec::new();
    for situation in situations() {
        assert!(situation.recording.is_some() == situation.because.is_some(), "{}: why?", situation.truth);
        for files in &situation.files {
            // a file may be played with several, but has one situation of its own
            listed.extend(files.split(" + ").map(|file| file.split(':').next().unwrap().to_owned()));
        }
    }
    let listed: BTreeSet<String> = listed.into_iter().collect();
    let mut there = BTreeSet::new();
    for folder in ["longhorn", "pods", "nodes"] {
        for entry in std::fs::read_dir(here("recordings").join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|ending| ending == "yaml") {
                there.insert(format!("{folder}/{}", path.file_stem().unwrap().to_str().unwrap()));
            }
        }
    }
    assert_eq!(there.difference(&listed).collect::<Vec<_>>(), Vec::<&String>::new(), "not judged");
    assert_eq!(listed.difference(&there).collect::<Vec<_>>(), Vec::<&String>::new(), "not there");
}
