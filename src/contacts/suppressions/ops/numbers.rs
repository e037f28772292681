//! Phone numbers of the ledgers whose spelling has changed with the country of a workspace.

use kernel::{Country, Result, Tenant, WorkspaceId};
use sqlx::{PgConnection, PgPool};
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
    for of in [Rows::Present, Rows::Removed] {
        let mut after: Option<Uuid> = None;
        loop {
            heartbeat.beat();
            let page = of.page(services.db(), tenant.workspace, after).await?;
            let rows = respelled(&page, country);
            db::retried(|| of.renumber(services.db(), tenant, &rows)).await?;
            after = page.last().map(|row| row.id);
            if i64::try_from(page.len()).is_ok_and(|rows| rows < PAGE) {
                break;
            }
        }
    }
    Ok(())
}

/// Rows of the ledgers, or of their history.
#[derive(Debug, Clone, Copy)]
enum Rows {
    Present,
    Removed,
}

impl Rows {
    async fn page(
        self,
        db: &PgPool,
        workspace: WorkspaceId,
        after: Option<Uuid>,
    ) -> Result<Vec<NationalRow>> {
        match self {
            Self::Present => store::national(db, workspace, after, PAGE).await,
            Self::Removed => store::national_removals(db, workspace, after, PAGE).await,
        }
    }

    async fn renumber(self, db: &PgPool, tenant: Tenant, rows: &[RespelledRow<'_>]) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let ids: Vec<Uuid> = rows.iter().map(|row| row.id).collect();
        let mut tx = db.begin().await?;
        match self {
            Self::Present => {
                let renumbered: Vec<Renumbered<'_>> = rows
                    .iter()
                    .map(|row| Renumbered { from: row.old, to: row.new.as_str() })
                    .collect();
                copy(&mut tx, tenant, &renumbered).await?;
                store::delete_copied(&mut tx, tenant.workspace, &ids).await?;
            }
            Self::Removed => {
                let numbers: Vec<&str> = rows.iter().map(|row| row.new.as_str()).collect();
                store::move_removals(&mut tx, tenant.workspace, &ids, &numbers).await?;
            }
        }
        tx.commit().await?;
        Ok(())
    }
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
