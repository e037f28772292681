//! The record is read back as it was written, and damage is an error, never a panic.

use bytes::Bytes;
use proptest::{collection::vec, option, prelude::*};
use uuid::Uuid;

use super::*;

/// An event that owns its strings.
#[derive(Debug, Clone)]
struct Owned {
    texts: Vec<String>,
    timestamp_ms: i64,
    day: u16,
    numbers: Vec<(String, f64)>,
    order: Option<OwnedOrder>,
    is_untrusted: bool,
}

/// Order id, currency, base currency, revenue, base revenue.
type OwnedOrder = (String, String, String, Option<i64>, Option<i64>);

fn owned() -> impl Strategy<Value = Owned> {
    let order = (
        "\\PC{0,12}",
        "[A-Z]{0,3}",
        "[A-Z]{0,3}",
        option::of(any::<i64>()),
        option::of(any::<i64>()),
    );
    (
        vec("\\PC{0,12}", 10),
        any::<i64>(),
        any::<u16>(),
        vec(("\\PC{0,6}", -1e300..1e300), 0..5),
        option::of(order),
        any::<bool>(),
    )
        .prop_map(|(texts, timestamp_ms, day, numbers, order, is_untrusted)| Owned {
            texts,
            timestamp_ms,
            day,
            numbers,
            order,
            is_untrusted,
        })
}

fn view<'a>(event: &'a Owned, numbers: &'a mut NumberBuffer) -> EventView<'a> {
    numbers.clear();
    for (path, value) in &event.numbers {
        numbers.push(path, *value);
    }
    let text = |index: usize| event.texts[index].as_str();
    EventView {
        seq: 0,
        event_name: text(0),
        timestamp_ms: event.timestamp_ms,
        day: event.day,
        user_id: text(1),
        anonymous_id: text(2),
        service_user_id: text(3),
        alias_label: text(4),
        alias_name: text(5),
        event_id: text(6),
        session_id: text(7),
        device_id: text(8),
        properties: text(9),
        numbers: numbers.view(),
        order: event.order.as_ref().map(|(order_id, currency, base, revenue, base_revenue)| {
            OrderView {
                order_id,
                revenue: *revenue,
                currency,
                base_revenue: *base_revenue,
                base_currency: base,
            }
        }),
        is_untrusted: event.is_untrusted,
    }
}

fn batch(events: &[Owned]) -> Batch {
    let mut builder = BatchBuilder::with_capacity(0);
    let mut numbers = NumberBuffer::default();
    for event in events {
        builder.push(&view(event, &mut numbers));
    }
    builder.finish(Uuid::from_u128(7), 1_700_000_000_000, 42).unwrap()
}

proptest! {
    #[test]
    fn what_was_pushed_is_read_back(events in vec(owned(), 1..6)) {
        let batch = Batch::from_bytes(batch(&events).as_bytes().clone()).unwrap();
        let header = *batch.header();
        prop_assert_eq!(header, BatchHeader {
            kind: BatchKind::Events,
            workspace_id: Uuid::from_u128(7),
            received_at_ms: 1_700_000_000_000,
            first_seq: 42,
            count: u32::try_from(events.len()).unwrap(),
        });
        prop_assert_eq!(batch.events().len(), events.len());
        let mut numbers = NumberBuffer::default();
        for ((read, pushed), seq) in batch.events().zip(&events).zip(42..) {
            prop_assert_eq!(read.numbers().len(), pushed.numbers.len());
            let leaves: Vec<_> = read.numbers().map(|(path, value)| (path.to_owned(), value)).collect();
            prop_assert_eq!(&leaves, &pushed.numbers);
            prop_assert_eq!(read, EventView { seq, ..view(pushed, &mut numbers) });
        }
    }

    #[test]
    fn removed_events_leave_the_others_as_they_were(
        events in vec((owned(), any::<bool>()), 1..6),
    ) {
        let mut builder = BatchBuilder::with_capacity(0);
        let mut numbers = NumberBuffer::default();
        let (mut positions, mut kept) = (Vec::new(), Vec::new());
        for (event, is_removed) in &events {
            if *is_removed {
                positions.push(builder.position());
            } else {
                kept.push(event.clone());
            }
            builder.push(&view(event, &mut numbers));
        }
        builder.remove(&positions);
        let left = builder.finish(Uuid::from_u128(7), 1_700_000_000_000, 42);
        match left {
            None => prop_assert!(kept.is_empty()),
            Some(left) => prop_assert_eq!(left.as_bytes().clone(), batch(&kept).as_bytes().clone()),
        }
    }

    #[test]
    fn damaged_bytes_are_an_error_or_another_valid_batch(
        events in vec(owned(), 1..4),
        flips in vec((any::<prop::sample::Index>(), 0_u8..8), 1..4),
    ) {
        let mut bytes = batch(&events).as_bytes().to_vec();
        for (index, bit) in flips {
            let index = index.index(bytes.len());
            bytes[index] ^= 1 << bit;
        }
        if let Ok(batch) = Batch::from_bytes(Bytes::from(bytes)) {
            let texts: usize = batch.events().map(|event| event.properties.len()).sum();
            prop_assert!(texts <= batch.as_bytes().len());
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in vec(any::<u8>(), 0..200)) {
        let mut framed = vec![FORMAT_VERSION, 1, 0, 0];
        framed.extend_from_slice(&bytes);
        drop(Batch::from_bytes(Bytes::from(bytes)));
        drop(Batch::from_bytes(Bytes::from(framed)));
    }

    #[test]
    fn a_batch_cut_anywhere_is_refused(events in vec(owned(), 1..3)) {
        let whole = batch(&events).as_bytes().clone();
        for length in 0..whole.len() {
            prop_assert!(Batch::from_bytes(whole.slice(..length)).is_err());
        }
        let mut longer = whole.to_vec();
        longer.push(0);
        prop_assert!(Batch::from_bytes(Bytes::from(longer)).is_err());
    }
}

#[test]
fn a_newer_version_and_an_unknown_kind_are_named() {
    let event = Owned {
        texts: vec![String::new(); 10],
        timestamp_ms: 0,
        day: 0,
        numbers: Vec::new(),
        order: None,
        is_untrusted: false,
    };
    let mut bytes = batch(&[event]).as_bytes().to_vec();
    bytes[1] = 9;
    let refused = Batch::from_bytes(Bytes::from(bytes.clone())).unwrap_err();
    assert_eq!(refused, CorruptBatch::Kind(9));
    bytes[0] = 2;
    let refused = Batch::from_bytes(Bytes::from(bytes)).unwrap_err();
    assert_eq!(refused.to_string(), "batch has format version 2, this program reads 1");
}

#[test]
fn an_empty_builder_gives_no_batch() {
    assert!(BatchBuilder::with_capacity(0).finish(Uuid::nil(), 0, 0).is_none());
}
