//! `GET /campaigns/:campaignId/send-occurrences`.

use axum::{Json, extract::State};
use kernel::{CampaignId, Timestamp, zone::Zone};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    Services,
    auth::{Caller, scope},
    http::{ApiResult, DateRange, OffsetPage, PathOf, Query},
};

use super::number::Number;
use crate::ops::{self, Occurrence, ReportScope};

pub(super) fn routes() -> OpenApiRouter<Services> {
    OpenApiRouter::new().routes(routes!(send_occurrences))
}

/// Default and maximum of `limit`.
type Page = OffsetPage<1000, 1000>;

/// The sendings of a campaign, newest first.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SendOccurrences {
    data: Vec<SendOccurrence>,
    /// Where messages or events of the range are not kept any longer: from when on the answer is complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    complete_from: Option<Timestamp>,
    total: usize,
}

/// A sending of a campaign; for a triggered one, the entries with that number.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct SendOccurrence {
    /// The scheduled day, in the campaign's zone.
    #[schema(value_type = Option<String>, format = Date)]
    send_date: Option<String>,
    occurrence: u32,
    started_at: Option<Timestamp>,
    completed_at: Option<Timestamp>,
    queued: u64,
    sent: u64,
    delivered: u64,
    failed: u64,
    opened: u64,
    clicked: u64,
    #[schema(value_type = f64)]
    conversions: Number,
    #[schema(value_type = f64)]
    revenue: Number,
}

impl From<Occurrence> for SendOccurrence {
    fn from(of: Occurrence) -> Self {
        Self {
            send_date: of.date.map(|date| date.to_string()),
            occurrence: of.occurrence,
            started_at: of.started_at,
            completed_at: of.completed_at,
            queued: of.count.queued,
            sent: of.count.sent,
            delivered: of.count.delivered,
            failed: of.count.failed,
            opened: of.count.opened,
            clicked: of.count.clicked,
            conversions: Number::parts(of.conversions),
            revenue: Number::money(of.revenue),
        }
    }
}

/// Reports each sending of a campaign.
#[utoipa::path(
    get,
    path = "/campaigns/{campaignId}/send-occurrences",
    tag = "campaigns",
    params(
        ("campaignId" = CampaignId, Path),
        ("limit" = Option<u32>, Query, description = "1 to 1000; default 1000"),
        ("offset" = Option<u64>, Query),
    ),
    responses((status = 200, body = SendOccurrences), (status = 404, description = "absent"))
)]
async fn send_occurrences(
    State(app): State<Services>,
    caller: Caller<scope::CampaignsRead>,
    Query(Page { limit, offset }): Query<Page>,
    PathOf(id): PathOf<CampaignId>,
) -> ApiResult<Json<SendOccurrences>> {
    let range = DateRange::default();
    let scope = ReportScope::find(&app, caller.workspace(), id, range).await?;
    let zone = caller.timezone().parse().unwrap_or(Zone::UTC);
    let currency = ops::reporting_currency(&app, caller.workspace()).await?;
    let all = ops::send_occurrences(&app, &scope, zone, currency.as_deref()).await?;
    let total = all.len();
    let page = all
        .into_iter()
        .skip(usize::try_from(offset).unwrap_or(usize::MAX))
        .take(usize::try_from(limit).unwrap_or(usize::MAX));
    let data = page.map(SendOccurrence::from).collect();
    let complete_from = scope.complete_from(&app).await?;
    Ok(Json(SendOccurrences { data, complete_from, total }))
}
