//! Ledgers, looked at and cleared: `GET /suppressions`, `GET` and `DELETE /suppressions/:identifier`.

use axum::{Json, extract::State};
use kernel::{Error, ListId, Result, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;
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
    page::PageWindow,
    suppressions::{
        model::{Identifier, Ledger, LedgerAddress, Reason},
        ops::entries,
    },
};

/// Rows on a page where the caller asks for no number, and at most.
type Page = OffsetPage<100, 1000>;

/// What a list may be asked for.
#[derive(Debug)]
pub(super) struct Ask {
    reason: Option<Reason>,
    page: Page,
}

impl FromQuery for Ask {
    fn from_query(query: &mut QueryFields<'_>) -> Self {
        Self { reason: query.one_of("reason", Reason::NAMED), page: Page::from_query(query) }
    }
}

/// Nothing but the channel.
#[derive(Debug)]
pub(super) struct Nothing;

impl FromQuery for Nothing {
    fn from_query(_: &mut QueryFields<'_>) -> Self {
        Self
    }
}

/// Reads the identifier of a path.
fn named(ledger: Ledger, text: &str) -> Result<Identifier> {
    Identifier::read(ledger, text).map_err(|problem| Error::invalid("identifier", problem))
}

/// A page of a ledger.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Suppressions {
    /// The page, newest first.
    items: Vec<SuppressionRow>,
    /// Rows that match in all.
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
    ByQuery { holder, ledger, ask, .. }: ByQuery<ToRead, Ask>,
) -> ApiResult<Json<Suppressions>> {
    let Ask { reason, page: Page { limit, offset } } = ask;
    let workspace = holder.tenant().workspace;
    let (rows, total) =
        entries::list(app.db(), workspace, ledger, reason, PageWindow { limit, offset }).await?;
    let items = rows.into_iter().map(SuppressionRow::from).collect();
    Ok(Json(Suppressions { items, total, limit, offset }))
}

/// What is known of an identifier.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub(super) enum Standing {
    Suppressed(Box<Suppressed>),
    Clear(Clear),
}

/// An identifier that gets no message.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_field_names, reason = "the specification's names")]
pub(super) struct Suppressed {
    #[schema(value_type = kernel::schema::True)]
    suppressed: bool,
    identifier: String,
    reason: Reason,
    /// Where it came from.
    source: String,
    /// `global`, or `group` when only one list is blocked.
    #[schema(value_type = String)]
    scope: &'static str,
    /// The list of a group.
    list_id: Option<ListId>,
    created_at: Timestamp,
}

/// An identifier that is in no row.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Clear {
    #[schema(value_type = kernel::schema::False)]
    suppressed: bool,
}

/// Tells whether an identifier is suppressed, and by which row above all.
#[utoipa::path(
    get,
    path = "/suppressions/{identifier}",
    tag = "suppressions",
    params(
        ("identifier" = String, Path, description = "email address or phone number, URL-encoded"),
        ("channel" = Ledger, Query, description = "chooses the ledger, and the scope needed: email_suppression:read or sms_suppression:read"),
    ),
    responses((status = 200, body = Standing))
)]
pub(super) async fn find_suppression(
    State(app): State<Services>,
    ByQuery { holder, ledger, .. }: ByQuery<ToRead, Nothing>,
    Path(identifier): Path<String>,
) -> ApiResult<Json<Standing>> {
    let identifier = named(ledger, &identifier)?;
    let workspace = holder.tenant().workspace;
    let found = entries::find(app.db(), workspace, ledger, &identifier).await?;
    Ok(Json(match found {
        None => Standing::Clear(Clear { suppressed: false }),
        Some(row) => Standing::Suppressed(Box::new(Suppressed {
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
pub(super) async fn remove_suppressions(
    State(app): State<Services>,
    ByQuery { holder, ledger, .. }: ByQuery<ToWrite, Nothing>,
    requester: Requester,
    Path(identifier): Path<String>,
) -> ApiResult<Json<RemovedSuppressions>> {
    let identifier = named(ledger, &identifier)?;
    let origin = Origin { source: SOURCE.to_owned(), actor: holder.actor(), requester };
    let now = app.clock().now();
    let address = LedgerAddress { ledger, identifier };
    let removed = entries::remove(app.db(), now, holder.tenant(), &origin, &address).await?;
    let identifier = address.identifier.into_string();
    Ok(Json(RemovedSuppressions { identifier, removed }))
}
