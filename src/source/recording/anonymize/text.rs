//! Free text without what is not known to be harmless: the words that this program is itself written in stay, and numbers; names
//! that objects have get their new ones; any other word becomes `x12`, the same one everywhere.
//!
//! What checks look for in a text are words of this program, so that they find the same.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use serde_json::Value;

use super::names::{IMAGE, Renamed, VOLUME};

/// What the sources of this program are written in, as `build.rs` collects it.
static WORDS: LazyLock<HashSet<&str>> =
    LazyLock::new(|| include_str!(concat!(env!("OUT_DIR"), "/words.txt")).lines().collect());

/// After these, whatever follows is secret.
const SECRETS: &str = "password passwd pwd token secret apikey key bearer signature sig credential auth";
/// What stands behind a number.
const UNITS: &str = "s m h d ms us ns k M G T Ki Mi Gi Ti KiB MiB GiB TiB B Z st nd rd th";
/// Digits of a number that may be an amount; longer ones are accounts or telephones.
const DIGITS: usize = 13;

/// Texts and what stands in their place.
#[derive(Debug, Default)]
pub(super) struct Texts {
    /// Names that objects have.
    names: HashMap<String, String>,
    longest: usize,
    /// Names of volumes and of backing images: one that is a word stays in a text, but not where something is named after it.
    volumes: HashMap<String, String>,
    images: HashMap<String, String>,
    addresses: HashMap<IpAddr, IpAddr>,
    words: HashMap<String, String>,
    /// What is to be replaced, while it is being looked for.
    found: Option<RefCell<Found>>,
}

#[derive(Debug, Default)]
struct Found {
    addresses: BTreeSet<IpAddr>,
    words: BTreeSet<String>,
}

impl Texts {
    /// Looks for what is to be replaced.
    pub fn looking(renamed: &Renamed) -> Self {
        let [volumes, images] = [VOLUME, IMAGE].map(|sort| renamed.of(sort));
        let names: HashMap<_, _> = renamed.all().into_iter().filter(|(name, _)| !is_harmless(name)).collect();
        let longest = names.keys().map(String::len).max().unwrap_or(0);
        Texts { names, longest, volumes, images, found: Some(RefCell::default()), ..Texts::default() }
    }

    /// Knows what replaces what was found, in the order of the old.
    pub fn found(mut self) -> Self {
        let Found { addresses, words } = self.found.take().unwrap_or_default().into_inner();
        let width = words.len().to_string().len();
        self.words =
            words.into_iter().zip(1..).map(|(word, number)| (word, format!("x{number:0width$}"))).collect();
        let (v4, v6): (Vec<_>, Vec<_>) = addresses.into_iter().partition(IpAddr::is_ipv4);
        // 10.0.0.0/8, which is no one's, and 2001:db8::/32, which is for documentation
        let v4 = v4
            .into_iter()
            .zip(1_u32..)
            .map(|(old, number)| (old, Ipv4Addr::from_bits(0x0a00_0000 | number & 0x00ff_ffff).into()));
        let v6 = v6
            .into_iter()
            .zip(1_u128..)
            .map(|(old, number)| (old, Ipv6Addr::from_bits(0x2001_0db8 << 96 | number).into()));
        self.addresses = v4.chain(v6).collect();
        self
    }

    /// The text with other words in it; the values of JSON one by one.
    pub fn rewrite(&self, text: &str) -> String {
        if text.starts_with(['{', '['])
            && let Ok(value) = serde_json::from_str::<Value>(text)
        {
            return self.value(value).to_string();
        }
        let mut secret = false;
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find(|c| is_of_word(c) || c == ':') {
            let (before, from) = rest.split_at(start);
            secret &= before.chars().all(|c| " =:'\"\\+/".contains(c));
            out.push_str(before);
            let (piece, after) = from.split_at(length_of(from, out.ends_with(is_of_word)));
            let volume = if out.ends_with("volume \"") { self.volumes.get(piece) } else { None };
            if let Some(new) = volume {
                out.push_str(new);
            } else if piece == ":" {
                out.push(':');
            } else if secret {
                out.push_str(&self.word(piece, true));
                // what belongs to a secret may have any character in it
                secret = after.starts_with(['+', '/']);
            } else {
                out.push_str(&self.piece(piece));
                secret = is_secret(piece, after);
            }
            rest = after;
        }
        out + rest
    }

