//! Comparisons adjusted by what the same people did before: opens and clicks by those of messages of other campaigns,
//! conversions and revenue by those before.
//!
//! Only where there is something before, and where reading it is cheap: what a campaign's report costs must not depend on
//! how much a workspace has done.

use std::{collections::HashMap, time::Duration};

use analytics::messages::{
    Cohort, HistoryFilter, HistorySums, campaign_rows, first_assignments, history_sums,
};
use campaigns::model::settings::ab_test::WinnerMetric;
use kernel::{
    Result, Timestamp,
    time::{DAY, millis},
};
use statistics::adjustment::{Group, Sums};
use uuid::Uuid;
use web::Services;

use super::{
    ReportScope,
    comparison_input::ComparisonInput,
    earlier::{Earlier, EarlierEvent, EarlierFilter, earlier},
};
use crate::{
    model::{
        adjusted::{AdjustedComparison, Side, of_amounts, of_rates},
        comparison::Compare,
        goal::Tracker,
        outcome::{MessageGroup, Outcomes, PersonId},
    },
    store,
};

/// How long before they were assigned what people did counts.
const HISTORY: Duration = DAY.saturating_mul(90);
/// Earlier campaigns that are looked at: those that began last.
const CAMPAIGNS_MAX: i64 = 50;
/// Rows of messages that are read, those of the campaign and those of earlier ones.
const ROWS_MAX: u64 = 200_000;

/// The adjusted comparison of each variant.
#[derive(Debug, Clone, Default)]
pub(super) struct AdjustedVariants {
    /// By variant; none of those without a comparison, and where nothing is known of before.
    pub(super) by_variant: Vec<Option<AdjustedComparison>>,
    /// Whether there is more to read than is read.
    pub(super) is_too_large: bool,
}

/// What is known of the time before.
enum History {
    Absent,
    TooLarge,
    /// The sums of each variant.
    Groups(Vec<Group>),
    /// The people of each variant.
    Sides(Vec<Side>),
}

/// Adjusts the comparison of each variant with the baseline.
pub(super) async fn of_variants(
    app: &Services,
    scope: &ReportScope,
    cohort: &Cohort<'_>,
    input: &ComparisonInput<'_>,
) -> Result<AdjustedVariants> {
    let none = vec![None; cohort.variants.len()];
    let compared: Vec<usize> = input.with_result().collect();
    // Of messages of a time, or of a later test, some people were assigned before.
    let is_from_the_first = scope.range.start.is_none()
        && scope.range.end.is_none()
        && input.trial.is_none_or(|trial| trial.after_occurrence == 0);
    let Some(baseline) = input.baseline.filter(|_| !compared.is_empty() && is_from_the_first)
    else {
        return Ok(AdjustedVariants { by_variant: none, is_too_large: false });
    };
    let history = if input.is_by_assignment {
        events_before(app, scope, cohort, input).await?
    } else {
        messages_before(app, scope, cohort, input).await?
    };
    let rules =
        |at: usize| Compare { confidence: input.confidence, seed: scope.seed() ^ at as u64 };
    let adjusted = |at: usize| match &history {
        History::Absent | History::TooLarge => None,
        History::Groups(groups) => of_rates(groups, at, baseline, input.confidence),
        History::Sides(sides) => of_amounts(sides, at, baseline, rules(at)),
    };
    let mut by_variant = none;
    // Thousands of random draws take a tenth of a second.
    tokio::task::block_in_place(|| {
        for at in compared {
            by_variant[at] = adjusted(at);
        }
    });
    Ok(AdjustedVariants { by_variant, is_too_large: matches!(history, History::TooLarge) })
}

/// When the first and the last message left, if one did.
async fn period(app: &Services, scope: &ReportScope) -> Result<Option<(i64, i64)>> {
    let spans = scope.spans(app).await?;
    let first = spans.iter().map(|span| span.first_ms).min();
    Ok(first.zip(spans.iter().map(|span| span.last_ms).max()))
}

/// Opens or clicks of earlier messages on the same channel.
async fn messages_before(
    app: &Services,
    scope: &ReportScope,
    cohort: &Cohort<'_>,
    input: &ComparisonInput<'_>,
) -> Result<History> {
    let Some((first, last)) = period(app, scope).await? else { return Ok(History::Absent) };
    let period = store::history::Period {
        channel: scope.campaign.definition.channel.as_str(),
        earliest: Timestamp::from_millis(first - millis(HISTORY)),
        latest: Timestamp::from_millis(last),
    };
    let others = store::history::campaigns_beside(
        app.db(),
        scope.workspace,
        scope.campaign.id,
        &period,
        CAMPAIGNS_MAX,
    )
    .await?;
    if others.is_empty() {
        return Ok(History::Absent);
    }
    let asked: Vec<Uuid> = std::iter::once(cohort.campaign).chain(others.iter().copied()).collect();
    let rows = campaign_rows(app.analytics(), cohort.workspace, &asked).await?;
    let rows_of = |id: Uuid| rows.iter().find(|of| of.campaign_id == id).map_or(0, |of| of.rows);
    // The newest first, as far as they may be read: any of them will do, since none was written after.
    let mut left = ROWS_MAX.checked_sub(rows_of(cohort.campaign));
    let with_messages: Vec<Uuid> = others.into_iter().filter(|id| rows_of(*id) > 0).collect();
    if with_messages.is_empty() {
        return Ok(History::Absent);
    }
    let is_affordable = |id: &Uuid| {
        left = left.and_then(|left| left.checked_sub(rows_of(*id)));
        left.is_some()
    };
    let campaigns: Vec<Uuid> = with_messages.into_iter().take_while(is_affordable).collect();
    if campaigns.is_empty() {
        return Ok(History::TooLarge);
    }
    let filter = HistoryFilter {
        campaigns: &campaigns,
        clicks: input.metric == WinnerMetric::ClickRate,
        history_ms: millis(HISTORY),
    };
    let found = history_sums(app.analytics(), cohort, &filter).await?;
    Ok(History::Groups((1_u8..).take(cohort.variants.len()).map(|of| group(of, &found)).collect()))
}

