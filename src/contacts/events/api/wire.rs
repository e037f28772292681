//! Events as they are read back.

use analytics::events::EventRow;
use kernel::{Error, EventTime, Result, Timestamp};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// An event as `GET /events/query` answers it. Absent ids are empty strings.
#[derive(Debug, Serialize, ToSchema)]
pub struct Event {
    /// The stored event id: the caller's `clientEventId`, or one minted by the service.
    pub event_id: String,
    /// The id it was tracked with: the caller's, else the internal one, else empty.
    pub user_id: String,
    pub anonymous_id: String,
    /// Name of the event.
    pub event_name: String,
    /// The caller's properties, as sent.
    #[schema(value_type = Object)]
    pub properties: Box<RawValue>,
    pub timestamp: EventTime,
    pub session_id: String,
    pub device_id: String,
}

impl TryFrom<EventRow> for Event {
    type Error = Error;

    fn try_from(row: EventRow) -> Result<Self> {
        Ok(Self {
            event_id: row.event_id,
            user_id: row.user_id,
            anonymous_id: row.anonymous_id,
            event_name: row.event_name,
            properties: RawValue::from_string(row.properties).map_err(anyhow::Error::from)?,
            timestamp: EventTime(Timestamp::from_millis(row.timestamp_ms)),
            session_id: row.session_id,
            device_id: row.device_id,
        })
    }
}
