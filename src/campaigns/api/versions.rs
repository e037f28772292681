//! `/campaigns/:campaignId/versions…` and `…/history`: the versions of a campaign and its change history.

use axum::{Json, extract::State};
use kernel::{CampaignId, Timestamp, VersionId};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    auth::{Caller, scope},
    http::{
        ApiResult, Body, BodyFor, FromQuery, OffsetPage, OptionalBody, PathOf, Query, QueryFields,
    },
};

use super::{BODY_BYTES_MAX, Campaign, EmptyBody, path::VersionPath, who};
use crate::{
    CampaignState,
    model::{self, Change, ChangeType, Definition, Difference},
    ops,
};

pub(super) fn routes() -> OpenApiRouter<CampaignState> {
    OpenApiRouter::new()
        .routes(routes!(list_versions))
        .routes(routes!(compare_versions))
        .routes(routes!(get_version))
        .routes(routes!(roll_back))
        .routes(routes!(list_history))
}

/// Default and maximum of `limit`.
type Page = OffsetPage<50, 200>;

const NAME_CHARS_MAX: usize = 64;

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Version {
    id: VersionId,
    /// Versions are counted from 1.
    #[serde(rename = "version")]
    number: i32,
    change_type: ChangeType,
    /// The fields that differ from the previous version.
    changed_fields: Vec<String>,
    created_by: String,
    created_at: Timestamp,
}

impl From<model::Version> for Version {
    fn from(version: model::Version) -> Self {
        Self {
            id: version.id,
            number: version.number,
            change_type: version.change_type,
            changed_fields: version.changed_fields,
            created_by: version.created_by,
            created_at: version.created_at,
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
struct Versions {
    /// The versions, the newest first.
    data: Vec<Version>,
    total: i64,
}

/// A version with the content of the campaign.
#[derive(Debug, Serialize, ToSchema)]
struct Snapshot {
    #[serde(flatten)]
    version: Version,
    #[schema(value_type = Definition)]
    snapshot: Value,
}

/// One side of a comparison.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Side {
    id: VersionId,
    version: i32,
    created_at: Timestamp,
}

impl From<model::Version> for Side {
    fn from(version: model::Version) -> Self {
        Self { id: version.id, version: version.number, created_at: version.created_at }
    }
}

/// Two versions and their differences.
#[derive(Debug, Serialize, ToSchema)]
struct Comparison {
    v1: Side,
    v2: Side,
    /// By JSON Pointer; variants are matched by id.
    changes: Vec<Difference>,
    /// Whether there is no difference.
    identical: bool,
}

/// The two versions of a query.
#[derive(Debug)]
struct Sides(String, String);

impl FromQuery for Sides {
    fn from_query(query: &mut QueryFields<'_>) -> Self {
        Self(query.required_text("v1", NAME_CHARS_MAX), query.required_text("v2", NAME_CHARS_MAX))
    }
}

/// Lists the versions of a campaign, newest first.
#[utoipa::path(
    get,
    path = "/campaigns/{campaignId}/versions",
    tag = "campaigns",
    params(
        ("campaignId" = CampaignId, Path),
        ("limit" = Option<u32>, Query, description = "default 50, at most 200"),
        ("offset" = Option<u64>, Query, description = "default 0"),
    ),
    responses((status = 200, body = Versions), (status = 404, description = "absent"))
)]
async fn list_versions(
    State(app): State<CampaignState>,
    caller: Caller<scope::CampaignsRead>,
    Query(page): Query<Page>,
    PathOf(id): PathOf<CampaignId>,
) -> ApiResult<Json<Versions>> {
    let page = model::Page { limit: page.limit, offset: page.offset };
    let (versions, total) = ops::versions(&app, &who(&caller), id, page).await?;
    let data = versions.into_iter().map(Version::from).collect();
    Ok(Json(Versions { data, total }))
}

