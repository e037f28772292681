//! `GET /campaigns/:campaignId/links`, `failure-reasons` and `time-to-engage`.

use analytics::messages::{DELAY_EDGES_SECONDS, Link};
use axum::{Json, extract::State};
use kernel::{CampaignId, Timestamp};
use serde::Serialize;
use statistics::proportion::share;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    Services,
    auth::{Caller, scope},
    http::{ApiResult, DateRange, PathOf, Query},
};

use super::{
    Range,
    number::{Number, RateBase},
};
use crate::ops::{self, ReportScope};

pub(super) fn routes() -> OpenApiRouter<Services> {
    OpenApiRouter::new()
        .routes(routes!(link_stats))
        .routes(routes!(failure_reasons))
        .routes(routes!(time_to_engage))
}

/// Labels of the buckets of [`DELAY_EDGES_SECONDS`].
const LABELS: [&str; DELAY_EDGES_SECONDS.len()] =
    ["0-5m", "5-15m", "15m-1h", "1-3h", "3-6h", "6-12h", "12-24h", "24-48h", "2-7d", "7d+"];

/// The links of a campaign, most clicked first; at most 1,000.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct LinkStats {
    campaign_id: CampaignId,
    /// Where messages or events of the range are not kept any longer: from when on the answer is complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    complete_from: Option<Timestamp>,
    /// What click rates are a share of.
    rate_base: RateBase,
    links: Vec<LinkStat>,
    /// Clicks on all links.
    total_clicks: u64,
    /// Recipients who clicked a link, counted once for each sending.
    unique_clickers: u64,
}

/// Clicks by people on a link.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct LinkStat {
    /// The original address, without tracking.
    url: String,
    label: Option<String>,
    total_clicks: u64,
    /// Recipients, counted once for each sending.
    unique_clicks: u64,
    /// `uniqueClicks` relative to the messages sent that did not bounce.
    #[schema(value_type = f64)]
    click_rate: Number,
    first_clicked_at: Timestamp,
    last_clicked_at: Timestamp,
    by_variant: Vec<LinkStatOfVariant>,
}

/// Clicks on a link in one variant.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct LinkStatOfVariant {
    variant_id: String,
    total_clicks: u64,
    unique_clicks: u64,
}

fn link_stat(scope: &ReportScope, link: Link, sent_not_bounced: u64) -> LinkStat {
    let mut by_variant: Vec<_> = link.variants;
    by_variant.sort_by_key(|of| of.variant);
    let of_variant = |of: &analytics::messages::LinkOfVariant| {
        let variant_id = scope.variant(of.variant)?.to_owned();
        Some(LinkStatOfVariant { variant_id, total_clicks: of.total, unique_clicks: of.unique })
    };
    LinkStat {
        click_rate: Number::of(share(link.unique, sent_not_bounced)),
        url: link.url,
        label: Some(link.label).filter(|label| !label.is_empty()),
        total_clicks: link.total,
        unique_clicks: link.unique,
        first_clicked_at: Timestamp::from_millis(link.first_clicked_ms),
        last_clicked_at: Timestamp::from_millis(link.last_clicked_ms),
        by_variant: by_variant.iter().filter_map(of_variant).collect(),
    }
}

/// Reports which links of a campaign were clicked.
#[utoipa::path(
    get,
    path = "/campaigns/{campaignId}/links",
    tag = "campaigns",
    params(
        ("campaignId" = CampaignId, Path),
        ("startDate" = Option<kernel::schema::QueryMoment>, Query, description = "messages sent at this time or later"),
        ("endDate" = Option<kernel::schema::QueryMoment>, Query, description = "messages sent at this time or before; a date without a time includes its whole day"),
    ),
    responses((status = 200, body = LinkStats), (status = 404, description = "absent"))
)]
async fn link_stats(
    State(app): State<Services>,
    caller: Caller<scope::CampaignsRead>,
    Query(Range(range)): Query<Range>,
    PathOf(id): PathOf<CampaignId>,
) -> ApiResult<Json<LinkStats>> {
    let scope = ReportScope::find(&app, caller.workspace(), id, range).await?;
    let (links, total_clicks, total) = ops::links(&app, &scope).await?;
    Ok(Json(LinkStats {
        campaign_id: scope.campaign.id,
        complete_from: scope.complete_from(&app).await?,
        rate_base: RateBase::SentNotBounced,
        total_clicks,
        unique_clickers: total.clicked,
        links: links
            .into_iter()
            .map(|link| link_stat(&scope, link, total.sent_not_bounced))
            .collect(),
    }))
}

