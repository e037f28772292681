//! Phone numbers of the ledgers whose spelling has changed with the country of a workspace.

use kernel::{Country, Result, Tenant};
use sqlx::PgConnection;
use supervisor::Heartbeat;
use uuid::Uuid;
use web::{Services, db};

use crate::{
    model::{Identifier, Ledger, Renumbered},
    store::{
        mirror,
        numbers::{self as store, NationalRow},
    },
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

/// Moves the rows of a workspace under a national number, and their history, to the international one.
///
/// # Errors
/// When the store fails.
pub async fn read_again(
    services: &Services,
    tenant: Tenant,
    country: Option<Country>,
    heartbeat: &Heartbeat,
) -> Result<()> {
    let (db, workspace) = (services.db(), tenant.workspace);
    let mut after: Option<Uuid> = None;
    loop {
        heartbeat.beat();
        let page = store::national(db, workspace, after, PAGE).await?;
        let rows = respelled(&page, country);
        db::retried(|| renumber(services, tenant, &rows)).await?;
        after = page.last().map(|row| row.id);
        if is_last(&page) {
            break;
        }
    }
    after = None;
    loop {
        heartbeat.beat();
        let page = store::national_removals(db, workspace, after, PAGE).await?;
        let rows = respelled(&page, country);
        let ids: Vec<Uuid> = rows.iter().map(|row| row.id).collect();
        let numbers: Vec<&str> = rows.iter().map(|row| row.new.as_str()).collect();
        db::retried(|| store::move_removals(db, workspace, &ids, &numbers)).await?;
        after = page.last().map(|row| row.id);
        if is_last(&page) {
            return Ok(());
        }
    }
}

fn is_last(page: &[NationalRow]) -> bool {
    i64::try_from(page.len()).is_ok_and(|rows| rows < PAGE)
}

/// The rows whose numbers are spelled in another way in a country.
fn respelled(page: &[NationalRow], country: Option<Country>) -> Vec<RespelledRow<'_>> {
    let rows = page.iter().filter_map(|row| {
        let old = Identifier::of_stored(row.number.clone());
        let new = old.clone().in_country(Ledger::Sms, country);
        (new != old).then_some(RespelledRow { id: row.id, old: &row.number, new })
    });
    rows.collect()
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
    store::delete_copied(&mut tx, tenant.workspace, &ids).await?;
    tx.commit().await?;
    Ok(())
}
