//! `POST /campaigns/spam-check`: the spam score of an email.

use std::borrow::Cow;

use axum::{Json, extract::State};
use content::spam::Report;
use kernel::{
    CampaignId,
    fields::{
        Fields, FromFields,
        describe::{describe_by, documented, either},
    },
};
use serde_json::{Map, Value};
use utoipa::{
    ToSchema,
    openapi::{RefOr, Schema},
};
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    auth::{Caller, scope},
    http::{ApiError, ApiResult, Body},
};

use super::BODY_BYTES_MAX;
use crate::{
    CampaignState,
    model::{
        CampaignChannel,
        message::{Content, EmailMessage, Message},
    },
    ops::{self, NOT_FOUND, Subject},
};

pub(super) fn routes() -> OpenApiRouter<CampaignState> {
    OpenApiRouter::new().routes(routes!(check_spam))
}

const ID_CHARS_MAX: usize = 64;

/// An email to check, or its campaign.
#[derive(Debug)]
enum Question {
    Given(Box<EmailMessage>),
    Of { campaign: String, variant: Option<String> },
}

impl utoipa::PartialSchema for Question {
    fn schema() -> RefOr<Schema> {
        let by_id = Map::from_iter([("campaignId".to_owned(), Value::from(""))]);
        let read = |fields: &mut Fields<'_>| drop(Self::from_fields(fields));
        let ways = [describe_by(&Map::new(), read), describe_by(&by_id, read)];
        documented(
            either(ways),
            &[
                "An email to check: `subject`, and `html` or `text`; or `campaignId` and `variantId`.",
            ],
        )
    }
}

impl ToSchema for Question {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("SpamCheck")
    }
}

impl FromFields for Question {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        if let Some(campaign) = body.optional("campaignId").text(0..=ID_CHARS_MAX) {
            let variant = body
                .optional("variantId")
                .about("A variant of the campaign.")
                .text(0..=ID_CHARS_MAX);
            return Self::Of { campaign, variant };
        }
        let message = Message::read(body, CampaignChannel::Email);
        let Content::Email(email) = message.content else {
            return Self::Given(Box::default());
        };
        if !body.has("subject") {
            body.refuse("subject", "is required");
        }
        if !body.has("html") && !body.has("text") {
            body.refuse("html", "is required, or text");
        }
        Self::Given(Box::new(email))
    }
}

/// Checks an email with SpamAssassin if it is configured, otherwise with built-in rules.
#[utoipa::path(
    post,
    path = "/campaigns/spam-check",
    tag = "campaigns",
    request_body = Question,
    responses(
        (status = 200, description = "The score and the matching rules.", body = Report),
        (status = 404, description = "no such campaign, or no such variant in it"),
    )
)]
async fn check_spam(
    State(app): State<CampaignState>,
    caller: Caller<scope::CampaignsRead>,
    Body(question): Body<Question, BODY_BYTES_MAX>,
) -> ApiResult<Json<Report>> {
    let subject = match question {
        Question::Given(email) => Subject::Given(email),
        Question::Of { campaign, variant } => {
            let campaign: CampaignId = campaign.parse().map_err(|_| NOT_FOUND)?;
            Subject::Of { campaign, variant }
        }
    };
    ops::spam_check(&app, caller.workspace(), subject).await.map(Json).map_err(ApiError)
}
