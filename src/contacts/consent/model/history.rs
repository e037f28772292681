//! An entry of a contact's history, as callers see it.

use kernel::{Channel, ListId, OrganizationId, Timestamp, UserId, WorkspaceId};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;
use web::audit::Action;

/// One write of consent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HistoryEntry {
    pub id: Uuid,
    /// The organization the workspace is in.
    pub organization_id: OrganizationId,
    /// Where the contact is.
    pub workspace_id: WorkspaceId,
    pub contact_id: UserId,
    pub channel: Channel,
    /// The list, of a change to a membership; null for one of the channel.
    pub list_id: Option<ListId>,
    #[schema(value_type = Action)]
    pub action: String,
    /// The status before; null when there was none.
    pub previous_status: Option<String>,
    /// The status after; null when there is none.
    pub new_status: Option<String>,
    /// Where it came from.
    pub source: String,
    pub ip_address: Option<String>,
    pub user_agent: Option<String>,
    /// Who: `api_key:…`, `user:…`, `recipient`.
    pub actor: String,
    /// The words consented to.
    pub consent_text: Option<String>,
    #[schema(value_type = Object)]
    pub metadata: serde_json::Value,
    pub created_at: Timestamp,
}
