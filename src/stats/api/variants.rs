//! `GET /campaigns/:campaignId/variant-stats`.

use axum::{Json, extract::State};
use campaigns::model::{
    settings::ab_test::WinnerMetric,
    trial::{Phase, TrialVerdict},
};
use kernel::{CampaignId, Timestamp};
use serde::Serialize;
use statistics::{proportion::share, revenue::PAYERS_MAX, sample_ratio::MISMATCH_BELOW};
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    Services,
    auth::{Caller, scope},
    http::{ApiResult, PathOf, Query},
};

use super::{
    Range,
    beside::{AdjustedStats, GuardrailStats, TrendStats},
    number::{Bounds, Number, RateBase},
    sequential::SequentialAnswer,
    uplift::{Analysis, MaturityAnswer, Unit},
};
use crate::{
    model::{comparison::Measure, warning::WarningAnswer},
    ops::{self, ReportScope, Rollout, SampleRatio, VariantReport},
};

pub(super) fn routes() -> OpenApiRouter<Services> {
    OpenApiRouter::new().routes(routes!(variant_stats))
}

/// How variants are compared.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = StatsMethod)]
enum Method {
    TwoProportionZTest,
    /// For opens and clicks of people with several messages: the variance is that of a ratio of sums over people.
    RatioByPersonZTest,
    /// For amounts of money: people are assigned anew at random, thousands of times.
    ReRandomisation,
    /// For amounts of money of more payers than are assigned anew.
    WelchZTest,
}

/// The comparison of a campaign's variants.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct VariantStats {
    campaign_id: CampaignId,
    /// Where messages or events of the range are not kept any longer: from when on the answer is complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    complete_from: Option<Timestamp>,
    metric: WinnerMetric,
    method: Method,
    confidence_level: f64,
    /// The control group, else the first variant.
    baseline_variant_id: Option<String>,
    /// The first variant with messages; null of fewer than two. `guardrails` are compared with it.
    guardrail_baseline_variant_id: Option<String>,
    phase: Phase,
    winner_variant_id: Option<String>,
    /// Which messages are compared.
    scope: ComparedMessages,
    /// What open and click rates are a share of.
    rate_base: RateBase,
    /// What is counted; `person` where people got several messages, and for conversions and revenue.
    unit: Unit,
    /// Whom conversions and revenue are compared by; null for opens and clicks.
    analysis: Option<Analysis>,
    /// The currency of revenue.
    currency: Option<String>,
    /// The end of the A/B test as it was decided; null while it runs or without one.
    verdict: Option<TrialVerdict>,
    /// Messages to the rest of the audience after the A/B test; null while it runs or without one.
    rollout: Option<RolloutStats>,
    maturity: MaturityAnswer,
    /// What concerns all variants.
    warnings: Vec<WarningAnswer>,
    sample_ratio_mismatch: SampleRatioAnswer,
    /// Whether all variants perform the same: a chi-square test of their rates.
    omnibus: Option<Omnibus>,
    variants: Vec<VariantStat>,
}

/// Which messages are compared.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum ComparedMessages {
    /// Those of the A/B test; messages to the rest of the audience are in `rollout`.
    Trial,
    /// All messages of the campaign.
    Campaign,
}

/// Messages to the rest of the audience after an A/B test.
#[derive(Debug, Serialize, ToSchema)]
struct RolloutStats {
    /// Messages sent to the rest.
    recipients: u64,
    opened: u64,
    clicked: u64,
    failed: u64,
    /// People with a primary conversion.
    conversions: u64,
    #[schema(value_type = f64)]
    revenue: Number,
}

/// Whether the audience was divided by the weights.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = SampleRatio)]
struct SampleRatioAnswer {
    /// Chi-square, of one look. Null if the weights do not apply.
    #[schema(value_type = Option<f64>)]
    p_value: Option<Number>,
    /// Of all looks together (Lindon and Malek, arXiv:2011.03567).
    #[schema(value_type = Option<f64>)]
    sequential_p_value: Option<Number>,
    /// `sequentialPValue` is below 0.001.
    detected: bool,
}

/// The result of a chi-square test.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Omnibus {
    #[schema(value_type = f64)]
    chi_square: Number,
    degrees_of_freedom: u32,
    #[schema(value_type = f64)]
    p_value: Number,
}

