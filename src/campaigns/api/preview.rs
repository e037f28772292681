//! `POST /campaigns/preview`: a look at whom a targeting means.

use axum::{Json, extract::State};
use contacts::audience::{
    model::{Ask, Member, Targeting},
    ops,
};
use kernel::{
    UserId,
    fields::{Fields, FromFields},
};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use web::{
    auth::{Caller, scope},
    http::{ApiResult, Body},
};

use super::BODY_BYTES_MAX;
use crate::{CampaignState, model::CampaignChannel};

/// Profiles shown where the caller asks for no number.
const SHOWN_DEFAULT: u32 = 20;
/// Profiles shown at most.
const SHOWN_MAX: u32 = 500;
/// Characters of the id of a web app.
const WEB_APP_ID_CHARS_MAX: usize = 255;

/// A targeting to look at.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "describes the body for openapi; Asked reads it")]
pub(super) struct PreviewQuestion {
    /// Whom it is about; an empty object means everyone.
    targeting: Targeting,
    /// Profiles to show: default 20, at most 500.
    #[schema(value_type = Option<i64>)]
    limit: Option<u32>,
    /// The channel that `reachable` is judged by; without one everybody is reachable.
    channel: Option<CampaignChannel>,
    /// The id of a web app. None can be registered with this service yet, so any is refused.
    #[schema(value_type = Option<kernel::schema::Null>)]
    web_app_id: Option<Value>,
}

/// The question, read and checked.
#[derive(Debug)]
pub(super) struct Asked {
    targeting: Targeting,
    limit: u32,
    channel: Option<CampaignChannel>,
}

impl FromFields for Asked {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let targeting = body.required("targeting").object();
        let limit = match body.optional("limit").integer(i64::MIN..=i64::MAX) {
            Some(limit @ 1..) => u32::try_from(limit).unwrap_or(SHOWN_MAX).min(SHOWN_MAX),
            Some(_) | None => SHOWN_DEFAULT,
        };
        let channel = body.optional("channel").one_of(CampaignChannel::NAMED);
        if body.optional("webAppId").text(0..=WEB_APP_ID_CHARS_MAX).is_some() {
            body.refuse("webAppId", "must be absent: no web app is registered in this workspace");
        }
        Self { targeting, limit, channel }
    }
}

/// Whom a targeting means.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Previewed {
    /// Profiles that it means.
    total: u64,
    /// Those of them whom a message on the channel may reach now.
    reachable: u64,
    /// Those of `total` that changed last, latest first.
    users: Vec<PreviewedUser>,
}

/// A profile that a targeting means.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct PreviewedUser {
    /// The service's own id of it, 24-hex.
    id: UserId,
    /// The caller's own id of it.
    external_id: Option<String>,
    email: Option<String>,
    /// Its phone number, as sent.
    phone: Option<String>,
    /// The attribute, where it is a text.
    first_name: Option<String>,
    /// The attribute, where it is a text.
    last_name: Option<String>,
}

impl From<Member> for PreviewedUser {
    fn from(member: Member) -> Self {
        let Member { id, external_id, email, phone, first_name, last_name } = member;
        Self { id, external_id, email, phone, first_name, last_name }
    }
}

/// Counts and shows whom a targeting means.
#[utoipa::path(
    post,
    path = "/campaigns/preview",
    tag = "campaigns",
    request_body = PreviewQuestion,
    responses((status = 200, body = Previewed))
)]
pub(super) async fn preview_targeting(
    State(app): State<CampaignState>,
    caller: Caller<scope::CampaignsRead>,
    Body(asked): Body<Asked, BODY_BYTES_MAX>,
) -> ApiResult<Json<Previewed>> {
    let ask = Ask {
        targeting: Some(&asked.targeting),
        channel: asked.channel.and_then(CampaignChannel::delivers),
        list: None,
    };
    let preview = ops::preview(&app, caller.workspace(), &ask, asked.limit).await?;
    Ok(Json(Previewed {
        total: preview.measured.matched,
        reachable: preview.measured.reachable,
        users: preview.users.into_iter().map(PreviewedUser::from).collect(),
    }))
}
