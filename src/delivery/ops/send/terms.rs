//! The rules that a batch is sent by.

use audience::model::SubscriptionPreference;
use kernel::ListId;

use super::campaign_context::CampaignContext;
use crate::model::retry;

/// The rules of sending.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms {
    /// Attempts at the provider.
    pub(super) attempts_max: i16,
    /// Whether the messages count against frequency caps.
    pub(super) is_capped: bool,
    /// Whether a person gets one message of an occurrence.
    pub(super) one_to_a_person: bool,
    list: Option<ListId>,
    preference: SubscriptionPreference,
}

impl Terms {
    /// The rules of a campaign.
    pub(crate) fn of_campaign(campaign_context: &CampaignContext) -> Self {
        Self {
            attempts_max: campaign_context.attempts_max,
            is_capped: campaign_context.is_capped(),
            one_to_a_person: campaign_context.sends_one_to_a_person(),
            list: campaign_context.campaign.definition.subscription_category_id,
            preference: campaign_context.preference,
        }
    }

    /// The list messages are sent under.
    pub(crate) const fn list(&self) -> Option<ListId> {
        self.list
    }

    /// The consent that recipients need.
    pub(crate) const fn preference(&self) -> SubscriptionPreference {
        self.preference
    }

    /// The rules of messages of no campaign.
    pub(crate) const fn of_outbox() -> Self {
        Self {
            attempts_max: retry::ATTEMPTS_MAX,
            is_capped: false,
            one_to_a_person: false,
            list: None,
            preference: SubscriptionPreference::SubscribedOrOptedIn,
        }
    }
}
