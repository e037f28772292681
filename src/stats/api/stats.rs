//! `GET /campaigns/:campaignId/stats`.

use axum::{Json, extract::State};
use campaigns::model::{
    CampaignChannel, Status,
    settings::conversion::{AttributionModel, ConversionTracking},
};
use kernel::{CampaignId, Timestamp};
use serde::Serialize;
use statistics::proportion::{real, share};
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    Services,
    auth::{Caller, scope},
    http::{ApiResult, DateRange, FromQuery, PathOf, Query, QueryFields},
};

use super::{
    number::Number,
    uplift::{RevenueUplift, UpliftStats},
};
use crate::{
    model::{
        outcome::{Converted, Earned},
        warning::{Warning, WarningAnswer},
    },
    ops::{self, Report, ReportScope, Revenue},
};

pub(super) fn routes() -> OpenApiRouter<Services> {
    OpenApiRouter::new().routes(routes!(campaign_stats))
}

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
    /// Where messages or events of the range are not kept any longer: from when on the answer is complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    complete_from: Option<Timestamp>,
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
    /// Messages that failed or bounced, each once: one that is refused at once is in `failed` and in `bounced`.
    failed_or_bounced: u64,
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
    /// People who converted, each counted once.
    unique_conversions: u64,
    /// `uniqueConversions` relative to the people who were sent a message.
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
    /// same, else the currency of most orders. Null without orders.
    currency: Option<String>,
    #[schema(value_type = f64)]
    total: Number,
    /// With `linear` a message may have a part of an order.
    #[schema(value_type = f64)]
    orders: Number,
    #[schema(value_type = f64)]
    average_order_value: Number,
    /// Relative to the people who were sent a message.
    #[schema(value_type = f64)]
    revenue_per_recipient: Number,
    by_variant: Vec<RevenueOfVariant>,
    /// Not included in the total.
    other_currencies: Vec<RevenueInCurrency>,
    /// Each currency with orders, the main one first.
    by_currency: Vec<RevenueByCurrency>,
    warnings: Vec<WarningAnswer>,
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

/// Revenue in one of several currencies.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct RevenueByCurrency {
    currency: String,
    #[schema(value_type = f64)]
    total: Number,
    #[schema(value_type = f64)]
    orders: Number,
    by_variant: Vec<RevenueOfVariant>,
    /// Null without a control group.
    uplift: Option<RevenueUplift>,
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
            failed_or_bounced: count.failed_or_bounced,
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
        unique_conversions: found.people,
        conversion_rate: Number::of(share(found.people, report.people_sent())),
        conversions_by_send_time: Number::parts(found.conversions),
    };
    let of_variant = |(id, number): (&String, u8)| {
        let people = report.converted_of(0, number).people;
        ConversionOfVariant {
            variant_id: id.clone(),
            unique_conversions: people,
            conversion_rate: Number::of(share(people, report.people_sent_of(number))),
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

/// An amount in whole units.
fn total(earned: &Earned) -> f64 {
    earned.amount / 1e4
}

fn revenue_by_variant(
    scope: &ReportScope,
    report: &Report,
    currency: &str,
) -> Vec<RevenueOfVariant> {
    let of_variant = |(id, number): (&String, u8)| {
        let earned = report.earned_of(currency, number);
        RevenueOfVariant {
            variant_id: id.clone(),
            total: Number::money(total(&earned)),
            orders: Number::parts(earned.orders),
            revenue_per_recipient: per(total(&earned), report.people_sent_of(number)),
        }
    };
    treated(scope).map(of_variant).collect()
}

fn revenue_stats(scope: &ReportScope, report: &Report) -> RevenueStats {
    let main = report.main_currency();
    let all = report.revenue();
    let (own, others): (Vec<&Revenue>, Vec<&Revenue>) =
        all.iter().partition(|revenue| Some(&revenue.currency) == main.as_ref());
    let earned = own.first().map(|revenue| revenue.earned.clone()).unwrap_or_default();
    let average = if earned.orders > 0.0 { total(&earned) / earned.orders } else { 0.0 };
    let mixed = main.clone().filter(|_| report.currency.is_none() && !others.is_empty());
    let has_control = scope.control().is_some();
    RevenueStats {
        total: Number::money(total(&earned)),
        orders: Number::parts(earned.orders),
        average_order_value: Number::money(average),
        revenue_per_recipient: per(total(&earned), report.people_sent()),
        by_variant: revenue_by_variant(scope, report, main.as_deref().unwrap_or_default()),
        other_currencies: others
            .iter()
            .map(|revenue| RevenueInCurrency {
                currency: revenue.currency.clone(),
                total: Number::money(total(&revenue.earned)),
                orders: Number::parts(revenue.earned.orders),
            })
            .collect(),
        by_currency: all
            .iter()
            .map(|revenue| RevenueByCurrency {
                total: Number::money(total(&revenue.earned)),
                orders: Number::parts(revenue.earned.orders),
                by_variant: revenue_by_variant(scope, report, &revenue.currency),
                uplift: has_control.then(|| RevenueUplift::new(scope, report, &revenue.currency)),
                currency: revenue.currency.clone(),
            })
            .collect(),
        warnings: mixed
            .map(|main| WarningAnswer::from(&Warning::MixedCurrencies(main)))
            .into_iter()
            .collect(),
        currency: main,
    }
}

/// Which messages are counted, and how conversions are credited to them.
#[derive(Debug)]
struct StatsQuery {
    range: DateRange,
    /// In the stead of the campaign's.
    model: Option<AttributionModel>,
}

impl FromQuery for StatsQuery {
    fn from_query(query: &mut QueryFields<'_>) -> Self {
        Self {
            range: query.date_range(),
            model: query.one_of("attributionModel", AttributionModel::NAMED),
        }
    }
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
        ("attributionModel" = Option<AttributionModel>, Query, description = "credits conversions, revenue and uplift by this model; the campaign's by default"),
    ),
    responses((status = 200, body = CampaignStats), (status = 404, description = "absent"))
)]
async fn campaign_stats(
    State(app): State<Services>,
    caller: Caller<scope::CampaignsRead>,
    Query(StatsQuery { range, model }): Query<StatsQuery>,
    PathOf(id): PathOf<CampaignId>,
) -> ApiResult<Json<CampaignStats>> {
    let scope = ReportScope::find(&app, caller.workspace(), id, range).await?;
    let saved = scope.campaign.definition.conversion_tracking.clone();
    let scope = match model {
        Some(model) => scope.credited_by(model),
        None => scope,
    };
    let currency = ops::reporting_currency(&app, caller.workspace()).await?;
    let report = Box::pin(ops::report(&app, &scope, currency.as_deref())).await?;
    let complete_from = scope.complete_from(&app).await?;
    let (campaign, definition) = (&scope.campaign, &scope.campaign.definition);
    let tracking = definition.conversion_tracking.as_deref();
    // Thousands of random draws take a tenth of a second.
    let stats = tokio::task::block_in_place(|| CampaignStats {
        campaign_id: campaign.id,
        name: definition.name.clone(),
        channel: definition.channel,
        status: campaign.state.status,
        stats: MessageStats::new(&report),
        conversion_stats: tracking.map(|tracking| conversion_stats(&scope, tracking, &report)),
        revenue: tracking.map(|_| revenue_stats(&scope, &report)),
        uplift: UpliftStats::new(&scope, &report),
        conversion_tracking: saved.map(|saved| *saved),
        complete_from,
        started_at: campaign.state.started_at,
        completed_at: campaign.state.completed_at,
        created_at: campaign.created_at,
    });
    Ok(Json(stats))
}
