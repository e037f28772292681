//! A message lifecycle event, as it is appended to the spool and read back.
//!
//! ```text
//! message  message_bytes u32 (of all of it, itself included) · timestamp_ms i64 · occurrence u32
//!          · kind u8 · flags u8 (bit 0: bot, bit 1: test) · campaign_id [16] · message_id [16]
//!          · length of each of the eleven texts u16 · the texts, end to end
//! ```

use uuid::Uuid;

use super::{
    Batch, BatchHeader, BatchKind, CorruptBatch, HEADER_BYTES,
    decode::{Cursor, Text},
    encode::{long, short, write_header},
};

/// Longest text of an event in bytes; a longer one is cut. Only texts from outside can be so long: a provider's reason, a
/// link with its query.
pub const MESSAGE_TEXT_BYTES_MAX: usize = 16 << 10;
/// Bytes of an encoded event before its texts.
const FIXED_BYTES: usize = 72;
/// Texts of a message event.
const TEXT_COUNT: usize = 11;
// Each length is a u16, and the header of an event ends with one length a text.
const _: () = assert!(MESSAGE_TEXT_BYTES_MAX <= u16::MAX as usize);
const _: () = assert!(FIXED_BYTES == 50 + 2 * TEXT_COUNT);
const BOT: u8 = 1;
const TEST: u8 = 2;

/// The kind of a message lifecycle event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[repr(u8)]
#[expect(missing_docs, reason = "the names of the others say all")]
pub enum MessageKind {
    /// The message was queued to be sent.
    #[default]
    Queued = 1,
    /// The message is not sent: its recipient is in the control group.
    Control = 2,
    /// Sending was postponed by a rule: quiet hours, a cap or a rate limit.
    Held = 3,
    Sent = 4,
    /// The provider postponed delivery.
    Deferred = 5,
    Delivered = 6,
    Opened = 7,
    Clicked = 8,
    Bounced = 9,
    Complained = 10,
    Unsubscribed = 11,
    /// The message is not sent: a rule excludes its recipient.
    Skipped = 12,
    /// The message or its campaign was cancelled.
    Cancelled = 13,
    Failed = 14,
    /// Shown in an app.
    Impression = 15,
    /// Closed in an app.
    Dismissed = 16,
}

impl MessageKind {
    /// All kinds in the order of their numbers in the format, which start at 1.
    pub const ALL: [Self; 16] = [
        Self::Queued,
        Self::Control,
        Self::Held,
        Self::Sent,
        Self::Deferred,
        Self::Delivered,
        Self::Opened,
        Self::Clicked,
        Self::Bounced,
        Self::Complained,
        Self::Unsubscribed,
        Self::Skipped,
        Self::Cancelled,
        Self::Failed,
        Self::Impression,
        Self::Dismissed,
    ];

    /// The kind's name in column `message_events.type`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Control => "control",
            Self::Held => "held",
            Self::Sent => "sent",
            Self::Deferred => "deferred",
            Self::Delivered => "delivered",
            Self::Opened => "opened",
            Self::Clicked => "clicked",
            Self::Bounced => "bounced",
            Self::Complained => "complained",
            Self::Unsubscribed => "unsubscribed",
            Self::Skipped => "skipped",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
            Self::Impression => "impression",
            Self::Dismissed => "dismissed",
        }
    }

    fn of_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number).checked_sub(1)?).copied()
    }
}

