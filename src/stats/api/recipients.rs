//! `GET /campaigns/:campaignId/recipients`.

use analytics::messages::{RecipientFilter, RecipientStatus};
use axum::{Json, extract::State};
use kernel::CampaignId;
use kernel::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    Services,
    auth::{Caller, scope},
    http::{ApiResult, DateRange, FromQuery, OffsetPage, PathOf, Query, QueryFields},
};

use crate::ops::{self, NamedRecipient, ReportScope};

pub(super) fn routes() -> OpenApiRouter<Services> {
    OpenApiRouter::new().routes(routes!(campaign_recipients))
}

/// Default and maximum of `limit`.
type Page = OffsetPage<50, 200>;

/// The progress of a message.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum MessageStatus {
    Queued,
    Sent,
    Delivered,
    Opened,
    Clicked,
    Bounced,
    Failed,
    Skipped,
    Cancelled,
    Control,
}

impl From<RecipientStatus> for MessageStatus {
    fn from(status: RecipientStatus) -> Self {
        match status {
            RecipientStatus::Queued => Self::Queued,
            RecipientStatus::Sent => Self::Sent,
            RecipientStatus::Delivered => Self::Delivered,
            RecipientStatus::Opened => Self::Opened,
            RecipientStatus::Clicked => Self::Clicked,
            RecipientStatus::Bounced => Self::Bounced,
            RecipientStatus::Failed => Self::Failed,
            RecipientStatus::Skipped => Self::Skipped,
            RecipientStatus::Cancelled => Self::Cancelled,
            RecipientStatus::Control => Self::Control,
        }
    }
}

const STATUSES: &[(&str, RecipientStatus)] = &[
    ("queued", RecipientStatus::Queued),
    ("sent", RecipientStatus::Sent),
    ("delivered", RecipientStatus::Delivered),
    ("opened", RecipientStatus::Opened),
    ("clicked", RecipientStatus::Clicked),
    ("bounced", RecipientStatus::Bounced),
    ("failed", RecipientStatus::Failed),
    ("skipped", RecipientStatus::Skipped),
    ("cancelled", RecipientStatus::Cancelled),
    ("control", RecipientStatus::Control),
];

/// The query string, as a filter.
#[derive(Debug)]
pub(super) struct RecipientsQuery(RecipientFilter);

impl FromQuery for RecipientsQuery {
    fn from_query(query: &mut QueryFields<'_>) -> Self {
        let status = query.one_of("status", STATUSES);
        let Page { limit, offset } = Page::from_query(query);
        Self(RecipientFilter { status, limit, offset })
    }
}

/// A page of a campaign's recipients, in the order of their ids.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Recipients {
    data: Vec<RecipientRow>,
    pagination: RecipientPages,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct RecipientPages {
    total: u64,
    limit: u32,
    offset: u64,
    has_more: bool,
}

/// A recipient with the latest message to them.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct RecipientRow {
    user_id: String,
    external_id: Option<String>,
    email: Option<String>,
    phone: Option<String>,
    variant_id: Option<String>,
    occurrence: u32,
    message_id: String,
    status: MessageStatus,
    queued_at: Option<Timestamp>,
    sent_at: Option<Timestamp>,
    delivered_at: Option<Timestamp>,
    opened_at: Option<Timestamp>,
    clicked_at: Option<Timestamp>,
    failed_at: Option<Timestamp>,
    /// The rule that skipped the message.
    skip_reason: Option<String>,
    /// The code of the failure or bounce, of the provider or of Millrace.
    failure_code: Option<String>,
    /// The reason of the failure or bounce.
    failure_reason: Option<String>,
    last_event_at: Timestamp,
}

fn row(scope: &ReportScope, person: NamedRecipient) -> RecipientRow {
    let of = person.recipient;
    let at = |ms: Option<i64>| ms.map(Timestamp::from_millis);
    let non_empty = |text: String| Some(text).filter(|text| !text.is_empty());
    let (code, reason) =
        of.why.map_or((None, None), |(code, reason)| (non_empty(code), non_empty(reason)));
    let is_skipped = of.status == RecipientStatus::Skipped;
    RecipientRow {
        user_id: of.user,
        external_id: person.external_id,
        email: person.email,
        phone: person.phone,
        variant_id: scope.variant(of.variant).map(str::to_owned),
        occurrence: of.occurrence,
        message_id: of.message,
        status: of.status.into(),
        queued_at: at(of.queued_ms),
        sent_at: at(of.sent_ms),
        delivered_at: at(of.delivered_ms),
        opened_at: at(of.opened_ms),
        clicked_at: at(of.clicked_ms),
        failed_at: at(of.failed_ms),
        skip_reason: code.clone().filter(|_| is_skipped),
        failure_code: code.filter(|_| !is_skipped),
        failure_reason: reason.filter(|_| !is_skipped),
        last_event_at: Timestamp::from_millis(of.last_ms),
    }
}

/// Lists the recipients of a campaign with the status of the latest message to each.
#[utoipa::path(
    get,
    path = "/campaigns/{campaignId}/recipients",
    tag = "campaigns",
    params(
        ("campaignId" = CampaignId, Path),
        ("status" = Option<MessageStatus>, Query, description = "only recipients whose latest message has exactly this status"),
        ("limit" = Option<u32>, Query, description = "1 to 200; default 50"),
        ("offset" = Option<u64>, Query),
    ),
    responses((status = 200, body = Recipients), (status = 404, description = "absent"))
)]
async fn campaign_recipients(
    State(app): State<Services>,
    caller: Caller<scope::CampaignsRead>,
    Query(RecipientsQuery(filter)): Query<RecipientsQuery>,
    PathOf(id): PathOf<CampaignId>,
) -> ApiResult<Json<Recipients>> {
    let range = DateRange::default();
    let scope = ReportScope::find(&app, caller.workspace(), id, range).await?;
    let (page, total) = ops::recipients(&app, &scope, filter).await?;
    let RecipientFilter { limit, offset, .. } = filter;
    let has_more = offset.saturating_add(page.len() as u64) < total;
    let data = page.into_iter().map(|person| row(&scope, person)).collect();
    Ok(Json(Recipients { data, pagination: RecipientPages { total, limit, offset, has_more } }))
}
