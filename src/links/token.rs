//! The form of a token: one way to write every link, and nothing else is read.
//!
//! ```text
//! version 1 · key id 2 · purpose 1 · parts 1 · workspace 16 · user 12
//!   · [list 16] · [channel 1] · [message 16] · [expiry 8, ms since 1970] · signature 16
//! ```
//!
//! `parts` has a bit for each optional part; numbers are big-endian. The version and the purpose are
//! signed with the rest, so a token of one purpose never opens another.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use uuid::Uuid;

use super::{
    ConfirmSubscription, Link, Preferences, Unsubscribe,
    keys::{Keys, SIGNATURE_BYTES},
};
use crate::kernel::{Channel, ListId, Timestamp, UserId, WorkspaceId};

/// The only version so far.
const VERSION: u8 = 1;
/// Characters of the longest token there can be, with room; more is not decoded.
const TOKEN_CHARS_MAX: usize = 256;

const HAS_LIST: u8 = 1;
const HAS_CHANNEL: u8 = 1 << 1;
const HAS_MESSAGE: u8 = 1 << 2;
const EXPIRES: u8 = 1 << 3;

const PREFERENCES: u8 = 1;
const UNSUBSCRIBE: u8 = 2;
const CONFIRM_SUBSCRIPTION: u8 = 3;

/// Every part of a link, in the order written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Parts {
    purpose: u8,
    workspace: WorkspaceId,
    user: UserId,
    list: Option<ListId>,
    channel: Option<Channel>,
    message: Option<Uuid>,
    expires: Option<Timestamp>,
}

impl Parts {
    fn of(link: Link, expires: Option<Timestamp>) -> Self {
        let bare = |purpose, workspace, user| Self {
            purpose,
            workspace,
            user,
            list: None,
            channel: None,
            message: None,
            expires,
        };
        match link {
            Link::Preferences(p) => bare(PREFERENCES, p.workspace, p.user),
            Link::Unsubscribe(u) => Self {
                list: u.list,
                channel: u.channel,
                message: u.message,
                ..bare(UNSUBSCRIBE, u.workspace, u.user)
            },
            Link::ConfirmSubscription(c) => Self {
                list: Some(c.list),
                channel: Some(c.channel),
                ..bare(CONFIRM_SUBSCRIPTION, c.workspace, c.user)
            },
        }
    }

    fn link(self) -> Option<Link> {
        let Self { workspace, user, list, channel, message, .. } = self;
        match (self.purpose, list, channel, message) {
            (PREFERENCES, None, None, None) => {
                Some(Link::Preferences(Preferences { workspace, user }))
            }
            (UNSUBSCRIBE, ..) => {
                Some(Link::Unsubscribe(Unsubscribe { workspace, user, list, channel, message }))
            }
            (CONFIRM_SUBSCRIPTION, Some(list), Some(channel), None) => {
                let confirm = ConfirmSubscription { workspace, user, list, channel };
                Some(Link::ConfirmSubscription(confirm))
            }
            _ => None,
        }
    }
}

