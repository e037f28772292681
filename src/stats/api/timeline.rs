//! `GET /campaigns/:campaignId/recipients/:userId`.

use std::collections::BTreeMap;

use analytics::messages::{Happening, Recipient};
use axum::{Json, extract::State};
use kernel::{CampaignId, Result, Timestamp};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    Services,
    auth::{Caller, scope},
    http::{ApiResult, DateRange, FromPath, PathOf},
};

use super::recipients::MessageStatus;
use crate::{
    model::outcome::{Credit, Goal},
    ops::{self, ReportScope, Timeline},
};

pub(super) fn routes() -> OpenApiRouter<Services> {
    OpenApiRouter::new().routes(routes!(recipient_timeline))
}

/// The path parameters `:campaignId/recipients/:userId`.
#[derive(Debug)]
pub(super) struct RecipientPath {
    campaign: CampaignId,
    user: String,
}

impl FromPath for RecipientPath {
    type Parameters = (String, String);

    fn from_path((campaign, user): Self::Parameters) -> Result<Self> {
        Ok(Self { campaign: CampaignId::from_path(campaign)?, user })
    }
}

/// The history of one person's messages of a campaign.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct RecipientTimeline {
    campaign_id: CampaignId,
    user_id: String,
    messages: Vec<MessageTimeline>,
}

/// The history of one message.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct MessageTimeline {
    message_id: String,
    occurrence: u32,
    variant_id: Option<String>,
    channel: String,
    status: MessageStatus,
    events: Vec<MessageEvent>,
}

/// An event of a message.
#[derive(Debug, Serialize, ToSchema)]
struct MessageEvent {
    /// `queued`, `held`, `sent`, `deferred`, `delivered`, `opened`, `clicked`, `bounced`, `complained`,
    /// `unsubscribed`, `converted`, `skipped`, `cancelled`, `failed`, `control`, `impression`, `dismissed`.
    #[serde(rename = "type")]
    kind: String,
    timestamp: Timestamp,
    metadata: Value,
}

fn metadata(of: &Happening) -> Value {
    let mut fields = serde_json::Map::new();
    let mut add = |name: &str, text: &str| {
        if !text.is_empty() {
            fields.insert(name.to_owned(), json!(text));
        }
    };
    match of.kind.as_str() {
        "clicked" => {
            add("url", &of.url);
            add("label", &of.label);
            add("buttonId", &of.button);
        }
        "held" | "skipped" => {
            add("reason", &of.code);
            add("detail", &of.reason);
        }
        "bounced" => {
            add("type", &of.label);
            add("code", &of.code);
            add("reason", &of.reason);
        }
        "failed" | "deferred" => {
            add("code", &of.code);
            add("reason", &of.reason);
        }
        "unsubscribed" | "complained" => add("source", &of.reason),
        _ => {}
    }
    if of.is_bot {
        fields.insert("machine".to_owned(), json!(true));
    }
    Value::Object(fields)
}

/// A conversion, with its value if it was an order.
fn converted(scope: &ReportScope, credit: &Credit, all: &[Credit]) -> Option<MessageEvent> {
    let Goal::Conversion(goal) = credit.goal else { return None };
    let tracking = scope.campaign.definition.conversion_tracking.as_deref()?;
    let conversions = std::iter::once(&tracking.primary_conversion).chain(tracking.secondary());
    let name = conversions.map(|it| it.event_name.as_str()).nth(goal)?;
    let value = all.iter().find_map(|other| match &other.goal {
        Goal::Order { currency, amount }
            if other.message == credit.message
                && other.event == credit.event
                && name == crate::model::goal::ORDER_COMPLETED =>
        {
            Some((amount / 1e4, currency.clone()))
        }
        _ => None,
    });
    let mut metadata = json!({"eventName": name, "value": value.as_ref().map(|(value, _)| value)});
    if let Some((_, currency)) = value {
        metadata["currency"] = json!(currency);
    }
    if credit.part < 1.0 {
        metadata["credit"] = json!(credit.part);
    }
    let timestamp = Timestamp::from_millis(credit.at_ms);
    Some(MessageEvent { kind: "converted".to_owned(), timestamp, metadata })
}

fn answer(scope: &ReportScope, timeline: &Timeline) -> RecipientTimeline {
    let mut by_message: BTreeMap<&str, Vec<&Happening>> = BTreeMap::new();
    for happening in &timeline.happenings {
        by_message.entry(&happening.message).or_default().push(happening);
    }
    let message = |of: &Recipient| {
        let happenings = by_message.get(of.message.as_str()).map(Vec::as_slice).unwrap_or_default();
        let mut events: Vec<MessageEvent> = happenings
            .iter()
            .map(|it| MessageEvent {
                kind: it.kind.clone(),
                timestamp: Timestamp::from_millis(it.at_ms),
                metadata: metadata(it),
            })
            .collect();
        let its = timeline.credits.iter().filter(|it| it.group.occurrence == of.occurrence);
        events.extend(its.filter_map(|credit| converted(scope, credit, &timeline.credits)));
        events.sort_by_key(|event| event.timestamp);
        let text = |field: fn(&Happening) -> &String| {
            happenings.iter().map(|it| field(it)).find(|text| !text.is_empty()).cloned()
        };
        MessageTimeline {
            message_id: of.message.clone(),
            occurrence: of.occurrence,
            variant_id: text(|it| &it.variant),
            channel: text(|it| &it.channel).unwrap_or_default(),
            status: of.status.into(),
            events,
        }
    };
    RecipientTimeline {
        campaign_id: scope.campaign.id,
        user_id: timeline.user.to_string(),
        messages: timeline.messages.iter().rev().map(message).collect(),
    }
}

/// Reports the history of a campaign's messages to one person, identified by the internal or the external id.
#[utoipa::path(
    get,
    path = "/campaigns/{campaignId}/recipients/{userId}",
    tag = "campaigns",
    params(("campaignId" = CampaignId, Path), ("userId" = String, Path)),
    responses(
        (status = 200, body = RecipientTimeline),
        (status = 404, description = "no such campaign, or it has no message for this person"),
    )
)]
async fn recipient_timeline(
    State(app): State<Services>,
    caller: Caller<scope::CampaignsRead>,
    PathOf(path): PathOf<RecipientPath>,
) -> ApiResult<Json<RecipientTimeline>> {
    let range = DateRange::default();
    let scope = ReportScope::find(&app, caller.workspace(), path.campaign, range).await?;
    let timeline = ops::timeline(&app, &scope, &path.user).await?;
    Ok(Json(answer(&scope, &timeline)))
}
