//! The spool alone: appends per second by how many wait for one sync, and what a sync costs.

use std::{path::PathBuf, time::Duration};

use bytes::Bytes;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ingest::spool::{ConsumeError, Durability, Entry, Mark, Spool, SpoolOptions};
use tokio::runtime::Runtime;

/// One event as a record, about.
const SINGLE_BYTES: usize = 400;
/// A full request of 500 events as a record, about.
const REQUEST_BYTES: usize = 170_000;
/// Where to measure; the disk under the build folder unless set.
const DIR_VARIABLE: &str = "MILLRACE_BENCH_DIR";

struct Running {
    spool: Spool,
    consumer: std::thread::JoinHandle<()>,
    _dir: tempfile::TempDir,
}

/// A spool whose consumer keeps up, so that segments are recycled as in a server.
fn start(durability: Durability) -> Running {
    let base = std::env::var_os(DIR_VARIABLE)
        .map_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")), PathBuf::from);
    let dir = tempfile::tempdir_in(base).expect("the folder can be written");
    let (spool, _) = Spool::open(SpoolOptions {
        dir: dir.path().join("spool"),
        segment_bytes: ingest::spool::SEGMENT_BYTES_DEFAULT,
        limit_bytes: 4 << 30,
        reserve_bytes: 0,
        queue_bytes: 256 << 20,
        durability,
    })
    .expect("a fresh spool opens");
    let mut reader = spool.consumer("bench").expect("the first consumer of the name");
    let consumer = std::thread::spawn(move || {
        let cursor = reader.cursor();
        let mut end: Option<Mark> = None;
        let mut frames = 0_u32;
        loop {
            match reader.receive(Duration::from_millis(100)) {
                Ok(Some(frame)) => {
                    end = Some(frame.end());
                    frames += 1;
                }
                Ok(None) => frames = u32::MAX,
                Err(ConsumeError::Closed) => return,
                Err(ConsumeError::Io(error)) => panic!("cannot read the spool: {error}"),
            }
            if frames >= 500 {
                frames = 0;
                if let Some(end) = end.take() {
                    cursor.commit(end).expect("the cursor can be written");
                }
            }
        }
    });
    Running { spool, consumer, _dir: dir }
}

fn appends(criterion: &mut Criterion) {
    let runtime = Runtime::new().expect("a runtime starts");
    for (durability, name) in [(Durability::Fsync, "fsync"), (Durability::Os, "os")] {
        let running = start(durability);
        // Without syncs, whole requests come faster than one reader on the same cores takes them away.
        let requests: &[u64] = if durability == Durability::Fsync { &[1, 4, 16] } else { &[] };
        for (kind, bytes, groups) in [
            ("single", SINGLE_BYTES, [1, 8, 64, 512].as_slice()),
            ("request", REQUEST_BYTES, requests),
        ] {
            let payload = Bytes::from(vec![0x5a; bytes]);
            let mut group = criterion.benchmark_group(format!("spool/{name}/{kind}"));
            for waiting in groups {
                group.throughput(Throughput::ElementsAndBytes {
                    elements: *waiting,
                    bytes: *waiting * bytes as u64,
                });
                group.bench_function(BenchmarkId::from_parameter(waiting), |bencher| {
                    bencher.iter(|| runtime.block_on(together(&running.spool, &payload, *waiting)));
                });
            }
            group.finish();
        }
        runtime.block_on(running.spool.close());
        drop(running.spool);
        running.consumer.join().expect("the consumer does not fail");
    }
}

/// Appends `waiting` entries at once and waits for all.
async fn together(spool: &Spool, payload: &Bytes, waiting: u64) {
    let answers: Vec<_> = (0..waiting)
        .map(|_| spool.append(Entry { payload: payload.clone(), events: 1, at_ms: 1 }))
        .collect();
    for answer in answers {
        answer.await.expect("the append is durable");
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).measurement_time(Duration::from_secs(3));
    targets = appends
}
criterion_main!(benches);