    fn value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => self.rewrite(&text).into(),
            Value::Array(items) => items.into_iter().map(|item| self.value(item)).collect(),
            Value::Object(entries) => {
                entries.into_iter().map(|(key, value)| (self.rewrite(&key), self.value(value))).collect()
            }
            other => other,
        }
    }

    /// A name, an address or several words with joints between them.
    fn piece(&self, piece: &str) -> String {
        if let Ok(address) = piece.trim_end_matches('.').parse::<IpAddr>() {
            return self.address(address) + if piece.ends_with('.') { "." } else { "" };
        }
        let whole = piece.trim_matches(is_joint);
        if let Some(new) = self.names.get(whole) {
            return piece.replacen(whole, new, 1);
        }
        if let Some(new) = self.named_after(whole) {
            return piece.replacen(whole, &new, 1);
        }
        let (mut out, mut rest) = (String::new(), piece);
        while !rest.is_empty() {
            let starts = out.is_empty() || out.ends_with(is_joint);
            let (end, new) = match starts.then(|| self.longest_name(rest)).flatten() {
                Some((end, new)) => (end, new.into_owned()),
                None if rest.starts_with(is_joint) => (1, rest.chars().take(1).collect()),
                None => {
                    let end = rest.find(is_joint).unwrap_or(rest.len());
                    (end, self.word(rest.get(..end).unwrap_or_default(), false))
                }
            };
            out.push_str(&new);
            rest = rest.get(end..).unwrap_or_default();
        }
        out
    }

    /// A replica, an engine and the pod of a share manager are named after their volume, that of a data source after its image.
    fn named_after(&self, name: &str) -> Option<String> {
        for (prefix, of) in [("share-manager-", &self.volumes), ("backing-image-ds-", &self.images)] {
            if let Some(rest) = name.strip_prefix(prefix) {
                return of.get(rest).map(|new| format!("{prefix}{new}"));
            }
        }
        let (end, _) = name.rmatch_indices(['e', 'r']).find(|(at, _)| {
            name.get(..*at).is_some_and(|head| head.ends_with('-'))
                && name.get(at + 1..).is_some_and(|tail| tail.starts_with('-'))
        })?;
        let new = self.volumes.get(name.get(..end - 1)?)?;
        let tail =
            name.get(end + 2..)?.split('-').map(|part| self.word(part, false)).collect::<Vec<_>>().join("-");
        Some(format!("{new}-{}-{tail}", name.get(end..=end)?))
    }

    /// The longest name, address or random number that a piece begins with.
    fn longest_name<'a>(&'a self, piece: &str) -> Option<(usize, std::borrow::Cow<'a, str>)> {
        let ends =
            |end: usize| piece.get(end..).is_some_and(|rest| rest.is_empty() || rest.starts_with(is_joint));
        if ends(UUID) && piece.get(..UUID).is_some_and(is_uuid) {
            return Some((UUID, piece.get(..UUID)?.to_owned().into()));
        }
        if let Some((end, address)) = dashed(piece) {
            return Some((end, self.address(address.into()).into()));
        }
        let last = piece.len().min(self.longest);
        (1..=last).rev().filter(|end| ends(*end)).find_map(|end| {
            let word = piece.get(..end)?;
            // a short word within another is more likely that word's own part
            let is_distinct = end >= 8 || word.contains(|c: char| c.is_ascii_digit() || is_joint(c));
            let new = self.names.get(word).filter(|_| is_distinct)?;
            Some((end, new.as_str().into()))
        })
    }

    fn address(&self, address: IpAddr) -> String {
        if address.is_loopback() || address.is_unspecified() {
            return address.to_string();
        }
        if let Some(found) = &self.found {
            found.borrow_mut().addresses.insert(address);
        }
        self.addresses.get(&address).unwrap_or(&address).to_string()
    }

    fn word(&self, word: &str, is_secret: bool) -> String {
        if !is_secret && is_harmless_word(word) {
            return word.to_owned();
        }
        if let Some(found) = &self.found {
            found.borrow_mut().words.insert(word.to_owned());
        }
        self.words.get(word).map_or_else(|| "x".to_owned(), String::clone)
    }
}

/// True for a name that is a word in a text, which may mean something else there. One with a number in it is a name everywhere.
fn is_harmless(name: &str) -> bool {
    let is_numbered = name.contains(|c: char| c.is_ascii_digit())
        && name.bytes().filter(u8::is_ascii_alphabetic).count() > 2;
    let is_known = if name.contains(is_joint) { WORDS.contains(name) } else { is_harmless_word(name) };
    is_known && !is_numbered
}

