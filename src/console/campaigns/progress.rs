//! Progress while a campaign sends, asked for again every two seconds until it is over.

use axum::{extract::Path, response::Response};
use http::StatusCode;
use maud::{Markup, html};
use serde::Deserialize;
use url::form_urlencoded;
use web::auth::ScopeName;

use super::{Campaign, find, frame};
use crate::{
    failure::PageResult,
    in_process::path,
    query::Query,
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

/// Shortest time that the rate is of, where one has looked for so long.
const RATE_OVER_MS: i64 = 10_000;

/// The page that shows the progress, and an earlier count, which the rate is of.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    /// `report` on that page.
    from: String,
    /// How many messages had been sent.
    sent: Option<u64>,
    /// When that was, in milliseconds since 1970.
    at: Option<i64>,
    /// The status that the page shows.
    shown: String,
}

impl Asked {
    /// The progress on the page of the report.
    pub(super) fn of_report() -> Self {
        Self { from: "report".to_owned(), ..Self::default() }
    }

    /// Messages a second since the earlier count.
    fn rate(&self, sent: u64, now_ms: i64) -> Option<f64> {
        let (before, at) = self.sent.zip(self.at)?;
        let passed = u32::try_from(now_ms.saturating_sub(at)).ok().filter(|passed| *passed > 0)?;
        let more = u32::try_from(sent.saturating_sub(before)).ok()?;
        Some(f64::from(more) * 1_000.0 / f64::from(passed))
    }

    /// What the next question names: this count once the earlier one is old enough.
    fn next(&self, sent: Option<u64>, now_ms: i64) -> Self {
        let is_young = self.at.is_some_and(|at| (0..RATE_OVER_MS).contains(&(now_ms - at)));
        if is_young || sent.is_none() {
            return self.clone();
        }
        Self { sent, at: Some(now_ms), ..self.clone() }
    }

    fn address(&self, campaign: &Campaign) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        if !self.from.is_empty() {
            query.append_pair("from", &self.from);
        }
        query.append_pair("shown", &campaign.status);
        if let Some((sent, at)) = self.sent.zip(self.at) {
            query.append_pair("sent", &sent.to_string()).append_pair("at", &at.to_string());
        }
        format!("{}?{}", campaign.path_of("progress"), query.finish())
    }
}

/// The progress for the script that asks again, and the rest of the campaign's state where the page shows another.
pub(super) async fn part(
    visitor: Visitor,
    Path(id): Path<String>,
    Query(asked): Query<Asked>,
) -> PageResult<Response> {
    let campaign = find(&visitor, &id).await?.campaign;
    let is_other = !asked.shown.is_empty() && asked.shown != campaign.status;
    let content = html! {
        (card(&visitor, &campaign, &asked).await)
        @if is_other { (frame::state_anew(&visitor, &campaign, asked.from == "report")) }
    };
    Ok(view::part(StatusCode::OK, &content))
}

/// The progress of a campaign that sends or is paused; nothing for others.
pub(super) async fn card(visitor: &Visitor, campaign: &Campaign, asked: &Asked) -> Markup {
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
    let now_ms = visitor.now().millis();
    let sent = report.as_ref().ok().map(|report| report.stats.sent);
    let address = asked.next(sent, now_ms).address(campaign);
    let rate = sent.filter(|_| is_sending).and_then(|sent| asked.rate(sent, now_ms));
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
            Ok(report) => (counts(&report.stats, rate)),
            Err(failure) => (view::alert(&failure.text())),
        }
        (pause_or_resume(visitor, campaign, asked))
    };
    html! {
        div id="progress" hx-get=[is_sending.then_some(&address)]
            hx-trigger=[is_sending.then_some("every 2s")] hx-swap="outerHTML" {
            (view::card("Progress", &content))
        }
    }
}

fn counts(counts: &Counts, rate: Option<f64>) -> Markup {
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
            @if let Some(rate) = rate {
                (view::figure("Sent a second", &html! { (view::decimal(rate)) }, None, Tone::Neutral))
            }
            (figure("Still to send", pending, Tone::Neutral))
            (figure("Failed", counts.failed, failed))
            (figure("Skipped", counts.skipped, Tone::Neutral))
        }
    }
}

fn pause_or_resume(visitor: &Visitor, campaign: &Campaign, asked: &Asked) -> Markup {
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
            @if asked.from == "report" { (view::hidden("from", "report")) }
            button class="button" type="submit" { (label) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_of_the_time_since_an_earlier_count() {
        let first = Asked::of_report();
        assert_eq!(first.rate(500, 1_000), None);
        let asked = first.next(Some(500), 1_000);
        assert_eq!((asked.sent, asked.at), (Some(500), Some(1_000)));
        assert_eq!(asked.rate(530, 3_000), Some(15.0));
        assert_eq!(asked.rate(530, 1_000), None, "no time has passed");
        // An earlier count is kept until it is old enough for a steady rate.
        assert_eq!(asked.next(Some(530), 3_000).sent, Some(500));
        assert_eq!(asked.next(Some(700), 11_000).sent, Some(700));
        assert_eq!(asked.next(None, 20_000).sent, Some(500), "the count is not known");
    }
}
