//! Rows with deliverability reasons in the ledger of email addresses.

use kernel::{Result, WorkspaceId};
use sqlx::PgConnection;

use crate::model::Identifier;

/// Deletes the rows of an address with deliverability reasons.
pub(crate) async fn delete_of_address(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    address: &Identifier,
) -> Result<()> {
    sqlx::query!(
        "with lifted as (
             select s.id
             from suppression s
             where s.workspace_id = $1 and s.channel = 'email' and s.identifier = $2
                 and s.reason in ('hard_bounce', 'complaint')
             order by s.reason
             for update)
         delete from suppression s
         using lifted l
         where s.workspace_id = $1 and s.id = l.id",
        workspace.uuid(),
        address.as_str(),
    )
    .execute(connection)
    .await?;
    Ok(())
}
