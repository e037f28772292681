//! `/console/health`: the figures of the process, with their metrics.

use serde_json::json;

use super::kit::Person;
use crate::kit::{Workspace, eventually, server};

#[tokio::test]
async fn every_panel_names_metrics_that_are_there() {
    let workspace = Workspace::new().await;
    let event = json!({"userId": "ann", "eventName": "Health Watched"});
    workspace.api.post("/events/track", &event, 200).await;
    let person = Person::signed_in(&workspace, "settings:read").await;
    // The event is on disk at once; that it landed is measured a moment later.
    let seen = eventually("the event was measured", || async {
        let seen = person.get("/console/health").await;
        assert_eq!(seen.status, 200, "{}", seen.text);
        let lag = seen.between("Until queries see an event", "</tr>").to_owned();
        lag.contains("median").then_some(seen)
    })
    .await;
    for panel in
        ["Spool", "fsync of a group", "PostgreSQL pool", "Providers", "Dead letters", "Workers"]
    {
        assert!(seen.text.contains(panel), "no {panel}: {}", seen.text);
    }
    assert!(seen.between("fsync of a group", "</tr>").contains("median"));
    assert!(
        seen.between(">Acknowledged", "</tr>").contains("millrace_ingest_events_accepted_total")
    );
    assert!(seen.text.contains("key-watch") && seen.text.contains("millrace dead-letters list"));
    // Each of them stands in the list of all.
    let catalogue = include_str!("../../server/README.md");
    for metric in seen.text.split("<code>millrace_").skip(1) {
        let name = format!("`millrace_{}", metric.split('<').next().unwrap());
        assert!(catalogue.contains(&name), "{name}");
    }
    // A look in another second knows what was measured since the first.
    eventually("durations of the last seconds are shown", || async {
        let again = person.get("/console/health").await;
        again.text.contains("durations of the last ").then_some(())
    })
    .await;
    let part = person.get("/console/health/panels").await;
    assert!(part.text.contains("Spool") && !part.text.contains("<html"), "{}", part.text);
}

#[tokio::test]
async fn health_needs_its_scope() {
    let workspace = Workspace::new().await;
    let person = Person::signed_in(&workspace, "users:read").await;
    for path in ["/console/health", "/console/health/panels"] {
        let seen = person.get(path).await;
        assert_eq!(seen.status, 403);
        assert!(seen.text.contains("settings:read"), "{}", seen.text);
    }
    assert_eq!(Person::at(&server().url, None).get("/console/health").await.status, 303);
}
