//! Bounces and complaints: rows of the ledger, and the same facts on the contacts with the address.

use kernel::{Result, Tenant, Timestamp, WorkspaceId};
use sqlx::{PgConnection, PgPool};
use web::{
    audit::{self, Entry, Origin, Write},
    db,
};

use crate::{
    model::{Identifier, Ledger, LedgerAddress, Reason, Scope, Suppression},
    store::{bounces, contacts, entries, history},
};

/// Records a hard bounce that a caller reports: the ledger gets a row, and every contact with the address is
/// marked and gets an entry in its history. Returns whether the row is new.
///
/// # Errors
/// When the store fails.
pub async fn assert_hard_bounce(
    db: &PgPool,
    now: Timestamp,
    tenant: Tenant,
    origin: &Origin,
    address: &Identifier,
) -> Result<(Suppression, bool)> {
    let once = || assert_once(db, now, tenant.workspace, origin, address);
    let (row, created, entries) = db::retried(once).await?;
    audit::count(&entries);
    Ok((row, created))
}

async fn assert_once(
    db: &PgPool,
    now: Timestamp,
    workspace: WorkspaceId,
    origin: &Origin,
    address: &Identifier,
) -> Result<(Suppression, bool, Vec<Entry>)> {
    let mut tx = db.begin().await?;
    let asserted = hard_bounce(&mut tx, workspace, &Write::of(now, origin), address).await?;
    tx.commit().await?;
    Ok(asserted)
}

/// The same within the caller's transaction, for a bounce of a message. The caller counts the entries after the
/// commit.
///
/// # Errors
/// When the store fails.
pub async fn hard_bounce(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    write: &Write<'_>,
    address: &Identifier,
) -> Result<(Suppression, bool, Vec<Entry>)> {
    let users = contacts::lock(&mut *tx, workspace, address).await?;
    let marked = contacts::invalidate(&mut *tx, workspace, write.now, &users).await?;
    audit::append(&mut *tx, workspace, write, &marked).await?;
    let row = Suppression {
        ledger: Ledger::Email,
        identifier: address.clone(),
        reason: Reason::HardBounce,
        source: write.origin.source.clone(),
        scope: Scope::Global,
        created_at: write.now,
    };
    let (row, created) = entries::insert(&mut *tx, workspace, &row, &write.origin.actor).await?;
    Ok((row, created, marked))
}

/// Records a spam complaint in a ledger. An existing row stays as it is.
///
/// # Errors
/// When the store fails.
pub async fn complaint(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    write: &Write<'_>,
    address: &LedgerAddress,
) -> Result<()> {
    let row = Suppression {
        ledger: address.ledger,
        identifier: address.identifier.clone(),
        reason: Reason::Complaint,
        source: write.origin.source.clone(),
        scope: Scope::Global,
        created_at: write.now,
    };
    entries::insert(tx, workspace, &row, &write.origin.actor).await?;
    Ok(())
}

/// Deletes the deliverability rows (`hard_bounce`, `complaint`) of an address from a workspace's ledger.
///
/// # Errors
/// When the store fails.
pub async fn forget(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    origin: &Origin,
    address: &Identifier,
) -> Result<()> {
    history::note_origin(&mut *connection, workspace, origin).await?;
    bounces::delete_of_address(connection, workspace, address).await
}
