//! `POST /campaigns/bulk-…`: one operation on many campaigns, each with its own outcome.

use axum::{Json, extract::State};
use kernel::fields::describe::described;
use kernel::{
    CampaignId,
    fields::{Fields, FromFields},
};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    auth::{Caller, scope},
    http::{ApiResult, Body},
};

use super::{BODY_BYTES_MAX, who};
use crate::{
    CampaignState,
    model::{TAGS_MAX, each_once, tag},
    ops,
};

const IDS_MAX: usize = 200;
const ID_CHARS_MAX: usize = 255;

pub(super) fn routes() -> OpenApiRouter<CampaignState> {
    OpenApiRouter::new()
        .routes(routes!(delete_campaigns))
        .routes(routes!(archive_campaigns))
        .routes(routes!(unarchive_campaigns))
        .routes(routes!(duplicate_campaigns))
        .routes(routes!(tag_campaigns))
}

/// The body of most bulk calls.
#[derive(Debug)]
struct CampaignIds {
    ids: Vec<String>,
}

described!(
    /// The campaigns of a bulk call.
    CampaignIds as "CampaignIds"
);

impl FromFields for CampaignIds {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        Self {
            ids: body
                .required("ids")
                .about("Repeated ids count once.")
                .list(1..=IDS_MAX, |item| item.text(0..=ID_CHARS_MAX)),
        }
    }
}

/// The body of `POST /campaigns/bulk-tag`.
#[derive(Debug)]
struct CampaignTags {
    ids: Vec<String>,
    tags: Vec<String>,
}

described!(
    /// Campaigns, and tags to add.
    CampaignTags as "CampaignTags"
);

impl FromFields for CampaignTags {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let CampaignIds { ids } = CampaignIds::from_fields(body);
        Self {
            ids,
            tags: each_once(
                body.required("tags").about("Added to the existing tags.").list(1..=TAGS_MAX, tag),
            ),
        }
    }
}

/// The outcome for each campaign.
#[derive(Debug, Serialize, ToSchema)]
struct BulkDone {
    /// The ids of the campaigns for which it succeeded.
    succeeded: Vec<String>,
    failed: Vec<Failed>,
}

/// The outcome for each campaign, and the copies.
#[derive(Debug, Serialize, ToSchema)]
struct BulkCopied {
    #[serde(flatten)]
    done: BulkDone,
    created: Vec<Copied>,
}

/// A campaign for which it failed.
#[derive(Debug, Serialize, ToSchema)]
struct Failed {
    /// The id as it was sent.
    id: String,
    reason: String,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Copied {
    source_id: String,
    id: CampaignId,
}

impl From<ops::Bulk> for BulkDone {
    fn from(bulk: ops::Bulk) -> Self {
        let failed = bulk.failed.into_iter().map(|(id, reason)| Failed { id, reason });
        Self { succeeded: bulk.succeeded, failed: failed.collect() }
    }
}

/// Deletes each campaign that was never live, and archives the others.
#[utoipa::path(
    post,
    path = "/campaigns/bulk-delete",
    tag = "campaigns",
    request_body = CampaignIds,
    responses((status = 200, body = BulkDone))
)]
async fn delete_campaigns(
    State(app): State<CampaignState>,
    caller: Caller<scope::CampaignsDelete>,
    Body(CampaignIds { ids }): Body<CampaignIds, BODY_BYTES_MAX>,
) -> ApiResult<Json<BulkDone>> {
    Ok(Json(ops::each(&app, &who(&caller), &ids, &ops::Work::Delete).await.into()))
}

/// Archives campaigns, with an outcome for each.
#[utoipa::path(
    post,
    path = "/campaigns/bulk-archive",
    tag = "campaigns",
    request_body = CampaignIds,
    responses((status = 200, body = BulkDone))
)]
async fn archive_campaigns(
    State(app): State<CampaignState>,
    caller: Caller<scope::CampaignsWrite>,
    Body(CampaignIds { ids }): Body<CampaignIds, BODY_BYTES_MAX>,
) -> ApiResult<Json<BulkDone>> {
    Ok(Json(ops::each(&app, &who(&caller), &ids, &ops::Work::Archive).await.into()))
}

/// Restores each from the archive, without sending.
#[utoipa::path(
    post,
    path = "/campaigns/bulk-unarchive",
    tag = "campaigns",
    request_body = CampaignIds,
    responses((status = 200, body = BulkDone))
)]
async fn unarchive_campaigns(
    State(app): State<CampaignState>,
    caller: Caller<scope::CampaignsWrite>,
    Body(CampaignIds { ids }): Body<CampaignIds, BODY_BYTES_MAX>,
) -> ApiResult<Json<BulkDone>> {
    Ok(Json(ops::each(&app, &who(&caller), &ids, &ops::Work::Unarchive).await.into()))
}

/// Copies each as a draft.
#[utoipa::path(
    post,
    path = "/campaigns/bulk-duplicate",
    tag = "campaigns",
    request_body = CampaignIds,
    responses((status = 200, body = BulkCopied))
)]
async fn duplicate_campaigns(
    State(app): State<CampaignState>,
    caller: Caller<scope::CampaignsWrite>,
    Body(CampaignIds { ids }): Body<CampaignIds, BODY_BYTES_MAX>,
) -> ApiResult<Json<BulkCopied>> {
    let mut bulk = ops::each(&app, &who(&caller), &ids, &ops::Work::Duplicate).await;
    let created = std::mem::take(&mut bulk.created);
    let created = created.into_iter().map(|(source_id, id)| Copied { source_id, id }).collect();
    Ok(Json(BulkCopied { done: bulk.into(), created }))
}

/// Adds tags to campaigns, with an outcome for each.
#[utoipa::path(
    post,
    path = "/campaigns/bulk-tag",
    tag = "campaigns",
    request_body = CampaignTags,
    responses((status = 200, body = BulkDone))
)]
async fn tag_campaigns(
    State(app): State<CampaignState>,
    caller: Caller<scope::CampaignsWrite>,
    Body(CampaignTags { ids, tags }): Body<CampaignTags, BODY_BYTES_MAX>,
) -> ApiResult<Json<BulkDone>> {
    Ok(Json(ops::each(&app, &who(&caller), &ids, &ops::Work::Tag(tags)).await.into()))
}
