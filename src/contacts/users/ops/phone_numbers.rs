//! Reads phone numbers again after the country of a workspace, or the default of the settings, has changed.

use std::{
    collections::{HashMap, HashSet},
    time::{Duration, Instant},
};

use kernel::{PhoneNumber, Result, UserId};
use supervisor::Heartbeat;
use web::{Services, countries::FRESH_FOR, db};

use crate::users::store::phone_numbers::{self as store, NumberRead, Outdated, StoredPhone};
use suppressions::{model::Renumbered, ops::numbers};

/// Rest between two looks for workspaces whose country has changed.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// How long a change is left alone, until all processes write numbers by the new country.
const SETTLED_AFTER: Duration = Duration::from_secs(4);
/// Profiles of one transaction.
const PAGE: i64 = 1_000;

const _: () = assert!(SETTLED_AFTER.as_secs() > 2 * FRESH_FOR.as_secs());

/// Reads numbers again where it is due, until it is dropped. A country is done once by a process: processes whose
/// settings differ do not undo each other's work for ever.
pub async fn watch(services: Services, heartbeat: Heartbeat) {
    let mut seen: HashMap<Outdated, Instant> = HashMap::new();
    let mut done: HashSet<Outdated> = HashSet::new();
    loop {
        heartbeat.waiting(tokio::time::sleep(LOOK_EVERY)).await;
        let outdated = match store::outdated(services.db(), services.default_country()).await {
            Ok(outdated) => outdated,
            Err(error) => {
                tracing::debug!(%error, "cannot look for phone numbers to read again");
                continue;
            }
        };
        seen.retain(|one, _| outdated.contains(one));
        for one in outdated {
            heartbeat.beat();
            let since = seen.entry(one).or_insert_with(Instant::now);
            if since.elapsed() < SETTLED_AFTER || done.contains(&one) {
                continue;
            }
            match read_again(&services, &one, &heartbeat).await {
                Ok(profiles) => {
                    done.retain(|other| other.tenant != one.tenant);
                    done.insert(one);
                    let workspace = one.tenant.workspace.uuid();
                    tracing::info!(%workspace, country = ?one.country, profiles, "phone numbers read again");
                }
                Err(error) => tracing::warn!(%error, "phone numbers not read again, will retry"),
            }
        }
    }
}

/// Reads all numbers of a workspace by its country; gives how many profiles have another number now.
async fn read_again(services: &Services, of: &Outdated, heartbeat: &Heartbeat) -> Result<u64> {
    let db = services.db();
    let mut after: Option<UserId> = None;
    let mut changed = 0;
    loop {
        heartbeat.beat();
        let page = store::page(db, of.tenant.workspace, after, PAGE).await?;
        changed += db::retried(|| renumber(services, of, &page)).await?;
        after = page.last().map(|one| one.user);
        if i64::try_from(page.len()).is_ok_and(|rows| rows < PAGE) {
            break;
        }
    }
    numbers::read_again(services, of.tenant, of.country, heartbeat).await?;
    store::set_read_by(db, of).await?;
    Ok(changed)
}

/// Stores the numbers of a page's profiles that differ. What suppresses the old number suppresses the new one too.
async fn renumber(services: &Services, of: &Outdated, page: &[StoredPhone]) -> Result<u64> {
    let read: Vec<(&StoredPhone, PhoneNumber)> = page
        .iter()
        .filter_map(|one| {
            let number = one.phone.parse::<PhoneNumber>().ok()?.in_country(of.country);
            (one.number.as_deref() != Some(number.as_str())).then_some((one, number))
        })
        .collect();
    if read.is_empty() {
        return Ok(0);
    }
    let numbers: Vec<NumberRead<'_>> = read
        .iter()
        .map(|(one, number)| NumberRead {
            user: one.user,
            phone: &one.phone,
            number: number.as_str(),
        })
        .collect();
    let renumbered: Vec<Renumbered<'_>> = read
        .iter()
        .filter_map(|(one, number)| {
            Some(Renumbered { from: one.number.as_deref()?, to: number.as_str() })
        })
        .collect();
    let mut tx = services.db().begin().await?;
    store::set_numbers(&mut tx, of.tenant.workspace, &numbers).await?;
    numbers::copy(&mut tx, of.tenant, &renumbered).await?;
    tx.commit().await?;
    Ok(read.len() as u64)
}