/// Messages that failed or bounced with a code.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = FailureReason)]
pub(super) struct FailureStat {
    /// The code of the provider or of Millrace.
    code: String,
    /// The most frequent reason with this code.
    reason: String,
    count: u64,
}

/// Reports why messages of a campaign failed, the most frequent code first.
#[utoipa::path(
    get,
    path = "/campaigns/{campaignId}/failure-reasons",
    tag = "campaigns",
    params(("campaignId" = CampaignId, Path)),
    responses((status = 200, body = Vec<FailureStat>), (status = 404, description = "absent"))
)]
async fn failure_reasons(
    State(app): State<Services>,
    caller: Caller<scope::CampaignsRead>,
    PathOf(id): PathOf<CampaignId>,
) -> ApiResult<Json<Vec<FailureStat>>> {
    let range = DateRange::default();
    let scope = ReportScope::find(&app, caller.workspace(), id, range).await?;
    let failures = ops::failures(&app, &scope).await?;
    let stat = |it: analytics::messages::Failure| FailureStat {
        code: it.code,
        reason: it.words,
        count: it.count,
    };
    Ok(Json(failures.into_iter().map(stat).collect()))
}

/// Time from sending to the first open and click of a message.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct EngageStats {
    campaign_id: CampaignId,
    /// Where messages or events of the range are not kept any longer: from when on the answer is complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    complete_from: Option<Timestamp>,
    /// Messages that were opened or clicked.
    sample_size: u64,
    #[schema(value_type = Option<f64>)]
    median_seconds_to_open: Option<Number>,
    #[schema(value_type = Option<f64>)]
    median_seconds_to_click: Option<Number>,
    buckets: Vec<EngageBucket>,
}

/// Messages whose first open, click, or either happened this long after sending.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct EngageBucket {
    label: &'static str,
    from_seconds: u32,
    /// Null for the last bucket.
    to_seconds: Option<u32>,
    opened: u64,
    clicked: u64,
    engaged: u64,
}

/// Reports the time to the first open and click.
#[utoipa::path(
    get,
    path = "/campaigns/{campaignId}/time-to-engage",
    tag = "campaigns",
    params(("campaignId" = CampaignId, Path)),
    responses((status = 200, body = EngageStats), (status = 404, description = "absent"))
)]
async fn time_to_engage(
    State(app): State<Services>,
    caller: Caller<scope::CampaignsRead>,
    PathOf(id): PathOf<CampaignId>,
) -> ApiResult<Json<EngageStats>> {
    let range = DateRange::default();
    let scope = ReportScope::find(&app, caller.workspace(), id, range).await?;
    let found = ops::time_to_engage(&app, &scope).await?;
    let bucket = |(place, label): (usize, &'static str)| EngageBucket {
        label,
        from_seconds: DELAY_EDGES_SECONDS[place],
        to_seconds: DELAY_EDGES_SECONDS.get(place + 1).copied(),
        opened: found.opened[place],
        clicked: found.clicked[place],
        // A click implies an open at that time.
        engaged: found.opened[place],
    };
    let seconds = |median: f64| Number::of(median / 1000.0);
    Ok(Json(EngageStats {
        campaign_id: scope.campaign.id,
        complete_from: scope.complete_from(&app).await?,
        sample_size: found.sample,
        median_seconds_to_open: found.median_to_open_ms.map(seconds),
        median_seconds_to_click: found.median_to_click_ms.map(seconds),
        buckets: LABELS.into_iter().enumerate().map(bucket).collect(),
    }))
}
