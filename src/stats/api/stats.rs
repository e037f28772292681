//! `GET /campaigns/:campaignId/stats`.

use axum::{Json, extract::State};
use campaigns::model::{
    CampaignChannel, Status,
    settings::conversion::{AttributionModel, ConversionTracking},
};
use kernel::{CampaignId, Timestamp};
use serde::Serialize;
use statistics::proportion::{Proportion, real, share};
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    Services,
    auth::{Caller, scope},
    http::{ApiResult, PathOf, Query},
};

use super::{
    Range,
    number::{Bounds, Number},
};
use crate::{
    model::outcome::{Converted, Earned},
    ops::{self, Report, ReportScope, Uplift},
};

pub(super) fn routes() -> OpenApiRouter<Services> {
    OpenApiRouter::new().routes(routes!(campaign_stats))
}

/// Confidence of intervals, and of the significance of the uplift.
const CONFIDENCE: f64 = 0.95;
/// Control group below which a warning is given.
const CONTROL_SMALL: u64 = 1_000;

/// The results of a campaign.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct CampaignStats {
    campaign_id: CampaignId,
    name: String,
    channel: CampaignChannel,
    status: Status,
    stats: MessageStats,
    /// Null if the campaign tracks no conversions.
    conversion_stats: Option<ConversionStats>,
    /// Null if the campaign tracks no conversions.
    revenue: Option<RevenueStats>,
    /// Null without a control group.
    uplift: Option<UpliftStats>,
    conversion_tracking: Option<ConversionTracking>,
    started_at: Option<Timestamp>,
    completed_at: Option<Timestamp>,
    created_at: Timestamp,
}

/// Messages by progress: unique recipients of each sending, without tests and the control group.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct MessageStats {
    /// All messages: sent, failed, skipped, cancelled, or pending.
    queued: u64,
    sent: u64,
    delivered: u64,
    failed: u64,
    opened: u64,
    clicked: u64,
    bounced: u64,
    complained: u64,
    unsubscribed: u64,
    skipped: u64,
    cancelled: u64,
    /// The control group, in none of the above.
    control: u64,
    /// Opened by a mail proxy or the like; not in `opened`.
    machine_opened: u64,
    /// Clicked by a link scanner or the like; not in `clicked`.
    machine_clicked: u64,
    /// Opens, repeated ones included.
    total_opens: u64,
    /// Clicks, repeated ones included.
    total_clicks: u64,
}

/// Conversions of a campaign.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ConversionStats {
    window_hours: u32,
    attribution_model: AttributionModel,
    primary: ConversionOfEvent,
    secondary: Vec<ConversionOfEvent>,
    by_variant: Vec<ConversionOfVariant>,
}

/// Conversions by one event.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ConversionOfEvent {
    event_name: String,
    /// Events credited to the messages; with `linear` a message may have a part of one.
    #[schema(value_type = f64)]
    conversions: Number,
    /// Recipients who converted, counted once for each sending.
    unique_conversions: u64,
    /// `uniqueConversions` relative to sent messages.
    #[schema(value_type = f64)]
    conversion_rate: Number,
    /// Events by the time of the message they are credited to, like every figure of a report.
    #[schema(value_type = f64)]
    conversions_by_send_time: Number,
}

/// Primary conversions of one variant.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ConversionOfVariant {
    variant_id: String,
    unique_conversions: u64,
    #[schema(value_type = f64)]
    conversion_rate: Number,
}

/// The revenue of a campaign.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct RevenueStats {
    /// The workspace's currency; without one the `base_currency` of its orders if all that have one name the
    /// same, else the only currency of the orders, else null.
    currency: Option<String>,
    #[schema(value_type = f64)]
    total: Number,
    /// With `linear` a message may have a part of an order.
    #[schema(value_type = f64)]
    orders: Number,
    #[schema(value_type = f64)]
    average_order_value: Number,
    /// Relative to sent messages.
    #[schema(value_type = f64)]
    revenue_per_recipient: Number,
    by_variant: Vec<RevenueOfVariant>,
    /// Not included in the total.
    other_currencies: Vec<RevenueInCurrency>,
}

/// The revenue of one variant.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct RevenueOfVariant {
    variant_id: String,
    #[schema(value_type = f64)]
    total: Number,
    #[schema(value_type = f64)]
    orders: Number,
    #[schema(value_type = f64)]
    revenue_per_recipient: Number,
}

/// Revenue in another currency.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct RevenueInCurrency {
    currency: String,
    #[schema(value_type = f64)]
    total: Number,
    #[schema(value_type = f64)]
    orders: Number,
}

