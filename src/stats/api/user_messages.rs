//! `GET /users/:userId/messages`: what became of the messages to a person, of all campaigns and of none.

use axum::{Json, extract::State};
use kernel::{Timestamp, UserId};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    Services,
    auth::{Caller, scope},
    http::{ApiResult, DateRange, FromQuery, OffsetPage, PathOf, Query, QueryFields},
};

use crate::ops::{self, NamedMessageEvent, UserMessagesFilter};

pub(super) fn routes() -> OpenApiRouter<Services> {
    OpenApiRouter::new().routes(routes!(list_user_messages))
}

/// Entries of a page by default, and at most.
type Page = OffsetPage<50, 1000>;

/// The query string, checked.
#[derive(Debug)]
struct UserMessagesQuery {
    range: DateRange,
    page: Page,
}

impl FromQuery for UserMessagesQuery {
    fn from_query(query: &mut QueryFields<'_>) -> Self {
        Self { range: query.date_range(), page: Page::from_query(query) }
    }
}

/// What became of the messages to a person.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct UserMessages {
    /// The page, newest first.
    data: Vec<UserMessageEvent>,
    limit: u32,
    offset: u64,
    has_more: bool,
}

/// Something that happened to a message.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct UserMessageEvent {
    message_id: String,
    /// Null for a message of no campaign.
    campaign_id: Option<String>,
    /// Null where there is no such campaign any more, too.
    campaign_name: Option<String>,
    channel: String,
    /// `queued`, `held`, `sent`, `deferred`, `delivered`, `opened`, `clicked`, `bounced`, `complained`, `unsubscribed`,
    /// `skipped`, `cancelled`, `failed`, `control`, `impression`, `dismissed`.
    #[serde(rename = "type")]
    kind: String,
    timestamp: Timestamp,
    /// Whether a machine did it, such as a link scanner.
    is_bot: bool,
    /// Whether the message was a test.
    is_test: bool,
    /// The address of a click.
    url: Option<String>,
    /// The code of a failure, or the rule that held or skipped the message.
    code: Option<String>,
    /// The same in words.
    reason: Option<String>,
}

impl From<NamedMessageEvent> for UserMessageEvent {
    fn from(NamedMessageEvent { event, campaign }: NamedMessageEvent) -> Self {
        let non_empty = |text: String| Some(text).filter(|text| !text.is_empty());
        Self {
            message_id: event.message,
            campaign_id: campaign.as_ref().map(|campaign| campaign.id.to_string()),
            campaign_name: campaign.and_then(|campaign| campaign.name),
            channel: event.channel,
            kind: event.kind,
            timestamp: Timestamp::from_millis(event.at_ms),
            is_bot: event.is_bot,
            is_test: event.is_test,
            url: non_empty(event.url),
            code: non_empty(event.code),
            reason: non_empty(event.reason),
        }
    }
}

/// Lists what happened to the messages to a person, newest first, with those to profiles that were merged into it.
#[utoipa::path(
    get,
    path = "/users/{userId}/messages",
    tag = "users",
    params(
        ("userId" = UserId, Path, description = "internal id, 24-hex"),
        ("limit" = Option<u32>, Query, description = "default 50, at most 1000"),
        ("offset" = Option<u64>, Query, description = "default 0"),
        ("startDate" = Option<kernel::schema::QueryMoment>, Query, description = "ISO 8601, inclusive"),
        ("endDate" = Option<kernel::schema::QueryMoment>, Query, description = "ISO 8601, inclusive; a date alone means its end"),
    ),
    responses((status = 200, body = UserMessages), (status = 404, description = "no such person"))
)]
async fn list_user_messages(
    State(app): State<Services>,
    caller: Caller<scope::UsersRead>,
    Query(UserMessagesQuery { range, page }): Query<UserMessagesQuery>,
    PathOf(user): PathOf<UserId>,
) -> ApiResult<Json<UserMessages>> {
    let Page { limit, offset } = page;
    let filter = UserMessagesFilter { range, limit: limit + 1, offset };
    let mut found = ops::user_messages(&app, caller.workspace(), user, filter).await?;
    let shown = usize::try_from(limit).unwrap_or(usize::MAX);
    let has_more = found.len() > shown;
    found.truncate(shown);
    let data = found.into_iter().map(UserMessageEvent::from).collect();
    Ok(Json(UserMessages { data, limit, offset, has_more }))
}
