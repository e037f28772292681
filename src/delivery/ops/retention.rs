//! Deletes what the settings keep no longer, in pages of one transaction each. One process does so at a time; where it
//! ends or is killed, another goes on.

use kernel::{Result, Timestamp};

use crate::{
    DeliveryState,
    store::{
        retention::{self, Task},
        scope::ExpiredPage,
    },
};

/// Rows of one transaction.
const PAGE: i64 = 2_000;
/// Milliseconds of a minute.
const MINUTE_MS: i64 = 60_000;
/// Milliseconds of a day.
const DAY_MS: i64 = 24 * 60 * MINUTE_MS;

/// Does one page of what is to be deleted; answers whether there may be more now.
///
/// # Errors
/// When the store is away.
pub(super) async fn page(app: &DeliveryState) -> Result<bool> {
    let mut has_more = false;
    for task in Task::ALL {
        has_more |= page_of(app, task).await?;
    }
    Ok(has_more)
}

async fn page_of(app: &DeliveryState, task: Task) -> Result<bool> {
    let settings = app.retention();
    let days = match task {
        Task::Messages => settings.messages_days,
        Task::CampaignEntries => settings.campaign_entries_days,
        Task::CampaignHistory => settings.campaign_history_days,
    };
    if days == 0 {
        return Ok(false);
    }
    let now = app.clock().now();
    let ago = |ms: i64| Timestamp::from_millis(now.millis() - ms);
    let every_ms = i64::from(settings.every_minutes) * MINUTE_MS;
    let page = ExpiredPage { before: ago(i64::from(days) * DAY_MS), limit: PAGE };
    let mut tx = app.db().begin().await?;
    if !retention::take(&mut tx, task, ago(every_ms)).await? {
        return Ok(false);
    }
    let (deleted, has_more) = match task {
        Task::Messages => {
            let deleted = retention::delete_messages(&mut tx, page).await?;
            (deleted, deleted > 0)
        }
        Task::CampaignEntries => {
            let done = retention::delete_entries(&mut tx, page).await?;
            (done.deleted, done.has_more)
        }
        Task::CampaignHistory => {
            let deleted = retention::delete_history(&mut tx, page).await?;
            (deleted, deleted > 0)
        }
    };
    if !has_more {
        retention::end(&mut tx, task, now).await?;
    }
    tx.commit().await?;
    metrics_catalogue::RETENTION_DELETED.with([task.name()]).increment(deleted);
    Ok(has_more)
}
