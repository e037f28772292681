//! Deletes what is past, every so many minutes.

use std::{collections::BTreeMap, time::Duration};

use analytics::retention::{Aged, Expired};
use chrono::Datelike as _;
use kernel::{Result, Timestamp, WorkspaceId};
use supervisor::Heartbeat;
use web::{
    Services,
    workspaces::{self, DataDays, WorkspaceRow, kept_since},
};

use crate::store;

/// Rest between two looks whether it is time.
const LOOK_EVERY: Duration = Duration::from_secs(30);
/// Deleted profiles of one transaction.
const PROFILES_PAGE: i64 = 500;

/// What workspaces without days of their own keep, and how often old data is looked for.
#[derive(Debug, Clone, Copy)]
pub struct RetentionOptions {
    /// Of workspaces without days of their own.
    pub days: DataDays,
    /// Between two turns.
    pub every: Duration,
}

/// What a turn did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Until when nothing is deleted because the clock jumped ahead.
    pub held_until: Option<Timestamp>,
    pub events: u64,
    pub message_events: u64,
    pub profiles: u64,
}

/// Deletes what is past, until it is dropped. Any number of processes may do so: one acts at a time.
pub async fn watch(services: Services, options: RetentionOptions, heartbeat: Heartbeat) {
    loop {
        heartbeat.waiting(tokio::time::sleep(LOOK_EVERY)).await;
        if let Err(error) = heartbeat.waiting(turn(&services, options)).await {
            tracing::warn!(%error, "old data was not deleted, trying again");
        }
    }
}

/// Acts if it is time.
async fn turn(services: &Services, options: RetentionOptions) -> Result<()> {
    let now = services.clock().now();
    if !store::take_turn(services.db(), now, options.every).await? {
        return Ok(());
    }
    match run(services, options).await {
        Ok(_) => Ok(()),
        Err(error) => {
            store::give_up_turn(services.db()).await?;
            Err(error)
        }
    }
}

/// Deletes what is past now, unless the clock jumped ahead.
///
/// # Errors
/// When a store is away. What was deleted until then stays so.
pub async fn run(services: &Services, options: RetentionOptions) -> Result<Outcome> {
    let now = services.clock().now();
    let seen = store::look(services.db(), now, options.every).await?;
    let is_held = seen.held_until.is_some();
    metrics_catalogue::RETENTION_HELD.set(if is_held { 1.0 } else { 0.0 });
    if let Some(until) = seen.held_until {
        tracing::error!(
            %until,
            "the clock jumped ahead since old data was last looked for: nothing is deleted until then. Set it right if it is wrong"
        );
        return Ok(Outcome { held_until: Some(until), ..Outcome::default() });
    }
    let all = workspaces::list(services.db()).await?;
    let outcome = Outcome {
        held_until: None,
        events: events(services, options, &all, now).await?,
        message_events: message_events(services, options, &all, now).await?,
        profiles: profiles(services, options, &all, now).await?,
    };
    for (table, deleted) in [
        ("events", outcome.events),
        ("message_events", outcome.message_events),
        ("users", outcome.profiles),
    ] {
        metrics_catalogue::RETENTION_DELETED.with([table]).increment(deleted);
    }
    if outcome != Outcome::default() {
        tracing::info!(?outcome, "old data was deleted");
    }
    Ok(outcome)
}

async fn events(
    services: &Services,
    options: RetentionOptions,
    all: &[WorkspaceRow],
    now: Timestamp,
) -> Result<u64> {
    let days = |row: &WorkspaceRow| row.days(options.days).events;
    let dropped = match past_for_all(all, days, now) {
        Some(moment) => services.analytics().drop_months_before(month_of(moment)).await?,
        None => 0,
    };
    let expired = expired(all, days, now);
    Ok(dropped + services.analytics().delete_aged(Aged::Events, &expired).await?)
}

async fn message_events(
    services: &Services,
    options: RetentionOptions,
    all: &[WorkspaceRow],
    now: Timestamp,
) -> Result<u64> {
    let expired = expired(all, |row| row.days(options.days).message_events, now);
    Ok(services.analytics().delete_aged(Aged::MessageEvents, &expired).await?)
}

