//! What a call of an event SDK says of a profile, as it is appended to the spool and read back.
//!
//! ```text
//! call  call_bytes u32 (of all of it, itself included) · timestamp_ms i64 · kind u8
//!       · flags u8 (bit 0: public, bit 1: once, bit 2: known only, bit 3: origin) · attributes_bytes u32
//!       · length of each of the six texts u16 · origin? · the texts, the attributes and those of the origin, end to end
//! origin  length of its name and of its key's id u16 each
//! ```
//!
//! Calls that programs before 2026-11-28 appended have no origin; they are read as calls without a name and a key.

use uuid::Uuid;

use super::{
    Batch, BatchHeader, BatchKind, CorruptBatch, HEADER_BYTES,
    decode::{Cursor, Text},
    encode::{long, short, write_header},
};

/// Texts of a call before its attributes.
const TEXT_COUNT: usize = 6;
/// Bytes of an encoded call before its texts.
const FIXED_BYTES: usize = 18 + 2 * TEXT_COUNT;
const PUBLIC: u8 = 1;
const ONCE: u8 = 1 << 1;
const KNOWN_ONLY: u8 = 1 << 2;
const ORIGIN: u8 = 1 << 3;
/// Texts of the origin, and bytes of their lengths.
const ORIGIN_TEXT_COUNT: usize = 2;
const ORIGIN_BYTES: usize = 2 * ORIGIN_TEXT_COUNT;

/// What a call does to profiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum ProfileCallKind {
    /// It sets attributes of the user, and links an anonymous id where it has one.
    #[default]
    Set = 1,
    /// It says that `previous_id` is the user, too.
    Alias = 2,
    /// It says that `previous_id` and `user_id` are one person, in either order.
    Join = 3,
}

impl ProfileCallKind {
    const ALL: [Self; 3] = [Self::Set, Self::Alias, Self::Join];

    /// What most of its calls are named in their protocols.
    const fn as_str(self) -> &'static str {
        match self {
            Self::Set => "identify",
            Self::Alias => "alias",
            Self::Join => "$create_alias",
        }
    }

    fn of_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number).checked_sub(1)?).copied()
    }
}

/// A call that changes a profile. Absent texts are empty.
///
/// `call_id` identifies it within its workspace: appended twice, it is applied once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProfileCall<'a> {
    /// What it does to profiles.
    pub kind: ProfileCallKind,
    /// When it happened: milliseconds since the epoch, UTC.
    pub timestamp_ms: i64,
    /// Whether it came with a public key: it overwrites no known address.
    pub is_public: bool,
    /// Whether it sets only what the profile does not have.
    pub is_once: bool,
    /// Whether it creates no profile.
    pub is_known_only: bool,
    /// The caller's id of the call, or a UUID.
    pub call_id: &'a str,
    /// The external id of the profile.
    pub user_id: &'a str,
    /// An anonymous id of the user.
    pub anonymous_id: &'a str,
    /// The other id of an alias.
    pub previous_id: &'a str,
    /// The address to set.
    pub email: &'a str,
    /// The phone number to set.
    pub phone: &'a str,
    /// The attributes to set: a JSON object.
    pub attributes: &'a str,
    /// What it is named in its protocol: `group`, `$set`.
    pub sent_as: &'a str,
    /// The public id of the key it came with.
    pub key_id: &'a str,
}

impl<'a> ProfileCall<'a> {
    fn texts(&self) -> [&'a str; TEXT_COUNT] {
        [self.call_id, self.user_id, self.anonymous_id, self.previous_id, self.email, self.phone]
    }

    fn origin(&self) -> [&'a str; ORIGIN_TEXT_COUNT] {
        [self.sent_as, self.key_id]
    }

    /// What it is named: as it was sent, or as most of its kind where that is not known.
    pub fn name(&self) -> &'a str {
        if self.sent_as.is_empty() { self.kind.as_str() } else { self.sent_as }
    }

    /// Bytes of its record.
    pub(crate) fn bytes(&self) -> usize {
        let texts = self.texts().into_iter().chain(self.origin());
        FIXED_BYTES + ORIGIN_BYTES + texts.map(str::len).sum::<usize>() + self.attributes.len()
    }

    fn flags(&self) -> u8 {
        (u8::from(self.is_public) * PUBLIC)
            | (u8::from(self.is_once) * ONCE)
            | (u8::from(self.is_known_only) * KNOWN_ONLY)
            | ORIGIN
    }
}

/// Builds a [`Batch`] of profile calls.
#[derive(Debug)]
pub struct ProfileBatchBuilder {
    bytes: Vec<u8>,
    count: u32,
}

impl Default for ProfileBatchBuilder {
    fn default() -> Self {
        Self { bytes: vec![0; HEADER_BYTES], count: 0 }
    }
}

