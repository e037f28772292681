//! Bodies of 500 events, as benches send them.

use std::{fmt::Write, fs::File, io::Read};

use flate2::read::GzDecoder;

/// When they are received: 2026-11-21T00:00:00Z.
pub(crate) const RECEIVED_AT_MS: i64 = 1_795_219_200_000;

/// Events of one body.
const EVENTS: usize = 500;
/// Lines of the real events that are passed over, to come to a usual day.
const LINES_SKIPPED: usize = 100_000;
/// Bytes of the real events that are read at most.
const REAL_BYTES_MAX: u64 = 64 << 20;

/// Real events out of the file that `MILLRACE_BENCH_EVENTS` names (gzipped, one a line); without
/// it, events made in their likeness.
pub(crate) fn real() -> Vec<u8> {
    let Some(path) = std::env::var_os("MILLRACE_BENCH_EVENTS") else { return likeness() };
    let mut text = String::new();
    GzDecoder::new(File::open(path).expect("the events file opens"))
        .take(REAL_BYTES_MAX)
        .read_to_string(&mut text)
        .expect("the events file is gzipped UTF-8");
    let lines: Vec<&str> = text.lines().skip(LINES_SKIPPED).take(EVENTS).collect();
    array(&lines)
}

/// Events of about 300 bytes, as the real ones are.
fn likeness() -> Vec<u8> {
    let events: Vec<String> = (0..EVENTS)
        .map(|index| {
            let mut event = String::new();
            write!(
                event,
                r#"{{"userId":"customer-{}","eventName":"Product Purchased","timestamp":"2010-12-01T08:{:02}:00.000Z","clientEventId":"or-{}-{index}","properties":{{"sku":"{}A","quantity":{},"unitPrice":{}.55,"lineTotal":{}.3,"currency":"GBP","orderId":"{}","country":"United Kingdom","name":"WHITE HANGING HEART T-LIGHT HOLDER"}}}}"#,
                17_000 + index, index % 60, 536_365 + index / 20, 85_000 + index, index % 9 + 1, index % 7, index % 40, 536_365 + index / 20,
            )
            .expect("a string takes any text");
            event
        })
        .collect();
    array(&events)
}

/// Events of about 350 bytes that carry every common field.
pub(crate) fn synthetic() -> Vec<u8> {
    let events: Vec<String> = (0..EVENTS)
        .map(|index| {
            format!(
                r#"{{"userId":"user-{:08}","eventName":"Product Viewed","timestamp":"2026-11-01T10:{:02}:{:02}.123Z","clientEventId":"evt-{:016}","sessionId":"sess-{:06}","deviceId":"device-{:04}","properties":{{"sku":"SKU-{:06}","name":"White hanging heart T-light holder","price":{}.{:02},"quantity":{},"category":"home/decoration","inStock":true,"currency":"EUR"}}}}"#,
                index * 7919, index % 60, index % 60, index * 104_729, index * 31, index, index * 17, index % 90, index % 100, index % 9 + 1,
            )
        })
        .collect();
    array(&events)
}

fn array<Text: AsRef<str>>(events: &[Text]) -> Vec<u8> {
    let mut body = String::from("[");
    for (index, event) in events.iter().enumerate() {
        if index > 0 {
            body.push(',');
        }
        body.push_str(event.as_ref());
    }
    body.push(']');
    body.into_bytes()
}
