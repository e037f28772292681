//! Reading ledgers and removing rows: `GET /suppressions`, `GET` and `DELETE /suppressions/:identifier`, and its history.

use axum::{Json, extract::State};
use kernel::{Error, ListId, Result, Timestamp, WorkspaceId};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    Services,
    audit::Origin,
    http::{ApiResult, FromQuery, OffsetPage, Path, QueryFields, Requester},
};

use super::{
    access::{ByQuery, ToRead, ToWrite},
    add::SOURCE,
    wire::SuppressionRow,
};
use crate::{
    model::{HistoryAction, HistoryEntry, Identifier, Ledger, LedgerAddress, Reason},
    ops::entries,
};
use kernel::page::PageWindow;

pub(super) fn routes() -> OpenApiRouter<Services> {
    OpenApiRouter::new()
        .routes(routes!(find_suppression, remove_suppressions))
        .routes(routes!(list_history))
}

/// Rows on a page by default, and at most.
type Page = OffsetPage<100, 1000>;

/// The query string of a request for rows, besides the channel.
#[derive(Debug)]
pub(super) struct LedgerQuery {
    reason: Option<Reason>,
    page: Page,
}

impl FromQuery for LedgerQuery {
    fn from_query(query: &mut QueryFields<'_>) -> Self {
        Self { reason: query.one_of("reason", Reason::NAMED), page: Page::from_query(query) }
    }
}

/// A query string with only the channel.
#[derive(Debug)]
pub(super) struct ChannelOnly;

impl FromQuery for ChannelOnly {
    fn from_query(_: &mut QueryFields<'_>) -> Self {
        Self
    }
}

/// Reads the identifier of a path.
async fn named(
    app: &Services,
    workspace: WorkspaceId,
    ledger: Ledger,
    text: &str,
) -> Result<Identifier> {
    let identifier =
        Identifier::read(ledger, text).map_err(|problem| Error::invalid("identifier", problem))?;
    Ok(identifier.in_country(ledger, app.country(workspace).await?))
}

/// A page of a ledger.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Suppressions {
    /// The rows of the page, the newest first.
    items: Vec<SuppressionRow>,
    /// The number of matching rows.
    total: u64,
    /// The limit that was applied.
    limit: u32,
    /// The offset that was applied.
    offset: u64,
}

/// Lists a ledger, newest first.
#[utoipa::path(
    get,
    path = "/suppressions",
    tag = "suppressions",
    params(
        ("channel" = Ledger, Query, description = "chooses the ledger, and the scope needed: email_suppression:read or sms_suppression:read"),
        ("reason" = Option<Reason>, Query),
        ("limit" = Option<u32>, Query, description = "default 100, at most 1000"),
        ("offset" = Option<u64>, Query, description = "default 0"),
    ),
    responses((status = 200, body = Suppressions))
)]
pub(super) async fn list_suppressions(
    State(app): State<Services>,
    ByQuery { holder, ledger, query, .. }: ByQuery<ToRead, LedgerQuery>,
) -> ApiResult<Json<Suppressions>> {
    let LedgerQuery { reason, page: Page { limit, offset } } = query;
    let workspace = holder.tenant().workspace;
    let (rows, total) =
        entries::list(app.db(), workspace, ledger, reason, PageWindow { limit, offset }).await?;
    let items = rows.into_iter().map(SuppressionRow::from).collect();
    Ok(Json(Suppressions { items, total, limit, offset }))
}

/// Whether an identifier is suppressed.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub(super) enum SuppressionStatus {
    Suppressed(Box<Suppressed>),
    Clear(Clear),
}

/// The row of a suppressed identifier.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_field_names, reason = "the specification's names")]
pub(super) struct Suppressed {
    #[schema(value_type = kernel::schema::True)]
    suppressed: bool,
    identifier: String,
    reason: Reason,
    /// The source of the row.
    source: String,
    /// `global`, or `group` for one list only.
    #[schema(value_type = String)]
    scope: &'static str,
    /// The list of a group.
    list_id: Option<ListId>,
    created_at: Timestamp,
}

/// An identifier without a row.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Clear {
    #[schema(value_type = kernel::schema::False)]
    suppressed: bool,
}

