//! Recordings in one file: `.tar`, `.tar.gz`, and the `.zip` of a support bundle. Nothing is written to disk, and no
//! more than one member is held: an archive of a megabyte may unpack to gigabytes.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use super::files::{self, FileKind};
use super::{RecordedFile, RecordingError};

/// An archive may unpack to so much: a recording of a large cluster is a tenth of it.
const MOST: u64 = 2 << 30;
/// A file of objects may be so long: that of the replicas of 20,000 volumes is a third of it.
const MOST_OF_ONE: u64 = 256 << 20;
/// The logs of a node may be so long, packed: some have a few megabytes.
const MOST_OF_NODE: u64 = 64 << 20;

/// Something in an archive.
pub(crate) enum Member {
    File(RecordedFile),
    /// A link, which leads to nothing outside of a file system.
    Link {
        name: String,
        target: String,
    },
}

/// What is done with a member.
pub(crate) type Take<'a> = &'a mut dyn FnMut(Member) -> Result<(), RecordingError>;

/// An archive that is open.
pub(crate) struct Archive<R> {
    name: String,
    file: R,
    kind: ArchiveKind,
    /// Why it was not read to its end, if it was not.
    pub(super) cut: Option<String>,
    pub(super) most: u64,
    pub(super) most_of_one: u64,
}

#[derive(Clone, Copy)]
enum ArchiveKind {
    Zip,
    Tar,
    TarGz,
}

/// Opens a file; `None` when it is no archive that is known.
pub(super) fn open(path: &Path) -> io::Result<Option<Archive<BufReader<File>>>> {
    let file = File::open(path)?;
    // a pipe cannot be read twice
    if !file.metadata()?.is_file() {
        return Ok(None);
    }
    Archive::new(path, BufReader::new(file))
}

impl<R: Read + Seek> Archive<R> {
    /// The same of what is open already.
    pub(crate) fn new(path: &Path, mut file: R) -> io::Result<Option<Self>> {
        let mut head = Vec::new();
        file.by_ref().take(512).read_to_end(&mut head)?;
        let kind = match head.as_slice() {
            [b'P', b'K', 3, 4, ..] => ArchiveKind::Zip,
            [0x1f, 0x8b, ..] => ArchiveKind::TarGz,
            head if head.get(257..262) == Some(b"ustar") => ArchiveKind::Tar,
            _ => return Ok(None),
        };
        Ok(Some(Archive {
            name: path.display().to_string(),
            file,
            kind,
            cut: None,
            most: MOST,
            most_of_one: MOST_OF_ONE,
        }))
    }

    /// How messages call it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Reads the members of these kinds, one after the other; of logs the end. An archive that is cut off is read as far as it goes.
    pub(crate) fn each(&mut self, wanted: &[FileKind], take: Take<'_>) -> Result<(), RecordingError> {
        let name = self.name.clone();
        let unreadable = |reason| RecordingError::Unreadable { path: name.clone(), reason };
        self.file.seek(SeekFrom::Start(0)).map_err(unreadable)?;
        let mut unpacked = Unpacked {
            archive: &name,
            wanted,
            left: self.most,
            most_of_one: self.most_of_one,
            members: 0,
            take,
        };
        let cut = match self.kind {
            ArchiveKind::Zip => {
                // its directory stands at the end
                let Ok(mut zip) = zip::ZipArchive::new(&mut self.file) else {
                    self.file.seek(SeekFrom::Start(0)).map_err(unreadable)?;
                    self.cut = Some(unpacked.beginning(&mut self.file)?);
                    return Ok(());
                };
                for at in 0..zip.len() {
                    let entry = zip.by_index(at).map_err(|_| unreadable(damaged("zip")))?;
                    let name = entry.name().map_err(|_| unreadable(damaged("zip")))?.into_owned();
                    if entry.is_file() {
                        unpacked.add(&name, entry.size(), entry)?;
                    } else if entry.is_symlink() {
                        let mut target = String::new();
                        // one that is no text is named as it is
                        let _ = entry.take(4096).read_to_string(&mut target);
                        unpacked.link(&name, target)?;
                    }
                }
                None
            }
            ArchiveKind::TarGz => unpacked.tar(MultiGzDecoder::new(&mut self.file))?,
            ArchiveKind::Tar => unpacked.tar(&mut self.file)?,
        };
        self.cut = cut;
        Ok(())
    }
}

/// The reasons of the crates are for their authors.
fn damaged(kind: &str) -> io::Error {
    io::Error::other(format!(
        "invalid {kind} archive: it is damaged, or made in a way that is not read; unpack it and give the directory"
    ))
}

/// What the operating system or gzip says stays.
fn damaged_tar(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::Other { damaged("tar") } else { error }
}

fn too_large(most: u64) -> io::Error {
    let text = format!("unpacks to more than {} MiB; unpack it and give the directory", most >> 20);
    io::Error::new(io::ErrorKind::FileTooLarge, text)
}

/// What a member could not be read for is that the archive ends in it.
fn ends_within(error: &RecordingError) -> bool {
    matches!(error, RecordingError::Unreadable { reason, .. } if reason.kind() != io::ErrorKind::FileTooLarge)
}

