//! `GET /campaigns/:campaignId/variant-stats`.

use axum::{Json, extract::State};
use campaigns::model::{settings::ab_test::WinnerMetric, trial::Phase};
use kernel::CampaignId;
use serde::Serialize;
use statistics::{
    proportion::share,
    sample_ratio::{ChiSquare, MISMATCH_BELOW},
};
use utoipa::ToSchema;
use web::{
    Services,
    auth::{Caller, scope},
    http::{ApiResult, Path, Query},
};

use super::{
    Range, campaign_id,
    number::{Bounds, Number},
};
use crate::{
    model::comparison::Measure,
    ops::{self, Asked, OfVariant, VariantReport},
};

/// How rates are compared.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = StatsMethod)]
enum Method {
    TwoProportionZTest,
    /// Of amounts of money, whose variances differ.
    WelchZTest,
}

/// How the variants of a campaign compare.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct VariantStats {
    campaign_id: CampaignId,
    metric: WinnerMetric,
    method: Method,
    confidence_level: f64,
    /// The control group, else the first variant.
    baseline_variant_id: Option<String>,
    phase: Phase,
    winner_variant_id: Option<String>,
    sample_ratio_mismatch: SampleRatio,
    /// Whether all variants do the same: a chi-square test of their rates.
    omnibus: Option<Omnibus>,
    variants: Vec<VariantStat>,
}

/// Whether the audience was divided as the weights say.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct SampleRatio {
    /// Null where there is nothing to hold against the weights.
    #[schema(value_type = Option<f64>)]
    p_value: Option<Number>,
    detected: bool,
}

/// What a chi-square test says.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Omnibus {
    #[schema(value_type = f64)]
    chi_square: Number,
    degrees_of_freedom: u32,
    #[schema(value_type = f64)]
    p_value: Number,
}

/// How one variant did. Rates are fractions of 1.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct VariantStat {
    variant_id: String,
    name: String,
    #[schema(value_type = f64)]
    weight: Number,
    is_control_group: bool,
    /// Sent to, or held out.
    recipients: u64,
    sent: u64,
    delivered: u64,
    opened: u64,
    clicked: u64,
    failed: u64,
    unsubscribed: u64,
    /// Recipients with a primary conversion.
    conversions: u64,
    #[schema(value_type = f64)]
    revenue: Number,
    /// Of those delivered to.
    #[schema(value_type = f64)]
    open_rate: Number,
    /// Of those delivered to.
    #[schema(value_type = f64)]
    click_rate: Number,
    /// Of those who opened.
    #[schema(value_type = f64)]
    click_to_open_rate: Number,
    #[schema(value_type = f64)]
    conversion_rate: Number,
    #[schema(value_type = f64)]
    rate: Number,
    interval: Bounds,
    /// Null of the baseline.
    comparison: Option<Compared>,
}

/// How a variant compares with the baseline.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Compared {
    #[schema(value_type = Option<f64>)]
    lift: Option<Number>,
    lift_interval: Option<Bounds>,
    #[schema(value_type = Option<f64>)]
    z_score: Option<Number>,
    #[schema(value_type = Option<f64>)]
    p_value: Option<Number>,
    /// By Holm, for how many are compared.
    #[schema(value_type = Option<f64>)]
    adjusted_p_value: Option<Number>,
    /// 1 less the p-value.
    #[schema(value_type = Option<f64>)]
    confidence: Option<Number>,
    /// By the adjusted p-value, on samples large enough to say so.
    is_significant: bool,
    #[schema(value_type = Option<f64>)]
    probability_to_be_best: Option<Number>,
    /// Why this says nothing, if so.
    warnings: Vec<String>,
}

impl SampleRatio {
    fn new(found: Option<ChiSquare>) -> Self {
        Self {
            p_value: found.map(|found| Number::of(found.p_value)),
            detected: found.is_some_and(|found| found.p_value < MISMATCH_BELOW),
        }
    }
}

