//! Validating and encoding a request beside the bare simd-json tape on the same bytes, one core.

mod events;

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use ingest::{
    admit::{
        Admitter, Context, Sender,
        calls::{CallRules, Protocol},
    },
    record::Sequence,
    window::Window,
};
use simd_json::{Buffers, to_tape_with_buffers};
use uuid::Uuid;

const RULES: CallRules = CallRules {
    protocol: Protocol::Segment,
    kind: None,
    may_change_profiles: false,
    email_fault: |_| None,
    phone_fault: |_| None,
};

/// Events of a body as a batch of Segment's protocol.
fn as_segment_batch(body: &[u8]) -> Vec<u8> {
    let mut calls: Vec<serde_json::Value> = serde_json::from_slice(body).expect("an array");
    for call in calls.iter_mut().filter_map(serde_json::Value::as_object_mut) {
        call.insert("type".to_owned(), "track".into());
        for (from, to) in [("eventName", "event"), ("clientEventId", "messageId")] {
            let value = call.remove(from).expect("each event has the field");
            call.insert(to.to_owned(), value);
        }
    }
    serde_json::json!({"batch": calls}).to_string().into_bytes()
}

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
            key_id: "",
            is_watched: false,
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
        let batch = as_segment_batch(&body);
        group.bench_function("the same as a batch of Segment's", |bencher| {
            bencher.iter(|| {
                let admitted = admitter
                    .admit_calls(black_box(&batch), RULES, &context)
                    .expect("the body is good");
                assert!(admitted.rejected.is_empty());
                admitted
            });
        });
        group.finish();
    }
}

criterion_group!(benches, parse);
criterion_main!(benches);