/// A message lifecycle event. Unknown texts are empty; a text longer than [`MESSAGE_TEXT_BYTES_MAX`] is cut.
///
/// Workspace, campaign, kind, user, message and `event_id` identify it: appended twice, it is stored once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MessageEvent<'a> {
    /// Arrival number. The batch assigns it; ignored when the event is appended.
    pub seq: u64,
    /// The message's campaign; nil without one.
    pub campaign_id: Uuid,
    /// What happened to the message.
    pub kind: MessageKind,
    /// The recipient's internal id, in lower-case hexadecimal; empty where it is unknown.
    pub user_id: &'a str,
    /// The id of the message.
    pub message_id: Uuid,
    /// Empty for a kind that happens once to a message; else an id that distinguishes repeated events.
    pub event_id: &'a str,
    /// When it happened: milliseconds since the epoch, UTC.
    pub timestamp_ms: i64,
    /// Number of the campaign's run; for a triggered campaign, of the recipient's entry.
    pub occurrence: u32,
    /// The id of the campaign's variant; empty without variants.
    pub variant_id: &'a str,
    /// The channel's name, for example `email`.
    pub channel: &'a str,
    /// Whether a machine caused it: a mail proxy or a link scanner.
    pub is_bot: bool,
    /// Whether it belongs to a test send, which no report counts.
    pub is_test: bool,
    /// The address that was clicked.
    pub url: &'a str,
    /// A link's label; of a bounce `hard` or `soft`.
    pub label: &'a str,
    /// The code of a failure, or the rule that held or skipped.
    pub code: &'a str,
    /// The reason in words, as a provider gave it.
    pub reason: &'a str,
    /// `ios`, `android` or `web`, where an app reports it.
    pub platform: &'a str,
    /// The id of the app that reported the event.
    pub app_id: &'a str,
    /// The id of the button that was pressed.
    pub button_id: &'a str,
}

impl<'a> MessageEvent<'a> {
    /// The texts in the order of the format.
    fn texts(&self) -> [&'a str; TEXT_COUNT] {
        [
            self.user_id,
            self.event_id,
            self.variant_id,
            self.channel,
            self.url,
            self.label,
            self.code,
            self.reason,
            self.platform,
            self.app_id,
            self.button_id,
        ]
    }
}

/// Builds a [`Batch`] of message events.
#[derive(Debug)]
pub struct MessageBatchBuilder {
    bytes: Vec<u8>,
    count: u32,
}

impl Default for MessageBatchBuilder {
    fn default() -> Self {
        Self { bytes: vec![0; HEADER_BYTES], count: 0 }
    }
}

impl MessageBatchBuilder {
    /// Number of message events pushed so far.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Encoded bytes so far, the header included.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Encodes a message event at the end of the batch.
    pub fn push(&mut self, event: &MessageEvent<'_>) {
        let start = self.bytes.len();
        let texts = event.texts().map(|text| cut(text, MESSAGE_TEXT_BYTES_MAX));
        let mut fixed = [0_u8; FIXED_BYTES];
        fixed[4..12].copy_from_slice(&event.timestamp_ms.to_le_bytes());
        fixed[12..16].copy_from_slice(&event.occurrence.to_le_bytes());
        fixed[16] = event.kind as u8;
        fixed[17] = (u8::from(event.is_bot) * BOT) | (u8::from(event.is_test) * TEST);
        fixed[18..34].copy_from_slice(event.campaign_id.as_bytes());
        fixed[34..50].copy_from_slice(event.message_id.as_bytes());
        for (slot, text) in fixed[50..].chunks_exact_mut(2).zip(texts) {
            slot.copy_from_slice(&short(text.len()).to_le_bytes());
        }
        self.bytes.extend_from_slice(&fixed);
        for text in texts {
            self.bytes.extend_from_slice(text.as_bytes());
        }
        let length = long(self.bytes.len() - start);
        self.bytes[start..start + 4].copy_from_slice(&length.to_le_bytes());
        self.count += 1;
        debug_assert_eq!(
            self.bytes.len() - start,
            FIXED_BYTES + texts.iter().map(|text| text.len()).sum::<usize>()
        );
    }

    /// The batch, or `None` when it is empty. `first_seq` is the arrival number of its first
    /// message event, `appended_at_ms` when it is appended (milliseconds since the epoch).
    pub fn finish(
        mut self,
        workspace_id: Uuid,
        appended_at_ms: i64,
        first_seq: u64,
    ) -> Option<Batch> {
        if self.count == 0 {
            return None;
        }
        let header = BatchHeader {
            kind: BatchKind::Messages,
            workspace_id,
            received_at_ms: appended_at_ms,
            first_seq,
            count: self.count,
        };
        write_header(&mut self.bytes, &header);
        Some(Batch::written(self.bytes, header))
    }
}

