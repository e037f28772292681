//! Learning campaigns: `launch-rl`, `pause-rl`, `resume-rl` and `ml-path-warmth`.

use axum::{Json, extract::State};
use http::HeaderMap;
use kernel::fields::describe::described;
use kernel::{
    CampaignId,
    fields::{Fields, FromFields},
    schema::NameOrId,
};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    auth::{Caller, scope},
    http::{ApiResult, Body, BodyFor, OptionalBody},
};

use super::{BODY_BYTES_MAX, Campaign, EmptyBody, OneCampaign, precondition, who};
use crate::{CampaignState, model::learning::Plan, ops};

const IDS_MAX: usize = 100;
const ID_CHARS_MAX: usize = 255;
/// Observations that are sufficient.
const OBSERVATIONS_REQUIRED: u64 = 100;

pub(super) fn routes() -> OpenApiRouter<CampaignState> {
    OpenApiRouter::new()
        .routes(routes!(launch_rl))
        .routes(routes!(pause_rl))
        .routes(routes!(resume_rl))
        .routes(routes!(ml_path_warmth))
}

/// Launches a learning campaign, which sends more of the variants that earn rewards. With `If-Match` that is done only where
/// the campaign still has that ETag.
#[utoipa::path(
    post,
    path = "/campaigns/{campaignId}/launch-rl",
    tag = "campaigns",
    params(
        ("campaignId" = CampaignId, Path),
        ("If-Match" = Option<String>, Header, description = "ETags with commas between them, or `*`"),
    ),
    request_body = Option<Plan>,
    responses(
        OneCampaign,
        (status = 400, description = "fewer than two variants besides the control group, or content that cannot be sent"),
        (status = 409, description = "it is neither a draft nor scheduled, or its ETag is none of `If-Match`"),
    )
)]
async fn launch_rl(
    State(app): State<CampaignState>,
    caller: Caller<scope::CampaignsSend>,
    headers: HeaderMap,
    BodyFor(id, Body(OptionalBody(plan))): BodyFor<
        CampaignId,
        Body<OptionalBody<Plan>, BODY_BYTES_MAX>,
    >,
) -> ApiResult<Json<Campaign>> {
    let plan = plan.unwrap_or_default();
    let precondition = precondition(&headers)?;
    let campaign = ops::launch_rl(&app, &who(&caller), id, plan, &precondition).await?;
    Ok(Json(campaign.into()))
}

/// Pauses a learning campaign; what it learnt is kept.
#[utoipa::path(
    post,
    path = "/campaigns/{campaignId}/pause-rl",
    tag = "campaigns",
    params(("campaignId" = CampaignId, Path)),
    responses(
        OneCampaign,
        (status = 400, description = "it does not learn"),
        (status = 409, description = "it is neither active nor scheduled"),
    )
)]
async fn pause_rl(
    State(app): State<CampaignState>,
    caller: Caller<scope::CampaignsSend>,
    BodyFor(id, _): BodyFor<CampaignId, Body<OptionalBody<EmptyBody>, BODY_BYTES_MAX>>,
) -> ApiResult<Json<Campaign>> {
    let campaign = ops::pause_rl(&app, &who(&caller), id).await?;
    Ok(Json(campaign.into()))
}

/// Resumes a paused learning campaign.
#[utoipa::path(
    post,
    path = "/campaigns/{campaignId}/resume-rl",
    tag = "campaigns",
    params(("campaignId" = CampaignId, Path)),
    responses(
        OneCampaign,
        (status = 400, description = "it does not learn"),
        (status = 409, description = "it is not paused"),
    )
)]
async fn resume_rl(
    State(app): State<CampaignState>,
    caller: Caller<scope::CampaignsSend>,
    BodyFor(id, _): BodyFor<CampaignId, Body<OptionalBody<EmptyBody>, BODY_BYTES_MAX>>,
) -> ApiResult<Json<Campaign>> {
    let campaign = ops::resume_rl(&app, &who(&caller), id).await?;
    Ok(Json(campaign.into()))
}

/// The body of a request for warmth.
#[derive(Debug)]
struct WarmthBody {
    path_ids: Option<Vec<String>>,
    variant_ids: Option<Vec<String>>,
}

described!(
    /// The ids in question: 1 to 100 in all.
    WarmthBody as "WarmthRequest"
);

impl FromFields for WarmthBody {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let mut ids = |name: &str| {
            body.optional(name)
                .list(0..=IDS_MAX, |item| item.as_type::<NameOrId>().text(1..=ID_CHARS_MAX))
        };
        let read = Self { path_ids: ids("pathIds"), variant_ids: ids("variantIds") };
        let count = read.path_ids.iter().chain(&read.variant_ids).map(Vec::len).sum::<usize>();
        if body.is_clean() && !(1..=IDS_MAX).contains(&count) {
            body.refuse_body(format!(
                "pathIds and variantIds must have between 1 and {IDS_MAX} ids together, received {count}"
            ));
        }
        read
    }
}

/// The observations of each id.
#[derive(Debug, Serialize, ToSchema)]
struct WarmthAnswer {
    items: Vec<WarmthItem>,
}

/// The observations of one id.
#[derive(Debug, Serialize, ToSchema)]
struct WarmthItem {
    id: String,
    /// Messages with a known outcome.
    observations: u64,
    /// Observations that are sufficient.
    required: u64,
    warmth: f64,
    state: Warmth,
}

/// The amount of observations as a word.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Warmth {
    Cold,
    Warming,
    #[serde(rename = "warm")]
    Enough,
}

impl WarmthItem {
    fn new(id: String, observations: u64) -> Self {
        let state = match observations {
            0 => Warmth::Cold,
            1..OBSERVATIONS_REQUIRED => Warmth::Warming,
            _ => Warmth::Enough,
        };
        #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
        let warmth = (observations as f64 / OBSERVATIONS_REQUIRED as f64).min(1.0);
        Self { id, observations, required: OBSERVATIONS_REQUIRED, warmth, state }
    }
}

/// Reports the observations of variants and paths: paths first, then variants, in the order of the request.
/// Unknown ids have no observations, and so have all paths, since there are no journeys.
#[utoipa::path(
    post,
    path = "/campaigns/ml-path-warmth",
    tag = "campaigns",
    request_body = WarmthBody,
    responses((status = 200, body = WarmthAnswer))
)]
async fn ml_path_warmth(
    State(app): State<CampaignState>,
    caller: Caller<scope::CampaignsRead>,
    Body(body): Body<WarmthBody, BODY_BYTES_MAX>,
) -> ApiResult<Json<WarmthAnswer>> {
    let variants = body.variant_ids.unwrap_or_default();
    let seen = ops::observations(&app, caller.workspace(), &variants).await?;
    let paths = body.path_ids.unwrap_or_default().into_iter().map(|id| WarmthItem::new(id, 0));
    let variants = variants.into_iter().map(|id| {
        let observations = seen.get(&id).copied().unwrap_or(0);
        WarmthItem::new(id, observations)
    });
    Ok(Json(WarmthAnswer { items: paths.chain(variants).collect() }))
}