/// Compares two versions, each identified by id or number.
#[utoipa::path(
    get,
    path = "/campaigns/{campaignId}/versions/compare",
    tag = "campaigns",
    params(("campaignId" = CampaignId, Path), ("v1" = String, Query, min_length = 1), ("v2" = String, Query, min_length = 1)),
    responses(
        (status = 200, body = Comparison),
        (status = 404, description = "the campaign or a version is absent"),
    )
)]
async fn compare_versions(
    State(app): State<CampaignState>,
    caller: Caller<scope::CampaignsRead>,
    Query(Sides(v1, v2)): Query<Sides>,
    PathOf(id): PathOf<CampaignId>,
) -> ApiResult<Json<Comparison>> {
    let compared = ops::compare(&app, &who(&caller), id, &v1, &v2).await?;
    Ok(Json(Comparison {
        v1: compared.before.into(),
        v2: compared.after.into(),
        identical: compared.differences.is_empty(),
        changes: compared.differences,
    }))
}

/// Reads a version with the content of the campaign, by id or number.
#[utoipa::path(
    get,
    path = "/campaigns/{campaignId}/versions/{versionId}",
    tag = "campaigns",
    params(("campaignId" = CampaignId, Path), ("versionId" = String, Path)),
    responses(
        (status = 200, body = Snapshot),
        (status = 404, description = "the campaign or the version is absent"),
    )
)]
async fn get_version(
    State(app): State<CampaignState>,
    caller: Caller<scope::CampaignsRead>,
    PathOf(path): PathOf<VersionPath>,
) -> ApiResult<Json<Snapshot>> {
    let found = ops::find_version(&app, &who(&caller), path.campaign, &path.version).await?;
    Ok(Json(Snapshot {
        version: found.version.into(),
        snapshot: model::hidden::snapshot(found.snapshot),
    }))
}

/// Restores a version; that of a live triggered, recurring or in-app campaign waits to be published.
#[utoipa::path(
    post,
    path = "/campaigns/{campaignId}/versions/{versionId}/rollback",
    tag = "campaigns",
    params(("campaignId" = CampaignId, Path), ("versionId" = String, Path)),
    responses(
        (status = 200, body = Campaign),
        (status = 404, description = "the campaign or the version is absent"),
        (status = 409, description = "its status does not allow changes"),
    )
)]
async fn roll_back(
    State(app): State<CampaignState>,
    caller: Caller<scope::CampaignsWrite>,
    BodyFor(path, _): BodyFor<VersionPath, Body<OptionalBody<EmptyBody>, BODY_BYTES_MAX>>,
) -> ApiResult<Json<Campaign>> {
    let campaign = ops::rollback(&app, &who(&caller), path.campaign, &path.version).await?;
    Ok(Json(campaign.into()))
}

#[derive(Debug, Serialize, ToSchema)]
struct Actor {
    /// `api_key`, `user` or `system`.
    #[serde(rename = "type")]
    kind: String,
    /// The id; null for the system.
    id: Option<String>,
}

impl From<String> for Actor {
    fn from(actor: String) -> Self {
        match actor.split_once(':') {
            Some((kind, id)) => Self { kind: kind.to_owned(), id: Some(id.to_owned()) },
            None => Self { kind: actor, id: None },
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Entry {
    #[schema(value_type = String, format = Uuid)]
    id: uuid::Uuid,
    /// The action: `created`, `updated`, `sent`, `paused` …
    action: String,
    actor: Actor,
    /// Changed values, by JSON Pointer.
    changes: Vec<Change>,
    created_at: Timestamp,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CampaignHistory)]
struct History {
    /// The entries, the newest first.
    items: Vec<Entry>,
    total: i64,
}

/// Lists the actions on a campaign, newest first.
#[utoipa::path(
    get,
    path = "/campaigns/{campaignId}/history",
    tag = "campaigns",
    params(
        ("campaignId" = CampaignId, Path),
        ("limit" = Option<u32>, Query, description = "default 50, at most 200"),
        ("offset" = Option<u64>, Query, description = "default 0"),
    ),
    responses((status = 200, body = History), (status = 404, description = "absent"))
)]
async fn list_history(
    State(app): State<CampaignState>,
    caller: Caller<scope::CampaignsRead>,
    Query(page): Query<Page>,
    PathOf(id): PathOf<CampaignId>,
) -> ApiResult<Json<History>> {
    let page = model::Page { limit: page.limit, offset: page.offset };
    let (entries, total) = ops::history(&app, &who(&caller), id, page).await?;
    let items = entries.into_iter().map(|entry| Entry {
        id: entry.id,
        action: entry.action,
        actor: entry.actor.into(),
        changes: entry.changes,
        created_at: entry.created_at,
    });
    Ok(Json(History { items: items.collect(), total }))
}