impl ProfileBatchBuilder {
    /// Number of calls pushed so far.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Where the next call will begin.
    pub(crate) fn position(&self) -> usize {
        self.bytes.len()
    }

    /// The call at `position`; none where the batch ends there.
    pub(crate) fn call_at(&self, position: usize) -> Option<ProfileCall<'_>> {
        read(self.bytes.get(position..)?).ok().map(|(call, _)| call)
    }

    /// Encodes a call at the end of the batch. The caller has held every text to its limit
    /// (`model::limits`): a text of more than 64 KiB is a bug and panics.
    pub fn push(&mut self, call: &ProfileCall<'_>) {
        let start = self.bytes.len();
        let (texts, origin) = (call.texts(), call.origin());
        let mut fixed = [0_u8; FIXED_BYTES + ORIGIN_BYTES];
        fixed[4..12].copy_from_slice(&call.timestamp_ms.to_le_bytes());
        fixed[12] = call.kind as u8;
        fixed[13] = call.flags();
        fixed[14..18].copy_from_slice(&long(call.attributes.len()).to_le_bytes());
        for (slot, text) in fixed[18..].chunks_exact_mut(2).zip(texts.into_iter().chain(origin)) {
            slot.copy_from_slice(&short(text.len()).to_le_bytes());
        }
        self.bytes.extend_from_slice(&fixed);
        for text in texts {
            self.bytes.extend_from_slice(text.as_bytes());
        }
        self.bytes.extend_from_slice(call.attributes.as_bytes());
        for text in origin {
            self.bytes.extend_from_slice(text.as_bytes());
        }
        let length = long(self.bytes.len() - start);
        self.bytes[start..start + 4].copy_from_slice(&length.to_le_bytes());
        self.count += 1;
    }

    /// The batch, or `None` when it is empty. `first_seq` is the arrival number of its first call.
    pub fn finish(
        mut self,
        workspace_id: Uuid,
        received_at_ms: i64,
        first_seq: u64,
    ) -> Option<Batch> {
        if self.count == 0 {
            return None;
        }
        let header = BatchHeader {
            kind: BatchKind::Profiles,
            workspace_id,
            received_at_ms,
            first_seq,
            count: self.count,
        };
        write_header(&mut self.bytes, &header);
        Some(Batch::written(self.bytes, header))
    }
}

/// Reads the call at the start of `bytes`; gives it and the bytes after it.
pub(super) fn read(bytes: &[u8]) -> Result<(ProfileCall<'_>, &[u8]), CorruptBatch> {
    let length = bytes.first_chunk::<4>().ok_or(CorruptBatch::Truncated("profile call"))?;
    let length = u32::from_le_bytes(*length) as usize;
    if length < FIXED_BYTES {
        return Err(CorruptBatch::Inconsistent("profile call length"));
    }
    let (whole, after) =
        bytes.split_at_checked(length).ok_or(CorruptBatch::Truncated("profile call"))?;
    let mut at = Cursor { rest: &whole[4..] };
    let timestamp_ms = i64::from_le_bytes(at.take()?);
    let [kind, flags] = at.take()?;
    let kind =
        ProfileCallKind::of_number(kind).ok_or(CorruptBatch::Inconsistent("profile call kind"))?;
    if flags & !(PUBLIC | ONCE | KNOWN_ONLY | ORIGIN) != 0 {
        return Err(CorruptBatch::Inconsistent("profile call flags"));
    }
    let attributes_bytes = u32::from_le_bytes(at.take()?) as usize;
    let mut lengths = [0_usize; TEXT_COUNT];
    for length in &mut lengths {
        *length = usize::from(u16::from_le_bytes(at.take()?));
    }
    let mut origin_lengths = [0_usize; ORIGIN_TEXT_COUNT];
    if flags & ORIGIN != 0 {
        for length in &mut origin_lengths {
            *length = usize::from(u16::from_le_bytes(at.take()?));
        }
    }
    let text = str::from_utf8(at.rest).map_err(|_| CorruptBatch::Inconsistent("text"))?;
    let mut text = Text { rest: text };
    let call = ProfileCall {
        kind,
        timestamp_ms,
        is_public: flags & PUBLIC != 0,
        is_once: flags & ONCE != 0,
        is_known_only: flags & KNOWN_ONLY != 0,
        call_id: text.take(lengths[0])?,
        user_id: text.take(lengths[1])?,
        anonymous_id: text.take(lengths[2])?,
        previous_id: text.take(lengths[3])?,
        email: text.take(lengths[4])?,
        phone: text.take(lengths[5])?,
        attributes: text.take(attributes_bytes)?,
        sent_as: text.take(origin_lengths[0])?,
        key_id: text.take(origin_lengths[1])?,
    };
    if !text.rest.is_empty() {
        return Err(CorruptBatch::Inconsistent("profile call length"));
    }
    Ok((call, after))
}

