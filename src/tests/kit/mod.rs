//! Shared by the tests: one running server, fresh workspaces on it, and a client that checks statuses.

mod browser;
mod client;
mod described;
mod devtools;
mod dns_server;
pub(crate) mod engines;
mod live_stream;
mod load;
mod mail_server;
mod packages;
mod prepared;
mod process;
mod server;
mod while_used;

use std::time::{Duration, Instant};

pub(crate) use browser::{Browser, Page, program as browser_program};
pub(crate) use client::{Answer, Client};
pub(crate) use devtools::{BrowserTab, Screen};
pub(crate) use dns_server::{Answered, DnsServer};
pub(crate) use engines::clickhouse_database;
pub(crate) use live_stream::{LiveStream, Part};
pub(crate) use load::Load;
pub(crate) use mail_server::MailServer;
pub(crate) use packages::{RUN_MAX, npm, python, run_program, run_with_input};
pub(crate) use process::{Output, Process};
pub(crate) use server::{MILLRACE, TestServer, Workspace, data_dir, run, server, settings};
pub(crate) use while_used::WhileUsed;

/// How long a condition may take to come true before a test gives up.
const EVENTUALLY_MAX: Duration = Duration::from_mins(2);
/// Pause before the second look at a condition. Later ones grow: looks ask the stores, and many tests wait at once.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// Longest pause between two looks.
const LOOK_AGAIN_MAX: Duration = Duration::from_millis(300);
/// And where a look itself takes as long.
const LOOK_AGAIN_SLOW: Duration = Duration::from_secs(2);

/// Awaits a condition: looks until it gives a value, and fails the test when it never does.
pub(crate) async fn eventually<T, F>(what: &str, look: impl FnMut() -> F) -> T
where
    F: Future<Output = Option<T>>,
{
    within(EVENTUALLY_MAX, what, look).await
}

/// As [`eventually`], for what takes longer than other conditions.
pub(crate) async fn within<T, F>(max: Duration, what: &str, mut look: impl FnMut() -> F) -> T
where
    F: Future<Output = Option<T>>,
{
    let began = Instant::now();
    let mut pause = LOOK_AGAIN;
    loop {
        let looked = Instant::now();
        if let Some(found) = look().await {
            return found;
        }
        assert!(began.elapsed() < max, "gave up waiting: {what}");
        // A slow look keeps a store busy, which what is waited for may need.
        tokio::time::sleep(looked.elapsed().clamp(pause, LOOK_AGAIN_SLOW)).await;
        pause = (pause * 3 / 2).min(LOOK_AGAIN_MAX);
    }
}

/// A name no other test uses.
pub(crate) fn unique(prefix: &str) -> String {
    format!("{prefix}-{}", uuid::Uuid::now_v7().simple())
}

/// Settings of snapshots that lie in this folder, relative to the test's file, under their bare names.
pub(crate) fn snapshots(folder: &str) -> insta::Settings {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(folder);
    settings.set_prepend_module_to_snapshot(false);
    settings.set_sort_maps(true);
    settings.set_omit_expression(true);
    settings
}
