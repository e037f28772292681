//! A campaign's message for one person: rendered, sent as a test, and checked for spam.

use axum::{
    extract::Path,
    response::{IntoResponse as _, Response},
};
use http::{Method, StatusCode};
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use url::form_urlencoded;
use web::auth::ScopeName;

use super::{Campaign, Whole, find, frame};
use crate::{
    failure::{Failure, PageResult},
    gate::FramedMessage,
    in_process::path,
    query::Query,
    view::{self, Choice, Column, Field, Tone},
    visitor::{Form, Visitor},
};

/// What the address names: the person and the variant.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    person: String,
    variant: String,
    /// The width of the device: `phone`, `tablet`, else that of the page.
    device: String,
    /// `on` where the spam check is asked for.
    spam: String,
}

/// The form of a test as it was sent, and why it was refused.
#[derive(Debug, Clone, Default)]
struct Sent {
    to: String,
    failure: Option<Failure>,
}

/// A message as the API renders it.
#[derive(Deserialize)]
pub(super) struct Rendered {
    pub(super) channel: String,
    pub(super) message: Map<String, Value>,
}

pub(super) async fn show(
    visitor: Visitor,
    Path(id): Path<String>,
    Query(asked): Query<Asked>,
) -> PageResult<Response> {
    let whole = find(&visitor, &id).await?;
    Ok(page(&visitor, &whole, &asked, &Sent::default()).await)
}

/// Sends a test to one person.
pub(super) async fn send(
    visitor: Visitor,
    Path(id): Path<String>,
    form: Form,
) -> PageResult<Response> {
    let whole = find(&visitor, &id).await?;
    let Some(suffix) = test_route(&whole.campaign) else {
        return Err(Failure::new(StatusCode::BAD_REQUEST, NO_TESTS));
    };
    let mut body = Map::new();
    for (field, name) in [("person", "userId"), ("to", "to"), ("variant", "variantId")] {
        if let Some(text) = form.filled(field) {
            body.insert(name.to_owned(), json!(text));
        }
    }
    let api = path(["campaigns", &whole.campaign.id, suffix]);
    match visitor.call(Method::POST, api).json(&body)?.read::<Tested>().await {
        Ok(tested) => {
            let notice = match tested.reason {
                None => format!("A test is on its way to {}.", tested.to),
                Some(reason) => {
                    format!("No test was sent to {}: {}", tested.to, frame::words(&reason))
                }
            };
            Ok(visitor.done(&whole.campaign.path_of("test"), &notice))
        }
        // Also where there is no such person.
        Err(failure) => {
            let text = |name: &str| form.text(name).unwrap_or_default().to_owned();
            let asked =
                Asked { person: text("person"), variant: text("variant"), ..Asked::default() };
            let sent = Sent { to: text("to"), failure: Some(failure) };
            Ok(page(&visitor, &whole, &asked, &sent).await)
        }
    }
}

#[derive(Deserialize)]
struct Tested {
    to: String,
    reason: Option<String>,
}

/// Widths of devices that a message is shown in.
pub(super) const DEVICES: [Choice<'static>; 3] = [
    Choice { value: "", label: "As wide as the page" },
    Choice { value: "phone", label: "Phone, 390 px" },
    Choice { value: "tablet", label: "Tablet, 768 px" },
];

const NO_TESTS: &str = "There are no tests on this channel";

/// The API's route for tests on the campaign's channel.
fn test_route(campaign: &Campaign) -> Option<&'static str> {
    match campaign.channel.as_str() {
        "email" => Some("send-test-email"),
        "sms" => Some("send-test-sms"),
        "push" => Some("send-test-push"),
        "whatsapp" => Some("send-test-whatsapp"),
        "in_app" => Some("send-test-in-app"),
        _ => None,
    }
}

async fn page(visitor: &Visitor, whole: &Whole, asked: &Asked, sent: &Sent) -> Response {
    let campaign = &whole.campaign;
    let content = html! {
        (view::card("Preview", &preview(visitor, whole, asked).await))
        (view::card("Test", &test(visitor, whole, asked, sent)))
        @if campaign.channel == "email" {
            (view::card("Spam check", &spam(visitor, campaign, asked).await))
        }
    };
    frame::page(visitor, campaign, frame::Page::Test, sent.failure.as_ref(), &content)
}

