//! The binary format of a token. Every link has exactly one encoding.
//!
//! ```text
//! of a contact  version 1 · key id 2 · purpose 1 · parts 1 · workspace 16 · user 12
//!                 · [list 16] · [channel 1] · [message 16] · [expiry 8, ms since 1970] · signature 16
//! of an open    version 1 · key id 2 · purpose 1 · workspace 16 · message 16 · signature 16
//! of a click    version 1 · key id 2 · purpose 1 · workspace 16 · message 16
//!                 · length 1 · label · target · signature 16
//! ```
//!
//! `parts` has a bit for each optional part; numbers are big-endian, texts UTF-8. The version and the purpose
//! are signed too, so a token of one purpose never opens another.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use kernel::{Channel, ListId, MessageId, Timestamp, UserId, WorkspaceId};
use uuid::Uuid;

use super::{
    Click, ConfirmChannel, ConfirmSubscription, LABEL_BYTES_MAX, Link, Open, Preferences,
    TARGET_BYTES_MAX, Unsubscribe,
    keys::{Keys, SIGNATURE_BYTES},
};

/// The only version so far.
const VERSION: u8 = 1;
/// Characters of the longest possible token, with room for the parts beside texts. Longer texts are not
/// decoded.
const TOKEN_CHARS_MAX: usize = (TARGET_BYTES_MAX + LABEL_BYTES_MAX + 128) / 3 * 4;

/// Bytes of a usual token.
const TYPICAL_BYTES: usize = 192;

const HAS_LIST: u8 = 1;
const HAS_CHANNEL: u8 = 1 << 1;
const HAS_MESSAGE: u8 = 1 << 2;
const EXPIRES: u8 = 1 << 3;

const PREFERENCES: u8 = 1;
const UNSUBSCRIBE: u8 = 2;
const CONFIRM_SUBSCRIPTION: u8 = 3;
const OPEN: u8 = 4;
const CLICK: u8 = 5;

/// Every part of a contact's link, in the order in which it is written.
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
    const fn bare(purpose: u8, workspace: WorkspaceId, user: UserId) -> Self {
        let (list, channel, message, expires) = (None, None, None, None);
        Self { purpose, workspace, user, list, channel, message, expires }
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
            (CONFIRM_SUBSCRIPTION, None, Some(channel), None) => {
                Some(Link::ConfirmChannel(ConfirmChannel { workspace, user, channel }))
            }
            _ => None,
        }
    }

    fn write(self, bytes: &mut Vec<u8>) {
        let mut flags = 0;
        let mut rest = Vec::new();
        if let Some(list) = self.list {
            flags |= HAS_LIST;
            rest.extend_from_slice(list.uuid().as_bytes());
        }
        if let Some(channel) = self.channel {
            flags |= HAS_CHANNEL;
            rest.push(number_of(channel));
        }
        if let Some(message) = self.message {
            flags |= HAS_MESSAGE;
            rest.extend_from_slice(message.as_bytes());
        }
        if let Some(expires) = self.expires {
            flags |= EXPIRES;
            rest.extend_from_slice(&expires.millis().to_be_bytes());
        }
        bytes.extend_from_slice(&[self.purpose, flags]);
        bytes.extend_from_slice(self.workspace.uuid().as_bytes());
        bytes.extend_from_slice(self.user.bytes());
        bytes.append(&mut rest);
    }

    fn read(purpose: u8, mut rest: Bytes<'_>) -> Option<Self> {
        let [flags] = rest.take()?;
        let workspace = WorkspaceId::new(Uuid::from_bytes(rest.take()?));
        let mut parts = Self::bare(purpose, workspace, UserId::from_bytes(rest.take()?));
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
        (known && rest.0.is_empty()).then_some(parts)
    }
}