fn is_harmless_word(word: &str) -> bool {
    if word.len() == 1 || word.bytes().all(|byte| byte.is_ascii_digit()) {
        return word.len() <= DIGITS && word.is_ascii();
    }
    // klog: `E0601`
    let klog = word.len() == 5 && word.starts_with(['E', 'I', 'W', 'F']);
    if klog && word.bytes().skip(1).all(|byte| byte.is_ascii_digit()) || is_half_time(word) {
        return true;
    }
    let parts = parts(word);
    let is_number = |part: &str| part.starts_with(|c: char| c.is_ascii_digit());
    let harmless = |(at, part): (usize, &&str)| match is_number(part) {
        true => part.len() <= 9 || parts.get(at + 1) == Some(&"Z"),
        false => {
            let measures =
                at.checked_sub(1).and_then(|before| parts.get(before)).is_some_and(|part| is_number(part));
            part.len() > 1 && WORDS.contains(part.to_ascii_lowercase().as_str())
                || measures && UNITS.split(' ').any(|unit| unit == *part)
                || at == 0 && *part == "v" && parts.get(1).is_some_and(|part| is_number(part))
                // the plural of an abbreviation
                || at + 1 == parts.len() && *part == "s"
        }
    };
    let is_known = word.len() < 8 && WORDS.contains(word.to_ascii_lowercase().as_str());
    is_known || parts.len() <= 12 && parts.iter().enumerate().all(harmless)
}

/// `2026-03-01T02` is of words with joints, of which the last is this.
fn is_half_time(word: &str) -> bool {
    let bytes = word.as_bytes();
    let dated = bytes.len() == 5 && bytes.get(2) == Some(&b'T');
    dated && bytes.iter().enumerate().all(|(at, byte)| at == 2 || byte.is_ascii_digit())
}

/// The words and numbers that a word is made of: `NFSServer` is of two.
fn parts(word: &str) -> Vec<&str> {
    let letters: Vec<(usize, char)> = word.char_indices().collect();
    let mut starts = vec![0];
    for (at, pair) in letters.windows(2).enumerate() {
        let [(_, before), (place, letter)] = pair else { continue };
        let next_is_lower = letters.get(at + 2).is_some_and(|(_, next)| next.is_ascii_lowercase());
        let of_numbers = before.is_ascii_digit() != letter.is_ascii_digit();
        let of_words = letter.is_ascii_uppercase()
            && (before.is_ascii_lowercase() || before.is_ascii_uppercase() && next_is_lower);
        if of_numbers || of_words {
            starts.push(*place);
        }
    }
    let ends = starts.iter().skip(1).copied().chain([word.len()]);
    starts.iter().zip(ends).filter_map(|(start, end)| word.get(*start..end)).collect()
}

const UUID: usize = 36;

/// A number at random; that of a volume says nothing.
pub(super) fn is_uuid(text: &str) -> bool {
    text.len() == UUID
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// An address of IPv4, with dots or as a node's name has it, and its end.
fn dashed(piece: &str) -> Option<(usize, Ipv4Addr)> {
    let (mut octets, mut at) = ([0_u8; 4], 0);
    for (number, octet) in octets.iter_mut().enumerate() {
        let rest = piece.get(at..)?;
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        *octet = rest.get(..end)?.parse().ok()?;
        at += end;
        if number < 3 {
            at += piece.get(at..)?.starts_with(['-', '.']).then_some(1)?;
        }
    }
    piece
        .get(at..)
        .is_none_or(|rest| rest.is_empty() || rest.starts_with(is_joint))
        .then_some((at, octets.into()))
}

fn is_secret(piece: &str, after: &str) -> bool {
    let assigned = after.trim_start_matches(['"', '\'', '\\']).starts_with(['=', ':'])
        || piece.eq_ignore_ascii_case("bearer");
    let last = piece.rsplit(is_joint).next().unwrap_or_default().to_ascii_lowercase();
    let is_known = SECRETS.split(' ').any(|secret| last.ends_with(secret));
    // what a controller works on is a `key`
    assigned && piece != "key" && is_known || piece.starts_with("--") && is_known && after.starts_with(' ')
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || is_joint(c)
}

fn is_joint(c: char) -> bool {
    matches!(c, '-' | '.' | '_')
}

/// How long the word, or the address of IPv6, is that a text begins with.
fn length_of(text: &str, follows_word: bool) -> usize {
    let wide = text.find(|c: char| !(c.is_ascii_hexdigit() || c == ':' || c == '.')).unwrap_or(text.len());
    let wide = text.get(..wide).map_or(0, |wide| wide.trim_end_matches(['.', ':']).len());
    let narrow = text.find(|c| !is_of_word(c)).unwrap_or(text.len());
    // a path of code has colons, too: `volume::attach`
    let is_v6 = !follows_word
        && wide > narrow
        && text.get(..wide).is_some_and(|text| text.parse::<Ipv6Addr>().is_ok());
    if is_v6 { wide } else { narrow.max(1) }
}
