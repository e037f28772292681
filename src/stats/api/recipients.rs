//! `GET /campaigns/:campaignId/recipients`.

use analytics::messages::{RecipientFilter, RecipientStatus};
use axum::{Json, extract::State};
use kernel::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;
use web::{
    Services,
    auth::{Caller, scope},
    http::{ApiResult, DateRange, FromQuery, OffsetPage, Path, Query, QueryFields},
};

use super::campaign_id;
use crate::ops::{self, Asked, Person};

/// Recipients on a page where the caller asks for no number, and at most.
type Page = OffsetPage<50, 200>;

/// How far a message got.
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

/// What the query string may ask for.
#[derive(Debug)]
pub(super) struct Ask(RecipientFilter);

impl FromQuery for Ask {
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

/// Where a page lies.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct RecipientPages {
    total: u64,
    limit: u32,
    offset: u64,
    has_more: bool,
}

/// A recipient, and the latest message to them.
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
    /// The rule that held it back for good.
    skip_reason: Option<String>,
    /// The provider's code or ours, of what failed or bounced.
    failure_code: Option<String>,
    /// What was said about that.
    failure_reason: Option<String>,
    last_event_at: Timestamp,
}

fn row(asked: &Asked, person: Person) -> RecipientRow {
    let of = person.recipient;
    let at = |ms: Option<i64>| ms.map(Timestamp::from_millis);
    let said = |text: String| Some(text).filter(|text| !text.is_empty());
    let (code, reason) = of.why.map_or((None, None), |(code, reason)| (said(code), said(reason)));
    let is_skipped = of.status == RecipientStatus::Skipped;
    RecipientRow {
        user_id: of.user,
        external_id: person.external_id,
        email: person.email,
        phone: person.phone,
        variant_id: asked.variant(of.variant).map(str::to_owned),
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

/// Who is in a campaign, and how far the latest message to each got.
#[utoipa::path(
    get,
    path = "/campaigns/{campaignId}/recipients",
    tag = "campaigns",
    params(
        ("campaignId" = kernel::CampaignId, Path),
        ("status" = Option<MessageStatus>, Query, description = "only those the latest message to whom got exactly so far"),
        ("limit" = Option<u32>, Query, description = "1 to 200; 50 without a word"),
        ("offset" = Option<u64>, Query),
    ),
    responses((status = 200, body = Recipients), (status = 404, description = "absent"))
)]
pub(super) async fn campaign_recipients(
    State(app): State<Services>,
    caller: Caller<scope::CampaignsRead>,
    Path(id): Path<String>,
    Query(Ask(filter)): Query<Ask>,
) -> ApiResult<Json<Recipients>> {
    let range = DateRange::default();
    let asked = Asked::find(&app, caller.workspace(), campaign_id(&id)?, range).await?;
    let (page, total) = ops::recipients(&app, &asked, filter).await?;
    let RecipientFilter { limit, offset, .. } = filter;
    let has_more = offset.saturating_add(page.len() as u64) < total;
    let data = page.into_iter().map(|person| row(&asked, person)).collect();
    Ok(Json(Recipients { data, pagination: RecipientPages { total, limit, offset, has_more } }))
}
