//! What a public key may do to the events of others.

use std::collections::HashSet;

use super::*;

const ORDER: &str = r#"{"userId":"u","eventName":"Order Completed","clientEventId":"order-1",
    "timestamp":"2026-11-20","properties":{"orderId":"1","total":0.01,"currency":"EUR"}}"#;

/// Id, whether it is an order, and whether it is untrusted, of each event stored.
fn stored(admitted: &Admitted) -> Vec<(String, bool, bool)> {
    let events = admitted.batch.as_ref().map(Batch::events);
    let events = events.into_iter().flatten();
    events.map(|it| (it.event_id.to_owned(), it.order.is_some(), it.is_untrusted)).collect()
}

#[test]
fn an_sdk_event_has_a_prefixed_id_and_is_no_order() {
    let trusted_events = HashSet::new();
    let app = Sender::App { trusted_events: &trusted_events };
    let mut node = Node::default();
    let answer = node.admit_from(app, ORDER, NOW_MS).unwrap();
    assert_eq!(answer.event_id.as_deref(), Some("sdk:order-1"));
    assert_eq!(stored(&answer), [("sdk:order-1".to_owned(), false, true)]);
    let answer = node.admit(ORDER).unwrap();
    assert_eq!(stored(&answer), [("order-1".to_owned(), true, false)]);
    let minted = node.admit_from(app, r#"{"userId":"u","eventName":"A"}"#, NOW_MS).unwrap();
    let id = minted.event_id.unwrap();
    assert!(id.strip_prefix("sdk:").unwrap().parse::<Uuid>().is_ok(), "{id}");
}

#[test]
fn a_trusted_name_counts_as_if_a_server_had_sent_it() {
    let trusted_events = HashSet::from(["Order Completed".to_owned()]);
    let app = Sender::App { trusted_events: &trusted_events };
    let mut node = Node::default();
    let body = format!(r#"[{ORDER},{{"userId":"u","eventName":"A","clientEventId":"a"}}]"#);
    let answer = node.admit_from(app, &body, NOW_MS).unwrap();
    let expected = [("sdk:order-1".to_owned(), true, false), ("sdk:a".to_owned(), false, true)];
    assert_eq!(stored(&answer), expected);
}

#[test]
fn ids_of_sdk_events_and_server_events_are_distinct() {
    let trusted_events = HashSet::new();
    let app = Sender::App { trusted_events: &trusted_events };
    let event = r#"{"userId":"u","eventName":"A","clientEventId":"a"}"#;
    let mut node = Node::default();
    let first = node.admit_from(app, event, NOW_MS).unwrap();
    node.window.confirm(&first.claims);
    assert!(node.admit_from(app, event, NOW_MS).unwrap().batch.is_none(), "it was recorded");
    assert_eq!(stored(&node.admit(event).unwrap()), [("a".to_owned(), false, false)]);
    let twice = format!("[{event},{event}]");
    let twice = Node::default().admit_from(app, &twice, NOW_MS).unwrap();
    assert_eq!((twice.accepted, stored(&twice).len()), (2, 1));
}

#[test]
fn the_prefix_takes_nothing_of_the_length_of_an_id() {
    let trusted_events = HashSet::new();
    let app = Sender::App { trusted_events: &trusted_events };
    let longest = "i".repeat(255);
    let event = with("clientEventId", json!(longest));
    let answer = Node::default().admit_from(app, &event, NOW_MS).unwrap();
    assert_eq!(answer.event_id, Some(format!("sdk:{longest}")));
    let event = with("clientEventId", json!("i".repeat(256)));
    assert_eq!(Node::default().admit_from(app, &event, NOW_MS).unwrap().accepted, 0);
    // A server that sends the stored event again, as an import does, names it by its whole id.
    let stored_id = format!("sdk:{longest}");
    let event = with("clientEventId", json!(stored_id));
    let answer = Node::default().admit(&event).unwrap();
    assert_eq!(answer.event_id, Some(stored_id.clone()));
    assert_eq!(Node::default().admit_from(app, &event, NOW_MS).unwrap().accepted, 0);
    let event = with("clientEventId", json!(format!("{stored_id}i")));
    assert_eq!(Node::default().admit(&event).unwrap().accepted, 0);
}
