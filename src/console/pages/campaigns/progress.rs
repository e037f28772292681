//! Progress while a campaign sends, asked for again every two seconds until it is over.

use axum::{extract::Path, response::Response};
use http::StatusCode;
use maud::{Markup, html};
use serde::Deserialize;
use web::auth::ScopeName;

use super::{Campaign, find, frame};
use crate::{
    failure::PageResult,
    in_process::path,
    view::{self, Tone},
    visitor::Visitor,
};

#[derive(Deserialize)]
struct Counts {
    queued: u64,
    sent: u64,
    failed: u64,
    skipped: u64,
    cancelled: u64,
}

#[derive(Deserialize)]
struct Report {
    stats: Counts,
}

/// The progress alone, for the script that asks again.
pub(super) async fn part(visitor: Visitor, Path(id): Path<String>) -> PageResult<Response> {
    let campaign = find(&visitor, &id).await?.campaign;
    Ok(view::part(StatusCode::OK, &card(&visitor, &campaign).await))
}

/// The progress of a campaign that sends or is paused; nothing for others.
pub(super) async fn card(visitor: &Visitor, campaign: &Campaign) -> Markup {
    let is_sending = campaign.status == "active";
    if !is_sending && campaign.status != "paused" {
        return html! {
            div id="progress" {
                @if let Some(at) = campaign.completed_at {
                    p class="quiet" { "It was completed " (view::ago(at, visitor.now(), visitor.zone())) "." }
                }
            }
        };
    }
    let report: PageResult<Report> =
        visitor.get(path(["campaigns", &campaign.id, "stats"])).read().await;
    let address = campaign.path_of("progress");
    let content = html! {
        p role="status" {
            (frame::status_badge(&campaign.status)) " "
            @if let Some(at) = campaign.next_send_at {
                "Next at " (view::exact(at, visitor.zone())) ". "
            }
            @if let Some(at) = campaign.last_sent_at {
                "Last message " (view::ago(at, visitor.now(), visitor.zone())) "."
            }
        }
        @match &report {
            Ok(report) => (counts(&report.stats)),
            Err(failure) => (view::alert(&failure.text())),
        }
        (pause_or_resume(visitor, campaign))
    };
    html! {
        div id="progress" hx-get=[is_sending.then_some(&address)]
            hx-trigger=[is_sending.then_some("every 2s")] hx-swap="outerHTML" {
            (view::card("Progress", &content))
        }
    }
}

fn counts(counts: &Counts) -> Markup {
    let done = counts.sent + counts.failed + counts.skipped + counts.cancelled;
    let pending = counts.queued.saturating_sub(done);
    let figure = |label: &str, number: u64, tone| {
        view::figure(label, &html! { (view::count(number)) }, None, tone)
    };
    let failed = if counts.failed > 0 { Tone::Bad } else { Tone::Neutral };
    html! {
        @if counts.queued > 0 {
            p {
                progress max=(counts.queued) value=(done.min(counts.queued)) aria-label="Messages done" {}
                " " (frame::share(done, counts.queued)) " of " (view::count(counts.queued)) " messages"
            }
        }
        div class="figures" {
            (figure("Sent", counts.sent, Tone::Neutral))
            (figure("Still to send", pending, Tone::Neutral))
            (figure("Failed", counts.failed, failed))
            (figure("Skipped", counts.skipped, Tone::Neutral))
        }
    }
}

fn pause_or_resume(visitor: &Visitor, campaign: &Campaign) -> Markup {
    if !visitor.may(ScopeName::CampaignsSend) {
        return html! {};
    }
    let (name, label) = match (campaign.status.as_str(), campaign.is_learning()) {
        ("active", false) => ("pause", "Pause"),
        ("active", true) => ("pause-rl", "Pause"),
        (_, false) => ("resume", "Resume"),
        (_, true) => ("resume-rl", "Resume"),
    };
    html! {
        form method="post" action=(path(["console", "campaigns", &campaign.id, "do", name])) {
            (visitor.csrf_field())
            button class="button" type="submit" { (label) }
        }
    }
}
