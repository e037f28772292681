//! Whose data it is: a workspace, and the organization around it.

use super::{OrganizationId, WorkspaceId};

/// A workspace in its organization. Nearly everything stays within the workspace; what follows a phone
/// number reaches the whole organization.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tenant {
    /// The organization the workspace is in.
    pub organization: OrganizationId,
    /// The wall around every row.
    pub workspace: WorkspaceId,
}
