//! Deletes what the settings keep no longer, in pages of one transaction each. One process does so at a time; where it
//! ends or is killed, another goes on.

use std::time::Duration;

use contacts::events::ops::rejected;
use kernel::{Result, Timestamp, time::DAY};

use crate::{
    DeliveryState,
    store::{
        retention::{self, Task},
        scope::ExpiredPage,
    },
};

/// Rows of one transaction.
const PAGE: i64 = 2_000;

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
    let now = app.clock().now();
    let Some(before) = kept_since(app, task, now) else { return Ok(false) };
    let interval = Duration::from_mins(settings.every_minutes.into());
    let page = ExpiredPage { before, limit: PAGE };
    let mut tx = app.db().begin().await?;
    if !retention::take(&mut tx, task, now.before(interval)).await? {
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
        Task::RejectedEvents => {
            let deleted = rejected::delete_page(&mut tx, page.before, page.limit).await?;
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

/// Since when rows are kept; none where they are kept for ever.
fn kept_since(app: &DeliveryState, task: Task, now: Timestamp) -> Option<Timestamp> {
    let settings = app.retention();
    let days = match task {
        Task::Messages => settings.messages_days,
        Task::CampaignEntries => settings.campaign_entries_days,
        Task::CampaignHistory => settings.campaign_history_days,
        Task::RejectedEvents => return Some(rejected::listed_since(now)),
    };
    (days > 0).then(|| now.before(DAY * days))
}
