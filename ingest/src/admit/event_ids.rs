//! Ids of events that came without one: UUIDv7 of the time they were received.

use uuid::{Builder, Uuid};

/// Characters of a UUID with hyphens.
pub(super) const TEXT_BYTES: usize = uuid::fmt::Hyphenated::LENGTH;

/// Mints UUIDv7 (RFC 9562, 5.7). The random part is drawn once per request and then counted up
/// (6.2, method 2), so that the ids of one request sort as its events do, and 500 of them cost one
/// call to the kernel.
#[derive(Debug, Default)]
pub(super) struct EventIds {
    received_at_ms: u64,
    random: Option<u128>,
}

impl EventIds {
    /// Begins a request received at that time.
    pub(super) fn begin_request(&mut self, received_at_ms: i64) {
        self.received_at_ms = u64::try_from(received_at_ms).unwrap_or(0);
        self.random = None;
    }

    /// Writes the next id into `text`.
    pub(super) fn mint<'t>(&mut self, text: &'t mut [u8; TEXT_BYTES]) -> &'t str {
        let random = match self.random {
            Some(random) => random.wrapping_add(1),
            None => Self::draw(),
        };
        self.random = Some(random);
        let bytes = random.to_be_bytes();
        let mut low = [0; 10];
        low.copy_from_slice(&bytes[6..]);
        Builder::from_unix_timestamp_millis(self.received_at_ms, &low)
            .into_uuid()
            .hyphenated()
            .encode_lower(text)
    }

    /// 80 random bits: the first 48 of a version 4 id are random, the next 4 say its version.
    fn draw() -> u128 {
        let (high, low) = (Uuid::new_v4().as_u128() >> 80, Uuid::new_v4().as_u128() >> 80);
        high << 32 | low & 0xFFFF_FFFF
    }
}
