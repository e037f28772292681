//! How this process does, and what of it needs attention.

use maud::{Markup, html};

use crate::{
    process_metrics::{Metrics, whole},
    recent_metrics::Measured,
    view::{self, Tone},
};

const HEALTH: &str = "/console/health";
/// The target of acknowledgements.
const ACK_S: f64 = 0.025;
/// The target of events in queries.
const VISIBLE_S: f64 = 1.0;
/// A spool that is fuller than this needs attention.
const SPOOL_FULL: f64 = 0.5;

/// The figures of acknowledgements and of the lag.
pub(super) fn figures(measured: &Measured) -> Markup {
    let recent = &measured.recent;
    let acks =
        recent.durations_of("millrace_http_request_duration_seconds", "route", "/events/track");
    let lag = recent.durations("millrace_ingest_visible_lag_seconds");
    let since = measured.window.map_or_else(
        || "since the start".to_owned(),
        |window| format!("last {}", view::duration(window.as_secs_f64().round())),
    );
    let p99 = |label: &str, found: Option<f64>, target_s: f64| {
        let text =
            found.map_or_else(|| "–".to_owned(), |p99_s| format!("≤ {}", view::duration(p99_s)));
        let tone = if found > Some(target_s) { Tone::Warning } else { Tone::Neutral };
        let value = html! { (text) " " small class="quiet" { (since) } };
        view::figure(label, &value, Some(HEALTH), tone)
    };
    html! {
        (p99("Acknowledged within, p99", acks.map(|it| it.p99_s), ACK_S))
        (p99("In queries within, p99", lag.map(|it| it.p99_s), VISIBLE_S))
    }
}

/// What needs attention of an operator.
pub(super) fn attention(metrics: &Metrics) -> Vec<Markup> {
    let count = |name: &str| metrics.sum(name).map_or(0, whole);
    let mut found = Vec::new();
    let used = metrics.sum("millrace_spool_used_bytes").unwrap_or(0.0);
    let limit = metrics.sum("millrace_spool_limit_bytes").unwrap_or(0.0);
    if limit > 0.0 && used / limit > SPOOL_FULL {
        found.push(html! { "The spool is " (view::percent(used / limit)) " full" });
    }
    let refused = count("millrace_ingest_requests_refused_total");
    if refused > 0 {
        found.push(
            html! { (view::count(refused)) " requests with events were refused for lack of room" },
        );
    }
    for (worker, alive) in metrics.by("millrace_worker_alive", "name") {
        if alive < 1.0 {
            found.push(html! { "The worker " code { (worker) } " is silent" });
        }
    }
    for (engine, restarts) in metrics.by("millrace_engine_restarts_total", "engine") {
        if restarts > 0.0 {
            found
                .push(html! { (engine) " was restarted " (view::count(whole(restarts))) " times" });
        }
    }
    found
}

/// The list of what needs attention.
pub(super) fn attention_card(found: &[Markup]) -> Markup {
    view::card(
        "Needs attention",
        &html! {
            ul { @for line in found { li { (line) } } }
            p { a href=(HEALTH) { "Health" } }
        },
    )
}
