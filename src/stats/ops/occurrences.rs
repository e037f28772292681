//! The results of each sending of a campaign.

use std::collections::BTreeSet;

use analytics::messages::Count;
use kernel::{Result, Timestamp, zone::Zone};
use web::Services;

use super::{
    ReportScope, conversion_scan::credits, event_credits::CreditFilter, report::main_currency,
};
use crate::{
    model::outcome::{MessageGroup, Outcomes, sum},
    store::{self, runs::Run},
};

/// The newest occurrences that are reported.
const RUNS_MAX: i64 = 10_000;

/// A sending of a campaign.
#[derive(Debug, Clone)]
pub struct Occurrence {
    pub occurrence: u32,
    /// The scheduled day, in the campaign's zone.
    pub date: Option<chrono::NaiveDate>,
    pub started_at: Option<Timestamp>,
    /// When every message was completed.
    pub completed_at: Option<Timestamp>,
    /// Number of messages by progress.
    pub count: Count,
    pub conversions: f64,
    /// In whole units of the reporting currency.
    pub revenue: f64,
}

/// Every sending of a campaign, newest first: those with a stored run and those with messages.
///
/// # Errors
/// If a store fails.
pub async fn send_occurrences(
    app: &Services,
    scope: &ReportScope,
    zone: Zone,
    currency: Option<&str>,
) -> Result<Vec<Occurrence>> {
    let runs = store::runs::of_campaign(app.db(), scope.workspace, scope.campaign.id, RUNS_MAX);
    let filter = CreditFilter::default();
    let (runs, counts, credits) =
        tokio::join!(runs, scope.counts(app), credits(app, scope, currency, &filter));
    let (runs, counts, outcomes) = (runs?, counts?, Outcomes::of(&credits?.credited));
    let run_of = |number: u32| runs.iter().find(|run| run.occurrence == number);
    // An occurrence without a run is known by the times of its messages only.
    let is_known = |count: &Count| run_of(count.occurrence).is_some();
    let spans = if counts.iter().all(is_known) { &[] } else { scope.spans(app).await? };
    let currency = main_currency(&outcomes, currency).unwrap_or_default();
    let definition = &scope.campaign.definition;
    let zone = match definition.recurring_schedule.as_deref() {
        Some(schedule) => schedule.zone(zone),
        None => definition.scheduled_timezone.unwrap_or(zone),
    };
    let mut numbers: BTreeSet<u32> = counts.iter().map(|count| count.occurrence).collect();
    numbers.extend(runs.iter().map(|run| run.occurrence));
    let occurrence = |number: &u32| {
        let run: Option<&Run> = run_of(*number);
        let count = sum(counts.iter().filter(|count| count.occurrence == *number));
        let is_its = |place: &MessageGroup| place.occurrence == *number && place.is_sent();
        let span = spans.iter().find(|span| span.occurrence == *number);
        let first = span.map(|span| Timestamp::from_millis(span.first_ms));
        let last = span.map(|span| Timestamp::from_millis(span.last_ms));
        let day = run.map(|run| run.due_at).or(first);
        Occurrence {
            occurrence: *number,
            date: day.map(|at| zone.clock_at(at).date()),
            started_at: run.map(|run| run.started_at).or(first),
            completed_at: match run {
                Some(run) => run.completed_at,
                None => last.filter(|_| count.queued == count.sent),
            },
            conversions: outcomes.converted(0, is_its).conversions,
            revenue: outcomes.earned(&currency, is_its).amount / 1e4,
            count,
        }
    };
    Ok(numbers.iter().rev().map(occurrence).collect())
}
