//! The report of a campaign: every number is one of the API's reports.

use axum::{extract::Path, response::Response};
use futures_util::future;
use http::StatusCode;
use kernel::Timestamp;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::Value;
use url::form_urlencoded;
use web::auth::ScopeName;

use super::{
    Campaign, Whole,
    asked_report::{Asked, ask, sources},
    find, frame, heat, in_app, learning, occurrences, parts, progress, results, variant_report,
};
use crate::{
    failure::{Failure, PageResult},
    in_process::path,
    query::Query,
    view::{self, Choice, Field, Kind, Moment, Tone},
    visitor::Visitor,
};

/// The id of the numbers, which take long.
const NUMBERS: &str = "report-numbers";

/// Models that credit conversions to messages.
const ATTRIBUTION: [Choice<'static>; 4] = [
    Choice { value: "", label: "As the campaign says" },
    Choice { value: "first_touch", label: "To the first message" },
    Choice { value: "last_touch", label: "To the last message" },
    Choice { value: "linear", label: "To all in equal parts" },
];

pub(super) async fn show(
    visitor: Visitor,
    Path(id): Path<String>,
    Query(asked): Query<Asked>,
) -> PageResult<Response> {
    let whole = find(&visitor, &id).await?;
    if visitor.asks_for_part() && asked.numbers == "on" {
        return Ok(view::part(StatusCode::OK, &numbers(&visitor, &whole, &asked).await));
    }
    Ok(page(&visitor, &whole, &asked, None).await)
}

/// The page, and why a change was refused.
pub(super) async fn page(
    visitor: &Visitor,
    whole: &Whole,
    asked: &Asked,
    failure: Option<&Failure>,
) -> Response {
    let campaign = &whole.campaign;
    let of_report = progress::Asked::of_report();
    let (progress, person) = future::join(
        progress::card(visitor, campaign, &of_report),
        person(visitor, campaign, asked),
    )
    .await;
    let content = html! {
        @if let Some(failure) = failure { (frame::refusal(failure)) }
        (progress)
        (filters(campaign, asked))
        @if asked.numbers == "on" {
            (numbers(visitor, whole, asked).await)
        } @else {
            (view::later(NUMBERS, &address_of_numbers(campaign, asked), "the numbers"))
        }
        @if whole.winner_is_selected_by_hand() { (winner(visitor, whole)) }
        (view::card("One person", &person))
    };
    frame::page(visitor, campaign, frame::Page::Report, failure, &content)
}

fn address_of_numbers(campaign: &Campaign, asked: &Asked) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query
        .append_pair("from", &asked.from)
        .append_pair("to", &asked.to)
        .append_pair("attribution", &asked.attribution)
        .append_pair("numbers", "on");
    format!("{}?{}", campaign.path_of("report"), query.finish())
}

/// The reports of the API.
async fn numbers(visitor: &Visitor, whole: &Whole, asked: &Asked) -> Markup {
    let ask = |report: &'static str| ask(visitor, &whole.campaign.id, report, asked);
    let sources = |report: &str| sources(visitor, &whole.campaign, report, asked);
    let (stats, special) = future::join(ask("stats"), of_kind(visitor, whole, asked)).await;
    let is_empty = stats.as_ref().is_ok_and(has_no_messages);
    html! {
        div id=(NUMBERS) {
            (view::complete_from(complete_from(&stats), visitor.zone()))
            (special)
            @if is_empty {
                @if whole.campaign.channel != "in_app" { (nothing_sent(whole, asked)) }
            } @else {
                (part("Results", stats, |report| results::all(report, whole, &sources("stats"))))
                (comparisons(visitor, whole, asked).await)
            }
        }
    }
}

