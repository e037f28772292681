//! `GET /campaigns`: a page of them, by filters.

use axum::{Json, extract::State};
use kernel::DayEdge;
use serde::Serialize;
use utoipa::ToSchema;
use web::{
    auth::{Caller, scope},
    http::{ApiResult, FromQuery, NumberedPage, Query, QueryFields},
};

use super::Campaign;
use crate::{
    CampaignState,
    model::{CampaignChannel, Filter, Status, TAG_CHARS_MAX},
    ops,
};

/// Campaigns on a page where the caller asks for no number, and at most.
type Page = NumberedPage<20, 100>;

/// Characters of a text to search for.
const TEXT_CHARS_MAX: usize = 255;
/// Characters of an actor.
const ACTOR_CHARS_MAX: usize = 255;
/// Kinds of actors, for ids that are sent without theirs.
const ACTOR_KINDS: [&str; 2] = ["api_key", "user"];

/// What the query string asks for.
#[derive(Debug)]
pub(super) struct Ask {
    filter: Filter,
    page: Page,
}

impl FromQuery for Ask {
    fn from_query(query: &mut QueryFields<'_>) -> Self {
        let page = Page::from_query(query);
        let filter = Filter {
            statuses: words(query, "status", Status::NAMED),
            channels: words(query, "channel", CampaignChannel::NAMED),
            tags: query.list("tags", TAG_CHARS_MAX),
            text: query.text("q", TEXT_CHARS_MAX),
            created_by: actors(query, "createdBy"),
            edited_by: actors(query, "editedBy"),
            created_from: query.timestamp("createdFrom", DayEdge::Start),
            limit: page.limit,
            offset: page.offset(),
        };
        Self { filter, page }
    }
}

/// Words of a closed set, separated by commas.
fn words<T: Copy>(query: &mut QueryFields<'_>, name: &str, known: &[(&str, T)]) -> Vec<T> {
    let mut values = Vec::new();
    for text in query.list(name, TEXT_CHARS_MAX) {
        let Some((_, value)) = known.iter().find(|(word, _)| *word == text) else {
            let words: Vec<&str> = known.iter().map(|(word, _)| *word).collect();
            query.refuse(name, format!("must be one of: {}", words.join(", ")));
            break;
        };
        values.push(*value);
    }
    values
}

/// Actors as they are read back (`api_key:…`), or by their bare ids.
fn actors(query: &mut QueryFields<'_>, name: &str) -> Vec<String> {
    let mut actors = Vec::new();
    for actor in query.list(name, ACTOR_CHARS_MAX) {
        if !actor.contains(':') {
            actors.extend(ACTOR_KINDS.iter().map(|kind| format!("{kind}:{actor}")));
        }
        actors.push(actor);
    }
    actors
}

/// A page of campaigns.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Campaigns {
    /// The page, newest first.
    data: Vec<Campaign>,
    pagination: Pagination,
}

/// Where a page is among all.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = CampaignPagination)]
struct Pagination {
    total: i64,
    /// The number of this page, from 1.
    page: u32,
    /// Campaigns of a page.
    limit: u32,
    /// Campaigns before this page.
    offset: u64,
    total_pages: u64,
    /// Whether there is a page after this one.
    has_more: bool,
}

impl Pagination {
    fn of(page: Page, total: i64) -> Self {
        let all = u64::try_from(total).unwrap_or(0);
        let (limit, offset) = (u64::from(page.limit), page.offset());
        Self {
            total,
            page: page.page,
            limit: page.limit,
            offset,
            total_pages: all.div_ceil(limit),
            has_more: offset.saturating_add(limit) < all,
        }
    }
}

/// Lists campaigns, newest first, archived ones included unless `status` says otherwise.
#[utoipa::path(
    get,
    path = "/campaigns",
    tag = "campaigns",
    params(
        ("status" = Option<String>, Query, pattern = "^(?:(?:draft|scheduled|active|paused|completed|cancelled|archived|failed)(?:,|$))*$", description = "one or more, separated by commas"),
        ("channel" = Option<String>, Query, pattern = "^(?:(?:email|sms|viber|push|webhook|whatsapp|in_app|ai_optimized)(?:,|$))*$", description = "one or more, separated by commas"),
        ("tags" = Option<String>, Query, description = "any of these, separated by commas"),
        ("q" = Option<String>, Query, description = "part of the name, the description or a tag"),
        ("createdBy" = Option<String>, Query, description = "one or more, with or without `api_key:`"),
        ("editedBy" = Option<String>, Query, description = "who last changed what it says, likewise"),
        ("createdFrom" = Option<kernel::schema::QueryMoment>, Query, description = "ISO 8601, inclusive"),
        ("page" = Option<u32>, Query, description = "from 1"),
        ("limit" = Option<u32>, Query, description = "default 20, at most 100"),
    ),
    responses((status = 200, body = Campaigns))
)]
pub(super) async fn list_campaigns(
    State(app): State<CampaignState>,
    caller: Caller<scope::CampaignsRead>,
    Query(Ask { filter, page }): Query<Ask>,
) -> ApiResult<Json<Campaigns>> {
    let (campaigns, total) = ops::list(&app, caller.workspace(), &filter).await?;
    let data = campaigns.into_iter().map(Campaign::from).collect();
    Ok(Json(Campaigns { data, pagination: Pagination::of(page, total) }))
}