struct Unpacked<'a> {
    archive: &'a str,
    wanted: &'a [FileKind],
    left: u64,
    most_of_one: u64,
    /// How many there were so far, wanted or not.
    members: usize,
    take: Take<'a>,
}

impl Unpacked<'_> {
    /// Reads a zip from its beginning, member by member: what is left of one that lost its end. Says where that was.
    fn beginning(&mut self, mut file: &mut impl Read) -> Result<String, RecordingError> {
        let mut last = String::new();
        loop {
            let entry = match zip::read::read_zipfile_from_stream(&mut file) {
                Ok(Some(entry)) => entry,
                Ok(None) | Err(_) if self.members > 0 => return Ok(format!("after {last}")),
                Ok(None) | Err(_) => {
                    let path = self.archive.to_owned();
                    return Err(RecordingError::Unreadable { path, reason: damaged("zip") });
                }
            };
            let Ok(name) = entry.name().map(|name| name.into_owned()) else {
                return Ok(format!("after {last}"));
            };
            if entry.is_file() {
                match self.add(&name, entry.size(), entry) {
                    Err(error) if ends_within(&error) => return Ok(format!("within {name}")),
                    read => read?,
                }
            }
            self.members += 1;
            last = name;
        }
    }

    /// Says where the archive is cut off, if it is.
    fn tar(&mut self, file: impl Read) -> Result<Option<String>, RecordingError> {
        let archive = self.archive.to_owned();
        let unreadable =
            |error| RecordingError::Unreadable { path: archive.clone(), reason: damaged_tar(error) };
        let mut tar = tar::Archive::new(file);
        let mut last = String::new();
        for entry in tar.entries().map_err(unreadable)? {
            let entry = match entry {
                Err(_) if self.members > 0 => return Ok(Some(format!("after {last}"))),
                entry => entry.map_err(unreadable)?,
            };
            let name = entry.path().map_err(unreadable)?.display().to_string();
            let kind = entry.header().entry_type();
            self.members += 1;
            last.clone_from(&name);
            if kind.is_file() {
                match self.add(&name, entry.size(), entry) {
                    Err(error) if ends_within(&error) => return Ok(Some(format!("within {name}"))),
                    read => read?,
                }
            } else if kind.is_symlink() || kind.is_hard_link() {
                let target = entry.link_name().map_err(unreadable)?;
                self.link(&name, target.map(|target| target.display().to_string()).unwrap_or_default())?;
            }
        }
        Ok(None)
    }

    /// Reads a member that says it is so long.
    fn add(&mut self, name: &str, long: u64, mut entry: impl Read) -> Result<(), RecordingError> {
        let kind = FileKind::of(Path::new(name));
        if !self.wanted.contains(&kind) {
            return Ok(());
        }
        let name = self.full(name);
        let read = match kind {
            FileKind::Log => self.end_of(&mut entry),
            FileKind::Node => self.beginning_of(&mut entry),
            _ => self.whole(long, &mut entry),
        };
        let content = read.map_err(|reason| RecordingError::Unreadable { path: name.clone(), reason })?;
        (self.take)(Member::File(RecordedFile { name, content }))
    }

    fn link(&mut self, name: &str, target: String) -> Result<(), RecordingError> {
        if !self.wanted.contains(&FileKind::of(Path::new(name))) {
            return Ok(());
        }
        let name = self.full(name);
        (self.take)(Member::Link { name, target })
    }

    fn full(&self, name: &str) -> String {
        format!("{}/{name}", self.archive)
    }

    fn whole(&mut self, long: u64, entry: &mut impl Read) -> io::Result<Vec<u8>> {
        let most = self.left.min(self.most_of_one);
        // what it says may be wrong; where it is right, nothing is copied as it grows, which takes twice the memory
        let mut content = Vec::with_capacity(usize::try_from(long.min(most) + 1).unwrap_or_default());
        let read = entry.take(most + 1).read_to_end(&mut content)? as u64;
        if read > most {
            return Err(too_large(most));
        }
        self.left -= read;
        Ok(content)
    }

    /// An archive within is read as far as it goes, so that of one that is too long the rest is left out.
    fn beginning_of(&mut self, entry: &mut impl Read) -> io::Result<Vec<u8>> {
        let most = self.left.min(MOST_OF_NODE);
        let mut content = Vec::new();
        self.left -= entry.take(most).read_to_end(&mut content)? as u64;
        Ok(content)
    }

    /// Of a long log the end is what matters.
    fn end_of(&mut self, entry: &mut impl Read) -> io::Result<Vec<u8>> {
        let (mut end, mut piece) = (Vec::new(), vec![0; 64 << 10]);
        loop {
            let read = entry.read(&mut piece)?;
            if read == 0 {
                return Ok(end);
            }
            self.left = self.left.checked_sub(read as u64).ok_or_else(|| too_large(MOST))?;
            end.extend_from_slice(piece.get(..read).unwrap_or_default());
            if end.len() > 2 * files::LOG_BYTES {
                end.drain(..end.len() - files::LOG_BYTES);
            }
        }
    }
}
