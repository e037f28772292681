//! `PUT /users/:userId`, `PUT /users/by-user-id/:userId`.

use axum::{Json, extract::State};
use kernel::{Error, Result, Tenant, UserId};
use serde_json::value::RawValue;
use web::{
    Services,
    auth::{Caller, scope},
    http::{ApiError, ApiResult, BodyFor, CONTROL_BODY_BYTES_MAX, JsonBytes, Path},
};

use super::{
    raw_fields::Texts,
    sent::{self, UserUpdate},
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

type Sent = JsonBytes<CONTROL_BODY_BYTES_MAX>;

/// Changes a profile found by its internal id.
#[utoipa::path(
    put,
    path = "/users/{userId}",
    tag = "users",
    params(("userId" = UserId, Path, description = "internal id, 24-hex")),
    request_body = UserUpdate,
    responses((status = 200, body = UserBody), (status = 404, description = "no such active profile"))
)]
pub(super) async fn update_user(
    State(app): State<Services>,
    caller: Caller<scope::UsersWrite>,
    BodyFor(user, body): BodyFor<Result<UserId>, Sent>,
) -> ApiResult<Json<UserBody>> {
    let wanted = read(&body)?;
    let user = ops::by_id(app.db(), caller.workspace(), user?).await?;
    let tenant = caller.tenant();
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
    let tenant = caller.tenant();
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
    let user = update(context, user, wanted).await?;
    Ok(Json(UserBody::of(app, tenant.workspace, user).await))
}
