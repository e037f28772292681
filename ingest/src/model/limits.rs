//! The specification's limits on events (section Limits), each in one place.

/// Elements of one `POST /events/track` array.
pub const EVENTS_PER_REQUEST_MAX: usize = 500;
/// Characters of an event name.
pub const EVENT_NAME_CHARS_MAX: usize = 255;
/// Characters of each identifier (`userId`, `anonymousId`, `sessionId`, `deviceId`, `clientEventId`, alias parts).
pub const IDENTIFIER_CHARS_MAX: usize = 255;
/// Top-level keys of an event's `properties`.
pub const PROPERTY_KEYS_MAX: usize = 200;
/// Bytes of an event's `properties` as compact UTF-8 JSON.
pub const PROPERTIES_BYTES_MAX: usize = 51_200;
/// Nesting depth of `properties`; the root object counts as 1.
pub const PROPERTIES_DEPTH_MAX: usize = 5;
/// Milliseconds since the epoch of 2000-01-01T00:00:00Z: no event is older.
pub const TIMESTAMP_MS_MIN: i64 = 946_684_800_000;
/// Milliseconds an event's time may lie ahead of the server's: 365 days.
pub const TIMESTAMP_AHEAD_MS_MAX: i64 = 365 * 24 * 3600 * 1000;
/// Hexadecimal characters of a `serviceUserId`.
pub const SERVICE_USER_ID_CHARS: usize = 24;
/// Bytes of all nested paths among an event's `numbers`, so that a long key over many leaves does
/// not multiply what is stored. Leaves beyond it stay in the properties only; top-level ones are
/// always kept.
pub const NESTED_NUMBER_PATHS_BYTES_MAX: usize = PROPERTIES_BYTES_MAX;
/// Bytes of a currency code; a longer one is no currency.
pub const CURRENCY_BYTES_MAX: usize = 16;
/// Ids the ingest handle remembers for retries without a timestamp: 40 bytes each, 40 MiB at most.
pub const WINDOW_ENTRIES_MAX: usize = 1 << 20;
/// How long it remembers them: 7 days, in milliseconds.
pub const WINDOW_RETENTION_MS: i64 = 7 * 24 * 3600 * 1000;

const _: () = assert!(IDENTIFIER_CHARS_MAX <= EVENT_NAME_CHARS_MAX);
const _: () = assert!(SERVICE_USER_ID_CHARS <= IDENTIFIER_CHARS_MAX);
