//! A contact under a list on a channel.

use std::fmt;

use kernel::{Channel, ListId, OrganizationId, Tenant, Timestamp, UserId, WorkspaceId};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;
use web::audit::Action;

/// What a contact said about a list on a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum MembershipStatus {
    Subscribed,
    Unsubscribed,
}

impl MembershipStatus {
    /// The names and what they stand for, as readers of bodies take them.
    pub const NAMED: &'static [(&'static str, Self)] =
        &[("subscribed", Self::Subscribed), ("unsubscribed", Self::Unsubscribed)];

    /// The status as the API and the store write it.
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

    /// What becoming `to` is called in the history (DECISIONS C2).
    pub fn action(previous: Option<Self>, to: Self) -> Action {
        match (previous, to) {
            (Some(previous), to) if previous == to => Action::ApiUpdate,
            (_, Self::Unsubscribed) => Action::Unsubscribe,
            (None, Self::Subscribed) => Action::Subscribe,
            (Some(_), Self::Subscribed) => Action::Resubscribe,
        }
    }
}

/// What a membership is unique by, within a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MembershipKey {
    pub user: UserId,
    pub list: ListId,
    pub channel: Channel,
}

/// A membership, stored and as callers see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Membership {
    #[serde(rename = "_id")]
    pub id: Uuid,
    /// The organization the workspace is in.
    pub organization_id: OrganizationId,
    /// Where the contact and the list are.
    pub workspace_id: WorkspaceId,
    /// The contact's internal id.
    pub contact_id: UserId,
    pub list_id: ListId,
    pub channel: Channel,
    /// What the contact said.
    pub status: MembershipStatus,
    /// When it subscribed last; null for one that never did.
    pub subscribed_at: Option<Timestamp>,
    /// Where the latest change came from.
    pub opt_in_source: Option<String>,
    /// The words last consented to.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub consent_text: Option<String>,
    /// When the row was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// A status to be taken by a membership, and where it comes from.
#[derive(Debug, Clone, Copy)]
pub struct Turn<'a> {
    pub now: Timestamp,
    pub to: MembershipStatus,
    pub source: &'a str,
    /// The words consented to.
    pub consent_text: Option<&'a str>,
}

impl Membership {
    /// The key of the row.
    pub fn key(&self) -> MembershipKey {
        MembershipKey { user: self.contact_id, list: self.list_id, channel: self.channel }
    }

    /// A row that is not there yet.
    pub fn begin(tenant: Tenant, key: MembershipKey, turn: &Turn<'_>) -> Self {
        let is_in = turn.to == MembershipStatus::Subscribed;
        Self {
            id: Uuid::new_v4(),
            organization_id: tenant.organization,
            workspace_id: tenant.workspace,
            contact_id: key.user,
            list_id: key.list,
            channel: key.channel,
            status: turn.to,
            subscribed_at: is_in.then_some(turn.now),
            opt_in_source: Some(turn.source.to_owned()),
            consent_text: turn.consent_text.map(str::to_owned),
            created_at: turn.now,
            updated_at: turn.now,
        }
    }

    /// The row after a turn. One that says what is there already leaves the row untouched, dates included.
    #[must_use]
    pub fn turned(&self, turn: &Turn<'_>) -> Self {
        let mut turned = self.clone();
        turned.status = turn.to;
        turned.opt_in_source = Some(turn.source.to_owned());
        if let Some(text) = turn.consent_text {
            turned.consent_text = Some(text.to_owned());
        }
        if turn.to == MembershipStatus::Subscribed && self.status != turn.to {
            turned.subscribed_at = Some(turn.now);
        }
        if turned != *self {
            turned.updated_at = turn.now;
        }
        turned
    }
}

/// A subscription that waits for the click on its link; there is no membership before that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending {
    pub key: MembershipKey,
    /// Where it came from: `form` or `preference_center`.
    pub source: String,
    /// The words consented to.
    pub consent_text: Option<String>,
    /// When it was asked for.
    pub requested_at: Timestamp,
    /// When it is too late to confirm.
    pub expires_at: Timestamp,
}

/// An inline subscription of `POST /users`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    pub user: UserId,
    /// The list, as sent: what is no id is a list that does not exist.
    pub list: String,
    pub channel: Channel,
    /// What is wished for.
    pub status: MembershipStatus,
}

/// What became of a [`Wish`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Applied,
    /// It is not, and why.
    Skipped(SkipReason),
}

/// Why a wish was not fulfilled; displays the sentence callers see (DECISIONS U11).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkipReason {
    /// The workspace has no such list.
    ListNotFound,
    /// Nobody can subscribe to it any more.
    ListArchived,
    /// An opt-out is only taken back by the contact.
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