fn group(variant: u8, found: &[HistorySums]) -> Group {
    let sums = |known: u8| {
        let own = found.iter().find(|of| of.variant == variant && of.known == known);
        own.map_or_else(Sums::default, |of| Sums {
            people: of.people,
            x: of.sum_x,
            y: of.sum_y,
            m: of.sum_m,
            xx: of.sum_xx,
            yy: of.sum_yy,
            mm: of.sum_mm,
            xy: of.sum_xy,
            xm: of.sum_xm,
            ym: of.sum_ym,
        })
    };
    Group { known: sums(1), unknown: sums(0) }
}

/// Conversions or revenue of the time before.
async fn events_before(
    app: &Services,
    scope: &ReportScope,
    cohort: &Cohort<'_>,
    input: &ComparisonInput<'_>,
) -> Result<History> {
    let Some(tracking) = scope.campaign.definition.conversion_tracking.as_deref() else {
        return Ok(History::Absent);
    };
    let Some((first, last)) = period(app, scope).await? else { return Ok(History::Absent) };
    let own = Tracker { campaign: scope.campaign.id, tracking: tracking.clone() };
    let filter = EarlierFilter {
        metric: input.metric,
        currency: input.currency,
        start_ms: first - millis(HISTORY),
        end_ms: last,
    };
    let events = match earlier(app, scope, &own, &filter).await? {
        Earlier::TooMany => return Ok(History::TooLarge),
        Earlier::Known(events) if events.is_empty() => return Ok(History::Absent),
        Earlier::Known(events) => events,
    };
    let sides = sides(app, cohort, input, &events).await?;
    if input.metric == WinnerMetric::RevenuePerRecipient {
        return Ok(History::Sides(sides));
    }
    Ok(History::Groups(sides.iter().map(Side::group).collect()))
}

/// What the people of each variant did before and after.
async fn sides(
    app: &Services,
    cohort: &Cohort<'_>,
    input: &ComparisonInput<'_>,
    events: &HashMap<PersonId, Vec<EarlierEvent>>,
) -> Result<Vec<Side>> {
    let outcomes = Outcomes::of(input.credits.iter().copied());
    let mut sides: Vec<Side> = (1_u8..)
        .take(cohort.variants.len())
        .map(|number| Side {
            people: input.people_of(number).assigned + input.people_of(number).control,
            before: HashMap::new(),
            after: after(input, &outcomes, number),
        })
        .collect();
    let people: Vec<PersonId> = events.keys().copied().collect();
    for assigned in first_assignments(app.analytics(), cohort, &people).await? {
        let Some(own) = events.get(&assigned.user_id) else { continue };
        let value = before(input.metric, own, assigned.assigned_ms);
        for number in &assigned.variants {
            let side = usize::from(*number).checked_sub(1).and_then(|at| sides.get_mut(at));
            if let Some(side) = side.filter(|_| value != 0.0) {
                side.before.insert(assigned.user_id, value);
            }
        }
    }
    Ok(sides)
}

/// The metric of a person in the time before they were assigned.
fn before(metric: WinnerMetric, events: &[EarlierEvent], assigned_ms: i64) -> f64 {
    let is_before = |event: &&EarlierEvent| {
        event.at_ms < assigned_ms && event.at_ms >= assigned_ms - millis(HISTORY)
    };
    let sum: f64 = events.iter().filter(is_before).map(|event| event.value).sum();
    // A person converts once.
    if metric == WinnerMetric::ConversionRate { sum.min(1.0) } else { sum }
}

fn after(input: &ComparisonInput<'_>, outcomes: &Outcomes, number: u8) -> HashMap<PersonId, f64> {
    let belongs = |of: &MessageGroup| of.variant == number;
    match (input.metric, input.currency) {
        (WinnerMetric::RevenuePerRecipient, Some(currency)) => outcomes
            .earned_by_person(currency, belongs)
            .into_iter()
            .map(|(person, amount)| (person, amount / 1e4))
            .collect(),
        (WinnerMetric::RevenuePerRecipient, None) => HashMap::new(),
        _ => outcomes.converters(0, belongs).into_iter().map(|person| (person, 1.0)).collect(),
    }
}
