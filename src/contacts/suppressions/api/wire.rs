//! Suppressions in answers.

use kernel::{ListId, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;

use crate::model::{Ledger, Reason, Suppression};

/// A row of a ledger.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SuppressionRow {
    /// The address or number, normalised.
    identifier: String,
    channel: Ledger,
    #[schema(value_type = String)]
    identifier_type: &'static str,
    reason: Reason,
    /// `delivery`, `api`, `import`, or a source of consent.
    source: String,
    #[schema(value_type = String)]
    scope: &'static str,
    /// The list of a group.
    list_id: Option<ListId>,
    created_at: Timestamp,
}

impl From<Suppression> for SuppressionRow {
    fn from(row: Suppression) -> Self {
        Self {
            channel: row.ledger,
            identifier_type: match row.ledger {
                Ledger::Email => "email",
                Ledger::Sms | Ledger::Whatsapp => "phone",
            },
            reason: row.reason,
            source: row.source,
            scope: row.scope.as_str(),
            list_id: row.scope.list(),
            created_at: row.created_at,
            identifier: row.identifier.into_string(),
        }
    }
}
