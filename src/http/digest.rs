//! Fingerprints of secrets, so that caches hold no password and no token.

use ring::hmac;
use ring::rand::SystemRandom;

/// A fingerprint. Of no use outside this process.
pub type Digest = [u8; 32];

/// Makes fingerprints with a key of its own.
pub struct Digester(hmac::Key);

impl Digester {
    /// Takes a new key. `None` when the system gives no random numbers.
    pub fn new() -> Option<Self> {
        hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new()).ok().map(Digester)
    }

    /// The fingerprint of some parts, in their order and with their borders.
    pub fn digest(&self, parts: &[&[u8]]) -> Digest {
        let mut context = hmac::Context::with_key(&self.0);
        for part in parts {
            context.update(&(part.len() as u64).to_be_bytes());
            context.update(part);
        }
        let mut digest = Digest::default();
        digest.copy_from_slice(context.sign().as_ref()); // both are the 32 bytes of SHA-256
        digest
    }
}
