//! `GET /lists/:listId/stats`: the memberships of a list, counted.

use axum::{Json, extract::State};
use kernel::ListId;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    Services,
    auth::{Caller, scope},
    http::{ApiResult, PathOf},
};

use crate::lists::{model, ops};

pub(super) fn routes() -> OpenApiRouter<Services> {
    OpenApiRouter::new().routes(routes!(list_stats))
}

/// Memberships of a list. `total` is `subscribed` plus `unsubscribed`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ListStats {
    /// Memberships, one a contact and channel.
    total: i64,
    /// Subscribed memberships by channel.
    by_channel: ByChannel,
    subscribed: i64,
    /// Memberships that were opted out of.
    unsubscribed: i64,
}

/// One number a channel.
#[derive(Debug, Serialize, ToSchema)]
struct ByChannel {
    email: i64,
    sms: i64,
    whatsapp: i64,
    push: i64,
    viber: i64,
}

impl From<model::Stats> for ListStats {
    fn from(stats: model::Stats) -> Self {
        let [email, sms, whatsapp, push, viber] = stats.by_channel;
        Self {
            total: stats.subscribed + stats.unsubscribed,
            by_channel: ByChannel { email, sms, whatsapp, push, viber },
            subscribed: stats.subscribed,
            unsubscribed: stats.unsubscribed,
        }
    }
}

/// Counts the memberships of a list.
#[utoipa::path(
    get,
    path = "/lists/{listId}/stats",
    tag = "lists",
    params(("listId" = ListId, Path)),
    responses((status = 200, body = ListStats), (status = 404, description = "absent or archived"))
)]
async fn list_stats(
    State(app): State<Services>,
    caller: Caller<scope::SettingsRead>,
    PathOf(id): PathOf<ListId>,
) -> ApiResult<Json<ListStats>> {
    Ok(Json(ops::stats(&app, caller.workspace(), id).await?.into()))
}