/// What is reported beside the counts of messages.
async fn comparisons(visitor: &Visitor, whole: &Whole, asked: &Asked) -> Markup {
    let ask = |report: &'static str| ask(visitor, &whole.campaign.id, report, asked);
    let sources = |report: &str| sources(visitor, &whole.campaign, report, asked);
    let (variants, links, failures, times, occurrences) = future::join5(
        ask("variant-stats"),
        ask("links"),
        ask("failure-reasons"),
        ask("time-to-engage"),
        ask("send-occurrences"),
    )
    .await;
    html! {
        (part("Variants", variants, |found| variant_report::all(found, visitor, &sources("variant-stats"))))
        (part("Links", links, |found| parts::links(found, visitor, &sources("links"))))
        (heat::card(visitor, whole, &asked.from, &asked.to).await)
        (part("Time to engage", times, |found| parts::times(found, &sources("time-to-engage"))))
        (part("Failures", failures, |found| parts::failures(found, &sources("failure-reasons"))))
        (part("Sendings", occurrences, |found| occurrences::card(found, visitor, &sources("send-occurrences"))))
    }
}

/// What only some campaigns have: learning, and displays in apps.
async fn of_kind(visitor: &Visitor, whole: &Whole, asked: &Asked) -> Markup {
    let ask = |report: &'static str| ask(visitor, &whole.campaign.id, report, asked);
    let sources = |report: &str| sources(visitor, &whole.campaign, report, asked);
    html! {
        @if whole.has_learnt() {
            @let (warmth, learnt) = future::join(learning::Warmth::of(visitor, whole), ask("rl-stats")).await;
            @let shown = |found: &learning::Learnt| learning::card(found, &warmth, visitor, whole, &sources("rl-stats"));
            (part("Learning", learnt, shown))
        }
        @if whole.campaign.channel == "in_app" {
            (part("Displays", ask("in-app-stats").await, |found| in_app::card(found, &sources("in-app-stats"))))
        }
    }
}

fn has_no_messages(stats: &Value) -> bool {
    let count = |name: &str| stats["stats"][name].as_u64().unwrap_or_default();
    count("queued") == 0 && count("control") == 0
}

/// The report of a campaign without messages: when there will be some.
fn nothing_sent(whole: &Whole, asked: &Asked) -> Markup {
    let campaign = &whole.campaign;
    if asked.is_of_a_time() {
        let all = html! { p { a href=(campaign.path_of("report")) { "Show all messages" } } };
        return view::card("Results", &view::empty("No messages of this time", &all));
    }
    let next = match (campaign.status.as_str(), campaign.send_type.as_str()) {
        ("draft" | "scheduled", _) => "It has not been launched.",
        ("active", "triggered") => {
            "It is live: a message is made when a person of the audience does its event."
        }
        ("active" | "paused", _) => "Its first messages are still to be made.",
        _ => "It ended without a message.",
    };
    let empty = view::empty(
        "No messages yet",
        &html! {
            p {
                (next) " Deliveries, opens, clicks, goals and revenue are counted here once messages go out, and variants are compared."
            }
            @if matches!(campaign.status.as_str(), "draft" | "scheduled") {
                p { a href=(campaign.path_of("launch")) { "Check and launch it" } }
            }
        },
    );
    view::card("Results", &empty)
}

fn complete_from(stats: &PageResult<Value>) -> Option<Timestamp> {
    let text = stats.as_ref().ok()?["completeFrom"].as_str()?;
    Timestamp::parse(text).ok()
}

/// The form that selects the winner of an A/B test.
fn winner(visitor: &Visitor, whole: &Whole) -> Markup {
    let campaign = &whole.campaign;
    if !campaign.is_under_way() || !visitor.may(ScopeName::CampaignsSend) {
        return html! {};
    }
    let variants = whole.variants();
    let choices: Vec<Choice<'_>> =
        variants.iter().map(|it| Choice { value: &it.id, label: &it.name }).collect();
    let address = path(["console", "campaigns", &campaign.id, "do", "select-winner"]);
    let form = html! {
        form class="filters" method="post" action=(address) {
            (visitor.csrf_field())
            (view::select("variant", "Variant for the rest of the audience", "", &choices))
            button class="button" type="submit" { "Select as the winner" }
        }
    };
    view::card("Winner by hand", &form)
}

/// A part of the report, or why it is not there.
fn part<T>(title: &str, found: PageResult<Value>, show: impl FnOnce(&T) -> Markup) -> Markup
where
    T: serde::de::DeserializeOwned,
{
    let read = found.and_then(|value| {
        serde_json::from_value::<T>(value).map_err(|fault| Failure::internal(&fault))
    });
    match read {
        Ok(report) => show(&report),
        Err(failure) if failure.is_of_fields() => view::card(title, &frame::refusal(&failure)),
        Err(failure) => failure.card(title),
    }
}