/// Writes and signs a token.
pub(super) fn write(keys: &Keys, link: Link, expires: Option<Timestamp>) -> String {
    let parts = Parts::of(link, expires);
    let key = keys.newest();
    let mut flags = 0;
    let mut rest = Vec::new();
    if let Some(list) = parts.list {
        flags |= HAS_LIST;
        rest.extend_from_slice(list.uuid().as_bytes());
    }
    if let Some(channel) = parts.channel {
        flags |= HAS_CHANNEL;
        rest.push(number_of(channel));
    }
    if let Some(message) = parts.message {
        flags |= HAS_MESSAGE;
        rest.extend_from_slice(message.as_bytes());
    }
    if let Some(expires) = parts.expires {
        flags |= EXPIRES;
        rest.extend_from_slice(&expires.millis().to_be_bytes());
    }
    let mut bytes = vec![VERSION];
    bytes.extend_from_slice(&key.to_be_bytes());
    bytes.extend_from_slice(&[parts.purpose, flags]);
    bytes.extend_from_slice(parts.workspace.uuid().as_bytes());
    bytes.extend_from_slice(parts.user.bytes());
    bytes.append(&mut rest);
    keys.sign(key, &mut bytes);
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The channels' numbers in tokens; they never change.
const fn number_of(channel: Channel) -> u8 {
    match channel {
        Channel::Email => 1,
        Channel::Sms => 2,
        Channel::Whatsapp => 3,
        Channel::Push => 4,
        Channel::Viber => 5,
    }
}

/// A token that has the form of one; whether it is ours is seen when it is opened.
#[derive(Debug)]
pub(super) struct Sealed {
    key: i16,
    signed: Vec<u8>,
    signature: Vec<u8>,
}

/// What a token of ours says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Opened {
    pub(super) link: Link,
    pub(super) expires: Option<Timestamp>,
}

impl Sealed {
    /// `None` for what cannot be a token.
    pub(super) fn read(token: &str) -> Option<Self> {
        if token.len() > TOKEN_CHARS_MAX {
            return None;
        }
        let mut signed = URL_SAFE_NO_PAD.decode(token).ok()?;
        let signature = signed.split_off(signed.len().checked_sub(SIGNATURE_BYTES)?);
        let [version, high, low, ..] = signed[..] else { return None };
        let key = i16::from_be_bytes([high, low]);
        (version == VERSION).then_some(Self { key, signed, signature })
    }

    /// The key that is said to have signed it.
    pub(super) fn key(&self) -> i16 {
        self.key
    }

    /// `None` unless the signature proves it.
    pub(super) fn open(self, keys: &Keys) -> Option<Opened> {
        if !keys.proves(self.key, &self.signed, &self.signature) {
            return None;
        }
        let mut rest = Bytes(&self.signed);
        let [_version, _, _, purpose, flags] = rest.take()?;
        let mut parts = Parts {
            purpose,
            workspace: WorkspaceId::new(Uuid::from_bytes(rest.take()?)),
            user: UserId::from_bytes(rest.take()?),
            list: None,
            channel: None,
            message: None,
            expires: None,
        };
        if flags & HAS_LIST != 0 {
            parts.list = Some(ListId::new(Uuid::from_bytes(rest.take()?)));
        }
        if flags & HAS_CHANNEL != 0 {
            let [number] = rest.take()?;
            parts.channel = Some(Channel::ALL.into_iter().find(|c| number_of(*c) == number)?);
        }
        if flags & HAS_MESSAGE != 0 {
            parts.message = Some(Uuid::from_bytes(rest.take()?));
        }
        if flags & EXPIRES != 0 {
            parts.expires = Some(Timestamp::from_millis(i64::from_be_bytes(rest.take()?)));
        }
        let known = flags & !(HAS_LIST | HAS_CHANNEL | HAS_MESSAGE | EXPIRES) == 0;
        if !known || !rest.0.is_empty() {
            return None;
        }
        Some(Opened { link: parts.link()?, expires: parts.expires })
    }
}

/// Bytes being read from the front.
struct Bytes<'b>(&'b [u8]);

impl Bytes<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }
}

#[cfg(test)]
mod tests {
    use proptest::{option, prelude::*};

    use super::{super::keys::Key, *};

    fn keys(ids: &[i16]) -> Keys {
        let key = |id: &i16| Key { id: *id, secret: vec![u8::try_from(*id).unwrap(); 32].into() };
        Keys::new(ids.iter().map(key).collect()).unwrap()
    }

    fn opened(token: &str, keys: &Keys) -> Option<Opened> {
        Sealed::read(token)?.open(keys)
    }