/// So many bytes of `text` at most, ending where a character does.
fn cut(text: &str, bytes_max: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes_max)).unwrap_or_default()
}

/// Reads the message event at the start of `bytes`; gives it and the bytes after it.
pub(super) fn read(bytes: &[u8]) -> Result<(MessageEvent<'_>, &[u8]), CorruptBatch> {
    let length = bytes.first_chunk::<4>().ok_or(CorruptBatch::Truncated("message"))?;
    let length = u32::from_le_bytes(*length) as usize;
    if length < FIXED_BYTES {
        return Err(CorruptBatch::Inconsistent("message length"));
    }
    let (whole, after) =
        bytes.split_at_checked(length).ok_or(CorruptBatch::Truncated("message"))?;
    let mut at = Cursor { rest: &whole[4..] };
    let timestamp_ms = i64::from_le_bytes(at.take()?);
    let occurrence = u32::from_le_bytes(at.take()?);
    let [kind, flags] = at.take()?;
    let kind = MessageKind::of_number(kind).ok_or(CorruptBatch::Inconsistent("message kind"))?;
    if flags & !(BOT | TEST) != 0 {
        return Err(CorruptBatch::Inconsistent("message flags"));
    }
    let campaign_id = Uuid::from_bytes(at.take()?);
    let message_id = Uuid::from_bytes(at.take()?);
    let mut lengths = [0_usize; TEXT_COUNT];
    for length in &mut lengths {
        *length = usize::from(u16::from_le_bytes(at.take()?));
    }
    let text = str::from_utf8(at.rest).map_err(|_| CorruptBatch::Inconsistent("text"))?;
    let mut text = Text { rest: text };
    let event = MessageEvent {
        seq: 0,
        campaign_id,
        kind,
        message_id,
        timestamp_ms,
        occurrence,
        is_bot: flags & BOT != 0,
        is_test: flags & TEST != 0,
        user_id: text.take(lengths[0])?,
        event_id: text.take(lengths[1])?,
        variant_id: text.take(lengths[2])?,
        channel: text.take(lengths[3])?,
        url: text.take(lengths[4])?,
        label: text.take(lengths[5])?,
        code: text.take(lengths[6])?,
        reason: text.take(lengths[7])?,
        platform: text.take(lengths[8])?,
        app_id: text.take(lengths[9])?,
        button_id: text.take(lengths[10])?,
    };
    if !text.rest.is_empty() {
        return Err(CorruptBatch::Inconsistent("message length"));
    }
    Ok((event, after))
}

/// Iterator over the message events of a [`Batch`].
#[derive(Debug, Clone)]
pub struct MessageEvents<'a> {
    pub(super) rest: &'a [u8],
    pub(super) next_seq: u64,
    pub(super) left: u32,
}

impl<'a> Iterator for MessageEvents<'a> {
    type Item = MessageEvent<'a>;

    fn next(&mut self) -> Option<MessageEvent<'a>> {
        self.left = self.left.checked_sub(1)?;
        let (mut event, rest) = read(self.rest).expect("a batch is validated when it is made");
        event.seq = self.next_seq;
        self.next_seq = self.next_seq.wrapping_add(1);
        self.rest = rest;
        Some(event)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.left as usize;
        (left, Some(left))
    }
}