/// The results of one variant. Rates are fractions of 1.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct VariantStat {
    variant_id: String,
    name: String,
    #[schema(value_type = f64)]
    weight: Number,
    is_control_group: bool,
    /// Messages sent with it, or held back for the control group.
    recipients: u64,
    /// People it was assigned to, whether their message left or not, or of the control group.
    people: u64,
    sent: u64,
    delivered: u64,
    opened: u64,
    clicked: u64,
    failed: u64,
    unsubscribed: u64,
    /// People with a primary conversion.
    conversions: u64,
    /// The same as `conversions`.
    converters: u64,
    #[schema(value_type = f64)]
    revenue: Number,
    /// Unique opens, as a share of the messages that were sent and did not bounce.
    #[schema(value_type = f64)]
    open_rate: Number,
    /// Unique clicks, as a share of the messages that were sent and did not bounce.
    #[schema(value_type = f64)]
    click_rate: Number,
    /// Unique clicks, as a share of unique opens.
    #[schema(value_type = f64)]
    click_to_open_rate: Number,
    /// People who converted, as a share of those who were sent a message or held back.
    #[schema(value_type = f64)]
    conversion_rate: Number,
    /// The metric. Conversions and revenue are of all who were assigned, up to the age that is compared.
    #[schema(value_type = f64)]
    rate: Number,
    interval: Bounds,
    /// Adds up to 1 over the variants that have people; null below `minSamplePerVariant`, if it is not measured, and
    /// without another variant that has people.
    #[schema(value_type = Option<f64>)]
    probability_to_be_best: Option<Number>,
    /// How much of the metric is lost on average if this variant is chosen (Stucchio 2014).
    #[schema(value_type = Option<f64>)]
    expected_loss: Option<Number>,
    /// Null for the baseline.
    comparison: Option<Compared>,
    /// Whether it does more harm than `guardrailBaselineVariantId`; of that and of the control group there are none.
    guardrails: Vec<GuardrailStats>,
}

/// The comparison of a variant with the baseline.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Compared {
    #[schema(value_type = Option<f64>)]
    lift: Option<Number>,
    lift_interval: Option<Bounds>,
    /// Of the lift, adjusted for the number of comparisons (Bonferroni): all of these hold together.
    adjusted_interval: Option<Bounds>,
    #[schema(value_type = Option<f64>)]
    z_score: Option<Number>,
    #[schema(value_type = Option<f64>)]
    p_value: Option<Number>,
    /// Adjusted for the number of comparisons (Holm).
    #[schema(value_type = Option<f64>)]
    adjusted_p_value: Option<Number>,
    /// 1 minus the p-value; not a probability that the variant is better.
    #[schema(value_type = Option<f64>)]
    confidence: Option<Number>,
    /// Only with large enough samples: by the adjusted p-value where `sequential.final`, until then that of `sequential`.
    is_significant: bool,
    #[schema(value_type = Option<f64>)]
    probability_to_be_best: Option<Number>,
    /// The comparison by all looks together; null where nothing is compared.
    sequential: Option<SequentialAnswer>,
    /// The same comparison, adjusted by what the people did in the 90 days before they were assigned; null where nothing is
    /// known of that, without a result, and with `startDate` or `endDate`.
    adjusted: Option<AdjustedStats>,
    /// The effect from sending to sending; null with one of them, or without a result.
    trend: Option<TrendStats>,
    /// Why the comparison is not conclusive, if so.
    warnings: Vec<WarningAnswer>,
}

impl Method {
    fn of(report: &VariantReport) -> Self {
        let measures = || report.variants.iter().map(|variant| &variant.measure);
        let payers = measures().map(|measure| match measure {
            Measure::Money(revenue) => revenue.by_payer.len(),
            Measure::Rate(_) | Measure::Ratio(_) => 0,
        });
        match measures().next() {
            Some(Measure::Money(_)) if payers.sum::<usize>() > PAYERS_MAX => Self::WelchZTest,
            Some(Measure::Money(_)) => Self::ReRandomisation,
            _ if measures().any(|measure| matches!(measure, Measure::Ratio(_))) => {
                Self::RatioByPersonZTest
            }
            _ => Self::TwoProportionZTest,
        }
    }
}

impl From<&Rollout> for RolloutStats {
    fn from(rollout: &Rollout) -> Self {
        Self {
            recipients: rollout.count.sent,
            opened: rollout.count.opened,
            clicked: rollout.count.clicked,
            failed: rollout.count.failed,
            conversions: rollout.converted,
            revenue: Number::money(rollout.revenue),
        }
    }
}

impl SampleRatioAnswer {
    fn new(found: SampleRatio) -> Self {
        Self {
            p_value: found.test.map(|test| Number::of(test.p_value)),
            sequential_p_value: found.sequential_p.map(Number::of),
            detected: found.sequential_p.is_some_and(|p| p < MISMATCH_BELOW),
        }
    }
}

fn compared(report: &VariantReport, at: usize) -> Option<Compared> {
    let (variant, confidence) = (&report.variants[at], report.confidence);
    let found = variant.comparison.as_ref()?;
    let adjusted = variant.adjusted_p;
    Some(Compared {
        lift: found.lift.map(Number::of),
        lift_interval: found.lift_interval.map(Bounds::from),
        adjusted_interval: found.adjusted_interval.map(Bounds::from),
        z_score: found.z_score.map(Number::of),
        p_value: found.p_value.map(Number::of),
        adjusted_p_value: adjusted.map(Number::of),
        confidence: found.p_value.map(|p| Number::of(1.0 - p)),
        is_significant: found.is_significant(adjusted, confidence),
        probability_to_be_best: variant.probability_to_be_best.map(Number::of),
        sequential: found.sequential.map(SequentialAnswer::from),
        adjusted: report.beside.adjusted[at].as_ref().map(AdjustedStats::from),
        trend: trend_of(report, at),
        warnings: found.warnings.iter().map(WarningAnswer::from).collect(),
    })
}