    fn links() -> impl Strategy<Value = Link> {
        let ids = (any::<u128>(), any::<[u8; 12]>(), any::<u128>(), 0..5_usize);
        (ids, option::of(any::<u128>()), option::of(0..5_usize), option::of(any::<u128>()), 0..3)
            .prop_map(|((workspace, user, one_list, one_channel), list, channel, message, kind)| {
                let workspace = WorkspaceId::new(Uuid::from_u128(workspace));
                let user = UserId::from_bytes(user);
                let a_list = |bits| ListId::new(Uuid::from_u128(bits));
                match kind {
                    0 => Link::Preferences(Preferences { workspace, user }),
                    1 => Link::Unsubscribe(Unsubscribe {
                        workspace,
                        user,
                        list: list.map(a_list),
                        channel: channel.map(|number| Channel::ALL[number]),
                        message: message.map(Uuid::from_u128),
                    }),
                    _ => Link::ConfirmSubscription(ConfirmSubscription {
                        workspace,
                        user,
                        list: a_list(one_list),
                        channel: Channel::ALL[one_channel],
                    }),
                }
            })
    }

    proptest! {
        #[test]
        fn a_link_survives_the_way_through_its_token(link in links(), ms in option::of(any::<i64>())) {
            let expires = ms.map(Timestamp::from_millis);
            let token = write(&keys(&[1, 2]), link, expires);
            prop_assert!(token.len() <= TOKEN_CHARS_MAX);
            prop_assert!(token.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_'));
            prop_assert_eq!(opened(&token, &keys(&[1, 2, 3])), Some(Opened { link, expires }));
            prop_assert_eq!(opened(&token, &keys(&[1])), None, "signed by a key that is gone");
        }

        #[test]
        fn no_changed_bit_and_no_missing_character_goes_unnoticed(link in links(), at: prop::sample::Index, bit in 0..8_u32) {
            let keys = keys(&[1]);
            let token = write(&keys, link, Some(Timestamp::from_millis(5)));
            let mut bytes = URL_SAFE_NO_PAD.decode(&token).unwrap();
            let place = at.index(bytes.len());
            bytes[place] ^= 1 << bit;
            prop_assert_eq!(opened(&URL_SAFE_NO_PAD.encode(&bytes), &keys), None);
            prop_assert_eq!(opened(token.get(..at.index(token.len())).unwrap(), &keys), None);
            prop_assert_eq!(opened(&format!("{token}A"), &keys), None);
            prop_assert_eq!(opened(&format!("{token}="), &keys), None);
        }

        #[test]
        fn what_anybody_makes_up_opens_nothing(text in "\\PC{0,300}") {
            prop_assert_eq!(opened(&text, &keys(&[1])), None);
        }
    }

    #[test]
    fn the_newest_key_signs_and_the_older_ones_still_open() {
        let workspace = WorkspaceId::new(Uuid::from_u128(1));
        let link = Link::Preferences(Preferences { workspace, user: UserId::from_bytes([7; 12]) });
        let before = write(&keys(&[1]), link, None);
        let after = write(&keys(&[1, 2]), link, None);
        assert_ne!(before, after);
        assert_eq!(Sealed::read(&after).unwrap().key(), 2);
        assert_eq!(opened(&before, &keys(&[1, 2])), Some(Opened { link, expires: None }));
    }

    #[test]
    fn one_spelling_of_a_token_opens_it() {
        // The last character of unpadded base64 may carry bits that no byte takes.
        let workspace = WorkspaceId::new(Uuid::from_u128(1));
        let link = Link::Preferences(Preferences { workspace, user: UserId::from_bytes([7; 12]) });
        let token = write(&keys(&[1]), link, None);
        let spellings = ('A'..='Z').chain('a'..='z').chain('0'..='9').chain(['-', '_']);
        let opening = spellings
            .filter(|last| {
                let other = format!("{}{last}", token.get(..token.len() - 1).unwrap());
                opened(&other, &keys(&[1])).is_some()
            })
            .count();
        assert_eq!(opening, 1);
    }
}
