//! How many events arrived in the last minute, asked again while the page is open.

use std::time::Duration;

use axum::response::Response;
use http::{Method, StatusCode};
use kernel::Timestamp;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::json;
use web::auth::ScopeName;

use crate::{
    failure::PageResult,
    query::Query,
    view::{self, Tone},
    visitor::Visitor,
};

/// The address of the figure alone.
pub(super) const PATH: &str = "/console/events-per-minute";
/// Seconds between two looks of an open page.
const LOOK_SECONDS: u32 = 5;
const MINUTE_MS: i64 = 60_000;

#[derive(Deserialize)]
struct Trend {
    series: [Series; 1],
}

#[derive(Deserialize)]
struct Series {
    total: u64,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    /// `awaited` where the page says that no event has arrived yet.
    first: String,
}

/// The figure for the script that asks again, and the first event where the page awaits it.
pub(super) async fn part(visitor: Visitor, Query(asked): Query<Asked>) -> Response {
    let Some(count) = seen(&visitor).await else {
        return view::part(StatusCode::OK, &html! {});
    };
    let is_awaited = asked.first == "awaited";
    let has_come =
        is_awaited && (matches!(count, Ok(1..)) || super::has_events(&visitor).await == Some(true));
    let content = html! {
        (figure(&count, is_awaited && !has_come))
        @if has_come { (super::first_event()) }
    };
    view::part(StatusCode::OK, &content)
}

/// The figure, of a page that may await the first event.
pub(super) fn figure(count: &PageResult<u64>, is_awaited: bool) -> Markup {
    let first = if is_awaited { "?first=awaited" } else { "" };
    html! {
        div id="events-per-minute" class="figure-live" hx-get={ (PATH) (first) } hx-trigger={ "every " (LOOK_SECONDS) "s" } hx-swap="outerHTML" {
            (super::count_figure("Events in the last minute", count, Some("/console/live"), Tone::Neutral))
        }
    }
}

/// How many events arrived in the last minute; none for those who may not see events.
pub(super) async fn seen(visitor: &Visitor) -> Option<PageResult<u64>> {
    visitor.may(ScopeName::EventsRead).then_some(())?;
    Some(count(visitor).await)
}

async fn count(visitor: &Visitor) -> PageResult<u64> {
    let [from, to] = minute_before(visitor.now());
    let question = json!({
        "series": [{}], "interval": "none", "from": from.to_string(), "to": to.to_string(),
    });
    let call = visitor.call(Method::POST, "/insights/trends").json(&question)?;
    let call = call.shared_for(Duration::from_secs(LOOK_SECONDS.into()));
    let Trend { series: [series] } = call.read().await?;
    Ok(series.total)
}

/// The first and the last millisecond of the newest minute that ends with a look. All who look before the next one ask for
/// the same minute, so that it is counted once for them, however many there are.
fn minute_before(now: Timestamp) -> [Timestamp; 2] {
    let look_ms = i64::from(LOOK_SECONDS) * 1_000;
    let end_ms = now.millis().div_euclid(look_ms) * look_ms;
    [end_ms - MINUTE_MS, end_ms - 1].map(Timestamp::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_minute_is_the_same_until_the_next_look() {
        let minute = |now_ms| minute_before(Timestamp::from_millis(now_ms)).map(Timestamp::millis);
        assert_eq!(minute(100_000), [40_000, 99_999]);
        assert_eq!(minute(104_999), [40_000, 99_999]);
        assert_eq!(minute(105_000), [45_000, 104_999]);
    }
}
