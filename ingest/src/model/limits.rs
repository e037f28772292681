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
