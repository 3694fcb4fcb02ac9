//! What people and programs log in with, as it is kept: never the secret itself.

use std::fmt;

use argon2::{Algorithm, Argon2, Params, Version};
use base64::{Engine as _, engine::general_purpose};
use rustls::crypto::{SecureRandom, ring};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// A password, hashed by argon2id.
///
/// ```
/// # use travertine_server::Password;
/// let hashed = Password::hash("correct horse").to_string();
/// assert!(hashed.starts_with("$argon2id$"));
/// let password: Password = hashed.parse()?;
/// # Ok::<(), travertine_server::BadSecret>(())
/// ```
#[derive(Clone)]
pub struct Password {
    params: Params,
    salt: Vec<u8>,
    hash: Vec<u8>,
}

/// The hash of an API key. A key is random, and needs no slow hash.
///
/// ```
/// # use travertine_server::ApiKey;
/// let (key, text) = ApiKey::draw("worker");
/// let stored: ApiKey = key.to_string().parse()?; // What the configuration has.
/// # Ok::<(), travertine_server::BadSecret>(())
/// ```
#[derive(Clone)]
pub struct ApiKey([u8; 32]);

/// A hash that cannot be read.
///
/// ```
/// # use travertine_server::Password;
/// let why = "secret".parse::<Password>().err().map(|it| it.to_string());
/// assert!(why.is_some_and(|it| it.contains("argon2id")));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BadSecret {
    /// It is no hash of a password.
    Password,
    /// It is no hash of an API key.
    Key,
}

impl fmt::Display for BadSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Password => {
                "a password is given as its argon2id hash ($argon2id$v=19$m=…,t=…,p=…$salt$hash), not as itself"
            }
            Self::Key => "an API key is given as the SHA-256 of it, 64 hexadecimal digits, not as itself",
        })
    }
}

impl std::error::Error for BadSecret {}

/// The alphabet of hashes in text, without padding.
const BASE64: general_purpose::GeneralPurpose = general_purpose::STANDARD_NO_PAD;

/// More than this is no way to log in: 256 MiB, 16 rounds.
const MEMORY_MAX_KIB: u32 = 256 << 10;
const ROUNDS_MAX: u32 = 16;

impl Password {
    /// Hashes a password, with a salt of its own.
    ///
    /// ```
    /// # use travertine_server::Password;
    /// println!("{}", Password::hash("correct horse"));
    /// ```
    pub fn hash(password: &str) -> Self {
        let mut salt = vec![0; 16];
        random(&mut salt);
        let mut it = Self { params: Params::default(), salt, hash: vec![0; 32] };
        it.hash = it.digest(password.as_bytes()).unwrap_or_default();
        it
    }

    fn digest(&self, password: &[u8]) -> Option<Vec<u8>> {
        let mut hash = vec![0; self.hash.len()];
        Argon2::new(Algorithm::Argon2id, Version::V0x13, self.params.clone())
            .hash_password_into(password, &self.salt, &mut hash)
            .ok()?;
        Some(hash)
    }

    /// Whether it is that password. Takes long, on purpose.
    pub(super) fn is(&self, password: &[u8]) -> bool {
        self.digest(password).is_some_and(|it| !it.is_empty() && it.ct_eq(&self.hash).into())
    }
}

impl std::str::FromStr for Password {
    type Err = BadSecret;

    fn from_str(text: &str) -> Result<Self, BadSecret> {
        let parts: Vec<&str> = text.split('$').collect();
        let &["", "argon2id", "v=19", costs, salt, hash] = &parts[..] else {
            return Err(BadSecret::Password);
        };
        let costs: Vec<&str> = costs.split(',').collect();
        let &[memory, rounds, lanes] = &costs[..] else { return Err(BadSecret::Password) };
        let number = |text: &str, name: &str, max: u32| {
            let number: u32 = text.strip_prefix(name)?.strip_prefix('=')?.parse().ok()?;
            (number <= max).then_some(number)
        };
        let read = || {
            let (salt, hash) = (BASE64.decode(salt).ok()?, BASE64.decode(hash).ok()?);
            let memory = number(memory, "m", MEMORY_MAX_KIB)?;
            let (rounds, lanes) = (number(rounds, "t", ROUNDS_MAX)?, number(lanes, "p", 16)?);
            let params = Params::new(memory, rounds, lanes, Some(hash.len())).ok()?;
            let it = Self { params, salt, hash };
            (it.salt.len() >= 8 && it.hash.len() >= 16).then_some(it)
        };
        read().ok_or(BadSecret::Password)
    }
}

