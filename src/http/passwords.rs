//! Basic authentication by bcrypt hashes.
//!
//! **Whom this keeps out:** those who guess with many names or words at once. Their bcrypts are made one at a time, so that
//! they never take more than one processor from what watches the cluster; `credentials` bounds how many wait.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::{HeaderMap, StatusCode, header};

use super::credentials::{Digester, NoVerdict, Verdict, VerdictLimits, Verdicts, busy};
use super::respond::Refusal;

/// Time a good verdict is kept; a changed hash is another verdict.
const REMEMBER: Duration = Duration::from_secs(3600);

const LIMITS: VerdictLimits =
    VerdictLimits { kept: 100, patience: Duration::from_secs(60), strangers: 6, rate: None };

/// Checks passwords. Only good ones are remembered: each guess costs the time of bcrypt, and cannot
/// push out a good password.
pub struct Passwords {
    digester: Digester,
    verdicts: Verdicts<bool>,
    /// bcrypt takes a processor for a good part of a second, so there is one at a time.
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl Passwords {
    /// Remembers nothing yet.
    pub fn new(digester: Digester) -> Self {
        Passwords { digester, verdicts: Verdicts::new(LIMITS), turn: Arc::default() }
    }

    /// Lets a request of a user pass or refuses it.
    pub async fn authorize(
        &self,
        users: &BTreeMap<String, String>,
        headers: &HeaderMap,
        client: IpAddr,
    ) -> Result<(), Refusal> {
        let refused = |message| {
            Refusal::new(StatusCode::UNAUTHORIZED, message)
                .with(header::WWW_AUTHENTICATE, "Basic realm=\"longhorn-health-exporter\", charset=\"UTF-8\"")
        };
        let (name, password) =
            credentials(headers).ok_or_else(|| refused("a user name and a password are needed"))?;
        if self.is_good(users, &name, password, client).await? {
            return Ok(());
        }
        Err(refused("wrong user name or password"))
    }

    async fn is_good(
        &self,
        users: &BTreeMap<String, String>,
        name: &[u8],
        password: Vec<u8>,
        client: IpAddr,
    ) -> Result<bool, Refusal> {
        let hash = std::str::from_utf8(name).ok().and_then(|name| users.get(name));
        let is_known = hash.is_some();
        // a user who does not exist takes as long as one who does
        let Some(hash) = hash.or_else(|| users.values().max_by_key(|hash| cost(hash))).cloned() else {
            return Ok(false);
        };
        let key = self.digester.digest(&[name, hash.as_bytes(), &password]);
        let turn = self.turn.clone();
        let question = async move {
            let turn = turn.lock_owned().await;
            let verified = tokio::task::spawn_blocking(move || {
                let _turn = turn; // also while no one waits for the answer any more
                bcrypt::verify(password, &hash)
            });
            let value = is_known && matches!(verified.await, Ok(Ok(true)));
            let good_for = if value { REMEMBER } else { Duration::ZERO };
            Ok(Verdict { value, good_for, kept_for: good_for })
        };
        // one that is not found out in time is no good one
        match self.verdicts.ask(key, Some(client), question).await {
            Ok(is_good) => Ok(is_good),
            Err(NoVerdict::Busy | NoVerdict::Failed(_)) => Err(busy()),
        }
    }
}

fn cost(hash: &str) -> u32 {
    hash.parse::<bcrypt::HashParts>().map_or(0, |parts| parts.get_cost())
}

/// User name and password as RFC 7617 encodes them.
pub fn credentials(headers: &HeaderMap) -> Option<(Vec<u8>, Vec<u8>)> {
    let encoded = scheme(headers, "basic")?;
    let decoded = STANDARD.decode(encoded).ok()?;
    let colon = decoded.iter().position(|byte| *byte == b':')?;
    let (name, password) = decoded.split_at_checked(colon)?;
    Some((name.to_vec(), password.get(1..)?.to_vec()))
}

/// What follows the scheme in the header `Authorization`; nothing if there are several.
pub fn scheme<'h>(headers: &'h HeaderMap, wanted: &str) -> Option<&'h str> {
    let mut all = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), None) = (all.next(), all.next()) else { return None };
    let (scheme, rest) = value.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case(wanted).then(|| rest.trim()).filter(|rest| !rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(values: &[&str]) -> HeaderMap {
        values.iter().map(|value| (header::AUTHORIZATION, value.parse().unwrap())).collect()
    }

    #[test]
    fn credentials_are_read_as_they_are_sent() {
        let basic = |text: &str| format!("Basic {}", STANDARD.encode(text));
        for (header, expected) in [
            (basic("a:b"), Some(("a", "b"))),
            (basic("a:b:c"), Some(("a", "b:c"))),
            (basic(":"), Some(("", ""))),
            (basic("a:b").replace("Basic", "bAsIc"), Some(("a", "b"))),
            (basic("ab"), None),
            ("Basic ?".to_owned(), None),
            ("Basic ".to_owned(), None),
            ("Bearer abc".to_owned(), None),
            ("nonsense".to_owned(), None),
        ] {
            let expected = expected.map(|(name, word)| (name.as_bytes().to_vec(), word.as_bytes().to_vec()));
            assert_eq!(credentials(&headers(&[&header])), expected, "{header}");
        }
        assert_eq!(credentials(&HeaderMap::new()), None);
        assert_eq!(credentials(&headers(&[&basic("a:b"), &basic("c:d")])), None, "two are none");
    }

    #[tokio::test]
    async fn good_passwords_are_remembered_until_the_hash_changes() {
        let passwords = Passwords::new(Digester::new().unwrap());
        let users = |word| BTreeMap::from([("alice".to_owned(), bcrypt::hash(word, 4).unwrap())]);
        let (old, new) = (users("old"), users("new"));
        let is_good = async |users: &BTreeMap<String, String>, name: &str, word: &str| {
            passwords.is_good(users, name.as_bytes(), word.into(), [127, 0, 0, 1].into()).await.unwrap()
        };
        for _ in 0..2 {
            assert!(is_good(&old, "alice", "old").await);
        }
        for (name, word) in [("alice", "new"), ("alice", ""), ("bob", "old"), ("", ""), ("alice\0", "old")] {
            assert!(!is_good(&old, name, word).await, "{name} {word}");
        }
        assert!(!is_good(&new, "alice", "old").await);
        assert!(is_good(&new, "alice", "new").await);
        assert!(!is_good(&BTreeMap::new(), "alice", "new").await);
    }

    #[tokio::test]
    async fn a_remembered_password_passes_while_the_waiting_room_is_full() {
        let passwords = Passwords::new(Digester::new().unwrap());
        let users = BTreeMap::from([("alice".to_owned(), bcrypt::hash("word", 4).unwrap())]);
        let client = IpAddr::from([127, 0, 0, 1]);
        let ask = |word: &str| passwords.is_good(&users, b"alice", word.into(), client);
        let guesses = ["wrong1", "wrong2", "wrong3"];
        assert_eq!(ask("word").await, Ok(true));
        let turn = passwords.turn.clone().lock_owned().await;
        let mut waiting: Vec<_> = guesses.map(|guess| Box::pin(ask(guess))).into();
        for one in &mut waiting {
            assert!(futures::poll!(one).is_pending());
        }
        assert_eq!(ask("wrong").await.unwrap_err().status, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(ask("word").await, Ok(true));
        waiting.clear();
        drop(turn);
        assert_eq!(ask("wrong").await, Ok(false), "who gave up made room");
    }
}
