//! `GET /campaigns`: a page of campaigns with filters.

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

/// Default and maximum of `limit`.
type Page = NumberedPage<20, 100>;

const TEXT_CHARS_MAX: usize = 255;
const ACTOR_CHARS_MAX: usize = 255;
/// The prefixes tried for an id without one.
const ACTOR_KINDS: [&str; 2] = ["api_key", "user"];

/// Filters, order and page of the list of campaigns.
#[derive(Debug)]
pub(super) struct ListQuery {
    filter: Filter,
    page: Page,
}

impl FromQuery for ListQuery {
    fn from_query(query: &mut QueryFields<'_>) -> Self {
        let page = Page::from_query(query);
        let filter = Filter {
            statuses: enumerated::<Status>(query, "status"),
            channels: enumerated::<CampaignChannel>(query, "channel"),
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

/// An enumeration with its names in the API.
trait Enumeration: Copy + 'static {
    const NAMES: &'static [(&'static str, Self)];
}

impl Enumeration for Status {
    const NAMES: &'static [(&'static str, Self)] = Self::NAMED;
}

impl Enumeration for CampaignChannel {
    const NAMES: &'static [(&'static str, Self)] = Self::NAMED;
}

/// Values of an enumeration, separated by commas.
fn enumerated<T: Enumeration>(query: &mut QueryFields<'_>, name: &str) -> Vec<T> {
    let mut values = Vec::new();
    for text in query.list(name, TEXT_CHARS_MAX) {
        let Some((_, value)) = T::NAMES.iter().find(|(known, _)| *known == text) else {
            let names: Vec<&str> = T::NAMES.iter().map(|(known, _)| *known).collect();
            query.refuse(name, format!("must be one of: {}", names.join(", ")));
            break;
        };
        values.push(*value);
    }
    values
}

/// Actors in full (`api_key:…`), or their ids only.
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

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Campaigns {
    /// The campaigns of the page, the newest first.
    data: Vec<Campaign>,
    pagination: Pagination,
}

/// The position of a page.
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
        ("editedBy" = Option<String>, Query, description = "the last editor of the content, likewise"),
        ("createdFrom" = Option<kernel::schema::QueryMoment>, Query, description = "ISO 8601, inclusive"),
        ("page" = Option<u32>, Query, description = "from 1"),
        ("limit" = Option<u32>, Query, description = "default 20, at most 100"),
    ),
    responses((status = 200, body = Campaigns))
)]
pub(super) async fn list_campaigns(
    State(app): State<CampaignState>,
    caller: Caller<scope::CampaignsRead>,
    Query(ListQuery { filter, page }): Query<ListQuery>,
) -> ApiResult<Json<Campaigns>> {
    let (campaigns, total) = ops::list(&app, caller.workspace(), &filter).await?;
    let data = campaigns.into_iter().map(Campaign::from).collect();
    Ok(Json(Campaigns { data, pagination: Pagination::of(page, total) }))
}
