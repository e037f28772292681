//! `GET /subscriptions/contacts/:userId/history`: every write of a contact's consent.

use axum::{Json, extract::State};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    Services,
    auth::{CallerOrSession, scope},
    http::{ApiResult, OffsetPage, Query},
};

use super::path::OfContact;
use crate::consent::{model::HistoryEntry, ops};
use kernel::page::PageWindow;

pub(super) fn routes() -> OpenApiRouter<Services> {
    OpenApiRouter::new().routes(routes!(list_history))
}

/// Entries on a page by default, and at most.
type Page = OffsetPage<50, 200>;

/// A page of a contact's history.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ConsentHistory)]
pub(super) struct History {
    /// The page, newest first.
    items: Vec<HistoryEntry>,
    total: u64,
}

/// Lists a contact's history, newest first.
#[utoipa::path(
    get,
    path = "/subscriptions/contacts/{userId}/history",
    tag = "consent",
    params(
        ("userId" = kernel::UserId, Path, description = "internal contact id, 24-hex"),
        ("limit" = Option<u32>, Query, description = "default 50, at most 200"),
        ("offset" = Option<u64>, Query, description = "default 0"),
    ),
    responses((status = 200, body = History))
)]
async fn list_history(
    State(app): State<Services>,
    caller: CallerOrSession<scope::ComplianceRead>,
    OfContact(contact): OfContact,
    Query(page): Query<Page>,
) -> ApiResult<Json<History>> {
    let page = PageWindow { limit: page.limit, offset: page.offset };
    let (items, total) =
        ops::read::history(app.db(), caller.tenant(), contact.user()?, page).await?;
    Ok(Json(History { items, total }))
}
