//! The file of `--state-file`: written whole or not at all, and never a reason not to start.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::history::saved::{Saved, VERSION};

/// A larger file is none of ours: what is saved is bounded.
const MAX_BYTES: u64 = 32 << 20;

/// Where the history is kept.
#[derive(Debug, Clone)]
pub struct StateFile {
    path: PathBuf,
}

/// What the file held.
#[derive(Debug)]
pub enum Loaded {
    /// There is none.
    Nothing,
    /// A history.
    History(Box<Saved>),
    /// A file that cannot be used, and where it was put.
    SetAside {
        /// Why it cannot be used.
        reason: String,
        /// Where it is now; `None` if it is where it was.
        kept: Option<PathBuf>,
    },
}

impl StateFile {
    /// The file at this path, which need not exist.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        StateFile { path: path.into() }
    }

    /// The path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the file. One that cannot be used is put aside as `PATH.corrupt`, so that the next save does
    /// not destroy what a person may want to see.
    pub fn load(&self) -> Loaded {
        match self.read() {
            Ok(None) => Loaded::Nothing,
            Ok(Some(saved)) => Loaded::History(Box::new(saved)),
            Err(error) => {
                let aside = self.beside("corrupt");
                let is_file = fs::symlink_metadata(&self.path).is_ok_and(|is| is.is_file());
                let kept = (is_file && fs::rename(&self.path, &aside).is_ok()).then_some(aside);
                Loaded::SetAside { reason: error.to_string(), kept }
            }
        }
    }

    fn read(&self) -> io::Result<Option<Saved>> {
        let Some(is) = self.regular()? else { return Ok(None) };
        if is.len() > MAX_BYTES {
            return Err(io::Error::other(format!("it is larger than {MAX_BYTES} bytes")));
        }
        let mut text = Vec::new();
        File::open(&self.path)?.take(MAX_BYTES).read_to_end(&mut text)?;
        Self::parse(&text).map(Some)
    }

    /// What is at the path, if that is nothing or a file. Anything else is somebody's: a FIFO would be waited for, and
    /// a rename would make a file of a device or of a link.
    fn regular(&self) -> io::Result<Option<fs::Metadata>> {
        match fs::symlink_metadata(&self.path) {
            Ok(is) if is.is_file() => Ok(Some(is)),
            Ok(_) => Err(io::Error::other("it is not a regular file, so it is neither read nor replaced")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads the content of a file.
    pub fn parse(text: &[u8]) -> io::Result<Saved> {
        #[derive(serde::Deserialize)]
        #[serde(expecting = "an object")]
        struct StateHead {
            version: u32,
        }
        let head: StateHead = serde_json::from_slice(text)?;
        if head.version != VERSION {
            let found = head.version;
            return Err(io::Error::other(format!("it has version {found}, this release reads {VERSION}")));
        }
        Ok(serde_json::from_slice(text)?)
    }

    /// Writes the file: beside its place, to the disk, then in its place.
    pub fn store(&self, saved: &Saved) -> io::Result<()> {
        self.regular()?;
        let new = self.beside("new");
        // what is left of an earlier try, whatever it is; a FIFO would be waited for
        match fs::remove_file(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let written = write_new(&new, saved).and_then(|()| fs::rename(&new, &self.path));
        if written.is_err() {
            let _ = fs::remove_file(&new); // it is of no use, and the error above is the one to tell
        }
        written?;
        match self.path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            Some(directory) => File::open(directory)?.sync_all(),
            None => Ok(()),
        }
    }

    fn beside(&self, suffix: &str) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(".");
        name.push(suffix);
        name.into()
    }
}

fn write_new(path: &Path, saved: &Saved) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(&serde_json::to_vec(saved)?)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::history::History;
    use crate::testing::time;

    fn saved() -> Saved {
        let now = time("2026-03-01T12:00:00Z");
        History::starting(now).saved("longhorn-system", now)
    }

    fn in_directory() -> (tempfile::TempDir, StateFile) {
        let directory = tempfile::tempdir().unwrap();
        let file = StateFile::new(directory.path().join("state.json"));
        (directory, file)
    }

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_is_stored_is_loaded() {
        let (directory, file) = in_directory();
        assert!(matches!(file.load(), Loaded::Nothing));
        for _ in 0..2 {
            file.store(&saved()).unwrap();
            let Loaded::History(loaded) = file.load() else { panic!("no history") };
            assert_eq!(*loaded, saved());
        }
        assert_eq!(names(directory.path()), ["state.json"]);
    }

    #[test]
    fn what_cannot_be_used_is_kept_beside_and_the_next_save_works() {
        let whole = serde_json::to_string(&saved()).unwrap();
        let cut = &whole[..whole.len() / 2];
        let newer = whole.replace("\"version\":1", "\"version\":7");
        for (text, part) in [
            ("", "EOF"),
            ("garbage", "expected value"),
            (cut, "EOF"),
            ("{}", "missing field `version`"),
            ("{\"version\":1}", "missing field"),
            (&newer, "it has version 7, this release reads 1"),
            ("\0\0\0\0", "expected value"),
        ] {
            let (directory, file) = in_directory();
            fs::write(file.path(), text).unwrap();
            let Loaded::SetAside { reason, kept } = file.load() else { panic!("{text}") };
            assert!(reason.contains(part), "{reason}");
            assert_eq!(fs::read_to_string(kept.unwrap()).unwrap(), text);
            file.store(&saved()).unwrap();
            assert!(matches!(file.load(), Loaded::History(_)));
            assert_eq!(names(directory.path()), ["state.json", "state.json.corrupt"]);
        }
    }

    #[test]
    fn what_is_no_regular_file_is_neither_read_nor_replaced() {
        use std::os::unix::fs::symlink;
        let fifo = |path: &Path| assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
        let makes: [&dyn Fn(&Path); 5] = [
            &fifo,
            &|path| symlink("/dev/full", path).unwrap(),
            &|path| symlink("missing", path).unwrap(),
            &|path| {
                fs::write(path.with_file_name("other"), serde_json::to_vec(&saved()).unwrap()).unwrap();
                symlink("other", path).unwrap();
            },
            &|path| fs::create_dir(path).unwrap(),
        ];
        for make in makes {
            let (directory, file) = in_directory();
            make(file.path());
            let kind = || fs::symlink_metadata(file.path()).unwrap().file_type();
            let (before, there) = (kind(), names(directory.path()));
            let Loaded::SetAside { reason, kept: None } = file.load() else { panic!("{before:?} was read") };
            let error = file.store(&saved()).unwrap_err().to_string();
            assert_eq!(error, "it is not a regular file, so it is neither read nor replaced");
            assert_eq!((reason, kind(), names(directory.path())), (error, before, there));
        }
    }

    #[test]
    fn what_is_left_of_an_earlier_try_is_never_waited_for() {
        let (directory, file) = in_directory();
        let made = Command::new("mkfifo").arg(directory.path().join("state.json.new")).status();
        assert!(made.unwrap().success());
        file.store(&saved()).unwrap();
        assert!(matches!(file.load(), Loaded::History(_)));
    }

    #[test]
    fn a_directory_that_is_not_there_is_an_error() {
        let (directory, _) = in_directory();
        let nowhere = StateFile::new(directory.path().join("missing/state.json"));
        assert!(matches!(nowhere.load(), Loaded::Nothing));
        nowhere.store(&saved()).unwrap_err();
    }

    #[test]
    fn a_huge_file_is_not_read() {
        let (_directory, file) = in_directory();
        File::create(file.path()).unwrap().set_len(MAX_BYTES + 1).unwrap();
        let Loaded::SetAside { reason, .. } = file.load() else { panic!("it was read") };
        assert!(reason.starts_with("it is larger than"), "{reason}");
    }
}
