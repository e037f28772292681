//! `GET /insights/events` and `/insights/properties`: what can be asked about.

use analytics::insights::{EventName, PropertyFound};
use axum::{Json, extract::State};
use kernel::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    auth::{Caller, scope},
    http::{ApiResult, FromQuery, Query, QueryFields},
};

use crate::{
    model::TEXT_CHARS_MAX,
    ops::{InsightState, catalog},
};

/// Names in an answer where the caller gives no limit, and at most.
const NAMES_DEFAULT: i64 = 100;
const NAMES_MAX: i64 = 1_000;

pub(super) fn routes() -> OpenApiRouter<InsightState> {
    OpenApiRouter::new().routes(routes!(list_event_names)).routes(routes!(list_event_properties))
}

#[derive(Debug)]
struct NamesQuery {
    limit: u64,
}

impl FromQuery for NamesQuery {
    fn from_query(query: &mut QueryFields<'_>) -> Self {
        Self { limit: query.integer("limit", NAMES_DEFAULT, 1..=NAMES_MAX).unsigned_abs() }
    }
}

#[derive(Debug)]
struct PropertiesQuery {
    event_name: String,
}

impl FromQuery for PropertiesQuery {
    fn from_query(query: &mut QueryFields<'_>) -> Self {
        Self { event_name: query.required_text("eventName", TEXT_CHARS_MAX) }
    }
}

/// Events of one name.
#[derive(Debug, Serialize, ToSchema)]
struct EventNameBody {
    name: String,
    /// Events of the last 30 days.
    count: u64,
    /// When the newest happened.
    newest: Timestamp,
}

/// The events of a workspace.
#[derive(Debug, Serialize, ToSchema)]
struct EventNames {
    data: Vec<EventNameBody>,
}

/// A property of events of one name.
#[derive(Debug, Serialize, ToSchema)]
struct PropertyBody {
    name: String,
    /// Of `string`, `number`, `boolean`, `object`, `array` and `null`.
    types: Vec<&'static str>,
    /// The fraction of the events that have it.
    share: f64,
    /// Its values, the most frequent first, where there are at most 20; absent where there are more.
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<Vec<PropertyValue>>,
}

/// A frequent value of a property.
#[derive(Debug, Serialize, ToSchema)]
struct PropertyValue {
    /// As text of at most 255 characters; lists and objects as JSON.
    value: String,
    /// The fraction of the events that have it.
    share: f64,
}

/// The properties of the newest events of a name.
#[derive(Debug, Serialize, ToSchema)]
struct EventProperties {
    /// Events that were looked at: those of the newest days, at most 10,000.
    sampled: u64,
    /// At the top level, those of the most events first.
    data: Vec<PropertyBody>,
}

/// Lists the names of events, those with the most events of the last 30 days first.
#[utoipa::path(
    get,
    path = "/insights/events",
    tag = "insights",
    params(("limit" = Option<u32>, Query, description = "default 100, at most 1000")),
    responses((status = 200, body = EventNames))
)]
async fn list_event_names(
    State(app): State<InsightState>,
    caller: Caller<scope::EventsRead>,
    Query(NamesQuery { limit }): Query<NamesQuery>,
) -> ApiResult<Json<EventNames>> {
    let names = catalog::event_names(&app, caller.workspace(), limit).await?;
    let body = |EventName { name, recent, newest_at }| EventNameBody {
        name,
        count: recent,
        newest: Timestamp::from_millis(newest_at),
    };
    Ok(Json(EventNames { data: names.into_iter().map(body).collect() }))
}

/// Lists the properties of events of a name, with the values of those that have few.
#[utoipa::path(
    get,
    path = "/insights/properties",
    tag = "insights",
    params(("eventName" = String, Query)),
    responses((status = 200, body = EventProperties))
)]
async fn list_event_properties(
    State(app): State<InsightState>,
    caller: Caller<scope::EventsRead>,
    Query(PropertiesQuery { event_name }): Query<PropertiesQuery>,
) -> ApiResult<Json<EventProperties>> {
    let found = catalog::properties(&app, caller.workspace(), &event_name).await?;
    let sampled = found.first().map_or(0, |first| first.sampled);
    Ok(Json(EventProperties { sampled, data: found.into_iter().map(PropertyBody::from).collect() }))
}

impl From<PropertyFound> for PropertyBody {
    fn from(found: PropertyFound) -> Self {
        let share = |events| statistics::proportion::share(events, found.sampled);
        let values = found.values.into_iter().zip(&found.value_events);
        let values: Vec<PropertyValue> =
            values.map(|(value, events)| PropertyValue { value, share: share(*events) }).collect();
        let mut types: Vec<&'static str> = found.types.iter().map(|it| type_word(it)).collect();
        types.sort_unstable();
        types.dedup();
        Self {
            types,
            share: share(found.events),
            values: (!values.is_empty()).then_some(values),
            name: found.name,
        }
    }
}

/// The word of a type that ClickHouse names.
fn type_word(name: &str) -> &'static str {
    match name {
        "String" => "string",
        "Bool" => "boolean",
        "Object" => "object",
        "Array" => "array",
        "Null" => "null",
        _ => "number",
    }
}