impl ExactSizeIterator for MessageEvents<'_> {}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use proptest::{collection::vec, prelude::*};

    use super::*;

    #[derive(Debug, Clone)]
    struct Owned {
        texts: Vec<String>,
        kind: usize,
        ids: (u128, u128),
        timestamp_ms: i64,
        occurrence: u32,
        flags: (bool, bool),
    }

    fn owned() -> impl Strategy<Value = Owned> {
        (
            vec("\\PC{0,12}", TEXT_COUNT),
            0..MessageKind::ALL.len(),
            any::<(u128, u128)>(),
            any::<i64>(),
            any::<u32>(),
            any::<(bool, bool)>(),
        )
            .prop_map(|(texts, kind, ids, timestamp_ms, occurrence, flags)| Owned {
                texts,
                kind,
                ids,
                timestamp_ms,
                occurrence,
                flags,
            })
    }

    fn view(event: &Owned, seq: u64) -> MessageEvent<'_> {
        let text = |index: usize| event.texts[index].as_str();
        MessageEvent {
            seq,
            campaign_id: Uuid::from_u128(event.ids.0),
            kind: MessageKind::ALL[event.kind],
            user_id: text(0),
            message_id: Uuid::from_u128(event.ids.1),
            event_id: text(1),
            timestamp_ms: event.timestamp_ms,
            occurrence: event.occurrence,
            variant_id: text(2),
            channel: text(3),
            is_bot: event.flags.0,
            is_test: event.flags.1,
            url: text(4),
            label: text(5),
            code: text(6),
            reason: text(7),
            platform: text(8),
            app_id: text(9),
            button_id: text(10),
        }
    }

    fn batch(events: &[Owned]) -> Batch {
        let mut builder = MessageBatchBuilder::default();
        for event in events {
            builder.push(&view(event, 9));
        }
        builder.finish(Uuid::from_u128(7), 1_700_000_000_000, 42).unwrap()
    }

    proptest! {
        #[test]
        fn message_events_are_read_back_as_written(events in vec(owned(), 1..6)) {
            let batch = Batch::from_bytes(batch(&events).as_bytes().clone()).unwrap();
            prop_assert_eq!(*batch.header(), BatchHeader {
                kind: BatchKind::Messages,
                workspace_id: Uuid::from_u128(7),
                received_at_ms: 1_700_000_000_000,
                first_seq: 42,
                count: u32::try_from(events.len()).unwrap(),
            });
            prop_assert_eq!(batch.events().len(), 0, "these are no tracked events");
            let expected: Vec<_> = events.iter().zip(42..).map(|(event, seq)| view(event, seq)).collect();
            prop_assert_eq!(batch.messages().collect::<Vec<_>>(), expected);
        }

        #[test]
        fn damaged_and_cut_bytes_are_an_error_or_another_valid_batch(
            events in vec(owned(), 1..4),
            flip in (any::<prop::sample::Index>(), 0_u8..8),
            length in any::<prop::sample::Index>(),
        ) {
            let whole = batch(&events).as_bytes().clone();
            prop_assert!(Batch::from_bytes(whole.slice(..length.index(whole.len()))).is_err());
            let mut bytes = whole.to_vec();
            let index = flip.0.index(bytes.len());
            bytes[index] ^= 1 << flip.1;
            if let Ok(batch) = Batch::from_bytes(Bytes::from(bytes)) {
                let texts: usize = batch.messages().map(|event| event.reason.len()).sum();
                prop_assert!(texts <= whole.len());
            }
        }
    }

    #[test]
    fn kinds_are_numbered_from_one_as_they_are_listed() {
        for (kind, number) in MessageKind::ALL.into_iter().zip(1..) {
            assert_eq!(kind as u8, number, "{kind:?}");
            assert_eq!(MessageKind::of_number(number), Some(kind));
        }
        assert_eq!(MessageKind::of_number(0), None);
        assert_eq!(MessageKind::of_number(17), None);
    }

    #[test]
    fn a_text_past_its_limit_ends_with_its_last_whole_character() {
        for (length, kept) in [
            (MESSAGE_TEXT_BYTES_MAX, MESSAGE_TEXT_BYTES_MAX),
            (MESSAGE_TEXT_BYTES_MAX + 1, MESSAGE_TEXT_BYTES_MAX),
        ] {
            let reason = "x".repeat(length);
            let mut builder = MessageBatchBuilder::default();
            builder.push(&MessageEvent { reason: &reason, ..MessageEvent::default() });
            let batch = builder.finish(Uuid::nil(), 0, 0).unwrap();
            assert_eq!(batch.messages().next().unwrap().reason.len(), kept);
        }
        let reason = "é".repeat(MESSAGE_TEXT_BYTES_MAX);
        assert_eq!(cut(&reason, 5), "éé");
    }

    #[test]
    fn an_empty_builder_gives_no_batch() {
        assert!(MessageBatchBuilder::default().finish(Uuid::nil(), 0, 0).is_none());
    }
}
