//! `GET /users/:userId/devices`: the devices that get the push notifications of a person.

use axum::{Json, extract::State};
use kernel::{Timestamp, UserId};
use serde::Serialize;
use utoipa::ToSchema;
use web::{
    auth::{Caller, scope},
    http::{ApiResult, PathOf},
};

use crate::{
    DeliveryState,
    ops::devices::{self, ListedDevice},
};

/// A device that gets push notifications.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct UserDevice {
    /// The id that the gateway knows it by: an FCM token, or the address of a web push subscription.
    token: String,
    /// `ios`, `android` or `web`.
    platform: &'static str,
    /// The app that registered it, if it said so.
    app_id: Option<String>,
    /// Whether it was registered with a user token.
    is_proven: bool,
    created_at: Timestamp,
    /// When it was registered last.
    updated_at: Timestamp,
}

impl From<ListedDevice> for UserDevice {
    fn from(device: ListedDevice) -> Self {
        let ListedDevice { token, platform, app_id, is_proven, created_at, updated_at } = device;
        Self { token, platform: platform.as_str(), app_id, is_proven, created_at, updated_at }
    }
}

/// The devices of a person.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct UserDevices {
    /// The last registered first; at most 20.
    data: Vec<UserDevice>,
}

/// Lists the devices of a person that get push notifications, the last registered first.
#[utoipa::path(
    get,
    path = "/users/{userId}/devices",
    tag = "users",
    params(("userId" = UserId, Path, description = "internal id, 24-hex")),
    responses((status = 200, body = UserDevices), (status = 404, description = "no such person"))
)]
pub(super) async fn list_user_devices(
    State(app): State<DeliveryState>,
    caller: Caller<scope::UsersRead>,
    PathOf(user): PathOf<UserId>,
) -> ApiResult<Json<UserDevices>> {
    let devices = devices::list(app.db(), caller.workspace(), user).await?;
    Ok(Json(UserDevices { data: devices.into_iter().map(UserDevice::from).collect() }))
}