/// Writes and signs a token.
pub(super) fn write(keys: &Keys, link: &Link, expires: Option<Timestamp>) -> String {
    let key = keys.newest();
    let mut bytes = Vec::with_capacity(TYPICAL_BYTES);
    bytes.push(VERSION);
    bytes.extend_from_slice(&key.to_be_bytes());
    match link {
        Link::Preferences(p) => {
            Parts { expires, ..Parts::bare(PREFERENCES, p.workspace, p.user) }.write(&mut bytes);
        }
        Link::Unsubscribe(u) => Parts {
            list: u.list,
            channel: u.channel,
            message: u.message,
            expires,
            ..Parts::bare(UNSUBSCRIBE, u.workspace, u.user)
        }
        .write(&mut bytes),
        Link::ConfirmSubscription(c) => Parts {
            list: Some(c.list),
            channel: Some(c.channel),
            expires,
            ..Parts::bare(CONFIRM_SUBSCRIPTION, c.workspace, c.user)
        }
        .write(&mut bytes),
        Link::ConfirmChannel(c) => Parts {
            channel: Some(c.channel),
            expires,
            ..Parts::bare(CONFIRM_SUBSCRIPTION, c.workspace, c.user)
        }
        .write(&mut bytes),
        Link::Open(open) => {
            bytes.push(OPEN);
            bytes.extend_from_slice(open.workspace.uuid().as_bytes());
            bytes.extend_from_slice(open.message.uuid().as_bytes());
        }
        Link::Click(click) => {
            bytes.push(CLICK);
            bytes.extend_from_slice(click.workspace.uuid().as_bytes());
            bytes.extend_from_slice(click.message.uuid().as_bytes());
            let label = click.label.get(..label_end(&click.label)).unwrap_or_default();
            bytes.extend(u8::try_from(label.len()));
            bytes.extend_from_slice(label.as_bytes());
            bytes.extend_from_slice(click.target.as_bytes());
        }
    }
    keys.sign(key, &mut bytes);
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The position at which a long label is cut: between characters.
fn label_end(label: &str) -> usize {
    let mut end = label.len().min(LABEL_BYTES_MAX);
    while !label.is_char_boundary(end) {
        end -= 1;
    }
    end
}

/// Reads the rest of a click's token.
fn click(mut rest: Bytes<'_>) -> Option<Click> {
    let workspace = WorkspaceId::new(Uuid::from_bytes(rest.take()?));
    let message = MessageId::new(Uuid::from_bytes(rest.take()?));
    let [length] = rest.take()?;
    let (label, target) = rest.0.split_at_checked(usize::from(length))?;
    let text = |bytes: &[u8]| str::from_utf8(bytes).ok().map(str::to_owned);
    Some(Click { workspace, message, target: text(target)?, label: text(label)? })
}

/// The numbers of channels in tokens; they never change.
const fn number_of(channel: Channel) -> u8 {
    match channel {
        Channel::Email => 1,
        Channel::Sms => 2,
        Channel::Whatsapp => 3,
        Channel::Push => 4,
        Channel::Viber => 5,
    }
}

/// A decoded token whose signature has not been verified yet.
#[derive(Debug)]
pub(super) struct Sealed {
    key: i16,
    signed: Vec<u8>,
    signature: Vec<u8>,
}

/// The content of a verified token.
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

    /// The id of the key that signed it, according to the token.
    pub(super) fn key(&self) -> i16 {
        self.key
    }

    /// `None` unless the signature matches.
    pub(super) fn open(self, keys: &Keys) -> Option<Opened> {
        if !keys.proves(self.key, &self.signed, &self.signature) {
            return None;
        }
        let mut rest = Bytes(&self.signed);
        let [_version, _, _, purpose] = rest.take()?;
        let (link, expires) = match purpose {
            OPEN => {
                let workspace = WorkspaceId::new(Uuid::from_bytes(rest.take()?));
                let message = MessageId::new(Uuid::from_bytes(rest.take()?));
                if !rest.0.is_empty() {
                    return None;
                }
                (Link::Open(Open { workspace, message }), None)
            }
            CLICK => (Link::Click(click(rest)?), None),
            _ => {
                let parts = Parts::read(purpose, rest)?;
                (parts.link()?, parts.expires)
            }
        };
        Some(Opened { link, expires })
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
        (
            ids,
            option::of(any::<u128>()),
            option::of(0..5_usize),
            option::of(any::<u128>()),
            (0..5, "\\PC{0,12}", "\\PC{0,40}"),
        )
            .prop_map(
                |(
                    (workspace, user, one_list, one_channel),
                    list,
                    channel,
                    message,
                    (kind, label, target),
                )| {
                    let workspace = WorkspaceId::new(Uuid::from_u128(workspace));
                    let user = UserId::from_bytes(user);
                    let a_message = |bits| MessageId::new(Uuid::from_u128(bits));
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
                        2 => Link::ConfirmSubscription(ConfirmSubscription {
                            workspace,
                            user,
                            list: a_list(one_list),
                            channel: Channel::ALL[one_channel],
                        }),
                        3 => Link::Open(Open { workspace, message: a_message(one_list) }),
                        _ => Link::Click(Click {
                            workspace,
                            message: a_message(one_list),
                            target,
                            label,
                        }),
                    }
                },
            )
    }

    proptest! {
        #[test]
        fn a_link_is_read_back_from_its_token(link in links(), ms in option::of(any::<i64>())) {
            let of_a_message = matches!(link, Link::Open(_) | Link::Click(_));
            let expires = ms.map(Timestamp::from_millis).filter(|_| !of_a_message);
            let token = write(&keys(&[1, 2]), &link, expires);
            prop_assert!(token.len() <= TOKEN_CHARS_MAX);
            prop_assert!(token.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_'));
            prop_assert_eq!(opened(&token, &keys(&[1, 2, 3])), Some(Opened { link, expires }));
            prop_assert_eq!(opened(&token, &keys(&[1])), None, "signed by a key that is gone");
        }

        #[test]
        fn changed_bits_and_missing_characters_are_noticed(link in links(), at: prop::sample::Index, bit in 0..8_u32) {
            let keys = keys(&[1]);
            let token = write(&keys, &link, Some(Timestamp::from_millis(5)));
            let mut bytes = URL_SAFE_NO_PAD.decode(&token).unwrap();
            let place = at.index(bytes.len());
            bytes[place] ^= 1 << bit;
            prop_assert_eq!(opened(&URL_SAFE_NO_PAD.encode(&bytes), &keys), None);
            prop_assert_eq!(opened(token.get(..at.index(token.len())).unwrap(), &keys), None);
            prop_assert_eq!(opened(&format!("{token}A"), &keys), None);
            prop_assert_eq!(opened(&format!("{token}="), &keys), None);
        }

        #[test]
        fn invented_tokens_open_nothing(text in "\\PC{0,300}") {
            prop_assert_eq!(opened(&text, &keys(&[1])), None);
        }
    }

    #[test]
    fn the_newest_key_signs_and_the_older_ones_still_open() {
        let workspace = WorkspaceId::new(Uuid::from_u128(1));
        let link = Link::Preferences(Preferences { workspace, user: UserId::from_bytes([7; 12]) });
        let before = write(&keys(&[1]), &link, None);
        let after = write(&keys(&[1, 2]), &link, None);
        assert_ne!(before, after);
        assert_eq!(Sealed::read(&after).unwrap().key(), 2);
        assert_eq!(opened(&before, &keys(&[1, 2])), Some(Opened { link, expires: None }));
    }

    #[test]
    fn the_longest_target_and_a_label_cut_between_characters_fit() {
        let (workspace, message) =
            (WorkspaceId::new(Uuid::from_u128(1)), MessageId::new(Uuid::from_u128(2)));
        let target = format!("https://x.test/{}", "a".repeat(TARGET_BYTES_MAX - 15));
        let click = Click { workspace, message, target, label: "ü".repeat(LABEL_BYTES_MAX) };
        let token = write(&keys(&[1]), &Link::Click(click.clone()), None);
        assert!(token.len() <= TOKEN_CHARS_MAX);
        let label = "ü".repeat(LABEL_BYTES_MAX / 2);
        let link = Link::Click(Click { label, ..click });
        assert_eq!(opened(&token, &keys(&[1])), Some(Opened { link, expires: None }));
    }

    #[test]
    fn one_spelling_of_a_token_opens_it() {
        // The last character of unpadded base64 may have bits that belong to no byte.
        let workspace = WorkspaceId::new(Uuid::from_u128(1));
        let link = Link::Preferences(Preferences { workspace, user: UserId::from_bytes([7; 12]) });
        let token = write(&keys(&[1]), &link, None);
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