fn variant_choice(whole: &Whole, chosen: &str) -> Markup {
    let variants = whole.variants();
    let mut choices = vec![Choice { value: "", label: "The first with a message" }];
    choices.extend(variants.iter().map(|it| Choice { value: &it.id, label: &it.name }));
    html! {
        @if variants.len() > 1 { (view::select("variant", "Variant", chosen, &choices)) }
    }
}

async fn preview(visitor: &Visitor, whole: &Whole, asked: &Asked) -> Markup {
    let campaign = &whole.campaign;
    let scope = ScopeName::UsersRead;
    if !visitor.may(scope) {
        return html! { p class="quiet" { "A preview for a person needs the scope " code { (scope.as_str()) } "." } };
    }
    let person = asked.person.trim();
    let form = html! {
        form class="filters" method="get" action=(campaign.path_of("test")) autocomplete="off" {
            (view::field(&Field::text("person", "Person", person).hint("An id of a person, yours or the internal one")))
            (variant_choice(whole, &asked.variant))
            @if campaign.channel == "email" {
                (view::select("device", "Width", &asked.device, &DEVICES))
            }
            button class="button primary" type="submit" { "Show" }
        }
    };
    if person.is_empty() {
        return form;
    }
    let rendered = rendered(visitor, &campaign.id, asked).await;
    html! {
        (form)
        @match &rendered {
            Ok(rendered) => (message(campaign, rendered, asked)),
            Err(failure) => (frame::refusal(failure)),
        }
    }
}

/// Asks the API for the message of a person.
async fn rendered(visitor: &Visitor, campaign: &str, asked: &Asked) -> PageResult<Rendered> {
    let mut body = json!({"userId": asked.person.trim()});
    if !asked.variant.is_empty() {
        body["variantId"] = json!(asked.variant);
    }
    let call = visitor.call(Method::POST, path(["campaigns", campaign, "preview"]));
    call.json(&body)?.changes_nothing().read().await
}

/// The HTML of a message alone, for the frame in the page.
pub(super) async fn framed(
    visitor: Visitor,
    Path(id): Path<String>,
    Query(asked): Query<Asked>,
) -> PageResult<Response> {
    let rendered = rendered(&visitor, &id, &asked).await?;
    let html = rendered.message.get("html").and_then(Value::as_str);
    let html = html.ok_or_else(Failure::not_found)?.to_owned();
    let mut response = axum::response::Html(html).into_response();
    response.extensions_mut().insert(FramedMessage);
    Ok(response)
}

/// The message in a frame of the device's width.
fn frame_of(campaign: &Campaign, asked: &Asked) -> Markup {
    let query = form_urlencoded::Serializer::new(String::new())
        .append_pair("person", asked.person.trim())
        .append_pair("variant", &asked.variant)
        .finish();
    let device = DEVICES.iter().find(|device| device.value == asked.device);
    let address = format!("{}?{query}", campaign.path_of("message"));
    html! {
        iframe class={ "device " (device.map_or("", |device| device.value)) } sandbox="" src=(address)
            title="The message as it looks" {}
        p class="quiet" { "Pictures of other servers are not loaded here." }
    }
}

/// A field of a rendered message as text.
pub(super) fn field_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    }
}

/// A rendered message: as it looks where it is HTML, short fields as facts, long ones as text.
fn message(campaign: &Campaign, rendered: &Rendered, asked: &Asked) -> Markup {
    let is_long =
        |name: &str| matches!(name, "html" | "text" | "css" | "body" | "headers" | "buttons");
    let facts = rendered.message.iter().filter(|(name, value)| !is_long(name) && !value.is_null());
    let long = rendered.message.iter().filter(|(name, value)| is_long(name) && !value.is_null());
    html! {
        p class="quiet" { "By " (view::channel_label(&rendered.channel)) ", as it would leave now. Its links to unsubscribe change nothing." }
        dl class="facts" {
            @for (name, value) in facts { div { dt { (name) } dd { bdi { (field_text(value)) } } } }
        }
        @if rendered.message.contains_key("html") && rendered.channel == "email" { (frame_of(campaign, asked)) }
        @for (name, value) in long {
            details open[!matches!(name.as_str(), "headers" | "html")] {
                summary { (name) }
                pre class="rendered" tabindex="0" dir="auto" { (field_text(value)) }
            }
        }
    }
}

