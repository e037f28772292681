//! `/console`: what happens now, and what needs attention.

mod campaigns;
mod per_minute;
mod vitals;

use std::time::Duration;

use axum::{Router, extract::State, response::Response, routing::get};
use futures_util::future;
use http::StatusCode;
use kernel::Timestamp;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::Value;
use web::auth::ScopeName;

use super::{explore, health::dead_letters};
use crate::{
    failure::PageResult,
    in_process::path,
    query::Query,
    state::ConsoleState,
    view::{self, Chart, Entry, Series, Tone, Unit},
    visitor::Visitor,
};

pub(super) const ENTRY: Entry = Entry { name: "Home", path: crate::HOME, scopes: &[] };

/// Refused events are counted over this many milliseconds.
const REFUSED_MS: i64 = 24 * 60 * 60 * 1_000;
const MINUTE_MS: i64 = 60_000;
/// Of `sent` since midnight in the workspace's zone, which is the parameter.
const SENT_TODAY: &str = "SELECT count() FROM message_events \
                          WHERE type = 'sent' AND timestamp >= toStartOfDay(now(), {zone:String})";
/// Longest wait for it: the page goes without.
const SENT_TODAY_MAX: Duration = Duration::from_secs(5);
/// The id of the events by hour, which take long.
const EVENTS: &str = "home-events";
/// The question of the chart, as Explore has it in its address.
const EVENTS_BY_HOUR: &str = "interval=hour&last=24h";
/// The id of what a workspace without events shows.
const FIRST_STEPS: &str = "home-first-steps";
/// The id of the campaigns whose messages fail, which take long.
const FAILING: &str = "home-failing";
/// Running campaigns that are named.
const CAMPAIGNS_SHOWN: &str = "5";

