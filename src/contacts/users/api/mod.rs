//! HTTP handlers of users.

mod bin;
mod change;
mod events;
mod inline;
mod raw_fields;
mod read;
mod sent;
mod upsert;
mod wire;

use kernel::{Error, Result};
use serde_json::value::RawValue;
use utoipa_axum::{router::OpenApiRouter, routes};
use web::Services;

pub use self::wire::UsersPage;

/// The routes of `/users`.
pub fn routes() -> OpenApiRouter<Services> {
    OpenApiRouter::new()
        .routes(routes!(upsert::upsert_users, read::list_users))
        .routes(routes!(read::get_user_by_external_id, change::update_user_by_external_id))
        .merge(read::routes())
        .merge(bin::routes())
        .routes(routes!(read::get_user, change::update_user, bin::delete_user))
        .merge(events::routes())
}

/// A body's JSON as text.
fn json(bytes: &[u8]) -> Result<&RawValue> {
    if bytes.trim_ascii().is_empty() {
        return Err(Error::bad_request("body is not valid JSON: it is empty"));
    }
    serde_json::from_slice(bytes)
        .map_err(|wrong| Error::bad_request(format!("body is not valid JSON: {wrong}")))
}
