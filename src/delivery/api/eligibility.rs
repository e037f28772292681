//! `GET /campaigns/:campaignId/eligibility`: whether a campaign would reach one person, and why not.

use axum::{Json, extract::State};
use kernel::{CampaignId, UserId};
use serde::Serialize;
use utoipa::ToSchema;
use web::{
    auth::{Caller, scope},
    http::{ApiError, ApiResult, FromQuery, PathOf, Query, QueryFields},
};

use super::USER_ID_CHARS_MAX;
use crate::{
    DeliveryState,
    ops::{self, PersonEligibility},
};

/// The reason where the targeting does not match the profile.
const NOT_IN_AUDIENCE: &str = "not_in_audience";

/// The query string, checked.
#[derive(Debug)]
pub(super) struct EligibilityQuery {
    user: String,
}

impl FromQuery for EligibilityQuery {
    fn from_query(query: &mut QueryFields<'_>) -> Self {
        Self { user: query.required_text("userId", USER_ID_CHARS_MAX) }
    }
}

/// Whether a campaign would reach a person.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct CampaignEligibility {
    /// The internal id of the person.
    user_id: UserId,
    #[schema(required)]
    external_id: Option<String>,
    /// Whether the targeting matches the person.
    in_audience: bool,
    /// Whether a message would be made for the person.
    eligible: bool,
    /// `not_in_audience`, or the rule that forbids a message, as reports name it: `no_address`, `channel_consent`, …
    #[schema(required)]
    reason: Option<&'static str>,
    /// What made the rule apply.
    #[schema(required)]
    detail: Option<String>,
}

impl From<PersonEligibility> for CampaignEligibility {
    fn from(found: PersonEligibility) -> Self {
        let PersonEligibility { user, external_id, in_audience, skip } = found;
        let (reason, detail) = match skip {
            _ if !in_audience => {
                (Some(NOT_IN_AUDIENCE), Some("the targeting does not match the profile".to_owned()))
            }
            Some(skip) => (Some(skip.reason.code()), Some(skip.detail)),
            None => (None, None),
        };
        Self { user_id: user, external_id, in_audience, eligible: reason.is_none(), reason, detail }
    }
}

/// Says whether a campaign would reach a person now, and why not.
///
/// It looks at the live definition, by the rules of a launch: the targeting, the address, consent and suppressions. Quiet
/// hours, caps and earlier messages depend on the moment of sending, and are left out. The caller needs `users:read`, too.
#[utoipa::path(
    get,
    path = "/campaigns/{campaignId}/eligibility",
    tag = "campaigns",
    params(
        ("campaignId" = CampaignId, Path),
        ("userId" = String, Query, description = "the internal id, or the caller's own"),
    ),
    responses(
        (status = 200, body = CampaignEligibility),
        (status = 404, description = "no such campaign, or no such user"),
    )
)]
pub(super) async fn campaign_eligibility(
    State(app): State<DeliveryState>,
    caller: Caller<scope::CampaignsRead>,
    _: Caller<scope::UsersRead>,
    Query(EligibilityQuery { user }): Query<EligibilityQuery>,
    PathOf(id): PathOf<CampaignId>,
) -> ApiResult<Json<CampaignEligibility>> {
    let found = ops::eligibility(&app, caller.workspace(), id, &user).await.map_err(ApiError)?;
    Ok(Json(found.into()))
}
