//! Filters on engagement with messages.

use kernel::{
    CampaignId, Channel,
    fields::{Fields, FromFields, word_for},
};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::{FilterBody, event::within_days};
use crate::model::word;

/// What a person did with a message. A click also counts as an open, and both imply that it was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engagement {
    /// A message was sent to the person.
    Sent,
    Opened,
    /// The person clicked a link in a message.
    Clicked,
}

const OPERATORS: &[(&str, Engagement)] =
    &[("sent", Engagement::Sent), ("opened", Engagement::Opened), ("clicked", Engagement::Clicked)];

/// Profiles to which messages were sent, or that opened or clicked them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngagementFilter {
    pub engagement: Engagement,
    /// Only messages on this channel (`field`).
    pub channel: Option<Channel>,
    /// Only messages of this campaign.
    pub campaign: Option<CampaignId>,
    /// Only in this number of days before now.
    pub within_days: Option<u32>,
}

/// The fields beside `type`: `{campaignId, withinDays}`.
#[derive(Default)]
struct Details {
    campaign: Option<CampaignId>,
    within_days: Option<u32>,
}

impl FromFields for Details {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let campaign = body.optional("campaignId").parsed(CampaignId::new(Uuid::nil()), |text| {
            text.parse().map_err(|_| "must be the id of a campaign, a UUID".to_owned())
        });
        Self { campaign, within_days: within_days(body) }
    }
}

impl EngagementFilter {
    pub(super) fn read(body: &mut Fields<'_>) -> Self {
        let engagement = word::read(body.required("operator"), OPERATORS);
        let channel = word::read_as(body.optional("field"), Channel::NAMED).flatten();
        let details: Details = body.optional("value").object().unwrap_or_default();
        Self {
            engagement: engagement.unwrap_or(Engagement::Sent),
            channel,
            campaign: details.campaign,
            within_days: details.within_days,
        }
    }

    pub(super) fn body(&self) -> FilterBody {
        let mut value = Map::new();
        if let Some(campaign) = self.campaign {
            value.insert("campaignId".into(), json!(campaign));
        }
        if let Some(days) = self.within_days {
            value.insert("withinDays".into(), json!(days));
        }
        FilterBody {
            kind: "engagement",
            field: self.channel.map(|channel| channel.as_str().to_owned()),
            operator: word_for(OPERATORS, self.engagement),
            value: (!value.is_empty()).then_some(Value::Object(value)),
        }
    }
}
