//! `PUT /users/:userId`, `PUT /users/by-user-id/:userId`.

use axum::{Json, extract::State};
use kernel::{Error, Result, Tenant};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use web::{
    Services,
    auth::{Caller, scope},
    http::{ApiError, ApiResult, CONTROL_BODY_BYTES_MAX, JsonBytes, Path},
};

use super::{
    read::internal_id,
    sent::{self, Texts},
    wire::UserBody,
};
use crate::users::{
    model::User,
    ops::{
        self,
        change::{Update, update},
        upsert::WriteContext,
    },
};

/// A change to a profile. Absent fields stay; an email or phone of null is cleared.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "describes the body for openapi; `sent` reads it field by field")]
struct UserUpdate {
    #[schema(value_type = Option<kernel::schema::EmailOrNone>)]
    email: Option<String>,
    #[schema(max_length = 20)]
    phone: Option<String>,
    /// Laid over the stored ones key by key; null is stored.
    #[schema(value_type = Option<Object>)]
    attributes: Option<serde_json::Value>,
}

type Sent = JsonBytes<CONTROL_BODY_BYTES_MAX>;

/// Changes a profile found by its internal id.
#[utoipa::path(
    put,
    path = "/users/{userId}",
    tag = "users",
    params(("userId" = kernel::UserId, Path, description = "internal id, 24-hex")),
    request_body = UserUpdate,
    responses((status = 200, body = UserBody), (status = 404, description = "no such active profile"))
)]
pub(super) async fn update_user(
    State(app): State<Services>,
    caller: Caller<scope::UsersWrite>,
    Path(user): Path<String>,
    body: Sent,
) -> ApiResult<Json<UserBody>> {
    let wanted = read(&body)?;
    let user = ops::by_id(app.db(), caller.workspace(), internal_id(&user)?).await?;
    let tenant = Tenant { organization: caller.organization(), workspace: caller.workspace() };
    changed(&app, tenant, user, &wanted).await.map_err(ApiError)
}

/// Changes a profile found by the caller's own id of it.
#[utoipa::path(
    put,
    path = "/users/by-user-id/{userId}",
    tag = "users",
    params(("userId" = String, Path, description = "external id")),
    request_body = UserUpdate,
    responses((status = 200, body = UserBody), (status = 404, description = "no such active profile"))
)]
pub(super) async fn update_user_by_external_id(
    State(app): State<Services>,
    caller: Caller<scope::UsersWrite>,
    Path(user): Path<String>,
    body: Sent,
) -> ApiResult<Json<UserBody>> {
    let wanted = read(&body)?;
    let user = ops::by_external_id(app.db(), caller.workspace(), &user).await?;
    let tenant = Tenant { organization: caller.organization(), workspace: caller.workspace() };
    changed(&app, tenant, user, &wanted).await.map_err(ApiError)
}

fn read(body: &Sent) -> Result<Update> {
    let json: &RawValue = super::json(&body.bytes)?;
    let texts = Texts::of(json).map_err(|_| Error::bad_request("body must be an object"))?;
    sent::update(&texts).map_err(Error::Invalid)
}

async fn changed(
    app: &Services,
    tenant: Tenant,
    user: User,
    wanted: &Update,
) -> Result<Json<UserBody>> {
    let country = app.country(tenant.workspace).await?;
    let context = WriteContext { db: app.db(), tenant, country, now: app.clock().now() };
    Ok(Json(update(context, user, wanted).await?.into()))
}
