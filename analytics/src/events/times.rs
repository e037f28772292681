//! How often a few people did what several filters ask for.

use clickhouse::Row;
use serde::Deserialize;
use uuid::Uuid;

use super::{
    filter::Range,
    people::{PeopleFilter, PersonIds},
};
use crate::{Analytics, client, error::AnalyticsError};

const PEOPLE_TIMES: &str = include_str!("../sql/people_times.sql");

/// How often each filter matched events tracked under one pair of identifiers, or without them under one anonymous id.
#[derive(Debug, Clone, PartialEq, Eq, Row, Deserialize)]
pub struct TrackedTimes {
    /// As tracked in `userId`, where it is one of those asked for.
    pub user: String,
    /// As tracked in `serviceUserId`, where it is one of those asked for.
    pub service_user: String,
    /// As tracked in `anonymousId` without a user, where it is one of those asked for.
    pub anonymous: String,
    /// Number of events by filter; stored repeats of one event count once.
    pub times: Vec<u64>,
}

/// A filter with its range, and the number of its first property among those of all filters.
struct Counted<'f> {
    filter: &'f PeopleFilter,
    /// None where nothing can match.
    range: Option<Range>,
    first_property: usize,
}

impl Counted<'_> {
    /// The count of its events, an expression.
    fn expression(&self, number: usize) -> String {
        if self.range.is_none() {
            return "toUInt64(0)".to_owned();
        }
        let properties = self.filter.properties.iter().enumerate().map(|(place, property)| {
            format!(" AND ({})", property.condition(self.first_property + place))
        });
        let properties: String = properties.collect();
        format!(
            "countIf(event_name = {{name_{number}:String}} \
             AND timestamp >= fromUnixTimestamp64Milli({{start_{number}:Int64}}, 'UTC') \
             AND timestamp <= fromUnixTimestamp64Milli({{end_{number}:Int64}}, 'UTC'){properties})"
        )
    }
}

/// Those that are not empty: an empty identifier would be everyone's.
fn stated(ids: &[String]) -> Vec<&str> {
    ids.iter().map(String::as_str).filter(|id| !id.is_empty()).collect()
}

/// How often people, known by these identifiers, did what each filter asks for. `among` and the limits of the filters
/// do not count.
///
/// # Errors
/// When ClickHouse is away or the question asks too much.
pub async fn times_of_people(
    analytics: &Analytics,
    workspace: Uuid,
    identifiers: &PersonIds,
    filters: &[PeopleFilter],
) -> Result<Vec<TrackedTimes>, AnalyticsError> {
    let mut properties = 0;
    let counted: Vec<Counted<'_>> = filters
        .iter()
        .map(|filter| {
            let first_property = properties;
            properties += filter.properties.len();
            let range = Range::new(filter.start_ms, filter.end_ms);
            Counted { filter, range, first_property }
        })
        .collect();
    let ranges = || counted.iter().filter_map(|it| it.range);
    let (users, anonymous) = (stated(&identifiers.users), stated(&identifiers.anonymous));
    let (Some(start_ms), Some(end_ms)) =
        (ranges().map(|it| it.start_ms).min(), ranges().map(|it| it.end_ms).max())
    else {
        return Ok(Vec::new());
    };
    if users.is_empty() && anonymous.is_empty() {
        return Ok(Vec::new());
    }
    let counts: Vec<String> =
        counted.iter().enumerate().map(|(number, it)| it.expression(number)).collect();
    let names: Vec<&str> = filters.iter().map(|filter| filter.event_name.as_str()).collect();
    let mut query =
        client::read(analytics, &PEOPLE_TIMES.replace("$counts$", &counts.join(",\n        ")))
            .param("workspace", workspace.to_string())
            .param("identifiers", &users)
            .param("anonymous", &anonymous)
            .param("event_names", &names)
            .param("start_ms", start_ms)
            .param("end_ms", end_ms);
    for (number, Counted { filter, range, first_property }) in counted.iter().enumerate() {
        let Some(range) = range else { continue };
        query = query
            .param(&format!("name_{number}"), &filter.event_name)
            .param(&format!("start_{number}"), range.start_ms)
            .param(&format!("end_{number}"), range.end_ms);
        for (place, property) in filter.properties.iter().enumerate() {
            query = property.bind(first_property + place, query);
        }
    }
    query.fetch_all().await
}
