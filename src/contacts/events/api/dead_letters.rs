//! `/dead-letters`: rows that ClickHouse refused, and offering them again.

use axum::{Json, extract::State};
use ingest::pipeline::dead_letters::{DeadLetter, RetryReport};
use kernel::{
    Timestamp,
    fields::EmptyBody,
    page::{PageWindow, Pagination},
};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    Services,
    auth::{Caller, scope},
    http::{ApiResult, Body, FromQuery, OffsetPage, OptionalBody, Query, QueryFields, Requester},
};

use crate::events::ops;

pub(super) fn routes() -> OpenApiRouter<Services> {
    OpenApiRouter::new().routes(routes!(list_dead_letters)).routes(routes!(retry_dead_letters))
}

/// Rows on a page by default, and at most.
type Page = OffsetPage<50, 200>;

/// The query string, checked.
#[derive(Debug)]
struct DeadLettersQuery {
    page: Page,
}

impl FromQuery for DeadLettersQuery {
    fn from_query(query: &mut QueryFields<'_>) -> Self {
        Self { page: Page::from_query(query) }
    }
}

/// A row that ClickHouse refused for its content.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ListedDeadLetter {
    id: String,
    /// When ClickHouse refused it.
    at: Timestamp,
    /// The table it is for: `events` or `message_events`.
    table: &'static str,
    /// The id of the event; of a message event that of the message.
    event_id: Option<String>,
    /// The name of the event; of a message event its type.
    name: Option<String>,
    /// ClickHouse's error number; 0 if it was refused before it reached ClickHouse.
    code: u16,
    reason: String,
    /// The row by the names of its columns; null if it could not be written as text.
    #[schema(value_type = Option<Object>)]
    row: Option<Box<RawValue>>,
}

impl From<DeadLetter> for ListedDeadLetter {
    fn from(letter: DeadLetter) -> Self {
        Self {
            id: letter.id,
            at: Timestamp::from_millis(i64::try_from(letter.at_ms).unwrap_or_default()),
            table: letter.table.name(),
            event_id: letter.event_id,
            name: letter.event_name,
            code: letter.code,
            reason: letter.reason,
            row: letter.row,
        }
    }
}

/// A page of rows that ClickHouse refused.
#[derive(Debug, Serialize, ToSchema)]
struct DeadLettersPage {
    /// The page, newest first.
    data: Vec<ListedDeadLetter>,
    pagination: Pagination,
}

/// The result of a retry.
#[derive(Debug, Serialize, ToSchema)]
struct DeadLettersRetried {
    /// Rows that are stored now, and no dead letters any more.
    inserted: usize,
    /// Rows that were refused again: they stay, with the new reason.
    refused: usize,
}

/// Lists the workspace's rows that ClickHouse refused, newest first. They are on the disk of the server that answers: of
/// several, each has its own.
#[utoipa::path(
    get,
    path = "/dead-letters",
    tag = "events",
    params(
        ("limit" = Option<u32>, Query, description = "default 50, at most 200"),
        ("offset" = Option<u64>, Query, description = "default 0"),
    ),
    responses((status = 200, body = DeadLettersPage))
)]
async fn list_dead_letters(
    State(app): State<Services>,
    caller: Caller<scope::EventsRead>,
    Query(DeadLettersQuery { page: Page { limit, offset } }): Query<DeadLettersQuery>,
) -> ApiResult<Json<DeadLettersPage>> {
    let window = PageWindow { limit, offset };
    let (letters, total) = ops::dead_letters::list(&app, caller.workspace(), window).await?;
    let total = u64::try_from(total).unwrap_or(u64::MAX);
    let pagination = Pagination::new(window, letters.len(), total);
    let data = letters.into_iter().map(ListedDeadLetter::from).collect();
    Ok(Json(DeadLettersPage { data, pagination }))
}

/// Offers the workspace's refused rows to ClickHouse again, after what made it refuse them was changed. With the embedded
/// ClickHouse it takes 13 seconds or more, until reports expect rows that came twice.
#[utoipa::path(
    post,
    path = "/dead-letters/retry",
    tag = "events",
    responses(
        (status = 200, body = DeadLettersRetried),
        (status = 409, description = "another retry, or a removal, is under way"),
    )
)]
async fn retry_dead_letters(
    State(app): State<Services>,
    caller: Caller<scope::SettingsWrite>,
    requester: Requester,
    _: Body<OptionalBody<EmptyBody>>,
) -> ApiResult<Json<DeadLettersRetried>> {
    let author = app.author(caller.actor(), requester);
    let report = ops::dead_letters::retry(&app, caller.workspace(), &author).await?;
    let RetryReport { inserted, refused, .. } = report;
    Ok(Json(DeadLettersRetried { inserted, refused }))
}
