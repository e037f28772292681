//! The uplift of `GET /campaigns/:campaignId/stats`: all who were assigned to a variant, compared with the control group.

use kernel::Timestamp;
use serde::Serialize;
use statistics::{
    proportion::{Interval, Proportion, real},
    sample_ratio::MISMATCH_BELOW,
    score,
};
use utoipa::ToSchema;

use super::number::{Bounds, Number};
use crate::{
    model::{
        comparison::{Revenue, few_payers, too_small},
        warning::{Warning, WarningAnswer},
    },
    ops::{Maturity, Report, ReportScope, Uplift, UpliftRevenue},
};

/// Confidence of intervals, and of the significance of the uplift.
const CONFIDENCE: f64 = 0.95;
/// Control group below which a warning is given.
const CONTROL_SMALL: u64 = 1_000;

/// Whom a comparison counts.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Analysis {
    /// All who were assigned, whether their message left or not: what fails on one side only cannot look like an effect.
    IntentionToTreat,
}

/// What a comparison counts as one.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = StatsUnit)]
pub(super) enum Unit {
    Person,
    Message,
}

/// The effect of the campaign: all who were assigned to a variant compared with the control group.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct UpliftStats {
    control_variant_id: String,
    analysis: Analysis,
    unit: Unit,
    treatment: UpliftSide,
    control: UpliftSide,
    /// Share of the assigned to whom a message was sent.
    #[schema(value_type = f64)]
    reach: Number,
    /// The difference of the rates; null if one side is empty.
    #[schema(value_type = Option<f64>)]
    absolute_uplift: Option<Number>,
    /// Relative to the control group's rate; null if that is 0.
    #[schema(value_type = Option<f64>)]
    relative_uplift: Option<Number>,
    /// Where the difference lies.
    confidence_interval: Option<UpliftInterval>,
    /// Of the relative uplift.
    relative_interval: Option<Bounds>,
    /// The effect on those to whom a message was sent: the difference divided by `reach`. Null without any.
    on_the_treated: Option<OnTheTreated>,
    #[schema(value_type = Option<f64>)]
    p_value: Option<Number>,
    /// 1 minus the p-value; not a probability that the campaign works.
    #[schema(value_type = Option<f64>)]
    confidence: Option<Number>,
    is_significant: bool,
    /// The difference of the rates, times the assigned.
    incremental_conversions: Option<Incremental>,
    /// The difference of the revenues a person, times the assigned, in the main currency.
    incremental_revenue: Option<Incremental>,
    /// The same with the greatest thousandth of the amounts cut to the 99.9th percentile of both sides. Null without
    /// revenue.
    incremental_revenue_capped: Option<Incremental>,
    maturity: MaturityAnswer,
    warnings: Vec<WarningAnswer>,
}

/// One side of a comparison.
#[derive(Debug, Serialize, ToSchema)]
struct UpliftSide {
    /// People assigned to it.
    size: u64,
    /// Those of them who converted.
    conversions: u64,
    #[schema(value_type = f64)]
    rate: Number,
    /// In the main currency.
    #[schema(value_type = f64)]
    revenue: Number,
}

/// A confidence interval of a difference.
#[derive(Debug, Serialize, ToSchema)]
struct UpliftInterval {
    level: f64,
    #[serde(flatten)]
    bounds: Bounds,
}

/// The effect on those to whom a message was sent (Bloom, Evaluation Review 8, 1984; Angrist, Imbens, Rubin, J. Am. Stat.
/// Assoc. 91, 1996).
#[derive(Debug, Serialize, ToSchema)]
struct OnTheTreated {
    #[schema(value_type = f64)]
    absolute: Number,
    interval: Bounds,
}

/// What the campaign brought in addition, and between which bounds that lies with 95 % confidence.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Incremental {
    #[schema(value_type = f64)]
    value: Number,
    #[schema(value_type = f64)]
    lower: Number,
    #[schema(value_type = f64)]
    upper: Number,
    #[schema(value_type = Option<f64>)]
    p_value: Option<Number>,
}

/// The revenue of both sides in one currency.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct RevenueUplift {
    /// Of all who were assigned to a variant.
    #[schema(value_type = f64)]
    treatment: Number,
    #[schema(value_type = f64)]
    control: Number,
    /// The difference of the revenues a person, times the assigned.
    incremental: Option<Incremental>,
}

/// How many attribution windows are over. Conversions that are compared are counted up to the age that nine of ten
/// messages of each side have reached.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct MaturityAnswer {
    /// Share of the messages whose window is over.
    #[schema(value_type = f64)]
    closed: Number,
    /// When the last window ends; null if all are over.
    opens_until: Option<Timestamp>,
    /// The age up to which conversions are compared, in seconds; null if all windows are over.
    compared_up_to_seconds: Option<i64>,
    by_variant: Vec<ClosedOfVariant>,
}

/// The share of a variant's windows that are over.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ClosedOfVariant {
    variant_id: String,
    #[schema(value_type = f64)]
    closed: Number,
}

impl MaturityAnswer {
    pub(super) fn new(scope: &ReportScope, maturity: &Maturity) -> Self {
        let of_variant = |of: &crate::ops::ClosedShare| {
            let variant_id = scope.variant(of.variant)?.to_owned();
            Some(ClosedOfVariant { variant_id, closed: Number::of(of.closed) })
        };
        Self {
            closed: Number::of(maturity.closed),
            opens_until: maturity.opens_until,
            compared_up_to_seconds: maturity.cut_ms.map(|cut| cut / 1000),
            by_variant: maturity.by_variant.iter().filter_map(of_variant).collect(),
        }
    }
}

