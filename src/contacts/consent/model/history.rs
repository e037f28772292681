//! An entry of a contact's consent history.

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
    pub organization_id: OrganizationId,
    pub workspace_id: WorkspaceId,
    pub contact_id: UserId,
    pub channel: Channel,
    /// The list of a changed membership; null for a change of the channel.
    pub list_id: Option<ListId>,
    #[schema(value_type = Action)]
    pub action: String,
    /// The status before the change; null when there was none.
    pub previous_status: Option<String>,
    /// The status after the change; null when there is none.
    pub new_status: Option<String>,
    /// The source of the change, such as `api` or `form`.
    pub source: String,
    pub ip_address: Option<String>,
    pub user_agent: Option<String>,
    /// `api_key:…`, `user:…` or `recipient`.
    pub actor: String,
    /// The text that the contact consented to.
    pub consent_text: Option<String>,
    #[schema(value_type = Object)]
    pub metadata: serde_json::Value,
    pub created_at: Timestamp,
}
