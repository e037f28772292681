//! Lists in answers.

use kernel::{Channel, ListId, OrganizationId, Tenant, Timestamp, WorkspaceId};
use serde::Serialize;
use utoipa::ToSchema;

use crate::lists::model;

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct List {
    id: ListId,
    organization_id: OrganizationId,
    workspace_id: WorkspaceId,
    /// Unique among the workspace's active lists, case-insensitively.
    name: String,
    /// Shown to recipients below the name.
    description: String,
    /// The channels it is offered on.
    channels: Vec<Channel>,
    /// Whether the preference page shows it.
    is_public: bool,
    #[serde(rename = "type")]
    kind: &'static str,
    /// Whether a subscription from a form or the preference page has to be confirmed.
    require_double_opt_in: bool,
    /// True for the list created with the workspace, which cannot be archived.
    is_default: bool,
    /// The position on the preference page, ascending.
    display_order: i32,
    /// Set when the list is a group bound to one number.
    sender_id: Option<String>,
    archived_at: Option<Timestamp>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl List {
    pub(super) fn of(tenant: Tenant, list: model::List) -> Self {
        Self {
            id: list.id,
            organization_id: tenant.organization,
            workspace_id: tenant.workspace,
            name: list.name,
            description: list.description,
            channels: list.channels,
            is_public: list.is_public,
            kind: list.kind.as_str(),
            require_double_opt_in: list.require_double_opt_in,
            is_default: list.is_default,
            display_order: list.display_order,
            sender_id: list.sender_id,
            archived_at: list.archived_at,
            created_at: list.created_at,
            updated_at: list.updated_at,
        }
    }
}