impl fmt::Display for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { params, salt, hash } = self;
        let (memory, rounds, lanes) = (params.m_cost(), params.t_cost(), params.p_cost());
        let (salt, hash) = (BASE64.encode(salt), BASE64.encode(hash));
        write!(f, "$argon2id$v=19$m={memory},t={rounds},p={lanes}${salt}${hash}")
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password")
    }
}

impl ApiKey {
    /// A new key with that id: what is kept of it, and the key itself, which is shown once.
    ///
    /// ```
    /// # use travertine_server::ApiKey;
    /// let (key, text) = ApiKey::draw("worker");
    /// ```
    pub fn draw(id: &str) -> (Self, String) {
        let mut secret = [0; 32];
        random(&mut secret);
        let secret = general_purpose::URL_SAFE_NO_PAD.encode(secret);
        let text = format!("tvk_{id}_{secret}");
        (Self(Sha256::digest(&text).into()), text)
    }

    pub(super) fn is(&self, text: &str) -> bool {
        let hash: [u8; 32] = Sha256::digest(text).into();
        hash.ct_eq(&self.0).into()
    }
}

impl std::str::FromStr for ApiKey {
    type Err = BadSecret;

    fn from_str(text: &str) -> Result<Self, BadSecret> {
        let mut hash = [0; 32];
        let (digits, rest) = text.as_bytes().as_chunks::<2>();
        if digits.len() != hash.len() || !rest.is_empty() || !text.is_ascii() {
            return Err(BadSecret::Key);
        }
        for (byte, digits) in hash.iter_mut().zip(digits) {
            let digits = std::str::from_utf8(digits).map_err(|_| BadSecret::Key)?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| BadSecret::Key)?;
        }
        Ok(Self(hash))
    }
}

impl fmt::Display for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|it| write!(f, "{it:02x}"))
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey")
    }
}

/// A text that nobody can guess.
pub(crate) fn draw_secret() -> String {
    let mut secret = [0; 32];
    random(&mut secret);
    general_purpose::URL_SAFE_NO_PAD.encode(secret)
}

/// A number that nothing else has had, and that can still be counted on from.
pub(crate) fn draw_number() -> u64 {
    let mut bytes = [0; 8];
    random(&mut bytes);
    u64::from_be_bytes(bytes) >> 2
}

/// Fills with what nobody can guess.
fn random(bytes: &mut [u8]) {
    let random: &dyn SecureRandom = ring::default_provider().secure_random;
    random.fill(bytes).expect("the system has random numbers");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_known_again_from_its_hash() {
        let kept: Password =
            Password::hash("correct horse").to_string().parse().expect("it is a hash");
        assert!(kept.is(b"correct horse"));
        assert!(!kept.is(b"correct horses"));
        assert!(!kept.is(b""));
    }

    #[test]
    fn what_is_no_hash_of_a_password_is_refused() {
        for bad in [
            "",
            "password",
            "$argon2i$v=19$m=8,t=1,p=1$c29tZXNhbHQ$AAAAAAAAAAAAAAAAAAAAAA",
            "$argon2id$v=19$m=99999999,t=1,p=1$c29tZXNhbHQ$AAAAAAAAAAAAAAAAAAAAAA",
            "$argon2id$v=19$m=8,t=1,p=1$c29tZXNhbHQ$",
            "$argon2id$v=19$t=1,m=8,p=1$c29tZXNhbHQ$AAAAAAAAAAAAAAAAAAAAAA",
        ] {
            assert_eq!(bad.parse::<Password>().err(), Some(BadSecret::Password), "{bad}");
        }
    }

    #[test]
    fn an_api_key_is_known_again_from_its_hash() {
        let (key, text) = ApiKey::draw("worker");
        let kept: ApiKey = key.to_string().parse().expect("it is a hash");
        assert!(kept.is(&text));
        assert!(!kept.is("tvk_worker_"));
        assert_eq!("zz".repeat(32).parse::<ApiKey>().err(), Some(BadSecret::Key));
    }
}
