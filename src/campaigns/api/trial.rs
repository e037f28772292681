//! `POST /campaigns/{campaignId}/retest-ab`, `/select-winner`: the A/B test of a campaign.

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
    http::{ApiResult, Body, BodyFor, OptionalBody},
};

use super::{BODY_BYTES_MAX, Campaign, EmptyBody, OneCampaign, who};
use crate::{
    CampaignState,
    model::{trial::Phase, variant::ID_CHARS_MAX},
    ops,
};

pub(super) fn routes() -> OpenApiRouter<CampaignState> {
    OpenApiRouter::new().routes(routes!(retest_ab)).routes(routes!(select_winner))
}

/// The new A/B test.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct RetestAnswer {
    campaign_id: CampaignId,
    phase: Phase,
    /// The number of the test, from 1.
    round: u32,
    /// The variant that won the previous test.
    previous_winner_variant_id: Option<String>,
}

/// Starts a new A/B test of a recurring campaign: its next occurrence has no winner yet.
#[utoipa::path(
    post,
    path = "/campaigns/{campaignId}/retest-ab",
    tag = "campaigns",
    params(("campaignId" = CampaignId, Path)),
    responses(
        (status = 200, body = RetestAnswer),
        (status = 400, description = "it is not recurring, or has no A/B test"),
        (status = 404, description = "absent"),
        (status = 409, description = "it has ended"),
    )
)]
pub(super) async fn retest_ab(
    State(app): State<CampaignState>,
    caller: Caller<scope::CampaignsWrite>,
    BodyFor(id, _): BodyFor<CampaignId, Body<OptionalBody<EmptyBody>, BODY_BYTES_MAX>>,
) -> ApiResult<Json<RetestAnswer>> {
    let trial = ops::retest_ab(&app, &who(&caller), id).await?;
    Ok(Json(RetestAnswer {
        campaign_id: id,
        phase: trial.phase,
        round: trial.round,
        previous_winner_variant_id: trial.previous_winner_variant_id,
    }))
}

/// The body of a choice of the winner.
#[derive(Debug)]
pub(super) struct Selection {
    variant_id: String,
}

described!(
    /// The winner of an A/B test.
    Selection as "Selection"
);

impl FromFields for Selection {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        Self {
            variant_id: body
                .required("variantId")
                .about("The variant that is sent to the rest.")
                .text(1..=ID_CHARS_MAX),
        }
    }
}

/// Selects the winner of an A/B test, as `winnerSelection: manual` requires; an automatic test may also be
/// ended early this way. The rest of the audience gets the winner now.
#[utoipa::path(
    post,
    path = "/campaigns/{campaignId}/select-winner",
    tag = "campaigns",
    params(("campaignId" = CampaignId, Path)),
    request_body = Selection,
    responses(
        OneCampaign,
        (status = 400, description = "it has no A/B test, or this variant cannot win"),
        (status = 409, description = "it has a winner, or is not under way"),
    )
)]
pub(super) async fn select_winner(
    State(app): State<CampaignState>,
    caller: Caller<scope::CampaignsSend>,
    BodyFor(id, Body(selection)): BodyFor<CampaignId, Body<Selection, BODY_BYTES_MAX>>,
) -> ApiResult<Json<Campaign>> {
    let who = who(&caller);
    let campaign = ops::select_winner(&app, &who, id, &selection.variant_id).await?;
    Ok(Json(campaign.into()))
}
