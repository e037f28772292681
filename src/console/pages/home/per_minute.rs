//! How many events arrived in the last minute, asked again while the page is open.

use axum::response::Response;
use http::{Method, StatusCode};
use kernel::Timestamp;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::json;
use web::auth::ScopeName;

use crate::{
    failure::PageResult,
    view::{self, Tone},
    visitor::Visitor,
};

/// The address of the figure alone.
pub(super) const PATH: &str = "/console/events-per-minute";
const SECOND_MS: i64 = 1_000;
const MINUTE_MS: i64 = 60 * SECOND_MS;

#[derive(Deserialize)]
struct Trend {
    series: [Series; 1],
}

#[derive(Deserialize)]
struct Series {
    total: u64,
}

pub(super) async fn part(visitor: Visitor) -> Response {
    view::part(StatusCode::OK, &figure(&visitor).await)
}

/// The figure; nothing for those who may not see events.
pub(super) async fn figure(visitor: &Visitor) -> Markup {
    if !visitor.may(ScopeName::EventsRead) {
        return html! {};
    }
    let count = count(visitor).await;
    html! {
        div id="events-per-minute" class="figure-live" hx-get=(PATH) hx-trigger="every 5s" hx-swap="outerHTML" {
            (super::count_figure("Events in the last minute", &count, Some("/console/live"), Tone::Neutral))
        }
    }
}

async fn count(visitor: &Visitor) -> PageResult<u64> {
    // Of whole seconds, so that all who ask within one share the answer.
    let second = visitor.now().millis().div_euclid(SECOND_MS) * SECOND_MS;
    let since = Timestamp::from_millis(second - MINUTE_MS + 1).to_string();
    let question = json!({"series": [{}], "interval": "none", "from": since});
    let call = visitor.call(Method::POST, "/insights/trends").json(&question)?;
    let Trend { series: [series] } = call.shared().read().await?;
    Ok(series.total)
}
