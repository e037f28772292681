//! The conversions and orders of people before a campaign assigned them to a variant.

use std::collections::HashMap;

use analytics::messages::{ConversionFilter, conversions, conversions_total};
use campaigns::model::settings::ab_test::WinnerMetric;
use kernel::Result;
use web::Services;

use super::{
    ReportScope,
    conversion_scan::untrusted_names,
    event_credits::{ConversionScan, CreditFilter},
};
use crate::model::{
    goal::{ORDER_COMPLETED, Tracker},
    outcome::{Goal, PersonId},
};

/// Most events that are looked at; their people fit in one question.
const EVENTS_MAX: u64 = 20_000;

/// An event that would have counted for the metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct EarlierEvent {
    pub(super) at_ms: i64,
    /// The amount of an order in whole units; 1 of a conversion.
    pub(super) value: f64,
}

/// The earlier events of people.
pub(super) enum Earlier {
    Known(HashMap<PersonId, Vec<EarlierEvent>>),
    /// There are more events than are looked at.
    TooMany,
}

/// Which events are asked for.
pub(super) struct EarlierFilter<'a> {
    pub(super) metric: WinnerMetric,
    /// Of orders: only those in this currency.
    pub(super) currency: Option<&'a str>,
    pub(super) start_ms: i64,
    /// Events until then count, inclusive.
    pub(super) end_ms: i64,
}

/// The events of a time that would have counted for the metric of a campaign, by person.
pub(super) async fn earlier(
    app: &Services,
    scope: &ReportScope,
    own: &Tracker,
    filter: &EarlierFilter<'_>,
) -> Result<Earlier> {
    let is_revenue = filter.metric == WinnerMetric::RevenuePerRecipient;
    let primary = own.tracking.primary_conversion.event_name.as_str();
    let name = if is_revenue { ORDER_COMPLETED } else { primary };
    let events = ConversionFilter {
        event_name: name,
        with_properties: own.has_conditions_for(name),
        without_apps: untrusted_names(app, scope.workspace).await?.iter().any(|it| it == name),
        identifiers: None,
        start_ms: filter.start_ms,
        end_ms: filter.end_ms,
        events_max: EVENTS_MAX + 1,
    };
    let workspace = scope.workspace.uuid();
    let total = conversions_total(app.analytics(), workspace, &events).await?;
    if total == 0 {
        return Ok(Earlier::Known(HashMap::new()));
    }
    if total > EVENTS_MAX {
        return Ok(Earlier::TooMany);
    }
    let credit_filter = CreditFilter { primary_only: !is_revenue, ..CreditFilter::default() };
    let scan = ConversionScan {
        app,
        scope,
        own,
        others: Vec::new(),
        name,
        without_apps: events.without_apps,
        currency: filter.currency,
        filter: &credit_filter,
    };
    let mut found = conversions(app.analytics(), workspace, &events)?;
    let mut met = Vec::new();
    while let Some(event) = found.next().await? {
        met.extend(scan.match_goals(event));
    }
    let people = scan.people(&met).await?;
    let mut by_person: HashMap<PersonId, Vec<EarlierEvent>> = HashMap::new();
    for event in &met {
        let Some(value) = value_of(&event.goals, filter) else { continue };
        for user in people.of(&event.users, &event.anonymous) {
            let event = EarlierEvent { at_ms: event.at_ms, value };
            by_person.entry(*user.bytes()).or_default().push(event);
        }
    }
    Ok(Earlier::Known(by_person))
}

/// What an event counts for the metric.
fn value_of(goals: &[Goal], filter: &EarlierFilter<'_>) -> Option<f64> {
    let is_revenue = filter.metric == WinnerMetric::RevenuePerRecipient;
    goals.iter().find_map(|goal| match goal {
        Goal::Conversion(0) if !is_revenue => Some(1.0),
        Goal::Order { currency, amount }
            if is_revenue && Some(currency.as_str()) == filter.currency =>
        {
            Some(amount / 1e4)
        }
        _ => None,
    })
}