/// Iterator over the profile calls of a [`Batch`].
#[derive(Debug, Clone)]
pub struct ProfileCalls<'a> {
    pub(super) rest: &'a [u8],
    pub(super) left: u32,
}

impl<'a> Iterator for ProfileCalls<'a> {
    type Item = ProfileCall<'a>;

    fn next(&mut self) -> Option<ProfileCall<'a>> {
        self.left = self.left.checked_sub(1)?;
        let (call, rest) = read(self.rest).expect("a batch is validated when it is made");
        self.rest = rest;
        Some(call)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.left as usize;
        (left, Some(left))
    }
}

impl ExactSizeIterator for ProfileCalls<'_> {}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use proptest::{collection::vec, prelude::*};

    use super::*;

    #[derive(Debug, Clone)]
    struct Owned {
        kind: ProfileCallKind,
        flags: (bool, bool, bool),
        timestamp_ms: i64,
        texts: Vec<String>,
        attributes: String,
    }

    impl Owned {
        fn call(&self) -> ProfileCall<'_> {
            let (is_public, is_once, is_known_only) = self.flags;
            ProfileCall {
                kind: self.kind,
                timestamp_ms: self.timestamp_ms,
                is_public,
                is_once,
                is_known_only,
                call_id: &self.texts[0],
                user_id: &self.texts[1],
                anonymous_id: &self.texts[2],
                previous_id: &self.texts[3],
                email: &self.texts[4],
                phone: &self.texts[5],
                attributes: &self.attributes,
                sent_as: &self.texts[6],
                key_id: &self.texts[7],
            }
        }
    }

    prop_compose! {
        fn any_call()(
            kind in prop::sample::select(ProfileCallKind::ALL.to_vec()),
            flags in any::<(bool, bool, bool)>(),
            timestamp_ms in any::<i64>(),
            texts in vec(".{0,20}", TEXT_COUNT + ORIGIN_TEXT_COUNT),
            attributes in ".{0,60}",
        ) -> Owned {
            Owned { kind, flags, timestamp_ms, texts, attributes }
        }
    }

    proptest! {
        #[test]
        fn calls_are_read_back_and_damage_is_noticed(calls in vec(any_call(), 1..6), cut in any::<prop::sample::Index>()) {
            let mut builder = ProfileBatchBuilder::default();
            for call in &calls {
                builder.push(&call.call());
            }
            let batch = builder.finish(Uuid::from_u128(7), 5, 9).unwrap();
            let bytes = batch.as_bytes();
            let read = Batch::from_bytes(bytes.clone()).unwrap();
            prop_assert_eq!(read.header().kind, BatchKind::Profiles);
            prop_assert_eq!(read.profile_calls().collect::<Vec<_>>(), calls.iter().map(Owned::call).collect::<Vec<_>>());
            prop_assert_eq!((read.events().len(), read.messages().len()), (0, 0));
            let cut = Bytes::copy_from_slice(&bytes[..cut.index(bytes.len())]);
            prop_assert!(Batch::from_bytes(cut).is_err());
        }
    }

    /// A batch as programs before 2026-11-28 appended it: its calls have no origin.
    const OLD: &[u8] = b"\x01\x03\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x07\x05\
        \x00\x00\x00\x00\x00\x00\x00\x09\x00\x00\x00\x00\x00\x00\x00=\x00\x00\x00\x00F\xfa\xfd\xa1\x01\x00\
        \x00\x01\x01\x0e\x00\x00\x00\x02\x00\x03\x00\x04\x00\x00\x00\x08\x00\x00\x00m1annanona@x.test{\x22pl\
        an\x22:\x22pro\x22}&\x00\x00\x00\x00F\xfa\xfd\xa1\x01\x00\x00\x02\x00\x00\x00\x00\x00\x02\x00\x03\
        \x00\x00\x00\x03\x00\x00\x00\x00\x00m2annold";

    #[test]
    fn a_batch_of_an_older_program_is_read() {
        let old = Batch::from_bytes(Bytes::from_static(OLD)).unwrap();
        let identify = ProfileCall {
            timestamp_ms: 1_795_262_400_000,
            is_public: true,
            call_id: "m1",
            user_id: "ann",
            anonymous_id: "anon",
            email: "a@x.test",
            attributes: r#"{"plan":"pro"}"#,
            ..ProfileCall::default()
        };
        let alias = ProfileCall {
            kind: ProfileCallKind::Alias,
            timestamp_ms: identify.timestamp_ms,
            call_id: "m2",
            user_id: "ann",
            previous_id: "old",
            ..ProfileCall::default()
        };
        assert_eq!(old.profile_calls().collect::<Vec<_>>(), [identify, alias]);
        assert_eq!((identify.name(), alias.name()), ("identify", "alias"));
    }

    #[test]
    fn an_empty_batch_is_none() {
        assert!(ProfileBatchBuilder::default().finish(Uuid::nil(), 0, 0).is_none());
    }
}
