//! One event, borrowed: what is pushed into a batch and what is read back from it.

use super::NUMBER_BYTES;

/// One admitted event. Strings are empty where the caller sent none.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct EventView<'a> {
    /// Arrival number, unique and increasing per node. Assigned by the batch: ignored when pushed.
    pub seq: u64,
    /// `eventName` as tracked, never empty.
    pub event_name: &'a str,
    /// When it happened: milliseconds since the epoch, UTC.
    pub timestamp_ms: i64,
    /// Key day: days since the epoch. See `admit` for how it is chosen.
    pub day: u16,
    /// `userId` as tracked, empty when absent.
    pub user_id: &'a str,
    /// `anonymousId` as tracked, empty when absent.
    pub anonymous_id: &'a str,
    /// `serviceUserId` in lower case, empty when absent.
    pub service_user_id: &'a str,
    /// `userAlias.aliasLabel` as tracked, empty when absent.
    pub alias_label: &'a str,
    /// `userAlias.aliasName` as tracked, empty when absent.
    pub alias_name: &'a str,
    /// The stored event id: `clientEventId`, or a UUIDv7.
    pub event_id: &'a str,
    /// `sessionId` as tracked, empty when absent.
    pub session_id: &'a str,
    /// `deviceId` as tracked, empty when absent.
    pub device_id: &'a str,
    /// The caller's properties as JSON, an object, `{}` when absent.
    pub properties: &'a str,
    /// Numeric leaves of the properties.
    pub numbers: Numbers<'a>,
    /// The order that an `Order Completed` event describes.
    pub order: Option<OrderView<'a>>,
    /// Whether it came with a public key under a name that is not trusted: it sets nothing off.
    pub is_untrusted: bool,
}

impl<'a> EventView<'a> {
    /// Numeric leaves of the properties by dot path.
    pub fn numbers(&self) -> NumbersIter<'a> {
        self.numbers.into_iter()
    }
}

/// What `Order Completed` says about money.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OrderView<'a> {
    /// `properties.orderId`, empty when absent.
    pub order_id: &'a str,
    /// `properties.total` in ten-thousandths; none when missing or not a number.
    pub revenue: Option<i64>,
    /// `properties.currency` in upper case, empty when absent.
    pub currency: &'a str,
    /// `properties.total_base` in ten-thousandths of `base_currency`.
    pub base_revenue: Option<i64>,
    /// `properties.base_currency` in upper case, empty when absent.
    pub base_currency: &'a str,
}

/// Numeric leaves of an event's properties.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Numbers<'a> {
    pub(super) table: &'a [u8],
    pub(super) paths: &'a str,
}

impl<'a> IntoIterator for Numbers<'a> {
    type Item = (&'a str, f64);
    type IntoIter = NumbersIter<'a>;

    fn into_iter(self) -> NumbersIter<'a> {
        NumbersIter { table: self.table, paths: self.paths }
    }
}

/// Iterator of (dot path, value).
#[derive(Debug, Clone)]
pub struct NumbersIter<'a> {
    table: &'a [u8],
    paths: &'a str,
}

impl<'a> Iterator for NumbersIter<'a> {
    type Item = (&'a str, f64);

    fn next(&mut self) -> Option<(&'a str, f64)> {
        let (length, rest) = self.table.split_first_chunk::<2>()?;
        let (value, rest) = rest.split_first_chunk::<8>()?;
        self.table = rest;
        let (path, paths) =
            self.paths.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
        self.paths = paths;
        Some((path, f64::from_le_bytes(*value)))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.table.len() / NUMBER_BYTES;
        (left, Some(left))
    }
}

impl ExactSizeIterator for NumbersIter<'_> {}

/// Collects numeric leaves in the form the record keeps them; reused from event to event.
#[derive(Debug, Clone, Default)]
pub struct NumberBuffer {
    table: Vec<u8>,
    paths: String,
}

/// A state of a [`NumberBuffer`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct NumbersMark {
    table: usize,
    paths: usize,
}

impl NumberBuffer {
    /// Forgets all leaves, keeps the memory.
    pub fn clear(&mut self) {
        self.table.clear();
        self.paths.clear();
    }

    /// Where the leaves end that were added so far, for [`Self::truncate`].
    pub(crate) fn mark(&self) -> NumbersMark {
        NumbersMark { table: self.table.len(), paths: self.paths.len() }
    }

    /// Forgets the leaves that were added since then.
    pub(crate) fn truncate(&mut self, mark: NumbersMark) {
        self.table.truncate(mark.table);
        self.paths.truncate(mark.paths);
    }

    /// Bytes of all paths so far.
    pub fn paths_bytes(&self) -> usize {
        self.paths.len()
    }

    /// Adds a leaf. A path longer than 65,535 bytes or a leaf past the 65,535th is left out.
    pub fn push(&mut self, path: &str, value: f64) {
        let Ok(length) = u16::try_from(path.len()) else { return };
        if self.table.len() / NUMBER_BYTES >= usize::from(u16::MAX) {
            return;
        }
        let mut entry = [0; NUMBER_BYTES];
        entry[..2].copy_from_slice(&length.to_le_bytes());
        entry[2..].copy_from_slice(&value.to_le_bytes());
        self.table.extend_from_slice(&entry);
        self.paths.push_str(path);
    }

    /// The leaves so far.
    pub fn view(&self) -> Numbers<'_> {
        Numbers { table: &self.table, paths: &self.paths }
    }
}
