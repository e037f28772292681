//! The reference that providers get for a message, so that their reports identify it.
//!
//! It is the workspace and the message, 32 bytes, in lower-case base32 (RFC 4648) without padding: 52 characters,
//! short enough for the local part of an address, and still readable after a mail server changed its case. It
//! holds no secret, but message ids cannot be guessed: only who had the message knows its reference.

use std::{fmt, str::FromStr, sync::LazyLock};

use data_encoding::{Encoding, Specification};
use kernel::{MessageId, WorkspaceId};
use uuid::Uuid;

/// Characters of a reference.
const CHARS: usize = 52;
/// What the local part of a bounce address begins with.
const BOUNCE_PREFIX: &str = "b+";

/// RFC 4648 base32 in lower case, read in either case.
static BASE32: LazyLock<Encoding> = LazyLock::new(|| {
    let mut specification = Specification::new();
    specification.symbols.push_str("abcdefghijklmnopqrstuvwxyz234567");
    specification.translate.from.push_str("ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    specification.translate.to.push_str("abcdefghijklmnopqrstuvwxyz");
    specification.encoding().expect("thirty-two symbols are base32")
});

/// A message, as providers are given it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Reference {
    pub workspace: WorkspaceId,
    pub message: MessageId,
}

/// The text is no reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a reference to a message")]
pub struct NotAReference;

impl Reference {
    /// The address that bounces of the message go to (VERP).
    pub fn bounce_address(self, domain: &str) -> String {
        format!("{BOUNCE_PREFIX}{self}@{domain}")
    }

    /// Reads the local part of a bounce address, or the address.
    pub fn of_bounce_address(address: &str) -> Option<Self> {
        let local = address.split_once('@').map_or(address, |(local, _)| local);
        let (prefix, reference) = local.split_at_checked(BOUNCE_PREFIX.len())?;
        if prefix.eq_ignore_ascii_case(BOUNCE_PREFIX) { reference.parse().ok() } else { None }
    }

    /// Reads what stands before the `@` of a `Message-ID`, with its brackets or without.
    pub fn of_message_id(text: &str) -> Option<Self> {
        let bare = text.trim().trim_start_matches('<').trim_end_matches('>');
        bare.split_once('@').map_or(bare, |(local, _)| local).parse().ok()
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = [0; 32];
        bytes[..16].copy_from_slice(self.workspace.uuid().as_bytes());
        bytes[16..].copy_from_slice(self.message.uuid().as_bytes());
        f.write_str(&BASE32.encode(&bytes))
    }
}

impl FromStr for Reference {
    type Err = NotAReference;

    fn from_str(text: &str) -> Result<Self, NotAReference> {
        if text.len() != CHARS {
            return Err(NotAReference);
        }
        let bytes = BASE32.decode(text.as_bytes()).map_err(|_| NotAReference)?;
        let id = |half: &[u8]| Uuid::from_slice(half).map_err(|_| NotAReference);
        let (workspace, message) = bytes.split_at(16);
        Ok(Self {
            workspace: WorkspaceId::new(id(workspace)?),
            message: MessageId::new(id(message)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn reference(workspace: u128, message: u128) -> Reference {
        Reference {
            workspace: WorkspaceId::new(Uuid::from_u128(workspace)),
            message: MessageId::new(Uuid::from_u128(message)),
        }
    }

    proptest! {
        #[test]
        fn a_reference_survives_mail_servers(workspace: u128, message: u128) {
            let sent = reference(workspace, message);
            let address = sent.bounce_address("bounce.example.test");
            prop_assert!(address.split_once('@').unwrap().0.len() <= 64, "RFC 5321 4.5.3.1.1");
            prop_assert_eq!(Reference::of_bounce_address(&address), Some(sent));
            prop_assert_eq!(Reference::of_bounce_address(&address.to_uppercase()), Some(sent));
            let id = format!("<{sent}@example.test>");
            prop_assert_eq!(Reference::of_message_id(&id), Some(sent));
            prop_assert_eq!(Reference::of_message_id(&sent.to_string()), Some(sent));
        }

        #[test]
        fn invented_texts_are_no_references(text in "\\PC{0,80}") {
            prop_assume!(text.len() != CHARS);
            prop_assert_eq!(Reference::of_bounce_address(&text), None);
            prop_assert_eq!(Reference::of_message_id(&text), None);
        }
    }

    #[test]
    fn a_reference_has_one_spelling_apart_from_its_case() {
        let text = reference(1, 2).to_string();
        assert_eq!(text.len(), CHARS);
        // The last character carries four bits of no byte.
        let last = |c: char| format!("{}{c}", text.get(..CHARS - 1).unwrap());
        let reading =
            ('a'..='z').chain('2'..='7').filter(|c| last(*c).parse::<Reference>().is_ok());
        assert_eq!(reading.count(), 2, "32 bytes are 51.2 characters: one bit of the last is used");
        assert!("b-x@example.test".parse::<Reference>().is_err());
        assert_eq!(Reference::of_bounce_address("bé"), None);
    }
}