pub(super) fn routes() -> Router<ConsoleState> {
    Router::new().route(ENTRY.path, get(show)).route(per_minute::PATH, get(per_minute::part))
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Asked {
    /// `on` where the events by hour, which take long, are on the page.
    events: String,
    /// `on` where the campaigns whose messages fail are on the page.
    failing: String,
}

async fn show(
    State(state): State<ConsoleState>,
    visitor: Visitor,
    Query(asked): Query<Asked>,
) -> Response {
    if let Some(part) = part(&visitor, &asked).await {
        return view::part(StatusCode::OK, &part);
    }
    let measured =
        if visitor.may(ScopeName::SettingsRead) { Some(state.measure().await) } else { None };
    let figures = future::join5(
        people(&visitor),
        running(&visitor),
        refused(&visitor),
        sent_today(&visitor),
        per_minute::seen(&visitor),
    );
    let parts = future::join4(
        by_hour(&visitor, &asked),
        failing(&visitor, &asked),
        campaigns::attention(&visitor),
        dead_letters(&visitor),
    );
    let (figures, parts) = Box::pin(future::join(figures, parts)).await;
    let (people, running, refused, sent, per_minute) = figures;
    let (by_hour, failing, of_campaigns, dead_letters) = parts;
    let mut attention: Vec<Markup> = dead_letters.into_iter().collect();
    attention.extend(measured.iter().flat_map(|it| vitals::attention(&it.total)));
    attention.extend(of_campaigns);
    let is_new = matches!(&people, Some(Ok(0)))
        && !matches!(&per_minute, Some(Ok(1..)))
        && has_events(&visitor).await == Some(false);
    let content = html! {
        h1 { "Home" }
        div class="figures" {
            @if let Some(count) = &per_minute { (per_minute::figure(count, is_new)) }
            @if let Some(people) = &people {
                (count_figure("People", people, Some("/console/people"), Tone::Neutral))
            }
            @if let Some(refused) = &refused {
                @let tone = if matches!(refused, Ok(1..)) { Tone::Warning } else { Tone::Neutral };
                (count_figure("Refused in 24 hours", refused, Some("/console/live?status=rejected"), tone))
            }
            @if let Some(running) = &running {
                @let total = running.as_ref().map(|it| it.pagination.total).map_err(Clone::clone);
                (count_figure("Running campaigns", &total, Some("/console/campaigns?status=active"), Tone::Neutral))
            }
            @if let Some(sent) = &sent {
                (count_figure("Messages sent today", sent, Some("/console/campaigns"), Tone::Neutral))
            }
            @if let Some(measured) = &measured { (vitals::figures(measured)) }
        }
        @if !attention.is_empty() { (vitals::attention_card(&attention)) }
        (failing)
        @if is_new { div id=(FIRST_STEPS) { (first_steps(&visitor)) } }
        @if visitor.may(ScopeName::EventsRead) { (by_hour) }
        @if let Some(running) = &running { (running_card(running)) }
    };
    visitor.page(&ENTRY, ENTRY.name, &content)
}

/// The part that a script asks for.
async fn part(visitor: &Visitor, asked: &Asked) -> Option<Markup> {
    if !visitor.asks_for_part() {
        return None;
    }
    if asked.events == "on" && visitor.may(ScopeName::EventsRead) {
        return Some(by_hour(visitor, asked).await);
    }
    if asked.failing == "on" {
        return Some(failing(visitor, asked).await);
    }
    None
}

/// The events by hour, or the place where they are loaded.
async fn by_hour(visitor: &Visitor, asked: &Asked) -> Markup {
    if asked.events == "on" && visitor.may(ScopeName::EventsRead) {
        html! { div id=(EVENTS) { (events_card(visitor).await) } }
    } else {
        view::later(EVENTS, &format!("{}?events=on", ENTRY.path), "events by hour")
    }
}

/// The campaigns whose messages fail, or the place where they are loaded.
async fn failing(visitor: &Visitor, asked: &Asked) -> Markup {
    if !campaigns::may_see_failing(visitor) {
        return html! {};
    }
    if asked.failing == "on" {
        return html! { div id=(FAILING) { (campaigns::failing(visitor).await) } };
    }
    view::later(FAILING, &format!("{}?failing=on", ENTRY.path), "campaigns whose messages fail")
}

async fn dead_letters(visitor: &Visitor) -> Option<Markup> {
    let count = dead_letters::count(visitor).await?.ok().filter(|count| *count > 0)?;
    Some(html! {
        @let letters = html! { (view::count(count)) " dead letters" };
        // The page of them needs another scope than their number.
        @if visitor.may(ScopeName::SettingsRead) { a href=(dead_letters::PATH) { (letters) } } @else { (letters) }
        ": rows that ClickHouse refused"
    })
}

fn count_figure(label: &str, count: &PageResult<u64>, href: Option<&str>, tone: Tone) -> Markup {
    match count {
        Ok(count) => view::figure(label, &html! { (view::count(*count)) }, href, tone),
        Err(failure) => unknown(label, &failure.text()),
    }
}

fn unknown(label: &str, reason: &str) -> Markup {
    view::figure(label, &html! { span title=(reason) { "–" } }, None, Tone::Bad)
}

#[derive(Deserialize)]
struct Total {
    total: u64,
}

#[derive(Deserialize)]
struct Counted {
    pagination: Total,
}

async fn people(visitor: &Visitor) -> Option<PageResult<u64>> {
    visitor.may(ScopeName::UsersRead).then_some(())?;
    let page = visitor.get("/users").query("limit", "1").shared().read::<Counted>().await;
    Some(page.map(|page| page.pagination.total))
}

/// Whether an event has arrived, as far as can be found out.
async fn has_events(visitor: &Visitor) -> Option<bool> {
    let call = visitor.get("/events/query").query("limit", "1");
    call.read::<Vec<Value>>().await.ok().map(|events| !events.is_empty())
}

async fn refused(visitor: &Visitor) -> Option<PageResult<u64>> {
    visitor.may(ScopeName::EventsRead).then_some(())?;
    // Of whole minutes, so that those who look at once ask the same.
    let since = (visitor.now().millis() - REFUSED_MS) / MINUTE_MS * MINUTE_MS;
    let since = Timestamp::from_millis(since).to_string();
    let call = visitor.get("/events/rejected").query("since", since).query("limit", "1");
    Some(call.shared().read::<Total>().await.map(|list| list.total))
}

/// Without the listener for SQL, or its scope, there is no such figure.
async fn sent_today(visitor: &Visitor) -> Option<PageResult<u64>> {
    visitor.may(ScopeName::AnalyticsSql).then_some(())?;
    let call = visitor.sql(SENT_TODAY)?.query("param_zone", visitor.zone().name());
    let call = call.query("default_format", "JSONCompactEachRow").within(SENT_TODAY_MAX).shared();
    Some(call.read::<[u64; 1]>().await.map(|[count]| count))
}

#[derive(Deserialize)]
struct Campaigns {
    data: Vec<Campaign>,
    pagination: Total,
}

#[derive(Deserialize)]
struct Campaign {
    id: String,
    name: String,
    channel: String,
}

async fn running(visitor: &Visitor) -> Option<PageResult<Campaigns>> {
    visitor.may(ScopeName::CampaignsRead).then_some(())?;
    let call = visitor.get("/campaigns").query("status", "active").query("limit", CAMPAIGNS_SHOWN);
    Some(call.shared().read().await)
}

fn running_card(campaigns: &PageResult<Campaigns>) -> Markup {
    let campaigns = match campaigns {
        Ok(campaigns) => campaigns,
        Err(failure) => return failure.card("Running campaigns"),
    };
    view::card(
        "Running campaigns",
        &html! {
            @if campaigns.data.is_empty() { p class="quiet" { "None is running." } }
            ul {
                @for campaign in &campaigns.data {
                    li {
                        a href=(path(["console", "campaigns", &campaign.id])) { bdi { (campaign.name) } } " "
                        (view::badge(Tone::Neutral, &campaign.channel))
                    }
                }
            }
        },
    )
}

#[derive(Deserialize)]
struct Trend {
    intervals: Vec<Timestamp>,
    series: Vec<TrendSeries>,
}

#[derive(Deserialize)]
struct TrendSeries {
    values: Vec<Option<f64>>,
    total: Option<f64>,
}

impl Trend {
    fn total(&self) -> f64 {
        self.series.first().and_then(|series| series.total).unwrap_or(0.0)
    }
}

async fn events_card(visitor: &Visitor) -> Markup {
    const TITLE: &str = "Events by hour";
    match events(visitor, TITLE).await {
        Ok(content) => view::card(TITLE, &content),
        Err(failure) => failure.card(TITLE),
    }
}

async fn events(visitor: &Visitor, title: &str) -> PageResult<Markup> {
    let question = explore::trends_of(visitor, EVENTS_BY_HOUR)?;
    let call = visitor.call(http::Method::POST, "/insights/trends").json(&question.body)?;
    let trend = call.shared().read::<Trend>().await?;
    let zone = visitor.zone();
    let hour = |at: &Timestamp| zone.clock_at(*at).format("%H:%M").to_string();
    let values = trend.series.first().map(|series| series.values.clone()).unwrap_or_default();
    let chart = Chart {
        title: title.to_owned(),
        unit: Unit::Number,
        times: trend.intervals.iter().map(|at| at.millis() / 1_000).collect(),
        labels: trend.intervals.iter().map(hour).collect(),
        series: vec![Series { label: "Events".to_owned(), values, is_compared: false }],
    };
    Ok(html! {
        p {
            strong { (view::decimal(trend.total())) } " events in 24 hours, "
            a href=(question.href) { "also in Explore" }
        }
        (view::chart(&chart, &question.sources))
    })
}

/// What an empty workspace teaches.
fn first_steps(visitor: &Visitor) -> Markup {
    let command = format!(
        "curl -s {}/events/track -H 'Authorization: Bearer KEY' \\\n  \
         -H 'Content-Type: application/json' \\\n  \
         -d '{{\"userId\":\"ann\",\"eventName\":\"Order Completed\",\
         \"properties\":{{\"orderId\":\"1\",\"total\":49.90,\"currency\":\"EUR\"}}}}'",
        visitor.server_url()
    );
    view::empty(
        "No event has arrived yet",
        &html! {
            p { "Track the first one with a key of this workspace:" }
            (view::copyable(&command))
            @if visitor.may(ScopeName::EventsWrite) {
                p { "Or " a href="/console/live/import" { "import a file of events" } "." }
            }
            p class="quiet" {
                "A key comes from " code { "millrace keys create --workspace NAME --scopes '*'" } ". "
                "The description of the API is at " a href="/docs" { "/docs" } "."
            }
        },
    )
}

/// What a script puts in place of the first steps once an event has arrived; the chart of events is loaded anew.
fn first_event() -> Markup {
    let content = html! {
        p { "See it " a href="/console/live" { "live" } ", or " a href="/console/explore" { "explore it" } "." }
    };
    html! {
        div id=(FIRST_STEPS) hx-swap-oob="true" { (view::card("The first event has arrived", &content)) }
        div id=(EVENTS) hx-swap-oob="true" hx-get={ (ENTRY.path) "?events=on" } hx-trigger="load"
            hx-select={ "#" (EVENTS) } hx-swap="outerHTML" {}
    }
}
