//! `GET /events/export`: every event of the workspace once, as a table.

use analytics::events::{ExportFilter, ExportPosition};
use axum::{extract::State, response::Response};
use http::HeaderMap;
use kernel::{DayEdge, Timestamp};
use tables::Format;
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    Services,
    auth::{Caller, scope},
    http::{ApiResult, FromQuery, Query, QueryFields},
};

use super::answer::{Begun, FORMAT_WORDS, format_of};
use crate::{model::events::read_cursor, ops::events::export};

pub(super) fn routes() -> OpenApiRouter<Services> {
    OpenApiRouter::new().routes(routes!(export_events))
}

/// Characters of an event name in the query string.
const NAME_CHARS_MAX: usize = 255;
/// Characters of a cursor: those of the longest name and id.
const CURSOR_CHARS_MAX: usize = 4_096;

/// The query string of an export.
#[derive(Debug)]
pub(super) struct ExportQuery {
    event_name: Option<String>,
    from: Option<Timestamp>,
    to: Option<Timestamp>,
    cursor: Option<ExportPosition>,
    format: Option<Format>,
}

impl FromQuery for ExportQuery {
    fn from_query(query: &mut QueryFields<'_>) -> Self {
        let from = query.timestamp("from", DayEdge::Start);
        let to = query.timestamp("to", DayEdge::End);
        if from.zip(to).is_some_and(|(from, to)| from > to) {
            query.refuse("from", "must not be after to");
        }
        let cursor = query.text("cursor", CURSOR_CHARS_MAX).and_then(|text| {
            let position = read_cursor(&text);
            if position.is_none() {
                query.refuse("cursor", "must be a value of the column cursor of an export");
            }
            position
        });
        Self {
            event_name: query.text("eventName", NAME_CHARS_MAX),
            from,
            to,
            cursor,
            format: query.one_of("format", FORMAT_WORDS),
        }
    }
}

/// Exports every event once, in order of time and event id.
///
/// Resume an export that broke off with `cursor`: the value of the column of that name in the last row received. An answer
/// that breaks off without its end is not whole. Of such a Parquet file no row can be read, so it begins anew.
#[utoipa::path(
    get,
    path = "/events/export",
    tag = "events",
    params(
        ("from" = Option<kernel::schema::QueryMoment>, Query, description = "ISO 8601, inclusive; default the first event"),
        ("to" = Option<kernel::schema::QueryMoment>, Query, description = "ISO 8601, inclusive; a date alone means its end"),
        ("eventName" = Option<String>, Query),
        ("format" = Option<String>, Query, description = "`ndjson` (default), `csv` or `parquet`; beats the header Accept"),
        ("cursor" = Option<String>, Query, description = "only events after the row with this cursor"),
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
async fn export_events(
    State(app): State<Services>,
    caller: Caller<scope::EventsRead>,
    headers: HeaderMap,
    Query(query): Query<ExportQuery>,
) -> ApiResult<Response> {
    let filter = ExportFilter {
        event_name: query.event_name,
        start_ms: query.from.map(Timestamp::millis),
        end_ms: query.to.map(Timestamp::millis),
        after: query.cursor,
        window_events: None,
    };
    let format = format_of(query.format, &headers);
    let pieces = export(&app, caller.workspace(), filter, format)?;
    Ok(Begun { app, caller, name: "events", format, pieces }.answer().await?)
}
