//! Validating and encoding a request beside the bare simd-json tape on the same bytes, one core.

mod events;

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use ingest::{
    admit::{Admitter, Context, Sender},
    record::Sequence,
    window::Window,
};
use simd_json::{Buffers, to_tape_with_buffers};
use uuid::Uuid;

fn parse(criterion: &mut Criterion) {
    for (name, body) in [("real", events::real()), ("synthetic", events::synthetic())] {
        let mut group = criterion.benchmark_group(format!("parse/{name}"));
        group.throughput(Throughput::Bytes(body.len() as u64));

        let mut buffers = Buffers::new(body.len());
        group.bench_function("bare simd-json tape", |bencher| {
            bencher.iter_batched_ref(
                || body.clone(),
                |body| {
                    let tape = to_tape_with_buffers(body, &mut buffers).expect("the body is JSON");
                    black_box(tape.0.len())
                },
                BatchSize::LargeInput,
            );
        });

        let (window, sequence) = (Window::default(), Sequence::default());
        let context = Context {
            workspace_id: Uuid::from_u128(7),
            received_at_ms: events::RECEIVED_AT_MS,
            window: &window,
            sequence: &sequence,
            sender: Sender::Server,
        };
        let mut admitter = Admitter::default();
        group.bench_function("parse, validate and encode", |bencher| {
            bencher.iter(|| {
                let admitted =
                    admitter.admit(black_box(&body), &context).expect("the body is good");
                assert!(admitted.rejected.is_empty());
                admitted
            });
        });
        group.finish();
    }
}

criterion_group!(benches, parse);
criterion_main!(benches);