fn filters(campaign: &Campaign, asked: &Asked) -> Markup {
    html! {
        form class="filters" method="get" action=(campaign.path_of("report")) autocomplete="off" {
            (view::field(&Field::text("from", "Messages from", &asked.from).hint("Such as 2030-03-01")))
            (view::field(&Field::text("to", "To", &asked.to)))
            (view::select("attribution", "Goals and revenue credited", &asked.attribution, &ATTRIBUTION))
            button class="button" type="submit" { "Show" }
        }
        @if asked.is_of_a_time() {
            p class="quiet" { "Time to engage, failures and sendings are of all messages." }
        }
    }
}

#[derive(Deserialize)]
struct Timeline {
    messages: Vec<Message>,
}

#[derive(Deserialize)]
struct Message {
    events: Vec<Event>,
}

#[derive(Deserialize)]
struct Event {
    #[serde(rename = "type")]
    kind: String,
    timestamp: Timestamp,
    metadata: Value,
}

/// What happened to the messages to one person, with the reason where one was not sent.
async fn person(visitor: &Visitor, campaign: &Campaign, asked: &Asked) -> Markup {
    let person = asked.person.trim();
    let form = html! {
        form class="filters" method="get" action=(campaign.path_of("report")) autocomplete="off" role="search" {
            (view::field(&Field::text("person", "Person", person).of(Kind::Search)
                .hint("An id, yours or the internal one")))
            button class="button" type="submit" { "What did they get?" }
        }
    };
    if person.is_empty() {
        return form;
    }
    let call = visitor.get(path(["campaigns", &campaign.id, "recipients", person]));
    let found: PageResult<Timeline> = call.read().await;
    let moment = |event: &Event| Moment {
        time: view::ago(event.timestamp, visitor.now(), visitor.zone()),
        tone: match event.kind.as_str() {
            "failed" | "bounced" | "complained" => Tone::Bad,
            "skipped" | "cancelled" => Tone::Warning,
            _ => Tone::Neutral,
        },
        kind: event.kind.clone(),
        title: html! { (reason(&event.metadata)) },
        details: event
            .metadata
            .as_object()
            .filter(|fields| !fields.is_empty())
            .map(|_| view::json(&event.metadata)),
    };
    html! {
        (form)
        @match &found {
            Ok(found) if found.messages.is_empty() => (eligibility(visitor, campaign, person).await),
            Ok(found) => @for message in &found.messages {
                (view::timeline(&message.events.iter().map(moment).collect::<Vec<_>>()))
            },
            Err(failure) if failure.is_not_found() => (eligibility(visitor, campaign, person).await),
            Err(failure) => (view::alert(&failure.text())),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Eligibility {
    eligible: bool,
    reason: Option<String>,
    detail: Option<String>,
}

/// Why there is no message for a person, by the rules as they are now.
async fn eligibility(visitor: &Visitor, campaign: &Campaign, person: &str) -> Markup {
    let call =
        visitor.get(path(["campaigns", &campaign.id, "eligibility"])).query("userId", person);
    let found: PageResult<Eligibility> = call.read().await;
    html! {
        p { "No message of this campaign was made for this person." }
        @match &found {
            Ok(found) if found.eligible => {
                p { "As of now they would get it: they match its audience, and no rule forbids it." }
            }
            Ok(found) => {
                @let reason = found.reason.as_deref().unwrap_or_default();
                p {
                    "As of now they would not get it: " strong { (frame::words(reason)) }
                    @if let Some(detail) = &found.detail { ", " (detail) }
                    "."
                }
            }
            Err(failure) => (view::alert(&failure.text())),
        }
    }
}

/// The reason of an event in words, if it has one.
fn reason(metadata: &Value) -> String {
    let text = |name: &str| metadata.get(name).and_then(Value::as_str).unwrap_or_default();
    let words = [text("reason"), text("skipReason"), text("code"), text("url")];
    let found = words.into_iter().find(|text| !text.is_empty()).unwrap_or_default();
    frame::words(found)
}