/// The effect of the campaign: the treated compared with the control group.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct UpliftStats {
    control_variant_id: String,
    treatment: UpliftSide,
    control: UpliftSide,
    /// The difference of the rates; null if one side is empty.
    #[schema(value_type = Option<f64>)]
    absolute_uplift: Option<Number>,
    /// Relative to the control group's rate; null if that is 0.
    #[schema(value_type = Option<f64>)]
    relative_uplift: Option<Number>,
    /// Of the difference (Newcombe).
    confidence_interval: Option<UpliftInterval>,
    /// Of the relative uplift.
    relative_interval: Option<Bounds>,
    #[schema(value_type = Option<f64>)]
    p_value: Option<Number>,
    /// 1 minus the p-value.
    #[schema(value_type = Option<f64>)]
    confidence: Option<Number>,
    is_significant: bool,
    /// The difference of the rates, times the treated.
    #[schema(value_type = Option<f64>)]
    incremental_conversions: Option<Number>,
    /// The difference of the revenues per recipient, times the treated.
    #[schema(value_type = Option<f64>)]
    incremental_revenue: Option<Number>,
    warnings: Vec<String>,
}

/// One side of a comparison.
#[derive(Debug, Serialize, ToSchema)]
struct UpliftSide {
    size: u64,
    conversions: u64,
    #[schema(value_type = f64)]
    rate: Number,
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

impl MessageStats {
    fn new(report: &Report) -> Self {
        let (count, all) = (&report.total, &report.engagements);
        Self {
            queued: count.queued,
            sent: count.sent,
            delivered: count.delivered,
            failed: count.failed,
            opened: count.opened,
            clicked: count.clicked,
            bounced: count.bounced,
            complained: count.complained,
            unsubscribed: count.unsubscribed,
            skipped: count.skipped,
            cancelled: count.cancelled,
            control: count.control,
            machine_opened: count.machine_opened,
            machine_clicked: count.machine_clicked,
            total_opens: all.opens + count.implied_opens(),
            total_clicks: all.clicks,
        }
    }
}

/// The variants that are sent: their ids and numbers.
fn treated(scope: &ReportScope) -> impl Iterator<Item = (&String, u8)> {
    let control = scope.control();
    scope.variants().iter().zip(1_u8..).filter(move |(_, place)| Some(*place) != control)
}

fn conversion_stats(
    scope: &ReportScope,
    tracking: &ConversionTracking,
    report: &Report,
) -> ConversionStats {
    let of_event = |name: &str, found: Converted| ConversionOfEvent {
        event_name: name.to_owned(),
        conversions: Number::parts(found.conversions),
        unique_conversions: found.unique,
        conversion_rate: Number::of(share(found.unique, report.total.sent)),
        conversions_by_send_time: Number::parts(found.conversions),
    };
    let of_variant = |(id, place): (&String, u8)| {
        let unique = report.converted_of(0, place).unique;
        ConversionOfVariant {
            variant_id: id.clone(),
            unique_conversions: unique,
            conversion_rate: Number::of(share(unique, report.count_of(place).sent)),
        }
    };
    let secondary = tracking.secondary().iter().zip(1..);
    ConversionStats {
        window_hours: tracking.window_hours(),
        attribution_model: tracking.attribution_model(),
        primary: of_event(&tracking.primary_conversion.event_name, report.converted(0)),
        secondary: secondary
            .map(|(it, goal)| of_event(&it.event_name, report.converted(goal)))
            .collect(),
        by_variant: treated(scope).map(of_variant).collect(),
    }
}

fn per(amount: f64, of: u64) -> Number {
    Number::money(if of == 0 { 0.0 } else { amount / real(of) })
}

fn revenue_stats(scope: &ReportScope, report: &Report) -> RevenueStats {
    let found = report.revenue();
    let total = |earned: &Earned| earned.amount / 1e4;
    let of_variant = |(id, place): (&String, u8)| {
        let earned =
            found.currency.as_deref().map(|of| report.earned_of(of, place)).unwrap_or_default();
        RevenueOfVariant {
            variant_id: id.clone(),
            total: Number::money(total(&earned)),
            orders: Number::parts(earned.orders),
            revenue_per_recipient: per(total(&earned), report.count_of(place).sent),
        }
    };
    let average =
        if found.earned.orders > 0.0 { total(&found.earned) / found.earned.orders } else { 0.0 };
    RevenueStats {
        total: Number::money(total(&found.earned)),
        orders: Number::parts(found.earned.orders),
        average_order_value: Number::money(average),
        revenue_per_recipient: per(total(&found.earned), report.total.sent),
        by_variant: treated(scope).map(of_variant).collect(),
        other_currencies: found
            .others
            .iter()
            .map(|(currency, earned)| RevenueInCurrency {
                currency: currency.clone(),
                total: Number::money(total(earned)),
                orders: Number::parts(earned.orders),
            })
            .collect(),
        currency: found.currency,
    }
}

fn warnings(scope: &ReportScope, uplift: &Uplift) -> Vec<String> {
    let mut warnings = Vec::new();
    if scope.campaign.definition.conversion_tracking.is_none() {
        warnings.push("no conversions are counted: conversionTracking is absent".to_owned());
    }
    if uplift.control.trials < CONTROL_SMALL {
        warnings.push(format!("control smaller than {CONTROL_SMALL}"));
    }
    warnings.extend(uplift.treatment.too_small(uplift.control));
    warnings
}

fn uplift_stats(scope: &ReportScope, report: &Report) -> Option<UpliftStats> {
    let control = scope.control()?;
    let uplift = report.uplift();
    let (treatment, held_out) = (uplift.treatment, uplift.control);
    let side = |of: Proportion, earned: &Earned| UpliftSide {
        size: of.trials,
        conversions: of.successes,
        rate: Number::of(of.rate()),
        revenue: Number::money(earned.amount / 1e4),
    };
    let is_there = treatment.trials > 0 && held_out.trials > 0;
    let difference = is_there.then(|| treatment.rate() - held_out.rate());
    let each = |earned: &Earned, of: Proportion| earned.amount / 1e4 / real(of.trials);
    let gain = is_there.then(|| {
        each(&uplift.treatment_revenue, treatment) - each(&uplift.control_revenue, held_out)
    });
    let p_value = treatment.p_value(held_out);
    let interval = treatment.difference(held_out, CONFIDENCE);
    Some(UpliftStats {
        control_variant_id: scope.variant(control).unwrap_or_default().to_owned(),
        treatment: side(treatment, &uplift.treatment_revenue),
        control: side(held_out, &uplift.control_revenue),
        absolute_uplift: difference.map(Number::of),
        relative_uplift: treatment.lift(held_out).map(Number::of),
        confidence_interval: interval
            .map(|found| UpliftInterval { level: CONFIDENCE, bounds: found.into() }),
        relative_interval: treatment.lift_interval(held_out, CONFIDENCE).map(Bounds::from),
        p_value: p_value.map(Number::of),
        confidence: p_value.map(|p| Number::of(1.0 - p)),
        is_significant: treatment.too_small(held_out).is_none()
            && p_value.is_some_and(|p| p < 1.0 - CONFIDENCE),
        incremental_conversions: difference.map(|it| Number::parts(it * real(treatment.trials))),
        incremental_revenue: gain.map(|it| Number::money(it * real(treatment.trials))),
        warnings: warnings(scope, &uplift),
    })
}

/// Reports the results of a campaign: progress of its messages, conversions, revenue, and uplift over the
/// control group. Counts are unique recipients of each sending, by the time of their message.
#[utoipa::path(
    get,
    path = "/campaigns/{campaignId}/stats",
    tag = "campaigns",
    params(
        ("campaignId" = CampaignId, Path),
        ("startDate" = Option<kernel::schema::QueryMoment>, Query, description = "messages sent at this time or later"),
        ("endDate" = Option<kernel::schema::QueryMoment>, Query, description = "messages sent at this time or before; a date without a time includes its whole day"),
    ),
    responses((status = 200, body = CampaignStats), (status = 404, description = "absent"))
)]
async fn campaign_stats(
    State(app): State<Services>,
    caller: Caller<scope::CampaignsRead>,
    Query(Range(range)): Query<Range>,
    PathOf(id): PathOf<CampaignId>,
) -> ApiResult<Json<CampaignStats>> {
    let scope = ReportScope::find(&app, caller.workspace(), id, range).await?;
    let currency = ops::reporting_currency(&app, caller.workspace()).await?;
    let report = ops::report(&app, &scope, currency.as_deref()).await?;
    let (campaign, definition) = (&scope.campaign, &scope.campaign.definition);
    let tracking = definition.conversion_tracking.as_deref();
    Ok(Json(CampaignStats {
        campaign_id: campaign.id,
        name: definition.name.clone(),
        channel: definition.channel,
        status: campaign.state.status,
        stats: MessageStats::new(&report),
        conversion_stats: tracking.map(|tracking| conversion_stats(&scope, tracking, &report)),
        revenue: tracking.map(|_| revenue_stats(&scope, &report)),
        uplift: uplift_stats(&scope, &report),
        conversion_tracking: tracking.cloned(),
        started_at: campaign.state.started_at,
        completed_at: campaign.state.completed_at,
        created_at: campaign.created_at,
    }))
}
