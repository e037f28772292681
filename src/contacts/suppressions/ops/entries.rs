//! Ledger rows that callers add, look up and remove.

use kernel::{Error, Result, Tenant, Timestamp, WorkspaceId};
use sqlx::PgPool;
use web::{
    audit::{self, Entry, Origin, Write},
    db,
};

use crate::{
    model::{HistoryEntry, Identifier, Import, Ledger, LedgerAddress, Reason, Scope, Suppression},
    store::{contacts, entries, history},
};
use kernel::page::PageWindow;

/// The source of imported rows.
pub const IMPORT: &str = "import";
/// The reason in the history of a contact whose address becomes valid again.
const LIFTED: &str = "suppression removed";

/// A page of a ledger, newest first, and the total number of matching rows.
///
/// # Errors
/// When the store fails.
pub async fn list(
    db: &PgPool,
    workspace: WorkspaceId,
    ledger: Ledger,
    reason: Option<Reason>,
    page: PageWindow,
) -> Result<(Vec<Suppression>, u64)> {
    entries::list(db, workspace, ledger, reason, page).await
}

/// The row of an identifier that takes precedence: global rows before groups', then hard bounce, complaint,
/// unsubscribe, manual, then the oldest.
///
/// # Errors
/// When the store fails.
pub async fn find(
    db: &PgPool,
    workspace: WorkspaceId,
    ledger: Ledger,
    identifier: &Identifier,
) -> Result<Option<Suppression>> {
    entries::find(db, workspace, ledger, identifier).await
}

/// A page of the history of an identifier, newest first, and the total number of entries.
///
/// # Errors
/// When the store fails.
pub async fn history(
    db: &PgPool,
    workspace: WorkspaceId,
    address: &LedgerAddress,
    page: PageWindow,
) -> Result<(Vec<HistoryEntry>, u64)> {
    history::list(db, workspace, address, page).await
}

/// Adds a row for a credential. Returns whether it is new. An existing one stays as it is.
///
/// # Errors
/// Not found for a group whose list is unknown or archived.
pub async fn add(
    db: &PgPool,
    workspace: WorkspaceId,
    row: &Suppression,
    actor: &str,
) -> Result<(Suppression, bool)> {
    if let Scope::Group(list) = row.scope
        && !entries::list_is_active(db, workspace, list).await?
    {
        return Err(Error::NotFound("List"));
    }
    db::retried(|| entries::insert(db, workspace, row, actor)).await
}

/// Adds many global rows in one statement. Returns the number of new ones.
///
/// # Errors
/// When the store fails; then nothing is added.
pub async fn import(
    db: &PgPool,
    workspace: WorkspaceId,
    now: Timestamp,
    import: Import<'_>,
) -> Result<u64> {
    db::retried(|| entries::insert_all(db, workspace, now, import)).await
}

/// The number of rows that an import would add.
///
/// # Errors
/// When the store fails.
pub async fn count_new(db: &PgPool, workspace: WorkspaceId, import: Import<'_>) -> Result<u64> {
    entries::count_new(db, workspace, import).await
}

/// Removes every row of an identifier. Returns their number. If a hard bounce was among them, the address
/// becomes valid again on the contacts that have it; their consent stays as it is.
///
/// # Errors
/// When the store fails.
pub async fn remove(
    db: &PgPool,
    now: Timestamp,
    tenant: Tenant,
    origin: &Origin,
    address: &LedgerAddress,
) -> Result<u64> {
    let once = || remove_once(db, now, tenant.workspace, origin, address);
    let (removed, entries) = db::retried(once).await?;
    audit::count(&entries);
    Ok(removed)
}

async fn remove_once(
    db: &PgPool,
    now: Timestamp,
    workspace: WorkspaceId,
    origin: &Origin,
    address: &LedgerAddress,
) -> Result<(u64, Vec<Entry>)> {
    let LedgerAddress { ledger, identifier } = address;
    let mut tx = db.begin().await?;
    let users = match ledger {
        Ledger::Email => contacts::lock(&mut tx, workspace, identifier).await?,
        Ledger::Sms | Ledger::Whatsapp => Vec::new(),
    };
    history::note_origin(&mut tx, workspace, origin).await?;
    let reasons = entries::delete(&mut tx, workspace, *ledger, identifier).await?;
    let mut restored = Vec::new();
    if reasons.contains(&Reason::HardBounce) {
        restored = contacts::restore(&mut tx, workspace, now, &users).await?;
        let write = Write { reason: Some(LIFTED), ..Write::of(now, origin) };
        audit::append(&mut tx, workspace, &write, &restored).await?;
    }
    tx.commit().await?;
    Ok((reasons.len() as u64, restored))
}
