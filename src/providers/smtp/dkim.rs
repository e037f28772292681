//! Signs mail so that receivers know whose it is: DKIM (RFC 6376), with RSA or Ed25519 (RFC 8463), both
//! canonicalizations relaxed.

use std::fmt::Write as _;

use anyhow::{Context as _, bail};
use aws_lc_rs::{
    encoding::{AsDer as _, PublicKeyX509Der},
    rand::SystemRandom,
    rsa,
    signature::{Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use kernel::Timestamp;
use rustls::pki_types::{PrivateKeyDer, pem::PemObject as _};
use secrecy::{ExposeSecret as _, SecretString};
use sender_domains::model::DkimKey;
use sha2::{Digest as _, Sha256};

use super::config::DkimSettings;

/// The fields a signature covers where a message has them: what RFC 6376 5.4.1 names, and what RFC 8058 4
/// demands of one-click unsubscribing.
const COVERED: &[&str] = &[
    "from",
    "to",
    "reply-to",
    "subject",
    "date",
    "message-id",
    "mime-version",
    "content-type",
    "content-transfer-encoding",
    "list-id",
    "list-unsubscribe",
    "list-unsubscribe-post",
    "feedback-id",
];
/// Fields that are named once more than they occur, so that another one cannot be added (RFC 6376 5.4.2).
const SEALED: &[&str] = &["from", "to", "subject", "date"];
/// Characters of a line of the signature.
const LINE_CHARS: usize = 72;

pub(super) struct Signer {
    domain: String,
    selector: String,
    key: Key,
    /// As records in DNS have it: SubjectPublicKeyInfo of RSA (RFC 6376 3.6.1), 32 bytes of Ed25519 (RFC 8463 4).
    public_key: Vec<u8>,
}

enum Key {
    Rsa(Box<rsa::KeyPair>),
    Ed25519(Box<Ed25519KeyPair>),
}

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Signer")
            .field("domain", &self.domain)
            .field("selector", &self.selector)
            .finish_non_exhaustive()
    }
}

impl Signer {
    /// Reads the key that the settings name.
    ///
    /// # Errors
    /// When there is none, or it is no key that signs.
    pub(super) fn from_settings(settings: &DkimSettings) -> anyhow::Result<Self> {
        let text = match (&settings.key, &settings.key_file) {
            (Some(key), None) => key.clone(),
            (None, Some(path)) => SecretString::from(
                std::fs::read_to_string(path)
                    .with_context(|| format!("cannot read {}", path.display()))?,
            ),
            _ => bail!("dkim needs one of `key` and `key_file`"),
        };
        let domain = idna::domain_to_ascii_strict(&settings.domain)
            .ok()
            .context("dkim.domain is not a domain")?;
        let selector = idna::domain_to_ascii_strict(&settings.selector)
            .ok()
            .filter(|selector| !selector.is_empty())
            .context("dkim.selector is not a label of a domain")?;
        let key = Key::read(text.expose_secret())?;
        let public_key = key.public_key()?;
        Ok(Self { domain, selector, key, public_key })
    }

    /// The signature of a mail in the settings' own domain, as the field that goes before it.
    ///
    /// # Errors
    /// When the key does not sign.
    pub(super) fn sign(&self, mail: &[u8], now: Timestamp) -> anyhow::Result<String> {
        self.sign_as(&self.domain, mail, now)
    }

    /// Whether a signature in the settings' own domain counts for mail from another, as DMARC sees it.
    pub(super) fn speaks_for(&self, domain: &str) -> bool {
        let below = domain.strip_suffix(&self.domain);
        below.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    }

    /// The public side of the key.
    pub(super) fn public(&self) -> DkimKey {
        let kind = match &self.key {
            Key::Rsa(_) => "rsa",
            Key::Ed25519(_) => "ed25519",
        };
        DkimKey {
            domain: self.domain.clone(),
            selector: self.selector.clone(),
            record: format!("v=DKIM1; k={kind}; p={}", STANDARD.encode(&self.public_key)),
        }
    }

