//! Reads batches, trusting nothing.

use uuid::Uuid;

use super::{
    BatchHeader, BatchKind, CorruptBatch, EVENT_FIXED_BYTES, EventView, FORMAT_VERSION, HAS_ORDER,
    HEADER_BYTES, IDENTIFIER_COUNT, IS_UNTRUSTED, NUMBER_BYTES, Numbers, ORDER_BYTES, OrderView,
};

/// Reads the header; the events are not looked at.
pub(super) fn header(bytes: &[u8]) -> Result<BatchHeader, CorruptBatch> {
    let version = *bytes.first().ok_or(CorruptBatch::Truncated("header"))?;
    if version != FORMAT_VERSION {
        return Err(CorruptBatch::Version(version));
    }
    let fixed =
        bytes.first_chunk::<HEADER_BYTES>().ok_or(CorruptBatch::Truncated("header"))?.as_slice();
    let kind = match fixed[1] {
        1 => BatchKind::Events,
        2 => BatchKind::Messages,
        3 => BatchKind::Profiles,
        other => return Err(CorruptBatch::Kind(other)),
    };
    if fixed[2..4] != [0, 0] {
        return Err(CorruptBatch::Inconsistent("header"));
    }
    let mut at = Cursor { rest: &fixed[4..] };
    Ok(BatchHeader {
        kind,
        count: u32::from_le_bytes(at.take()?),
        workspace_id: Uuid::from_bytes(at.take()?),
        received_at_ms: i64::from_le_bytes(at.take()?),
        first_seq: u64::from_le_bytes(at.take()?),
    })
}

/// Reads the event at the start of `bytes`; gives it and the bytes after it.
pub(super) fn event(bytes: &[u8]) -> Result<(EventView<'_>, &[u8]), CorruptBatch> {
    let length = bytes.first_chunk::<4>().ok_or(CorruptBatch::Truncated("event"))?;
    let length = u32::from_le_bytes(*length) as usize;
    if length < EVENT_FIXED_BYTES {
        return Err(CorruptBatch::Inconsistent("event length"));
    }
    let (whole, after) = bytes.split_at_checked(length).ok_or(CorruptBatch::Truncated("event"))?;
    let mut at = Cursor { rest: &whole[4..] };
    let mut event = EventView {
        timestamp_ms: i64::from_le_bytes(at.take()?),
        day: u16::from_le_bytes(at.take()?),
        ..EventView::default()
    };
    let flags = u16::from_le_bytes(at.take()?);
    if flags & !(HAS_ORDER | IS_UNTRUSTED) != 0 {
        return Err(CorruptBatch::Inconsistent("event flags"));
    }
    event.is_untrusted = flags & IS_UNTRUSTED != 0;
    let number_count = u16::from_le_bytes(at.take()?);
    let mut lengths = [0_usize; IDENTIFIER_COUNT];
    for length in &mut lengths {
        *length = usize::from(u16::from_le_bytes(at.take()?));
    }
    let properties_bytes = u32::from_le_bytes(at.take()?) as usize;
    let order = if flags & HAS_ORDER != 0 { Some(OrderFixed::read(&mut at)?) } else { None };
    let table_bytes = usize::from(number_count) * NUMBER_BYTES;
    let (table, text) =
        at.rest.split_at_checked(table_bytes).ok_or(CorruptBatch::Truncated("numbers"))?;
    let text = simdutf8::basic::from_utf8(text).map_err(|_| CorruptBatch::Inconsistent("text"))?;
    let mut text = Text { rest: text };
    event.event_name = text.take(lengths[0])?;
    event.user_id = text.take(lengths[1])?;
    event.anonymous_id = text.take(lengths[2])?;
    event.service_user_id = text.take(lengths[3])?;
    event.alias_label = text.take(lengths[4])?;
    event.alias_name = text.take(lengths[5])?;
    event.event_id = text.take(lengths[6])?;
    event.session_id = text.take(lengths[7])?;
    event.device_id = text.take(lengths[8])?;
    event.properties = text.take(properties_bytes)?;
    event.order = order.map(|order| order.view(&mut text)).transpose()?;
    event.numbers = numbers(table, text.rest)?;
    Ok((event, after))
}

/// Checks that the paths of the table are exactly `paths`.
fn numbers<'a>(table: &'a [u8], paths: &'a str) -> Result<Numbers<'a>, CorruptBatch> {
    let mut text = Text { rest: paths };
    for entry in table.chunks_exact(NUMBER_BYTES) {
        text.take(usize::from(u16::from_le_bytes([entry[0], entry[1]])))?;
    }
    if !text.rest.is_empty() {
        return Err(CorruptBatch::Inconsistent("event length"));
    }
    Ok(Numbers { table, paths })
}

/// The fixed part of an order, before its texts.
struct OrderFixed {
    revenue: Option<i64>,
    base_revenue: Option<i64>,
    order_id_bytes: usize,
    currency_bytes: usize,
    base_currency_bytes: usize,
}

impl OrderFixed {
    fn read(at: &mut Cursor<'_>) -> Result<Self, CorruptBatch> {
        if at.rest.len() < ORDER_BYTES {
            return Err(CorruptBatch::Truncated("order"));
        }
        let [flags] = at.take()?;
        if flags > 3 {
            return Err(CorruptBatch::Inconsistent("order flags"));
        }
        let revenue = i64::from_le_bytes(at.take()?);
        let base_revenue = i64::from_le_bytes(at.take()?);
        let order_id_bytes = u32::from_le_bytes(at.take()?) as usize;
        let [currency_bytes, base_currency_bytes] = at.take()?;
        Ok(Self {
            revenue: (flags & 1 != 0).then_some(revenue),
            base_revenue: (flags & 2 != 0).then_some(base_revenue),
            order_id_bytes,
            currency_bytes: usize::from(currency_bytes),
            base_currency_bytes: usize::from(base_currency_bytes),
        })
    }

    fn view<'a>(self, text: &mut Text<'a>) -> Result<OrderView<'a>, CorruptBatch> {
        Ok(OrderView {
            order_id: text.take(self.order_id_bytes)?,
            revenue: self.revenue,
            currency: text.take(self.currency_bytes)?,
            base_revenue: self.base_revenue,
            base_currency: text.take(self.base_currency_bytes)?,
        })
    }
}

/// Reads integers off the front of bytes.
pub(super) struct Cursor<'a> {
    pub(super) rest: &'a [u8],
}

impl Cursor<'_> {
    pub(super) fn take<const N: usize>(&mut self) -> Result<[u8; N], CorruptBatch> {
        let (taken, rest) =
            self.rest.split_first_chunk::<N>().ok_or(CorruptBatch::Truncated("event"))?;
        self.rest = rest;
        Ok(*taken)
    }
}

/// Reads strings off the front of validated text.
pub(super) struct Text<'a> {
    pub(super) rest: &'a str,
}

impl<'a> Text<'a> {
    pub(super) fn take(&mut self, length: usize) -> Result<&'a str, CorruptBatch> {
        let (taken, rest) =
            self.rest.split_at_checked(length).ok_or(CorruptBatch::Inconsistent("text"))?;
        self.rest = rest;
        Ok(taken)
    }
}