impl RevenueUplift {
    pub(super) fn new(scope: &ReportScope, report: &Report, currency: &str) -> Self {
        let revenue = report.uplift_revenue(currency);
        Self {
            treatment: Number::money(revenue.treatment.mean.sum),
            control: Number::money(revenue.control.mean.sum),
            incremental: incremental_revenue(&revenue, scope.seed()),
        }
    }
}

/// The difference of the revenues a person, times the assigned. None if one side is empty.
fn incremental_revenue(revenue: &UpliftRevenue, seed: u64) -> Option<Incremental> {
    let (assigned, held_out) = (revenue.treatment.mean.count, revenue.control.mean.count);
    if assigned == 0 || held_out == 0 {
        return None;
    }
    let found = revenue.difference(CONFIDENCE, seed);
    let whole = |each: f64| Number::money(each * real(assigned));
    let bound = |of: fn(Interval) -> f64| found.map_or(0.0, |found| of(found.interval));
    Some(Incremental {
        value: whole(found.map_or(0.0, |found| found.value)),
        lower: whole(bound(|interval| interval.lower)),
        upper: whole(bound(|interval| interval.upper)),
        p_value: found.map(|found| Number::of(found.p_value)),
    })
}

impl UpliftStats {
    /// None without a control group.
    pub(super) fn new(scope: &ReportScope, report: &Report) -> Option<Self> {
        let control = scope.control()?;
        let uplift = report.uplift();
        let revenue = report.uplift_revenue(report.main_currency().as_deref().unwrap_or_default());
        let (treatment, held_out) = (uplift.treatment, uplift.control);
        let side = |of: Proportion, earned: &Revenue| UpliftSide {
            size: of.trials,
            conversions: of.successes,
            rate: Number::of(of.rate()),
            revenue: Number::money(earned.mean.sum),
        };
        let is_there = treatment.trials > 0 && held_out.trials > 0;
        let difference = is_there.then(|| treatment.rate() - held_out.rate());
        let p_value = treatment.p_value(held_out);
        let interval = score::difference(treatment, held_out, CONFIDENCE);
        let effect = difference.zip(interval).map(|(value, interval)| Effect { value, interval });
        Some(Self {
            control_variant_id: scope.variant(control).unwrap_or_default().to_owned(),
            analysis: Analysis::IntentionToTreat,
            unit: Unit::Person,
            treatment: side(treatment, &revenue.treatment),
            control: side(held_out, &revenue.control),
            reach: Number::of(uplift.reach),
            absolute_uplift: difference.map(Number::of),
            relative_uplift: treatment.lift(held_out).map(Number::of),
            confidence_interval: interval
                .map(|found| UpliftInterval { level: CONFIDENCE, bounds: found.into() }),
            relative_interval: score::lift(treatment, held_out, CONFIDENCE).map(Bounds::from),
            on_the_treated: effect.and_then(|effect| effect.on_the_treated(uplift.reach)),
            p_value: p_value.map(Number::of),
            confidence: p_value.map(|p| Number::of(1.0 - p)),
            is_significant: too_small(treatment, held_out).is_none()
                && report.maturity.is_comparable()
                && p_value.is_some_and(|p| p < 1.0 - CONFIDENCE),
            incremental_conversions: effect.map(|effect| effect.incremental(treatment.trials)),
            incremental_revenue: incremental_revenue(&revenue, scope.seed()),
            incremental_revenue_capped: revenue
                .capped()
                .and_then(|capped| incremental_revenue(&capped, scope.seed())),
            maturity: MaturityAnswer::new(scope, &report.maturity),
            warnings: warnings(scope, report, &uplift, &revenue)
                .iter()
                .map(WarningAnswer::from)
                .collect(),
        })
    }
}

/// A difference of two rates, and where it lies.
#[derive(Clone, Copy)]
struct Effect {
    value: f64,
    interval: Interval,
}

impl Effect {
    fn on_the_treated(self, reach: f64) -> Option<OnTheTreated> {
        let Interval { lower, upper } = self.interval;
        (reach > 0.0).then(|| OnTheTreated {
            absolute: Number::of(self.value / reach),
            interval: Interval { lower: lower / reach, upper: upper / reach }.into(),
        })
    }

    fn incremental(self, assigned: u64) -> Incremental {
        let whole = |rate: f64| Number::parts(rate * real(assigned));
        Incremental {
            value: whole(self.value),
            lower: whole(self.interval.lower),
            upper: whole(self.interval.upper),
            p_value: None,
        }
    }
}

fn warnings(
    scope: &ReportScope,
    report: &Report,
    uplift: &Uplift,
    revenue: &UpliftRevenue,
) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if scope.campaign.definition.conversion_tracking.is_none() {
        warnings.push(Warning::NoConversions);
    }
    if uplift.control.trials < CONTROL_SMALL {
        warnings.push(Warning::ControlSmall(CONTROL_SMALL));
    }
    warnings.extend(too_small(uplift.treatment, uplift.control));
    let is_paid = revenue.treatment.mean.sum != 0.0 || revenue.control.mean.sum != 0.0;
    warnings.extend(few_payers(&revenue.treatment, &revenue.control).filter(|_| is_paid));
    if !report.maturity.is_comparable() {
        warnings.push(Warning::WindowsOpen(report.maturity.closed));
    }
    if let Some(test) = uplift.failures.filter(|test| test.p_value < MISMATCH_BELOW) {
        warnings.push(Warning::DifferentialFailure(test.p_value));
    }
    warnings
}
