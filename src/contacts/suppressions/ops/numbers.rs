//! Phone numbers of the ledgers whose spelling has changed with the country of a workspace.

use kernel::{Country, Result, Tenant};
use sqlx::PgConnection;
use supervisor::Heartbeat;
use uuid::Uuid;
use web::{Services, db};

use crate::{
    model::{Identifier, Ledger, Renumbered},
    store::{mirror, numbers as store},
};

/// Rows of one transaction.
const PAGE: i64 = 1_000;

/// Suppresses numbers in their new spelling as they are in the old: opt-outs in all of the organization, other rows in the
/// workspace. Old rows stay.
///
/// # Errors
/// When the store fails.
pub async fn copy(
    connection: &mut PgConnection,
    tenant: Tenant,
    renumbered: &[Renumbered<'_>],
) -> Result<()> {
    if renumbered.is_empty() {
        return Ok(());
    }
    mirror::hold_workspaces(connection, tenant).await?;
    store::copy(connection, tenant, renumbered).await
}

/// Moves the rows of a workspace under a national number to the international one.
///
/// # Errors
/// When the store fails.
pub async fn read_again(
    services: &Services,
    tenant: Tenant,
    country: Option<Country>,
    heartbeat: &Heartbeat,
) -> Result<()> {
    let mut after: Option<Uuid> = None;
    loop {
        heartbeat.beat();
        let page = store::national(services.db(), tenant.workspace, after, PAGE).await?;
        let respelled: Vec<RespelledRow<'_>> = page
            .iter()
            .filter_map(|row| {
                let old = Identifier::of_stored(row.number.clone());
                let new = old.clone().in_country(Ledger::Sms, country);
                (new != old).then_some(RespelledRow { id: row.id, old: &row.number, new })
            })
            .collect();
        db::retried(|| renumber(services, tenant, &respelled)).await?;
        after = page.last().map(|row| row.id);
        if i64::try_from(page.len()).is_ok_and(|rows| rows < PAGE) {
            return Ok(());
        }
    }
}

/// A row whose number is spelled in another way in the country of the workspace.
struct RespelledRow<'r> {
    id: Uuid,
    old: &'r str,
    new: Identifier,
}

async fn renumber(services: &Services, tenant: Tenant, rows: &[RespelledRow<'_>]) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let renumbered: Vec<Renumbered<'_>> =
        rows.iter().map(|row| Renumbered { from: row.old, to: row.new.as_str() }).collect();
    let ids: Vec<Uuid> = rows.iter().map(|row| row.id).collect();
    let mut tx = services.db().begin().await?;
    copy(&mut tx, tenant, &renumbered).await?;
    store::delete(&mut tx, tenant.workspace, &ids).await?;
    tx.commit().await?;
    Ok(())
}
