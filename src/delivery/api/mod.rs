//! The HTTP API of delivery: channels, transactional messages, tests, previews of launches.

mod channels;
mod devices;
mod eligibility;
mod preview_launch;
mod render;
mod test_send;
mod transactional;

use kernel::fields::Fields;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::DeliveryState;

/// Bytes of a request body after decompression, which also stops compression bombs.
const BODY_BYTES_MAX: usize = 8 << 20;
/// Characters of a user's id, internal or the caller's own.
const USER_ID_CHARS_MAX: usize = 255;
/// Characters of `to`: an address of RFC 5321, a number, or a caller's own id.
const TO_CHARS_MAX: usize = 320;
/// Bytes of `triggerData`, written compactly.
const TRIGGER_BYTES_MAX: usize = 64 << 10;

/// `POST /campaigns/transactional/send`, which has a rate of its own.
pub fn transactional() -> OpenApiRouter<DeliveryState> {
    OpenApiRouter::new().routes(routes!(transactional::send_transactional))
}

/// `GET /channels`, which settings pages ask.
pub fn channels() -> OpenApiRouter<DeliveryState> {
    OpenApiRouter::new().routes(routes!(channels::list_channels))
}

/// `GET /users/:userId/devices`, which support asks.
pub fn user_devices() -> OpenApiRouter<DeliveryState> {
    OpenApiRouter::new().routes(routes!(devices::list_user_devices))
}

/// What sends a test, of which a workspace has some each minute.
pub fn tests() -> OpenApiRouter<DeliveryState> {
    OpenApiRouter::new()
        .routes(routes!(channels::test_channel))
        .routes(routes!(test_send::send_test_email))
        .routes(routes!(test_send::send_test_sms))
        .routes(routes!(test_send::send_test_push))
        .routes(routes!(test_send::send_test_whatsapp))
        .routes(routes!(test_send::send_test_in_app))
}

/// The recipient of a test, by a profile or an address.
struct TestRecipient {
    user: Option<String>,
    to: Option<String>,
}

impl TestRecipient {
    /// Reads `userId`, of this meaning, and `to`. A blank one counts as absent.
    fn read(body: &mut Fields<'_>, user_about: &'static str) -> Self {
        let non_blank = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        let user = body.optional("userId").about(user_about).text(0..=USER_ID_CHARS_MAX);
        let to_about = "The address it goes to: an email address or a phone number; for push the id that the \
                        gateway knows.";
        let to = body.optional("to").about(to_about).text(0..=TO_CHARS_MAX);
        Self { user: non_blank(user), to: non_blank(to) }
    }

    /// Refuses a body that has neither. Asked once the other fields are read: their faults come first.
    fn require(&self, body: &mut Fields<'_>) {
        if self.user.is_none() && self.to.is_none() && body.is_clean() {
            body.refuse("userId", "or to is required");
        }
    }
}

/// A JSON object of at most `bytes_max` bytes, written compactly.
fn bounded_object(
    body: &mut Fields<'_>,
    name: &str,
    about: &'static str,
    bytes_max: usize,
) -> Option<serde_json::Map<String, serde_json::Value>> {
    let map = body.optional(name).about(about).json_object()?;
    let received = serde_json::to_vec(&map).map_or(usize::MAX, |bytes| bytes.len());
    if received > bytes_max {
        body.refuse(name, format!("must be at most {bytes_max} bytes, received {received}"));
        return None;
    }
    Some(map)
}

pub fn previews() -> OpenApiRouter<DeliveryState> {
    OpenApiRouter::new()
        .routes(routes!(preview_launch::preview_launch))
        .routes(routes!(render::preview_message))
        .routes(routes!(render::preview_unsaved_message))
        .routes(routes!(eligibility::campaign_eligibility))
}
