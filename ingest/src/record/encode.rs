//! Writes batches.

use uuid::Uuid;

use super::{
    Batch, BatchHeader, BatchKind, EVENT_FIXED_BYTES, EventView, FORMAT_VERSION, HAS_ORDER,
    HEADER_BYTES, IS_UNTRUSTED, NUMBER_BYTES, OrderView, decode,
};

/// Builds one [`Batch`], event by event, in one buffer.
#[derive(Debug)]
pub struct BatchBuilder {
    bytes: Vec<u8>,
    count: u32,
}

impl BatchBuilder {
    /// An empty batch with room for `capacity` bytes.
    pub fn with_capacity(capacity: usize) -> Self {
        let mut bytes = Vec::with_capacity(capacity.max(HEADER_BYTES));
        bytes.resize(HEADER_BYTES, 0);
        Self { bytes, count: 0 }
    }

    /// Events encoded since `begin`.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Where the next event will begin: its handle for [`Self::set_time`] and [`Self::remove`].
    pub fn position(&self) -> usize {
        self.bytes.len()
    }

    /// The event at `position`; none where the batch ends there.
    pub(crate) fn event_at(&self, position: usize) -> Option<EventView<'_>> {
        decode::event(self.bytes.get(position..)?).ok().map(|(event, _)| event)
    }

    /// Gives the event at `position` another time and key day.
    pub fn set_time(&mut self, position: usize, timestamp_ms: i64, day: u16) {
        self.bytes[position + 4..position + 12].copy_from_slice(&timestamp_ms.to_le_bytes());
        self.bytes[position + 12..position + 14].copy_from_slice(&day.to_le_bytes());
    }

    /// Takes the events at `positions` (ascending) out again.
    pub fn remove(&mut self, positions: &[usize]) {
        let mut removed = positions.iter().copied().peekable();
        let (mut from, mut to) = (HEADER_BYTES, HEADER_BYTES);
        while let Some(length) = self.bytes.get(from..).and_then(|rest| rest.first_chunk::<4>()) {
            let end = from + u32::from_le_bytes(*length) as usize;
            if removed.next_if_eq(&from).is_some() {
                self.count -= 1;
            } else {
                self.bytes.copy_within(from..end, to);
                to += end - from;
            }
            from = end;
        }
        self.bytes.truncate(to);
    }

    /// Appends an event. The caller has held every field to its limit (`model::limits`): a field
    /// past what the format can say (64 KiB for an identifier) is a bug and panics.
    pub fn push(&mut self, event: &EventView<'_>) {
        let start = self.bytes.len();
        let out = &mut self.bytes;
        let mut fixed = [0_u8; EVENT_FIXED_BYTES];
        fixed[4..12].copy_from_slice(&event.timestamp_ms.to_le_bytes());
        fixed[12..14].copy_from_slice(&event.day.to_le_bytes());
        let flags = if event.order.is_some() { HAS_ORDER } else { 0 }
            | if event.is_untrusted { IS_UNTRUSTED } else { 0 };
        fixed[14..16].copy_from_slice(&flags.to_le_bytes());
        let number_count = short(event.numbers.table.len() / NUMBER_BYTES);
        fixed[16..18].copy_from_slice(&number_count.to_le_bytes());
        let identifiers = event.identifiers();
        for (slot, text) in fixed[18..36].chunks_exact_mut(2).zip(identifiers) {
            slot.copy_from_slice(&short(text.len()).to_le_bytes());
        }
        fixed[36..40].copy_from_slice(&long(event.properties.len()).to_le_bytes());
        out.extend_from_slice(&fixed);
        if let Some(order) = &event.order {
            push_order(out, order);
        }
        out.extend_from_slice(event.numbers.table);
        for text in identifiers {
            out.extend_from_slice(text.as_bytes());
        }
        out.extend_from_slice(event.properties.as_bytes());
        if let Some(order) = &event.order {
            for text in [order.order_id, order.currency, order.base_currency] {
                out.extend_from_slice(text.as_bytes());
            }
        }
        out.extend_from_slice(event.numbers.paths.as_bytes());
        let length = long(out.len() - start);
        out[start..start + 4].copy_from_slice(&length.to_le_bytes());
        self.count += 1;
    }

    /// The batch, or none when nothing was pushed. `first_seq` is the arrival number of its first
    /// event.
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
            kind: BatchKind::Events,
            workspace_id,
            received_at_ms,
            first_seq,
            count: self.count,
        };
        write_header(&mut self.bytes, &header);
        Some(Batch::written(self.bytes, header))
    }
}

/// Fills in the first [`HEADER_BYTES`] of a batch.
pub(super) fn write_header(bytes: &mut [u8], header: &BatchHeader) {
    bytes[0] = FORMAT_VERSION;
    bytes[1] = header.kind as u8;
    bytes[4..8].copy_from_slice(&header.count.to_le_bytes());
    bytes[8..24].copy_from_slice(header.workspace_id.as_bytes());
    bytes[24..32].copy_from_slice(&header.received_at_ms.to_le_bytes());
    bytes[32..40].copy_from_slice(&header.first_seq.to_le_bytes());
}

impl<'a> EventView<'a> {
    /// The nine strings before the properties, in the order of the format.
    pub(crate) fn identifiers(&self) -> [&'a str; super::IDENTIFIER_COUNT] {
        [
            self.event_name,
            self.user_id,
            self.anonymous_id,
            self.service_user_id,
            self.alias_label,
            self.alias_name,
            self.event_id,
            self.session_id,
            self.device_id,
        ]
    }
}

fn push_order(out: &mut Vec<u8>, order: &OrderView<'_>) {
    let flags = u8::from(order.revenue.is_some()) | u8::from(order.base_revenue.is_some()) << 1;
    out.push(flags);
    out.extend_from_slice(&order.revenue.unwrap_or_default().to_le_bytes());
    out.extend_from_slice(&order.base_revenue.unwrap_or_default().to_le_bytes());
    out.extend_from_slice(&long(order.order_id.len()).to_le_bytes());
    for currency in [order.currency, order.base_currency] {
        out.push(u8::try_from(currency.len()).expect("a currency is at most 255 bytes"));
    }
}

pub(super) fn short(length: usize) -> u16 {
    u16::try_from(length).expect("identifiers and number counts fit 16 bits")
}

pub(super) fn long(length: usize) -> u32 {
    u32::try_from(length).expect("an event is far below 4 GiB")
}
