//! `POST /campaigns/preview`: the profiles that match a targeting.

use audience::{
    model::{AudienceQuery, Member, Targeting},
    ops,
};
use axum::{Json, extract::State};
use kernel::fields::describe::described;
use kernel::{
    UserId,
    fields::{Fields, FromFields},
    schema::Null,
};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    auth::{Caller, scope},
    http::{ApiResult, Body},
};

use super::BODY_BYTES_MAX;
use crate::{CampaignState, model::CampaignChannel};

pub(super) fn routes() -> OpenApiRouter<CampaignState> {
    OpenApiRouter::new().routes(routes!(preview_targeting))
}

const SHOWN_DEFAULT: u32 = 20;
const SHOWN_MAX: u32 = 500;
const WEB_APP_ID_CHARS_MAX: usize = 255;

#[derive(Debug)]
pub(super) struct PreviewRequest {
    targeting: Targeting,
    limit: u32,
    channel: Option<CampaignChannel>,
}

described!(
    /// A targeting to evaluate.
    PreviewRequest as "PreviewQuestion"
);

impl FromFields for PreviewRequest {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let targeting = body
            .required("targeting")
            .about("An empty object matches every profile.")
            .as_type::<Targeting>()
            .object();
        let limit = match body
            .optional("limit")
            .about("Profiles in the answer: default 20, at most 500.")
            .integer(i64::MIN..=i64::MAX)
        {
            Some(limit @ 1..) => u32::try_from(limit).unwrap_or(SHOWN_MAX).min(SHOWN_MAX),
            Some(_) | None => SHOWN_DEFAULT,
        };
        let channel = body
            .optional("channel")
            .about("The channel for `reachable`; without one every profile is reachable.")
            .as_type::<CampaignChannel>()
            .one_of(CampaignChannel::NAMED);
        let web_app = body
            .optional("webAppId")
            .about("The id of a web app. None can be registered yet, so any is refused.")
            .as_type::<Null>()
            .text(0..=WEB_APP_ID_CHARS_MAX);
        if web_app.is_some() {
            body.refuse("webAppId", "must be absent: no web app is registered in this workspace");
        }
        Self { targeting, limit, channel }
    }
}

/// The profiles that match a targeting.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Previewed {
    /// Number of matching profiles.
    total: u64,
    /// Matching profiles that a message on the channel can reach now.
    reachable: u64,
    /// Matching profiles that changed last, latest first.
    users: Vec<PreviewedUser>,
}

/// One of the matching profiles.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct PreviewedUser {
    /// The internal id, 24 hex digits.
    id: UserId,
    /// The caller's own id.
    external_id: Option<String>,
    email: Option<String>,
    /// The phone number as it was sent.
    phone: Option<String>,
    /// The attribute, if it is a text.
    first_name: Option<String>,
    /// The attribute, if it is a text.
    last_name: Option<String>,
}

impl From<Member> for PreviewedUser {
    fn from(member: Member) -> Self {
        let Member { id, external_id, email, phone, first_name, last_name } = member;
        Self { id, external_id, email, phone, first_name, last_name }
    }
}

/// Counts and lists the profiles that match a targeting.
#[utoipa::path(
    post,
    path = "/campaigns/preview",
    tag = "campaigns",
    request_body = PreviewRequest,
    responses((status = 200, body = Previewed))
)]
async fn preview_targeting(
    State(app): State<CampaignState>,
    caller: Caller<scope::CampaignsRead>,
    Body(request): Body<PreviewRequest, BODY_BYTES_MAX>,
) -> ApiResult<Json<Previewed>> {
    let query = AudienceQuery {
        targeting: Some(&request.targeting),
        channel: request.channel.and_then(CampaignChannel::delivers),
        list: None,
    };
    let preview = ops::preview(app.contacts(), caller.workspace(), &query, request.limit).await?;
    Ok(Json(Previewed {
        total: preview.measured.matched,
        reachable: preview.measured.reachable,
        users: preview.users.into_iter().map(PreviewedUser::from).collect(),
    }))
}
