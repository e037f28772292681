//! Public keys that verify user tokens, read from PEM.

use jsonwebtoken::{Algorithm, DecodingKey};
use kernel::{Error, Result, WorkspaceId};
use p256::pkcs8::{
    DecodePublicKey as _,
    der::{Decode as _, Document, Reader as _, SliceReader, asn1::UintRef},
    spki::{ObjectIdentifier, SubjectPublicKeyInfoRef},
};
use sha2::{Digest as _, Sha256};

/// Bytes of a PEM file; an RSA key of 8192 bits has 1,500.
pub const PEM_BYTES_MAX: usize = 16 << 10;
/// The only label accepted (RFC 7468, 13).
const LABEL: &str = "PUBLIC KEY";
const RSA_BITS: std::ops::RangeInclusive<u32> = 2_048..=8_192;
/// The algorithm identifier of RSA keys (RFC 8017, A.1).
const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");
/// Bytes of the hash that a key's id is made of.
const ID_BYTES: usize = 8;

/// The signature algorithm of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyAlgorithm {
    /// ECDSA over P-256 with SHA-256.
    Es256,
    /// RSA PKCS#1 v1.5 with SHA-256.
    Rs256,
}

impl KeyAlgorithm {
    /// The name in JWTs and in the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::Rs256 => "RS256",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        [Self::Es256, Self::Rs256].into_iter().find(|it| it.as_str() == name)
    }
}

impl From<KeyAlgorithm> for Algorithm {
    fn from(algorithm: KeyAlgorithm) -> Self {
        match algorithm {
            KeyAlgorithm::Es256 => Self::ES256,
            KeyAlgorithm::Rs256 => Self::RS256,
        }
    }
}

/// A public key of a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey {
    /// Identifies the key in lists and in `kid`: the same key of a workspace has the same id.
    pub id: String,
    /// The only algorithm that the key may verify.
    pub algorithm: KeyAlgorithm,
    /// The key as PEM (`SubjectPublicKeyInfo`).
    pub pem: String,
}

impl PublicKey {
    /// Reads a public key from PEM.
    ///
    /// # Errors
    /// A bad request for anything else, including private keys, other curves and short RSA keys.
    pub fn read(workspace: WorkspaceId, pem: &str) -> Result<Self> {
        let pem = pem.trim();
        if pem.len() > PEM_BYTES_MAX {
            return Err(refused(&format!("must be at most {PEM_BYTES_MAX} bytes")));
        }
        if pem.matches("-----BEGIN ").count() != 1 {
            return Err(refused(
                "must be one PEM block that begins with -----BEGIN PUBLIC KEY-----",
            ));
        }
        if pem.contains("PRIVATE KEY-----") {
            return Err(refused(
                "is a private key: keep it to yourself, and register its public half (openssl pkey -pubout)",
            ));
        }
        let (label, der) = Document::from_pem(pem).map_err(|_| refused("is not valid PEM"))?;
        if label != LABEL {
            return Err(refused(&format!(
                "must be a PUBLIC KEY, not a {label} (openssl pkey -pubin -pubout, openssl x509 -pubkey -noout)"
            )));
        }
        let algorithm = algorithm(der.as_bytes())?;
        let mut hash = Sha256::new();
        hash.update(workspace.uuid().as_bytes());
        hash.update(der.as_bytes());
        let id = hex::encode(&hash.finalize()[..ID_BYTES]);
        let key = Self { id, algorithm, pem: pem.to_owned() };
        key.decoding_key().ok_or_else(|| refused("cannot be read"))?;
        Ok(key)
    }

    pub(super) fn decoding_key(&self) -> Option<DecodingKey> {
        let pem = self.pem.as_bytes();
        match self.algorithm {
            KeyAlgorithm::Es256 => DecodingKey::from_ec_pem(pem).ok(),
            KeyAlgorithm::Rs256 => DecodingKey::from_rsa_pem(pem).ok(),
        }
    }
}

fn refused(reason: &str) -> Error {
    Error::bad_request(format!("the key {reason}"))
}

/// The algorithm of a `SubjectPublicKeyInfo`.
fn algorithm(der: &[u8]) -> Result<KeyAlgorithm> {
    let other = || refused("must be of the curve P-256 (ES256) or RSA (RS256)");
    let info = SubjectPublicKeyInfoRef::from_der(der).map_err(|_| other())?;
    if info.algorithm.oid != RSA {
        p256::PublicKey::from_public_key_der(der).map_err(|_| other())?;
        return Ok(KeyAlgorithm::Es256);
    }
    let bits = info.subject_public_key.as_bytes().and_then(modulus_bits);
    match bits {
        Some(bits) if RSA_BITS.contains(&bits) => Ok(KeyAlgorithm::Rs256),
        Some(bits) => {
            let (least, most) = (RSA_BITS.start(), RSA_BITS.end());
            Err(refused(&format!("must have between {least} and {most} bits, not {bits}")))
        }
        None => Err(other()),
    }
}

/// Bits of the modulus of an `RSAPublicKey`: a sequence of modulus and exponent (RFC 8017, A.1.1).
fn modulus_bits(der: &[u8]) -> Option<u32> {
    let mut reader = SliceReader::new(der).ok()?;
    let modulus = reader
        .sequence(|reader| {
            let modulus = UintRef::decode(reader)?;
            UintRef::decode(reader)?;
            Ok::<_, p256::pkcs8::der::Error>(modulus)
        })
        .ok()?;
    let bytes = modulus.as_bytes();
    let whole = u32::try_from(bytes.len()).ok()?.checked_mul(8)?;
    Some(whole.saturating_sub(bytes.first()?.leading_zeros()))
}
