//! Where a recording is read from: a path, files, an archive. Objects come before logs, since they say whose logs are useful.

use std::collections::BTreeSet;
use std::io::{Read, Seek};
use std::path::Path;

use jiff::Timestamp;

use super::anonymize::Kept;
use super::archive::{self, Member};
use super::files::FileKind;
use super::{RecordedFile, Recording, RecordingError, document, files, logs};

impl Recording {
    /// Reads a path: `-` for standard input, a directory, or a file. Times after `latest` are no
    /// evidence of when the recording was made: clocks may be wrong, certificates end in the future.
    pub fn read(path: &Path, namespace: &str, latest: Timestamp) -> Result<Recording, RecordingError> {
        Recording::default().with_path(path, namespace, latest)
    }

    /// One that can be written again by [`super::anonymize::anonymize`].
    pub fn to_anonymize() -> Recording {
        Recording { kept: Some(Kept::default()), ..Recording::default() }
    }

    /// With what is at a path, as [`Recording::read`] reads it.
    pub fn with_path(
        self,
        path: &Path,
        namespace: &str,
        latest: Timestamp,
    ) -> Result<Recording, RecordingError> {
        let is_input = path.as_os_str() == "-";
        let mut recording = self;
        if let Some(mut archive) = files::archive(path)? {
            recording.add_archive(&mut archive, namespace, latest)?;
        } else {
            let files = match !is_input && path.is_dir() {
                true => files::below(path)?,
                false => vec![(FileKind::Objects, path.to_owned())],
            };
            // one at a time: there may be many, and little of each is kept
            for (kind, path) in files {
                match kind {
                    FileKind::Log => recording.add_log(files::read_log(&path)?),
                    FileKind::Errors => recording.add_errors(&files::read(&path)?, namespace),
                    FileKind::Node => {
                        recording.add_node(&path.display().to_string(), files::open(&path)?, namespace);
                    }
                    _ => recording.add_path(&path, namespace, latest)?,
                }
            }
        }
        let name = if is_input { files::STANDARD_INPUT.to_owned() } else { path.display().to_string() };
        if !recording.at_home && !recording.other_homes.is_empty() {
            let found: Vec<_> = recording.other_homes.into_iter().collect();
            let (namespace, found) = (namespace.to_owned(), found.join(", "));
            return Err(RecordingError::OtherNamespace { path: name, namespace, found });
        }
        if recording.is_empty() {
            let losses = recording.losses.into_iter().map(|(what, _)| what).collect();
            return Err(RecordingError::Empty { path: name, directory: path.is_dir(), losses });
        }
        Ok(recording.warned())
    }

    /// Reads files. Objects of other namespaces are left out; the last of two objects with the same
    /// name wins.
    pub fn from_files(
        files: impl IntoIterator<Item = RecordedFile>,
        namespace: &str,
        latest: Timestamp,
    ) -> Result<Recording, RecordingError> {
        Recording::default().with_files(files, namespace, latest)
    }

    /// With files, as [`Recording::from_files`] reads them.
    pub fn with_files(
        mut self,
        files: impl IntoIterator<Item = RecordedFile>,
        namespace: &str,
        latest: Timestamp,
    ) -> Result<Recording, RecordingError> {
        self.add_files(files, namespace, latest)?;
        Ok(self.warned())
    }

    /// Reads an archive that is open; what is none has nothing in it.
    pub fn from_archive(
        path: &Path,
        file: impl Read + Seek,
        namespace: &str,
        latest: Timestamp,
    ) -> Result<Recording, RecordingError> {
        let mut recording = Recording::default();
        let unreadable = |reason| RecordingError::Unreadable { path: path.display().to_string(), reason };
        if let Some(mut archive) = archive::Archive::new(path, file).map_err(unreadable)? {
            recording.add_archive(&mut archive, namespace, latest)?;
        }
        Ok(recording.warned())
    }

    fn add_files(
        &mut self,
        files: impl IntoIterator<Item = RecordedFile>,
        namespace: &str,
        latest: Timestamp,
    ) -> Result<(), RecordingError> {
        let (mut logs, mut nodes) = (Vec::new(), Vec::new());
        for file in files {
            match FileKind::of(Path::new(&file.name)) {
                FileKind::Errors => self.add_errors(&file, namespace),
                FileKind::Node => nodes.push(file),
                FileKind::Log => logs.push(file),
                _ => self.add_file(&file, namespace, latest)?,
            }
        }
        for file in nodes {
            self.add_node(&file.name, std::io::Cursor::new(file.content), namespace);
        }
        logs.sort_by_key(|file| logs::order(&file.name));
        for file in logs {
            self.add_log(file);
        }
        Ok(())
    }

    fn add_log(&mut self, file: RecordedFile) {
        self.note_log(&file);
        logs::LogFile::from(file).add_to(&mut self.history, &self.objects, self.kept.as_mut());
    }

    fn note_log(&mut self, file: &RecordedFile) {
        let name = Path::new(&file.name).file_name().and_then(|name| name.to_str());
        self.files.extend(name.map(str::to_owned));
    }

    /// Objects first, which say whose logs are useful. A link is what a file system has: its target may lie outside.
    fn add_archive(
        &mut self,
        archive: &mut archive::Archive<impl Read + Seek>,
        namespace: &str,
        latest: Timestamp,
    ) -> Result<(), RecordingError> {
        archive.each(&[FileKind::Objects, FileKind::Errors], &mut |member| match member {
            Member::File(file) if FileKind::of(Path::new(&file.name)) == FileKind::Errors => {
                self.add_errors(&file, namespace);
                Ok(())
            }
            Member::File(file) => self.add_file(&file, namespace, latest),
            Member::Link { name, target } => {
                let what = format!(
                    "{name}: is a link to {target}, which is not followed in an archive; unpack it and give the directory"
                );
                self.losses.push((what, document::kinds_of_name(&name)));
                Ok(())
            }
        })?;
        let mut logs = Vec::new();
        archive.each(&[FileKind::Log, FileKind::Node], &mut |member| {
            match member {
                Member::File(file) if FileKind::of(Path::new(&file.name)) == FileKind::Node => {
                    self.add_node(&file.name, std::io::Cursor::new(file.content), namespace);
                }
                Member::File(file) => {
                    self.note_log(&file);
                    logs.extend(Some(logs::LogFile::from(file)).filter(|log| log.is_of_a_pod(&self.objects)));
                }
                Member::Link { name, target } => {
                    self.warnings
                        .push(format!("{name}: is a link to {target}, which is not followed in an archive"));
                }
            }
            Ok(())
        })?;
        if let Some(place) = archive.cut.take() {
            let what = format!("{}: is cut off {place}", archive.name());
            self.losses.push((what, BTreeSet::new()));
        }
        logs.sort_by_key(logs::LogFile::order);
        for log in logs {
            log.add_to(&mut self.history, &self.objects, self.kept.as_mut());
        }
        Ok(())
    }
}