fn trend_of(report: &VariantReport, at: usize) -> Option<TrendStats> {
    let trend = report.beside.trends.get(at)?.as_ref()?;
    Some(TrendStats::new(trend, report.confidence))
}

fn answer(scope: &ReportScope, report: &VariantReport) -> VariantStats {
    let definition = &scope.campaign.definition;
    let stat = |(at, variant): (usize, &campaigns::model::Variant)| {
        let of = &report.variants[at];
        let count = &of.count;
        VariantStat {
            variant_id: variant.id.clone(),
            name: variant.name.clone(),
            weight: Number::of(variant.weight),
            is_control_group: variant.is_control(),
            recipients: of.recipients,
            people: of.people.assigned + of.people.control,
            sent: count.sent,
            delivered: count.delivered,
            opened: count.opened,
            clicked: count.clicked,
            failed: count.failed,
            unsubscribed: count.unsubscribed,
            conversions: of.converted.people,
            converters: of.converted.people,
            revenue: Number::money(of.earned.amount / 1e4),
            open_rate: Number::of(share(count.opened, count.sent_not_bounced)),
            click_rate: Number::of(share(count.clicked, count.sent_not_bounced)),
            click_to_open_rate: Number::of(share(count.clicked, count.opened)),
            conversion_rate: Number::of(of.conversion_rate()),
            rate: Number::of(of.measure.value()),
            interval: of.measure.interval(report.confidence).into(),
            probability_to_be_best: of.probability_to_be_best.map(Number::of),
            expected_loss: of.expected_loss.map(Number::of),
            comparison: compared(report, at),
            guardrails: report.beside.guardrails.by_variant[at].iter().map(Into::into).collect(),
        }
    };
    let variants: Vec<VariantStat> = definition.variants.iter().enumerate().map(stat).collect();
    let id_of = |place: usize| definition.variants.get(place).map(|variant| variant.id.clone());
    VariantStats {
        campaign_id: scope.campaign.id,
        complete_from: None,
        metric: report.metric,
        method: Method::of(report),
        confidence_level: report.confidence,
        baseline_variant_id: report.baseline.and_then(id_of),
        guardrail_baseline_variant_id: report.beside.guardrails.baseline.and_then(id_of),
        phase: report.trial.as_ref().map_or(Phase::None, |trial| trial.phase),
        winner_variant_id: report.trial.as_ref().and_then(|it| it.winner_variant_id.clone()),
        scope: if report.is_of_trial {
            ComparedMessages::Trial
        } else {
            ComparedMessages::Campaign
        },
        rate_base: RateBase::SentNotBounced,
        unit: if report.is_by_person() { Unit::Person } else { Unit::Message },
        analysis: report.is_by_assignment().then_some(Analysis::IntentionToTreat),
        currency: report.currency.clone(),
        verdict: report.trial.as_ref().and_then(|it| it.verdict.clone()),
        rollout: report.rollout.as_ref().map(RolloutStats::from),
        maturity: MaturityAnswer::new(scope, &report.maturity),
        sample_ratio_mismatch: SampleRatioAnswer::new(report.sample_ratio),
        warnings: report.warnings.iter().chain(&report.beside.warnings).map(Into::into).collect(),
        omnibus: report.omnibus.map(|found| Omnibus {
            chi_square: Number::of(found.statistic),
            degrees_of_freedom: found.degrees,
            p_value: Number::of(found.p_value),
        }),
        variants,
    }
}

/// Compares the variants of a campaign by the metric of its A/B test; without one by conversions if they are
/// tracked, else by opens.
#[utoipa::path(
    get,
    path = "/campaigns/{campaignId}/variant-stats",
    tag = "campaigns",
    params(
        ("campaignId" = CampaignId, Path),
        ("startDate" = Option<kernel::schema::QueryMoment>, Query, description = "messages sent at this time or later"),
        ("endDate" = Option<kernel::schema::QueryMoment>, Query, description = "messages sent at this time or before; a date without a time includes its whole day"),
    ),
    responses((status = 200, body = VariantStats), (status = 404, description = "absent"))
)]
async fn variant_stats(
    State(app): State<Services>,
    caller: Caller<scope::CampaignsRead>,
    Query(Range(range)): Query<Range>,
    PathOf(id): PathOf<CampaignId>,
) -> ApiResult<Json<VariantStats>> {
    let scope = ReportScope::find(&app, caller.workspace(), id, range).await?;
    let currency = ops::reporting_currency(&app, caller.workspace()).await?;
    let report = ops::variant_report(&app, &scope, currency.as_deref()).await?;
    let complete_from = scope.complete_from(&app).await?;
    Ok(Json(VariantStats { complete_from, ..answer(&scope, &report) }))
}