fn compared(variant: &OfVariant, confidence: f64) -> Option<Compared> {
    let found = variant.comparison.as_ref()?;
    let adjusted = variant.adjusted_p;
    Some(Compared {
        lift: found.lift.map(Number::of),
        lift_interval: found.lift_interval.map(Bounds::from),
        z_score: found.z_score.map(Number::of),
        p_value: found.p_value.map(Number::of),
        adjusted_p_value: adjusted.map(Number::of),
        confidence: found.p_value.map(|p| Number::of(1.0 - p)),
        is_significant: found.warning.is_none() && adjusted.is_some_and(|p| p < 1.0 - confidence),
        probability_to_be_best: variant.probability_to_be_best.map(Number::of),
        warnings: found.warning.clone().into_iter().collect(),
    })
}

fn answer(asked: &Asked, report: &VariantReport) -> VariantStats {
    let definition = &asked.campaign.definition;
    let stat = |(variant, of): (&campaigns::model::Variant, &OfVariant)| {
        let count = &of.count;
        VariantStat {
            variant_id: variant.id.clone(),
            name: variant.name.clone(),
            weight: Number::of(variant.weight),
            is_control_group: variant.is_control(),
            recipients: of.recipients,
            sent: count.sent,
            delivered: count.delivered,
            opened: count.opened,
            clicked: count.clicked,
            failed: count.failed,
            unsubscribed: count.unsubscribed,
            conversions: of.converted.unique,
            revenue: Number::money(of.earned.amount / 1e4),
            open_rate: Number::of(share(count.opened, count.reached())),
            click_rate: Number::of(share(count.clicked, count.reached())),
            click_to_open_rate: Number::of(share(count.clicked, count.opened)),
            conversion_rate: Number::of(share(of.converted.unique, of.recipients)),
            rate: Number::of(of.measure.value()),
            interval: of.measure.interval(report.confidence).into(),
            comparison: compared(of, report.confidence),
        }
    };
    let variants: Vec<VariantStat> =
        definition.variants.iter().zip(&report.variants).map(stat).collect();
    let is_money = report.variants.iter().any(|it| matches!(it.measure, Measure::Money(_)));
    let baseline = report.baseline.and_then(|place| definition.variants.get(place));
    VariantStats {
        campaign_id: asked.campaign.id,
        metric: report.metric,
        method: if is_money { Method::WelchZTest } else { Method::TwoProportionZTest },
        confidence_level: report.confidence,
        baseline_variant_id: baseline.map(|variant| variant.id.clone()),
        phase: report.trial.as_ref().map_or(Phase::None, |trial| trial.phase),
        winner_variant_id: report.trial.as_ref().and_then(|it| it.winner_variant_id.clone()),
        sample_ratio_mismatch: SampleRatio::new(report.sample_ratio),
        omnibus: report.omnibus.map(|found| Omnibus {
            chi_square: Number::of(found.statistic),
            degrees_of_freedom: found.degrees,
            p_value: Number::of(found.p_value),
        }),
        variants,
    }
}

/// How the variants of a campaign compare by the metric of its trial; without one by conversions where they
/// are counted, else by openings.
#[utoipa::path(
    get,
    path = "/campaigns/{campaignId}/variant-stats",
    tag = "campaigns",
    params(
        ("campaignId" = CampaignId, Path),
        ("startDate" = Option<kernel::schema::QueryMoment>, Query, description = "messages that left then or later"),
        ("endDate" = Option<kernel::schema::QueryMoment>, Query, description = "messages that left then or before; a date alone is its whole day"),
    ),
    responses((status = 200, body = VariantStats), (status = 404, description = "absent"))
)]
pub(super) async fn variant_stats(
    State(app): State<Services>,
    caller: Caller<scope::CampaignsRead>,
    Path(id): Path<String>,
    Query(Range(range)): Query<Range>,
) -> ApiResult<Json<VariantStats>> {
    let asked = Asked::find(&app, caller.workspace(), campaign_id(&id)?, range).await?;
    let currency = ops::reporting_currency(&app, caller.workspace()).await?;
    let report = ops::variant_report(&app, &asked, currency.as_deref()).await?;
    Ok(Json(answer(&asked, &report)))
}