/// Checks whether an identifier is suppressed. Of several rows, returns the one that takes precedence.
#[utoipa::path(
    get,
    path = "/suppressions/{identifier}",
    tag = "suppressions",
    params(
        ("identifier" = String, Path, description = "email address or phone number, URL-encoded"),
        ("channel" = Ledger, Query, description = "chooses the ledger, and the scope needed: email_suppression:read or sms_suppression:read"),
    ),
    responses((status = 200, body = SuppressionStatus))
)]
async fn find_suppression(
    State(app): State<Services>,
    ByQuery { holder, ledger, .. }: ByQuery<ToRead, ChannelOnly>,
    Path(identifier): Path<String>,
) -> ApiResult<Json<SuppressionStatus>> {
    let workspace = holder.tenant().workspace;
    let identifier = named(&app, workspace, ledger, &identifier).await?;
    let found = entries::find(app.db(), workspace, ledger, &identifier).await?;
    Ok(Json(match found {
        None => SuppressionStatus::Clear(Clear { suppressed: false }),
        Some(row) => SuppressionStatus::Suppressed(Box::new(Suppressed {
            suppressed: true,
            identifier: row.identifier.into_string(),
            reason: row.reason,
            source: row.source,
            scope: row.scope.as_str(),
            list_id: row.scope.list(),
            created_at: row.created_at,
        })),
    }))
}

/// A row that was added to a ledger or removed from it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SuppressionHistoryEntry {
    action: HistoryAction,
    at: Timestamp,
    /// The reason of the row.
    reason: Reason,
    /// Of an addition the source of the row. Of a removal by which way it came; null where the platform removed the row.
    source: Option<String>,
    /// `global`, or `group` for one list only.
    #[schema(value_type = String)]
    scope: &'static str,
    /// The list of a group.
    list_id: Option<ListId>,
    /// The credential that added or removed the row. Null for the platform, for another workspace's, and for additions that were
    /// made before it was recorded.
    actor: Option<String>,
}

impl From<HistoryEntry> for SuppressionHistoryEntry {
    fn from(entry: HistoryEntry) -> Self {
        Self {
            action: entry.action,
            at: entry.at,
            reason: entry.reason,
            source: entry.source,
            scope: entry.scope.as_str(),
            list_id: entry.scope.list(),
            actor: entry.actor,
        }
    }
}

/// A page of the history of an identifier.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SuppressionHistory {
    /// The entries of the page, the newest first.
    items: Vec<SuppressionHistoryEntry>,
    /// The number of all entries.
    total: u64,
    /// The limit that was applied.
    limit: u32,
    /// The offset that was applied.
    offset: u64,
}

/// Lists when rows of an identifier were added and removed, newest first, also of one that is not suppressed now.
#[utoipa::path(
    get,
    path = "/suppressions/{identifier}/history",
    tag = "suppressions",
    params(
        ("identifier" = String, Path, description = "email address or phone number, URL-encoded"),
        ("channel" = Ledger, Query, description = "chooses the ledger, and the scope needed: email_suppression:read or sms_suppression:read"),
        ("limit" = Option<u32>, Query, description = "default 100, at most 1000"),
        ("offset" = Option<u64>, Query, description = "default 0"),
    ),
    responses((status = 200, body = SuppressionHistory))
)]
async fn list_history(
    State(app): State<Services>,
    ByQuery { holder, ledger, query, .. }: ByQuery<ToRead, Page>,
    Path(identifier): Path<String>,
) -> ApiResult<Json<SuppressionHistory>> {
    let Page { limit, offset } = query;
    let workspace = holder.tenant().workspace;
    let identifier = named(&app, workspace, ledger, &identifier).await?;
    let address = LedgerAddress { ledger, identifier };
    let page = PageWindow { limit, offset };
    let (entries, total) = entries::history(app.db(), workspace, &address, page).await?;
    let items = entries.into_iter().map(SuppressionHistoryEntry::from).collect();
    Ok(Json(SuppressionHistory { items, total, limit, offset }))
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct RemovedSuppressions {
    identifier: String,
    removed: u64,
}

/// Removes every row of an identifier from a ledger, deliverability rows included.
#[utoipa::path(
    delete,
    path = "/suppressions/{identifier}",
    tag = "suppressions",
    params(
        ("identifier" = String, Path, description = "email address or phone number, URL-encoded"),
        ("channel" = Ledger, Query, description = "chooses the ledger, and the scope needed: email_suppression:write or sms_suppression:write"),
    ),
    responses((status = 200, body = RemovedSuppressions))
)]
async fn remove_suppressions(
    State(app): State<Services>,
    ByQuery { holder, ledger, .. }: ByQuery<ToWrite, ChannelOnly>,
    requester: Requester,
    Path(identifier): Path<String>,
) -> ApiResult<Json<RemovedSuppressions>> {
    let identifier = named(&app, holder.tenant().workspace, ledger, &identifier).await?;
    let origin = Origin { source: SOURCE.to_owned(), actor: holder.actor(), requester };
    let now = app.clock().now();
    let address = LedgerAddress { ledger, identifier };
    let removed = entries::remove(app.db(), now, holder.tenant(), &origin, &address).await?;
    let identifier = address.identifier.into_string();
    Ok(Json(RemovedSuppressions { identifier, removed }))
}
