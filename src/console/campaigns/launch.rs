//! The page before a launch: checks, who would get it, and when.

use axum::{extract::Path, response::Response};
use http::Method;
use kernel::Timestamp;
use maud::{Markup, html};
use serde::Deserialize;
use web::auth::ScopeName;

use super::{Campaign, Whole, best_hours, conflict, find, frame};
use crate::{
    failure::{Failure, PageResult},
    in_process::path,
    query::Query,
    view::{self, Column, Tone},
    visitor::Visitor,
};

/// The field of a launch that was confirmed: without it a launch is asked about first.
pub(super) const CONFIRMED: &str = "confirmed";
/// The field with the number of people that was confirmed.
pub(super) const PEOPLE: &str = "people";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Preview {
    can_launch: bool,
    audience: Audience,
    schedule: Schedule,
    checks: Vec<Check>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Audience {
    matched: u64,
    reachable: u64,
    excluded: Excluded,
    control: u64,
    estimated_sends: u64,
    per_variant: Vec<Estimate>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Excluded {
    no_address: u64,
    unsubscribed: u64,
    suppressed: u64,
    invalid_address: u64,
    frequency_cap: u64,
    quiet_hours_deferred: u64,
    already_received: u64,
    volume_limit: u64,
}

#[derive(Deserialize)]
struct Estimate {
    name: String,
    estimated: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Schedule {
    first_send_at: Option<Timestamp>,
    estimated_duration_minutes: u64,
    timezone: String,
}

#[derive(Deserialize)]
struct Check {
    id: String,
    status: String,
    message: String,
}

impl Preview {
    /// The launch of a campaign as it is now.
    pub(super) async fn of(visitor: &Visitor, campaign: &Campaign) -> PageResult<Self> {
        let call = visitor.call(Method::POST, path(["campaigns", &campaign.id, "preview-launch"]));
        call.changes_nothing().read().await
    }

    /// How many people would get a message.
    pub(super) fn people(&self) -> u64 {
        self.audience.estimated_sends
    }
}

/// Why a launch was refused.
#[derive(Debug)]
pub(super) struct Refused<'r> {
    pub(super) failure: &'r Failure,
    /// What is shown in place of the failure's own words.
    pub(super) message: Option<Markup>,
}

/// What the address of the page names.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    /// `on` where the launch itself is asked about.
    confirm: String,
}

impl Asked {
    /// The page that asks whether to launch.
    pub(super) fn to_confirm() -> Self {
        Self { confirm: "on".to_owned() }
    }
}

pub(super) async fn show(
    visitor: Visitor,
    Path(id): Path<String>,
    Query(asked): Query<Asked>,
) -> PageResult<Response> {
    let whole = find(&visitor, &id).await?;
    Ok(page(&visitor, &whole, &asked, None).await)
}

/// The page, and why a launch was refused.
pub(super) async fn page(
    visitor: &Visitor,
    whole: &Whole,
    asked: &Asked,
    refused: Option<&Refused<'_>>,
) -> Response {
    let campaign = &whole.campaign;
    let preview = Preview::of(visitor, campaign).await;
    let content = html! {
        @if let Some(Refused { failure, message }) = refused {
            @if let Some(message) = message { (message) } @else { (frame::refusal(failure)) }
        }
        @match &preview {
            Ok(preview) => {
                @if asked.confirm == "on" && preview.can_launch && visitor.may(ScopeName::CampaignsSend) {
                    (confirmation(visitor, whole, preview))
                }
                (view::card("Checks", &checks(&preview.checks)))
                (view::card("Audience", &audience(&preview.audience)))
                (view::card("When", &schedule(visitor, campaign, &preview.schedule)))
                @if campaign.send_type == "intelligent" { (best_hours::card(visitor, campaign).await) }
                (launching(visitor, whole, preview))
            }
            Err(failure) => (failure.card("Launch")),
        }
    };
    let failure = refused.map(|refused| refused.failure);
    frame::page(visitor, campaign, frame::Page::Launch, failure, &content)
}

fn checks(checks: &[Check]) -> Markup {
    let columns = [Column::text("Check"), Column::text("Result"), Column::text("Why")];
    let tone = |status: &str| match status {
        "pass" => Tone::Good,
        "warn" => Tone::Warning,
        _ => Tone::Bad,
    };
    let row = |check: &Check| {
        vec![
            html! { (frame::words(&check.id)) },
            view::badge(tone(&check.status), &check.status),
            html! { (check.message) },
        ]
    };
    let rows: Vec<Vec<Markup>> = checks.iter().map(row).collect();
    view::table("Checks", &columns, &rows)
}

fn audience(audience: &Audience) -> Markup {
    let figure = |label: &str, number: u64| {
        view::figure(label, &html! { (view::count(number)) }, None, Tone::Neutral)
    };
    let excluded = &audience.excluded;
    let reasons = [
        ("No address on the channel", excluded.no_address),
        ("Unsubscribed", excluded.unsubscribed),
        ("Suppressed", excluded.suppressed),
        ("Invalid address", excluded.invalid_address),
        ("Frequency cap", excluded.frequency_cap),
        ("In quiet hours then", excluded.quiet_hours_deferred),
        ("Already received", excluded.already_received),
        ("Volume limit", excluded.volume_limit),
    ];
    let count = |number: u64| html! { (view::count(number)) };
    let rows: Vec<Vec<Markup>> = reasons
        .into_iter()
        .filter(|(_, number)| *number > 0)
        .map(|(reason, number)| vec![html! { (reason) }, count(number)])
        .collect();
    let variants: Vec<Vec<Markup>> = audience
        .per_variant
        .iter()
        .map(|it| vec![html! { bdi { (it.name) } }, count(it.estimated)])
        .collect();
    html! {
        div class="figures" {
            (figure("People match", audience.matched))
            (figure("Reachable", audience.reachable))
            (figure("Messages", audience.estimated_sends))
            (figure("Control group", audience.control))
        }
        @if !rows.is_empty() {
            h3 { "Left out" }
            (view::table("Left out", &[Column::text("Reason"), Column::number("People")], &rows))
        }
        @if variants.len() > 1 {
            h3 { "By variant" }
            (view::table("By variant", &[Column::text("Variant"), Column::number("People")], &variants))
        }
    }
}

fn schedule(visitor: &Visitor, campaign: &Campaign, schedule: &Schedule) -> Markup {
    let zone = schedule.timezone.parse().unwrap_or_else(|_| visitor.zone());
    let first = html! {
        @match schedule.first_send_at {
            Some(at) => { (view::exact(at, zone)) " (" (view::ago(at, visitor.now(), zone)) ")" },
            None => "Depends on an event, or no time is set",
        }
    };
    view::facts([
        ("Sent", html! { (frame::send_type_label(&campaign.send_type)) }),
        ("First message", first),
        (
            "Takes",
            html! { (view::count(schedule.estimated_duration_minutes)) " minutes by its own limits" },
        ),
    ])
}

fn label(campaign: &Campaign, preview: &Preview) -> String {
    match campaign.send_type.as_str() {
        "triggered" | "recurring" => "Make it live".to_owned(),
        _ => format!("Send now to {} people", view::count(preview.audience.estimated_sends)),
    }
}

/// The fields of the form that confirms the launch of a campaign as it is.
fn confirmed_fields(whole: &Whole, preview: &Preview) -> Markup {
    html! {
        (view::hidden(CONFIRMED, "yes"))
        (view::hidden(conflict::LOADED, &whole.etag))
        (view::hidden(PEOPLE, &preview.people().to_string()))
    }
}

/// The question before a launch, with the number of recipients.
fn confirmation(visitor: &Visitor, whole: &Whole, preview: &Preview) -> Markup {
    let campaign = &whole.campaign;
    let launch = if campaign.is_learning() { "launch-rl" } else { "send" };
    let address = path(["console", "campaigns", &campaign.id, "do", launch]);
    let people = view::count(preview.audience.estimated_sends);
    let channel = view::channel_label(&campaign.channel);
    let content = html! {
        p {
            @match campaign.send_type.as_str() {
                "triggered" => { "From now on a message goes out by " (channel) " whenever the event of a person of the audience occurs." },
                "recurring" => {
                    "Each occurrence goes out by " (channel) " by itself. As of now it has "
                    strong { (people) } " recipients."
                },
                _ => { strong { (people) } " people get a message by " (channel) ", beginning now." },
            }
            @if preview.audience.control > 0 {
                " The control group of " (view::count(preview.audience.control)) " gets none."
            }
        }
        p { "What has left cannot be called back. Pausing or cancelling keeps back what has not left yet." }
        div class="actions" {
            form method="post" action=(address) {
                (visitor.csrf_field())
                (confirmed_fields(whole, preview))
                button class="button danger" type="submit" { (label(campaign, preview)) }
            }
            (view::button_link(&campaign.path_of("launch"), "Not yet"))
        }
    };
    view::card("Launch this campaign?", &content)
}

/// The buttons that lead to a launch.
fn launching(visitor: &Visitor, whole: &Whole, preview: &Preview) -> Markup {
    let campaign = &whole.campaign;
    let is_draft = campaign.status == "draft";
    let is_timed = campaign.send_type == "scheduled" && campaign.scheduled_at.is_some();
    let class = if is_timed { "button" } else { "button primary" };
    let label = format!("{}…", label(campaign, preview));
    let schedule = path(["console", "campaigns", &campaign.id, "do", "schedule"]);
    html! {
        @if !preview.can_launch {
            p { "It cannot be launched like this: see the checks that fail." }
        }
        @if campaign.status == "scheduled" && is_timed {
            p { "It is scheduled: it goes out at its time by itself." }
        }
        div class="actions" {
            @if is_draft && is_timed && visitor.may(ScopeName::CampaignsWrite) {
                form method="post" action=(schedule) {
                    (visitor.csrf_field())
                    (view::hidden(conflict::LOADED, &whole.etag))
                    button class="button primary" type="submit" { "Schedule" }
                }
            }
            @if visitor.may(ScopeName::CampaignsSend) {
                form method="get" action=(campaign.path_of("launch")) {
                    (view::hidden("confirm", "on"))
                    button class=(class) type="submit" disabled[!preview.can_launch] { (label) }
                }
            } @else {
                p class="quiet" { "Launching needs the scope " code { (ScopeName::CampaignsSend.as_str()) } "." }
            }
        }
    }
}
