//! The membership of a contact in a list, on a channel.

use std::fmt;

use kernel::{Channel, ListId, OrganizationId, Tenant, Timestamp, UserId, WorkspaceId};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;
use web::audit::Action;

/// Consent of a contact to a list on a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum MembershipStatus {
    Subscribed,
    Unsubscribed,
}

impl MembershipStatus {
    /// The names of the statuses in request bodies.
    pub const NAMED: &'static [(&'static str, Self)] =
        &[("subscribed", Self::Subscribed), ("unsubscribed", Self::Unsubscribed)];

    /// The status as the API and the database write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Subscribed => "subscribed",
            Self::Unsubscribed => "unsubscribed",
        }
    }

    /// The status with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMED.iter().find(|(known, _)| *known == name).map(|(_, status)| *status)
    }

    /// The history's name of a change to `to`.
    pub fn action(previous: Option<Self>, to: Self) -> Action {
        match (previous, to) {
            (Some(previous), to) if previous == to => Action::ApiUpdate,
            (_, Self::Unsubscribed) => Action::Unsubscribe,
            (None, Self::Subscribed) => Action::Subscribe,
            (Some(_), Self::Subscribed) => Action::Resubscribe,
        }
    }
}

/// The unique key of a membership within a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MembershipKey {
    pub user: UserId,
    pub list: ListId,
    pub channel: Channel,
}

/// A membership of a contact in a list on a channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Membership {
    #[serde(rename = "_id")]
    pub id: Uuid,
    pub organization_id: OrganizationId,
    pub workspace_id: WorkspaceId,
    /// The contact's internal id.
    pub contact_id: UserId,
    pub list_id: ListId,
    pub channel: Channel,
    pub status: MembershipStatus,
    /// The latest subscription; null for a contact that never subscribed.
    pub subscribed_at: Option<Timestamp>,
    /// The source of the latest change.
    pub opt_in_source: Option<String>,
    /// The text that the contact consented to last.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub consent_text: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// The status to set on a membership, and its source.
#[derive(Debug, Clone, Copy)]
pub struct MembershipChange<'a> {
    pub key: MembershipKey,
    pub now: Timestamp,
    pub to: MembershipStatus,
    pub source: &'a str,
    /// The text that the contact consented to.
    pub consent_text: Option<&'a str>,
}

impl Membership {
    pub fn key(&self) -> MembershipKey {
        MembershipKey { user: self.contact_id, list: self.list_id, channel: self.channel }
    }

    pub fn begin(tenant: Tenant, change: &MembershipChange<'_>) -> Self {
        let key = change.key;
        let is_in = change.to == MembershipStatus::Subscribed;
        Self {
            id: Uuid::new_v4(),
            organization_id: tenant.organization,
            workspace_id: tenant.workspace,
            contact_id: key.user,
            list_id: key.list,
            channel: key.channel,
            status: change.to,
            subscribed_at: is_in.then_some(change.now),
            opt_in_source: Some(change.source.to_owned()),
            consent_text: change.consent_text.map(str::to_owned),
            created_at: change.now,
            updated_at: change.now,
        }
    }

    /// The membership after a change. If it has the status already it stays as it is, dates included.
    #[must_use]
    pub fn changed(&self, change: &MembershipChange<'_>) -> Self {
        let mut changed = self.clone();
        changed.status = change.to;
        changed.opt_in_source = Some(change.source.to_owned());
        if let Some(text) = change.consent_text {
            changed.consent_text = Some(text.to_owned());
        }
        if change.to == MembershipStatus::Subscribed && self.status != change.to {
            changed.subscribed_at = Some(change.now);
        }
        if changed != *self {
            changed.updated_at = change.now;
        }
        changed
    }
}

/// A subscription that waits for the click on its confirmation link. There is no membership before that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending {
    pub key: MembershipKey,
    /// `form`, `preference_center` or `sdk`.
    pub source: String,
    /// The text that the contact consented to.
    pub consent_text: Option<String>,
    pub requested_at: Timestamp,
    /// The end of the time in which it can be confirmed.
    pub expires_at: Timestamp,
}

/// An inline subscription of `POST /users`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubscriptionRequest {
    pub user: UserId,
    /// As sent; a text that is not an id is a list that does not exist.
    pub list: String,
    pub channel: Channel,
    /// The status that the caller asks for.
    pub status: MembershipStatus,
}

/// The outcome of an inline subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Applied,
    Skipped(SkipReason),
}

/// Why a subscription was skipped. Displays the sentence that the API answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkipReason {
    ListNotFound,
    /// An archived list takes no new members.
    ListArchived,
    /// Only the contact itself can revoke an opt-out.
    OptedOut,
    /// The contact was deleted in the meantime.
    ContactNotFound,
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ListNotFound => "list not found",
            Self::ListArchived => "list is archived",
            Self::OptedOut => "contact has opted out of this list on this channel",
            Self::ContactNotFound => "contact not found",
        })
    }
}