    /// [`Self::sign`] in the name of a domain that publishes the same key under the same selector.
    ///
    /// # Errors
    /// When the key does not sign.
    pub(super) fn sign_as(
        &self,
        domain: &str,
        mail: &[u8],
        now: Timestamp,
    ) -> anyhow::Result<String> {
        let (head, body) = split(mail);
        let fields = fields(head);
        let covered = covered(&fields);
        let mut signature = format!(
            "DKIM-Signature: v=1; a={}; c=relaxed/relaxed; d={}; s={};\r\n t={};\r\n h={};\r\n bh={};\r\n b=",
            self.key.algorithm(),
            domain,
            self.selector,
            now.millis().div_euclid(1000),
            covered.join(":\r\n  "),
            STANDARD.encode(body_hash(body)),
        );
        let signed = self.key.sign(&signed_text(&fields, &covered, &signature))?;
        for (index, line) in signed.as_bytes().chunks(LINE_CHARS).enumerate() {
            let fold = if index == 0 { "" } else { "\r\n  " };
            write!(signature, "{fold}{}", String::from_utf8_lossy(line))?;
        }
        signature.push_str("\r\n");
        Ok(signature)
    }
}

impl Key {
    /// Reads PEM (PKCS#8 or PKCS#1), or an Ed25519 seed in base64.
    fn read(text: &str) -> anyhow::Result<Self> {
        if !text.contains("-----BEGIN") {
            let seed = STANDARD.decode(text.trim()).context("the key is neither PEM nor base64")?;
            let pair = Ed25519KeyPair::from_seed_unchecked(&seed)
                .map_err(|reason| anyhow::anyhow!("not an Ed25519 seed: {reason}"))?;
            return Ok(Self::Ed25519(Box::new(pair)));
        }
        let der = PrivateKeyDer::from_pem_slice(text.as_bytes())
            .map_err(|reason| anyhow::anyhow!("the key's PEM cannot be read: {reason}"))?;
        let rsa = match &der {
            PrivateKeyDer::Pkcs1(der) => rsa::KeyPair::from_der(der.secret_pkcs1_der()),
            PrivateKeyDer::Pkcs8(der) => {
                let der = der.secret_pkcs8_der();
                if let Ok(pair) = Ed25519KeyPair::from_pkcs8_maybe_unchecked(der) {
                    return Ok(Self::Ed25519(Box::new(pair)));
                }
                rsa::KeyPair::from_pkcs8(der)
            }
            _ => bail!("the key must be RSA or Ed25519"),
        };
        let rsa = rsa.map_err(|reason| {
            anyhow::anyhow!("the key must be Ed25519, or RSA of 2048 bits or more: {reason}")
        })?;
        Ok(Self::Rsa(Box::new(rsa)))
    }

    fn public_key(&self) -> anyhow::Result<Vec<u8>> {
        match self {
            Self::Rsa(pair) => {
                let info: Result<PublicKeyX509Der<'_>, _> = pair.public_key().as_der();
                let info = info.map_err(|_| anyhow::anyhow!("the RSA key has no public side"))?;
                Ok(info.as_ref().to_vec())
            }
            Self::Ed25519(pair) => Ok(pair.public_key().as_ref().to_vec()),
        }
    }

    const fn algorithm(&self) -> &'static str {
        match self {
            Self::Rsa(_) => "rsa-sha256",
            Self::Ed25519(_) => "ed25519-sha256",
        }
    }

    /// A signature in base64.
    fn sign(&self, text: &[u8]) -> anyhow::Result<String> {
        match self {
            Self::Rsa(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), text, &mut signature)
                    .map_err(|_| anyhow::anyhow!("the RSA key does not sign"))?;
                Ok(STANDARD.encode(signature))
            }
            // RFC 8463 3: what is signed is the hash.
            Self::Ed25519(pair) => Ok(STANDARD.encode(pair.sign(&Sha256::digest(text)))),
        }
    }
}

/// The head with its last line's end, and the body.
fn split(mail: &[u8]) -> (&[u8], &[u8]) {
    let end = mail.windows(4).position(|four| four == b"\r\n\r\n");
    end.map_or((mail, &[][..]), |at| {
        let (head, rest) = mail.split_at(at + 2);
        (head, rest.get(2..).unwrap_or_default())
    })
}

/// A header field: the name in lower case, the value in its relaxed form (RFC 6376 3.4.2).
struct HeaderField {
    name: String,
    value: Vec<u8>,
}

impl HeaderField {
    /// Appends the field as it is signed.
    fn append_to(&self, text: &mut Vec<u8>) {
        for part in [self.name.as_bytes(), b":", &self.value] {
            text.extend_from_slice(part);
        }
    }
}

