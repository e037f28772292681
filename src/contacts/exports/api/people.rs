//! `GET /users/export`: every active profile of the workspace once, as a table.

use axum::{extract::State, response::Response};
use http::HeaderMap;
use kernel::UserId;
use tables::Format;
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    Services,
    auth::{Caller, scope},
    http::{ApiResult, FromQuery, Query, QueryFields},
};

use super::answer::{Begun, FORMAT_WORDS, format_of};
use crate::ops::people::export;

pub(super) fn routes() -> OpenApiRouter<Services> {
    OpenApiRouter::new().routes(routes!(export_people))
}

/// Characters of a cursor: those of an internal id.
const CURSOR_CHARS_MAX: usize = 24;

/// The query string of an export.
#[derive(Debug)]
struct PeopleQuery {
    cursor: Option<UserId>,
    format: Option<Format>,
}

impl FromQuery for PeopleQuery {
    fn from_query(query: &mut QueryFields<'_>) -> Self {
        let cursor = query.text("cursor", CURSOR_CHARS_MAX).and_then(|text| {
            let id = text.parse().ok();
            if id.is_none() {
                query.refuse("cursor", "must be a value of the column person_id of an export");
            }
            id
        });
        Self { cursor, format: query.one_of("format", FORMAT_WORDS) }
    }
}

/// Exports every active profile once, in order of internal id.
///
/// Each is as it was when its row was read. Resume an export that broke off with `cursor`: the `person_id` of the last row
/// received. An answer that breaks off without its end is not whole.
#[utoipa::path(
    get,
    path = "/users/export",
    tag = "users",
    params(
        ("format" = Option<String>, Query, description = "`ndjson` (default), `csv` or `parquet`; beats the header Accept"),
        ("cursor" = Option<UserId>, Query, description = "only profiles after the row with this `person_id`"),
    ),
    responses((
        status = 200,
        description = "a table; an object a line in NDJSON",
        content(
            (String = "application/x-ndjson"),
            (String = "text/csv"),
            (String = "application/vnd.apache.parquet")
        )
    ))
)]
async fn export_people(
    State(app): State<Services>,
    caller: Caller<scope::UsersRead>,
    headers: HeaderMap,
    Query(query): Query<PeopleQuery>,
) -> ApiResult<Response> {
    let format = format_of(query.format, &headers);
    let pieces = export(&app, caller.workspace(), query.cursor, format)?;
    Ok(Begun { app, caller, name: "people", format, pieces }.answer().await?)
}