async fn profiles(
    services: &Services,
    options: RetentionOptions,
    all: &[WorkspaceRow],
    now: Timestamp,
) -> Result<u64> {
    let mut deleted = 0;
    for row in all {
        let days = row.days(options.days).deleted_profiles;
        let Some(before) = kept_since(days, now) else { continue };
        loop {
            let workspace = WorkspaceId::new(row.id);
            let page =
                identity::ops::delete_old(services.db(), workspace, before, PROFILES_PAGE).await?;
            deleted += page;
            if page == 0 {
                break;
            }
        }
    }
    Ok(deleted)
}

/// The moment before which no workspace keeps anything; none where one keeps all.
fn past_for_all(
    all: &[WorkspaceRow],
    days: impl Fn(&WorkspaceRow) -> u32,
    now: Timestamp,
) -> Option<Timestamp> {
    let moments: Option<Vec<Timestamp>> =
        all.iter().map(|row| kept_since(days(row), now)).collect();
    moments?.into_iter().min()
}

/// Workspaces by the moment from which on they keep data.
fn expired(
    all: &[WorkspaceRow],
    days: impl Fn(&WorkspaceRow) -> u32,
    now: Timestamp,
) -> Vec<Expired> {
    let mut by_moment = BTreeMap::<i64, Expired>::new();
    for row in all {
        let Some(moment) = kept_since(days(row), now) else { continue };
        let before_ms = moment.millis();
        let new = || Expired { before_ms, workspaces: Vec::new() };
        by_moment.entry(before_ms).or_insert_with(new).workspaces.push(row.id);
    }
    by_moment.into_values().collect()
}

/// The month of a moment as partitions are named: `202603`.
fn month_of(moment: Timestamp) -> u32 {
    let day = moment.utc();
    day.year().unsigned_abs() * 100 + day.month()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: u128, events_days: Option<i32>) -> WorkspaceRow {
        WorkspaceRow {
            id: WorkspaceId::new(uuid(id)).uuid(),
            name: id.to_string(),
            organization: String::new(),
            currency: None,
            timezone: "UTC".to_owned(),
            country: None,
            events_days,
            message_events_days: None,
            deleted_profiles_days: None,
        }
    }

    fn uuid(id: u128) -> sqlx::types::Uuid {
        sqlx::types::Uuid::from_u128(id)
    }

    const NOW: Timestamp = Timestamp::from_millis(1_773_100_800_000); // 2026-03-10

    fn days(default: u32) -> impl Fn(&WorkspaceRow) -> u32 {
        let default = DataDays { events: default, ..DataDays::default() };
        move |row| row.days(default).events
    }

    #[test]
    fn months_go_whole_only_where_no_workspace_keeps_them() {
        let month =
            |rows: &[WorkspaceRow], default| past_for_all(rows, days(default), NOW).map(month_of);
        assert_eq!(month(&[row(1, Some(10)), row(2, None)], 0), None, "one keeps all");
        assert_eq!(month(&[row(1, Some(10)), row(2, Some(0))], 10), None, "one says so itself");
        assert_eq!(month(&[row(1, Some(9)), row(2, Some(40))], 0), Some(202_601));
        assert_eq!(month(&[row(1, Some(9)), row(2, None)], 10), Some(202_602), "2026-02-28");
        assert_eq!(month(&[], 10), None, "without workspaces there is nothing to keep");
    }

    #[test]
    fn workspaces_are_grouped_by_what_they_keep() {
        let rows = [row(1, Some(10)), row(2, None), row(3, Some(0)), row(4, Some(5))];
        let found = expired(&rows, days(10), NOW);
        let ids: Vec<_> = found.iter().map(|it| it.workspaces.clone()).collect();
        assert_eq!(ids, [vec![uuid(1), uuid(2)], vec![uuid(4)]]);
        assert_eq!(found[0].before_ms, NOW.millis() - 10 * 86_400_000);
        assert!(expired(&rows, |_| 0, NOW).is_empty());
    }
}