/// Reads the fields of a head.
fn fields(head: &[u8]) -> Vec<HeaderField> {
    let mut fields: Vec<HeaderField> = Vec::new();
    for line in head.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.first().is_some_and(|byte| matches!(byte, b' ' | b'\t')) {
            if let Some(field) = fields.last_mut() {
                field.value.extend_from_slice(line);
            }
        } else if let Some(colon) = line.iter().position(|byte| *byte == b':') {
            let (name, value) = line.split_at(colon);
            let name = String::from_utf8_lossy(name).trim().to_ascii_lowercase();
            fields.push(HeaderField { name, value: value.get(1..).unwrap_or_default().to_vec() });
        }
    }
    for field in &mut fields {
        field.value = relaxed(&field.value).trim_ascii().to_vec();
    }
    fields
}

/// Every run of white space as one space.
fn relaxed(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for byte in text {
        match byte {
            b' ' | b'\t' if out.last() == Some(&b' ') => {}
            b' ' | b'\t' => out.push(b' '),
            byte => out.push(*byte),
        }
    }
    out
}

/// The names of the signed fields, in the order in which they are signed.
fn covered(fields: &[HeaderField]) -> Vec<&'static str> {
    let has = |name: &str| fields.iter().any(|field| field.name == name);
    COVERED.iter().copied().filter(|name| has(name)).chain(SEALED.iter().copied()).collect()
}

/// The signed text: the covered fields, where each name takes the lowest field that is not taken yet, and then the
/// signature's own field without the signature.
fn signed_text(head: &[HeaderField], covered: &[&str], signature: &str) -> Vec<u8> {
    let mut text = Vec::with_capacity(2048);
    let mut taken = vec![false; head.len()];
    for name in covered {
        let found =
            head.iter().enumerate().rev().find(|(at, field)| field.name == *name && !taken[*at]);
        let Some((at, field)) = found else { continue };
        taken[at] = true;
        field.append_to(&mut text);
        text.extend_from_slice(b"\r\n");
    }
    for field in fields(signature.as_bytes()) {
        field.append_to(&mut text);
    }
    text
}

