//! Guardrails, trends and adjusted comparisons of `GET /campaigns/:campaignId/variant-stats`.

use serde::Serialize;
use statistics::{noninferiority, proportion::Proportion};
use utoipa::ToSchema;

use super::number::{Bounds, Number};
use crate::model::{
    adjusted::AdjustedComparison,
    guardrail::{Guardrail, Harm},
    trend::{Sending, VariantTrend},
};

/// Which kind of harm it is.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum GuardrailMetric {
    /// People who unsubscribed, of those to whom a message was sent.
    Unsubscribe,
    /// People who reported spam, of those to whom a message was sent.
    Complaint,
    /// People with a message that bounced, of those to whom one was sent.
    Bounce,
    /// People with a message that failed, of all who were assigned.
    Failure,
}

/// What is known about a guardrail.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum GuardrailVerdict {
    /// Not higher than the baseline by more than the margin.
    Ok,
    /// Higher than the baseline.
    Worse,
    /// Too early to say, or too close to the margin.
    Inconclusive,
}

/// Whether a variant does more harm than the baseline of guardrails.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct GuardrailStats {
    metric: GuardrailMetric,
    /// The share of people harmed.
    #[schema(value_type = f64)]
    rate: Number,
    #[schema(value_type = f64)]
    baseline_rate: Number,
    /// By how much `rate` may be higher.
    #[schema(value_type = f64)]
    margin: Number,
    /// Where the difference lies, at 90 %: its upper end is below the margin where `pValue` is below 0.05. Null of too few
    /// people.
    interval: Option<Bounds>,
    /// Of the test that the rate is higher by less than the margin (non-inferiority, one-sided).
    #[schema(value_type = Option<f64>)]
    p_value: Option<Number>,
    /// Adjusted for the number of guardrails of all variants (Holm), apart from metrics of success.
    #[schema(value_type = Option<f64>)]
    adjusted_p_value: Option<Number>,
    verdict: GuardrailVerdict,
}

impl From<&Guardrail> for GuardrailStats {
    fn from(found: &Guardrail) -> Self {
        let rate = |of: Proportion| Number::of(of.rate());
        Self {
            metric: match found.harm {
                Harm::Unsubscribe => GuardrailMetric::Unsubscribe,
                Harm::Complaint => GuardrailMetric::Complaint,
                Harm::Bounce => GuardrailMetric::Bounce,
                Harm::Failure => GuardrailMetric::Failure,
            },
            rate: rate(found.own),
            baseline_rate: rate(found.base),
            margin: Number::of(found.harm.margin()),
            interval: found.compared.map(|it| it.interval.into()),
            p_value: found.compared.map(|it| Number::of(it.p_value)),
            adjusted_p_value: found.checked.adjusted_p.map(Number::of),
            verdict: match found.checked.verdict {
                noninferiority::Verdict::Ok => GuardrailVerdict::Ok,
                noninferiority::Verdict::Worse => GuardrailVerdict::Worse,
                noninferiority::Verdict::Inconclusive => GuardrailVerdict::Inconclusive,
            },
        }
    }
}

/// A comparison adjusted by what the same people did before (CUPED).
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AdjustedComparison)]
pub(super) struct AdjustedStats {
    #[schema(value_type = Option<f64>)]
    lift: Option<Number>,
    interval: Option<Bounds>,
    #[schema(value_type = f64)]
    p_value: Number,
    /// The part of the difference's variance that the past explains: 0.2 is worth a quarter more people.
    #[schema(value_type = f64)]
    variance_reduction: Number,
}

impl From<&AdjustedComparison> for AdjustedStats {
    fn from(found: &AdjustedComparison) -> Self {
        Self {
            lift: found.lift.map(Number::of),
            interval: found.lift_interval.map(Bounds::from),
            p_value: Number::of(found.p_value),
            variance_reduction: Number::of(found.variance_reduction),
        }
    }
}

/// What effects are compared by.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum TrendBy {
    Occurrence,
    /// The day a message was sent (UTC), of a campaign that goes to each person once.
    Day,
}

/// The effect of a variant from sending to sending.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct TrendStats {
    by: TrendBy,
    /// Oldest first; sendings with fewer than 30 recipients or 5 successes on a side are left out.
    effects: Vec<EffectStats>,
    /// Whether all effects are the same; null of fewer than four.
    cochran_q: Option<Homogeneity>,
    /// The line through the effects; null of fewer than four.
    slope: Option<Slope>,
    /// Whether the effect becomes smaller: at an adjusted p-value of the slope below 0.01.
    fades: bool,
}

/// The effect in one sending.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct EffectStats {
    /// Null if it is a day.
    occurrence: Option<u32>,
    /// Null if it is an occurrence.
    #[schema(value_type = Option<String>, format = Date)]
    date: Option<String>,
    #[schema(value_type = f64)]
    lift: Number,
    interval: Bounds,
}

/// Cochran's test that several effects are the same.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Homogeneity {
    #[schema(value_type = f64)]
    statistic: Number,
    degrees_of_freedom: u32,
    #[schema(value_type = f64)]
    p_value: Number,
}

/// How an effect changes from sending to sending, or from day to day.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TrendSlope)]
struct Slope {
    /// By how much the ratio of the rates changes from one to the next, in parts of it.
    #[schema(value_type = f64)]
    per_step: Number,
    interval: Bounds,
    #[schema(value_type = f64)]
    p_value: Number,
    /// Adjusted for the number of variants (Holm).
    #[schema(value_type = Option<f64>)]
    adjusted_p_value: Option<Number>,
}

impl TrendStats {
    pub(super) fn new(trend: &VariantTrend, confidence: f64) -> Self {
        let is_by_day =
            trend.effects.first().is_some_and(|it| matches!(it.sending, Sending::Day(_)));
        let effect = |of: &crate::model::trend::SendingEffect| EffectStats {
            occurrence: match of.sending {
                Sending::Occurrence(number) => Some(number),
                Sending::Day(_) => None,
            },
            date: of.sending.date().map(|date| date.to_string()),
            lift: Number::of(of.effect.lift()),
            interval: of.effect.lift_interval(confidence).into(),
        };
        Self {
            by: if is_by_day { TrendBy::Day } else { TrendBy::Occurrence },
            effects: trend.effects.iter().map(effect).collect(),
            cochran_q: trend.line.map(|line| Homogeneity {
                statistic: Number::of(line.homogeneity.statistic),
                degrees_of_freedom: line.homogeneity.degrees,
                p_value: Number::of(line.homogeneity.p_value),
            }),
            slope: trend.line.map(|line| Slope {
                per_step: Number::of(line.step()),
                interval: line.step_interval(confidence).into(),
                p_value: Number::of(line.p_value),
                adjusted_p_value: trend.adjusted_p.map(Number::of),
            }),
            fades: trend.fades(),
        }
    }
}
