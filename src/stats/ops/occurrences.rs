//! How each sending of a campaign did.

use std::collections::BTreeSet;

use analytics::messages::Count;
use kernel::{Result, Timestamp, zone::Zone};
use web::Services;

use super::{
    Asked,
    conversion_scan::{Questions, credits},
    report::main_currency,
};
use crate::{
    model::outcome::{Achieved, MessageGroup, sum},
    store::{self, runs::Run},
};

/// Occurrences that are looked at, the newest.
const RUNS_MAX: i64 = 10_000;

/// A sending of a campaign.
#[derive(Debug, Clone)]
pub struct Occurrence {
    pub occurrence: u32,
    /// The day it was for, in the campaign's zone.
    pub date: Option<chrono::NaiveDate>,
    pub started_at: Option<Timestamp>,
    /// When everyone in it was settled.
    pub completed_at: Option<Timestamp>,
    /// How many messages got how far.
    pub count: Count,
    pub conversions: f64,
    /// In whole units of the reported currency.
    pub revenue: f64,
}

/// Every sending of a campaign, newest first: those that are on record and those of which something is told.
///
/// # Errors
/// When a store fails; a bad request where there are too many events to look at.
pub async fn send_occurrences(
    app: &Services,
    asked: &Asked,
    (zone, currency): (Zone, Option<&str>),
) -> Result<Vec<Occurrence>> {
    let runs = store::runs::of_campaign(app.db(), asked.workspace, asked.campaign.id, RUNS_MAX);
    let questions = Questions::default();
    let (runs, counts, credits) =
        tokio::join!(runs, asked.counts(app), credits(app, asked, currency, &questions));
    let (runs, counts, achieved) = (runs?, counts?, Achieved::of(&credits?));
    let run_of = |number: u32| runs.iter().find(|run| run.occurrence == number);
    // When its messages left is all that is known of an occurrence without a run.
    let is_known = |count: &Count| run_of(count.occurrence).is_some();
    let spans = if counts.iter().all(is_known) { Vec::new() } else { asked.spans(app).await? };
    let currency = main_currency(&achieved, currency).unwrap_or_default();
    let definition = &asked.campaign.definition;
    let zone = match definition.recurring_schedule.as_deref() {
        Some(schedule) => schedule.zone(zone),
        None => definition.scheduled_timezone.unwrap_or(zone),
    };
    let mut numbers: BTreeSet<u32> = counts.iter().map(|count| count.occurrence).collect();
    numbers.extend(runs.iter().map(|run| run.occurrence));
    let occurrence = |number: &u32| {
        let run: Option<&Run> = run_of(*number);
        let count = sum(counts.iter().filter(|count| count.occurrence == *number));
        let is_its = |place: &MessageGroup| place.occurrence == *number && !place.is_control;
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
            conversions: achieved.converted(0, is_its).conversions,
            revenue: achieved.earned(&currency, is_its).amount / 1e4,
            count,
        }
    };
    Ok(numbers.iter().rev().map(occurrence).collect())
}