/// The hash of the body in its relaxed form (RFC 6376 3.4.4).
fn body_hash(body: &[u8]) -> [u8; 32] {
    let mut hash = Sha256::new();
    let mut empty_lines = 0;
    let mut lines = body.split(|byte| *byte == b'\n').peekable();
    while let Some(line) = lines.next() {
        if lines.peek().is_none() && line.is_empty() {
            break;
        }
        let line = relaxed(line.strip_suffix(b"\r").unwrap_or(line));
        let line = line.trim_ascii_end();
        if line.is_empty() {
            empty_lines += 1;
            continue;
        }
        for _ in 0..std::mem::take(&mut empty_lines) {
            hash.update(b"\r\n");
        }
        hash.update(line);
        hash.update(b"\r\n");
    }
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8463, appendix A: the message, its key and its signature.
    const MAIL: &str = "From: Joe SixPack <joe@football.example.com>\r\n\
        To: Suzie Q <suzie@shopping.example.net>\r\n\
        Subject: Is dinner ready?\r\n\
        Date: Fri, 11 Jul 2003 21:00:37 -0700 (PDT)\r\n\
        Message-ID: <20030712040037.46341.5F8J@football.example.com>\r\n\
        \r\n\
        Hi.\r\n\
        \r\n\
        We lost the game.  Are you hungry yet?\r\n\
        \r\n\
        Joe.\r\n";
    const KEY: &str = "nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=";
    const BODY_HASH: &str = "2jUSOH9NhtVGCQWNr9BrIAPreKQjO6Sn7XIkfJVOzv8=";
    const FIELD: &str = "DKIM-Signature: v=1; a=ed25519-sha256; c=relaxed/relaxed;\r\n \
        d=football.example.com; i=@football.example.com;\r\n \
        q=dns/txt; s=brisbane; t=1528637909; h=from : to :\r\n \
        subject : date : message-id : from : subject : date;\r\n \
        bh=2jUSOH9NhtVGCQWNr9BrIAPreKQjO6Sn7XIkfJVOzv8=;\r\n \
        b=";
    const SIGNATURE: &str =
        "/gCrinpcQOoIfuHNQIbq4pgh9kyIK3AQUdt9OdqQehSwhEIug4D11BusFa3bT3FY5OsU7ZbnKELq+eXdp1Q1Dw==";

    #[test]
    fn the_example_of_rfc_8463_is_signed_as_it_says() {
        let (head, body) = split(MAIL.as_bytes());
        assert_eq!(STANDARD.encode(body_hash(body)), BODY_HASH);
        let covered = ["from", "to", "subject", "date", "message-id", "from", "subject", "date"];
        let text = signed_text(&fields(head), &covered, FIELD);
        assert_eq!(Key::read(KEY).unwrap().sign(&text).unwrap(), SIGNATURE);
    }

    #[test]
    fn bodies_are_relaxed_as_rfc_6376_says() {
        let hash = |body: &str| body_hash(body.as_bytes());
        let of = |text: &str| <[u8; 32]>::from(Sha256::digest(text));
        // 3.4.5, and the empty body of 3.4.4.
        assert_eq!(hash(" C \r\nD \t E\r\n\r\n\r\n"), of(" C\r\nD E\r\n"));
        assert_eq!(hash(""), of(""));
        assert_eq!(hash("\r\n\r\n"), of(""));
        assert_eq!(hash("a"), of("a\r\n"));
        assert_eq!(hash("a\r\n\r\nb\r\n"), of("a\r\n\r\nb\r\n"));
    }

    fn signer(key: &str) -> Signer {
        let settings = DkimSettings {
            domain: "example.test".to_owned(),
            selector: "s1".to_owned(),
            key: Some(key.to_owned().into()),
            key_file: None,
        };
        Signer::from_settings(&settings).unwrap()
    }

    #[test]
    fn a_signature_covers_what_one_click_unsubscribing_needs() {
        let signer = signer(KEY);
        let mail = "From: a@example.test\r\nList-Unsubscribe: <https://example.test/u/x>\r\n\
                    Subject: Hi\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n\r\nHi\r\n";
        let field =
            signer.sign(mail.as_bytes(), Timestamp::from_millis(1_528_637_909_123)).unwrap();
        let unfolded = field.replace("\r\n", "").replace(' ', "");
        assert!(
            unfolded.contains(
                "h=from:subject:list-unsubscribe:list-unsubscribe-post:from:to:subject:date;"
            ),
            "{field}"
        );
        assert!(unfolded.contains("d=example.test;s=s1;t=1528637909;"), "{field}");
        assert!(field.ends_with("\r\n") && field.lines().all(|line| line.len() < 100), "{field}");
        // The field that is sent, without its signature, is the one that was signed.
        let (before, b) = field.rsplit_once(" b=").unwrap();
        let (head, _) = split(mail.as_bytes());
        let fields = fields(head);
        let text = signed_text(&fields, &covered(&fields), &format!("{before} b="));
        let again = signer.key.sign(&text).unwrap();
        assert_eq!(b.replace("\r\n  ", "").trim_end(), again, "Ed25519 signs alike each time");
    }

    #[test]
    fn public_keys_are_published_as_verifiers_read_them() {
        let of = |key: &str| signer(key).public().record;
        // RFC 8463, appendix A.2.
        let expected = "v=DKIM1; k=ed25519; p=11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";
        assert_eq!(of(KEY), expected);
        let pem = include_str!("../../tests/delivery/providers/dkim-rsa.pem");
        let record = of(pem);
        // How every SubjectPublicKeyInfo of an RSA key of 2048 bits begins, and how this one ends.
        let (begin, end) =
            ("MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA", "JzMPgTSZ5ErP6tea1kOOxwIDAQAB");
        let key = record.strip_prefix("v=DKIM1; k=rsa; p=").unwrap();
        assert!(key.starts_with(begin) && key.ends_with(end), "{record}");
    }

    #[test]
    fn what_is_no_key_is_refused_in_words() {
        for (text, problem) in [
            ("", "Ed25519 seed"),
            ("!", "neither PEM nor base64"),
            ("AAAA", "Ed25519 seed"),
            ("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "RSA of 2048"),
            (include_str!("../../tests/delivery/providers/dkim-rsa-1024.pem"), "RSA of 2048"),
            (
                "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
                "PEM cannot be read",
            ),
        ] {
            let Err(refusal) = Key::read(text) else { panic!("{text}") };
            assert!(refusal.to_string().contains(problem), "{text}: {refusal}");
        }
    }
}
