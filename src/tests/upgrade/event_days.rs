//! Events that the previous release stored are counted by day and name.

use std::collections::BTreeSet;

use super::{
    Previous,
    previous::{api_key, copy_spool},
    until_events_are,
};
use crate::kit::{Process, data_dir, eventually};

/// Days and names with the numbers of their events.
const STORED: &str = "
    SELECT concat(toString(toDate(timestamp)) AS day, ' ', event_name, ' ', toString(count()))
    FROM events FINAL GROUP BY day, event_name FORMAT TabSeparatedRaw";
const COUNTED: &str = "
    SELECT concat(toString(day), ' ', event_name, ' ', toString(sum(events)))
    FROM event_days GROUP BY day, event_name FORMAT TabSeparatedRaw";

#[tokio::test]
async fn events_of_the_previous_release_are_counted_once_with_those_that_follow() {
    let previous = Previous::restore().await;
    let folder = data_dir("upgrade-event-days");
    copy_spool(&folder);
    let (server, _) = Process::start(&folder, &previous.environment()).await;
    let client = server.client(&api_key());
    until_events_are(&client, &["spool-1", "spool-2", "spool-3", "web-1", "web-2", "web-3"]).await;
    let of = |text: String| text.lines().map(str::to_owned).collect::<BTreeSet<String>>();
    let stored = of(previous.run_statement(STORED, "").await);
    assert!(stored.len() > 1, "{stored:?}");
    // A view of ClickHouse counts an event a moment after it is stored.
    eventually("each is counted once", || async {
        let counted = of(previous.run_statement(COUNTED, "").await);
        (counted == stored).then_some(())
    })
    .await;
    let names = client.get("/insights/events", 200).await.json();
    assert!(!names["data"].as_array().unwrap().is_empty(), "{names}");
    assert!(server.stop().await.success());
}
