//! The pipeline against a small server that plays ClickHouse.

mod clickhouse;
mod flow;
mod messages;
mod panics;
mod refusals;

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use supervisor::Workers;
use uuid::Uuid;

use self::clickhouse::EVENT_MARK;
use super::{Limits, Pipeline, PipelineOptions};
use crate::{
    record::{Batch, BatchBuilder, EventView},
    spool::{Durability, Entry, Frame, Spool, SpoolOptions},
};

/// Long enough that only a hang reaches it.
const PATIENCE: Duration = Duration::from_mins(2);
const DAY: u16 = 19_675;

fn open_spool(dir: &Path) -> Spool {
    let options = SpoolOptions {
        dir: dir.join("spool"),
        segment_bytes: 64 << 10,
        limit_bytes: 64 << 20,
        reserve_bytes: 0,
        queue_bytes: 16 << 20,
        durability: Durability::Os,
    };
    Spool::open(options).unwrap().0
}

fn start(spool: &Spool, dir: &Path, client: ::clickhouse::Client, limits: Limits) -> Pipeline {
    let options = PipelineOptions {
        clickhouse: client,
        dead_letters_dir: dir.join("dead-letters"),
        landed_keys: None,
        limits,
        now_ms: Arc::new(|| 1_700_000_001_000),
        workers: Workers::default(),
    };
    Pipeline::start(spool, options).unwrap()
}

fn limits() -> Limits {
    Limits { linger: Duration::from_millis(20), ..Limits::default() }
}

/// Events `first..first + count`, one batch; each on the day `day` gives it.
fn batch(first: u64, count: u64, day: impl Fn(u64) -> u16) -> Batch {
    let mut builder = BatchBuilder::with_capacity(0);
    for number in first..first + count {
        builder.push(&EventView {
            event_name: "Page Viewed",
            timestamp_ms: 1_700_000_000_000,
            day: day(number),
            user_id: "user",
            event_id: &format!("{EVENT_MARK}{number:08}"),
            properties: "{\"a\":1}",
            ..EventView::default()
        });
    }
    builder.finish(Uuid::from_u128(7), 1_700_000_000_000, first << 12).unwrap()
}

async fn append(spool: &Spool, first: u64, count: u64) {
    spool.append(Entry::from(&batch(first, count, |_| DAY))).await.unwrap();
}

/// The payload of a frame that panics where it is read: what a fault of decoding would do.
const POISON: &[u8] = b"poison";

/// Called by the gathering thread of test builds for every frame.
pub(super) fn panic_at_poison(frame: &Frame) {
    assert_ne!(&frame.payload[..], POISON, "poisoned");
}

/// Waits for `reached`, which something else brings about.
async fn until(what: &str, mut reached: impl FnMut() -> bool) {
    let start = Instant::now();
    while !reached() {
        assert!(start.elapsed() < PATIENCE, "waited too long until {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