fn test(visitor: &Visitor, whole: &Whole, asked: &Asked, sent: &Sent) -> Markup {
    let campaign = &whole.campaign;
    let scope = ScopeName::CampaignsSend;
    if test_route(campaign).is_none() {
        return html! { p class="quiet" { (NO_TESTS) "." } };
    }
    if !visitor.may(scope) && sent.failure.is_none() {
        return html! { p class="quiet" { "A test needs the scope " code { (scope.as_str()) } "." } };
    }
    let failure = sent.failure.as_ref();
    let fault = |name: &str| failure.and_then(|failure| failure.at(name));
    let (user, to) = (fault("userId"), fault("to"));
    let to_hint = "An address or number; empty: the person's own";
    // The form of the preview has a field for the person, too.
    html! {
        form method="post" action=(campaign.path_of("test")) aria-label="Test" {
            (visitor.csrf_field())
            @if let Some(rest) = failure.and_then(|failure| failure.elsewhere(&["userId", "to"])) {
                (view::alert(&rest))
            }
            div class="field" {
                label for="test-person" { "Person" }
                input id="test-person" name="person" type="text" value=(asked.person) autocomplete="off"
                    aria-invalid=[user.as_ref().map(|_| "true")];
                @if let Some(user) = &user { p class="fault" { (user) } }
            }
            @if campaign.channel != "in_app" {
                (view::field(&Field::text("to", "To", &sent.to).hint(to_hint).fault(to.as_deref())))
            }
            @if whole.variants().len() > 1 {
                div class="field" {
                    label for="test-variant" { "Variant" }
                    select id="test-variant" name="variant" {
                        option value="" { "The first with a message" }
                        @for variant in whole.variants() {
                            option value=(variant.id) selected[variant.id == asked.variant] { (variant.name) }
                        }
                    }
                }
            }
            button class="button primary" type="submit" { "Send a test" }
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spam {
    score: f64,
    threshold: f64,
    verdict: String,
    engine: String,
    rules: Vec<Rule>,
    suggestions: Vec<String>,
}

#[derive(Deserialize)]
struct Rule {
    name: String,
    score: f64,
    description: String,
}

async fn spam(visitor: &Visitor, campaign: &Campaign, asked: &Asked) -> Markup {
    if asked.spam != "on" {
        let address = format!("{}?spam=on", campaign.path_of("test"));
        return html! { p { (view::button_link(&address, "Check it")) } };
    }
    let mut body = json!({"campaignId": campaign.id});
    if !asked.variant.is_empty() {
        body["variantId"] = json!(asked.variant);
    }
    let call = visitor.call(Method::POST, "/campaigns/spam-check").json(&body);
    let report: PageResult<Spam> = match call {
        Ok(call) => call.changes_nothing().read().await,
        Err(failure) => Err(failure),
    };
    match &report {
        Ok(report) => spam_report(report),
        Err(failure) => frame::refusal(failure),
    }
}

fn spam_report(report: &Spam) -> Markup {
    let tone = match report.verdict.as_str() {
        "pass" => Tone::Good,
        "warn" => Tone::Warning,
        _ => Tone::Bad,
    };
    let columns = [Column::text("Rule"), Column::number("Points"), Column::text("What")];
    let row = |rule: &Rule| {
        vec![
            html! { code { (rule.name) } },
            html! { (view::decimal(rule.score)) },
            html! { (rule.description) },
        ]
    };
    let rows: Vec<Vec<Markup>> = report.rules.iter().map(row).collect();
    html! {
        p {
            (view::badge(tone, &report.verdict)) " " (view::decimal(report.score)) " of " (view::decimal(report.threshold))
            " points, by " (report.engine)
        }
        @if !rows.is_empty() { (view::table("Rules that match", &columns, &rows)) }
        @if !report.suggestions.is_empty() {
            ul { @for suggestion in &report.suggestions { li { (suggestion) } } }
        }
    }
}
