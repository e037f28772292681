//! `GET /audit`: who changed the settings of the workspace.

use axum::{Json, extract::State};
use kernel::{
    Timestamp,
    fields::describe::words_schema,
    page::{PageWindow, Pagination},
};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    Services,
    audit_log::{self, AuditRow, Change},
    auth::{Caller, scope},
    http::{ApiResult, FromQuery, OffsetPage, Query, QueryFields},
};

pub(super) fn routes() -> OpenApiRouter<Services> {
    OpenApiRouter::new().routes(routes!(list_audit_entries))
}

/// Entries on a page by default, and at most.
type Page = OffsetPage<50, 200>;

words_schema!(
    /// A change that the audit log records.
    AuditAction = Change::NAMED
);

/// The query string, checked.
#[derive(Debug)]
struct AuditQuery {
    action: Option<Change>,
    page: Page,
}

impl FromQuery for AuditQuery {
    fn from_query(query: &mut QueryFields<'_>) -> Self {
        Self { action: query.one_of("action", Change::NAMED), page: Page::from_query(query) }
    }
}

/// What an entry says was changed.
#[derive(Debug, Serialize, ToSchema)]
struct AuditObject {
    /// The kind of object, such as `key`.
    kind: String,
    id: String,
    /// Its name at that time, if it had one.
    name: Option<String>,
}

/// One change of the settings of a workspace.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct AuditEntry {
    /// Grows with each entry.
    seq: i64,
    #[schema(value_type = AuditAction)]
    action: String,
    object: AuditObject,
    /// `api_key:<id>`, `user:<name>` or `command_line`.
    actor: String,
    ip_address: Option<String>,
    user_agent: Option<String>,
    /// Further facts, such as the scopes of a key.
    #[schema(value_type = Object)]
    details: Value,
    created_at: Timestamp,
}

impl From<AuditRow> for AuditEntry {
    fn from(row: AuditRow) -> Self {
        Self {
            seq: row.seq,
            action: row.action,
            object: AuditObject { kind: row.object_kind, id: row.object_id, name: row.object_name },
            actor: row.actor,
            ip_address: row.ip_address,
            user_agent: row.user_agent,
            details: row.details,
            created_at: row.created_at,
        }
    }
}

/// A page of the audit log.
#[derive(Debug, Serialize, ToSchema)]
struct AuditPage {
    /// The page, newest first.
    data: Vec<AuditEntry>,
    pagination: Pagination,
}

/// Lists changes of the workspace's settings, newest first.
#[utoipa::path(
    get,
    path = "/audit",
    tag = "settings",
    params(
        ("action" = Option<AuditAction>, Query),
        ("limit" = Option<u32>, Query, description = "default 50, at most 200"),
        ("offset" = Option<u64>, Query, description = "default 0"),
    ),
    responses((status = 200, body = AuditPage))
)]
async fn list_audit_entries(
    State(app): State<Services>,
    caller: Caller<scope::SettingsRead>,
    Query(AuditQuery { action, page: Page { limit, offset } }): Query<AuditQuery>,
) -> ApiResult<Json<AuditPage>> {
    let window = PageWindow { limit, offset };
    let (rows, total) = audit_log::list(app.db(), caller.workspace(), action, window).await?;
    let pagination = Pagination::new(window, rows.len(), total);
    Ok(Json(AuditPage { data: rows.into_iter().map(AuditEntry::from).collect(), pagination }))
}
