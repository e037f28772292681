//! Anything callers may send.

use proptest::{collection::vec, prelude::*};

use super::*;

/// Any JSON a caller may nest, strings with everything but NUL.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e300..1e300).prop_map(Value::from),
        "[^\\x00]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 32, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::from),
            vec(("[^\\x00]{0,6}", inner), 0..5)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

/// Numeric leaves as the contract defines them, found by the slow and obvious way.
fn leaves(value: &Value, path: &str, found: &mut Vec<(String, f64)>) {
    for (key, value) in value.as_object().into_iter().flatten() {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        match value {
            Value::Number(number) => found.push((path, number.as_f64().unwrap())),
            other => leaves(other, &path, found),
        }
    }
}

proptest! {
    #[test]
    fn what_is_admitted_decodes_to_what_was_sent(
        user in "[^\\x00]{1,20}",
        properties in vec(("[^\\x00$][^\\x00]{0,5}", any_json()), 0..6),
        is_pretty in any::<bool>(),
    ) {
        let properties = Value::Object(properties.into_iter().collect());
        let event = json!({"userId": user, "eventName": "E", "properties": properties});
        let body = if is_pretty { serde_json::to_string_pretty(&event) } else { serde_json::to_string(&event) }.unwrap();
        let admitted = admit(&body).unwrap();
        prop_assert_eq!(&admitted.rejected, &[]);
        let batch = admitted.batch.unwrap();
        let stored = batch.events().next().unwrap();
        prop_assert_eq!(stored.user_id, user);
        // Not by serde_json, which reads some doubles a bit off.
        let mut stored_properties = stored.properties.to_owned().into_bytes();
        let read: Value = simd_json::serde::from_slice(&mut stored_properties).unwrap();
        prop_assert_eq!(&read, &properties);
        prop_assert!(body.contains(stored.properties));
        let mut expected = Vec::new();
        leaves(&properties, "", &mut expected);
        let found: Vec<_> = stored.numbers().map(|(path, value)| (path.to_owned(), value)).collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in vec(any::<u8>(), 0..64)) {
        let node = Node::default();
        let context = Context { workspace_id: WORKSPACE, key_id: "key", is_watched: false, received_at_ms: NOW_MS, window: &node.window, sequence: &node.sequence, sender: Sender::Server };
        drop(Admitter::default().admit(&bytes, &context));
    }

    #[test]
    fn damaged_bodies_are_refused_or_give_a_sound_batch(
        properties in any_json(),
        flips in vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
    ) {
        let node = Node::default();
        let context = Context { workspace_id: WORKSPACE, key_id: "key", is_watched: false, received_at_ms: NOW_MS, window: &node.window, sequence: &node.sequence, sender: Sender::Server };
        let event = json!({"userId": "u", "eventName": "Order Completed", "clientEventId": "c", "timestamp": "2026-01-01T00:00:00Z", "properties": properties});
        let mut body = format!("[{event},{event}]").into_bytes();
        for (index, byte) in flips {
            let index = index.index(body.len());
            body[index] = byte;
        }
        match Admitter::default().admit(&body, &context) {
            Err(_) => {}
            Ok(admitted) => {
                prop_assert!(serde_json::from_slice::<serde::de::IgnoredAny>(&body).is_ok());
                for event in admitted.batch.iter().flat_map(Batch::events) {
                    prop_assert!(serde_json::from_str::<Value>(event.properties).is_ok(), "{}", event.properties);
                }
            }
        }
    }
}
