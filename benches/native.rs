//! Durable batches to one `Native` block, one core.

mod events;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ingest::{
    admit::{Admitter, Context, Sender},
    columns::EventColumns,
    record::{Batch, Sequence},
    window::Window,
};
use uuid::Uuid;

/// Requests whose events make one block: 100,000 rows.
const REQUESTS: i64 = 200;

/// The batches of that many requests, each received a millisecond after the one before.
fn batches(body: &[u8]) -> Vec<Batch> {
    let (window, sequence) = (Window::default(), Sequence::default());
    let mut admitter = Admitter::default();
    (0..REQUESTS)
        .map(|request| {
            let context = Context {
                workspace_id: Uuid::from_u128(7),
                received_at_ms: events::RECEIVED_AT_MS + request,
                window: &window,
                sequence: &sequence,
                sender: Sender::Server,
                key_id: "",
                is_watched: false,
            };
            let admitted = admitter.admit(body, &context).expect("the body is good");
            admitted.batch.expect("events were accepted")
        })
        .collect()
}

fn native(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("native");
    group.sample_size(20);
    for (name, body) in [("real", events::real()), ("synthetic", events::synthetic())] {
        let batches = batches(&body);
        let rows: u64 = batches.iter().map(|batch| u64::from(batch.header().count)).sum();
        group.throughput(Throughput::Elements(rows));
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let mut columns = EventColumns::default();
                for batch in &batches {
                    batch.events().for_each(|event| columns.push(batch.header(), &event));
                }
                columns.encode()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, native);
criterion_main!(benches);
