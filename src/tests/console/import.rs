//! `/console/live/import`: files of events.

use serde_json::json;

use super::kit::{Person, link};
use crate::kit::{BrowserTab, Workspace, eventually, server};

const PATH: &str = "/console/live/import";

async fn stored(workspace: &Workspace, wanted: f64) {
    let question = json!({"series": [{}], "from": "2026-03-01", "to": "2026-03-01"});
    eventually("the events are stored", || async {
        let trend = workspace.api.post("/insights/trends", &question, 200).await.json();
        (trend["series"][0]["total"] == wanted).then_some(())
    })
    .await;
}

#[tokio::test]
async fn lines_are_imported_once_and_refused_ones_are_named() {
    let workspace = Workspace::new().await;
    let person = Person::signed_in(&workspace, "*").await;
    let event = |number: usize| {
        json!({"userId": "ann", "eventName": "Imported", "clientEventId": format!("i{number}"),
               "timestamp": "2026-03-01T08:00:00Z"})
    };
    // More than one call of the API, with faults in both.
    let mut lines: Vec<String> = (0..600).map(|number| event(number).to_string()).collect();
    lines[3] = "{\"userId\": \"ann\"".to_owned();
    lines[599] = json!({"userId": "ann", "eventName": ""}).to_string();
    lines.insert(10, String::new());
    let text = lines.join("\r\n");
    for _ in 0..2 {
        let seen = person.post(PATH, &[("lines", text.as_str())]).await;
        assert_eq!(seen.status, 200, "{}", seen.text);
        assert!(seen.text.contains("598 events were accepted, 2 refused"), "{}", seen.text);
        assert!(
            seen.text.contains(">4</td>") && seen.text.contains("is not JSON"),
            "{}",
            seen.text
        );
        assert!(
            seen.text.contains(">601</td>") && seen.text.contains("eventName"),
            "{}",
            seen.text
        );
    }
    stored(&workspace, 598.0).await;
    let seen = person.post(PATH, &[("lines", " ")]).await;
    assert_eq!(seen.status, 400);
    assert!(seen.text.contains("must have at least one line"), "{}", seen.text);
    assert_eq!(person.post_bare(PATH, &[("lines", "{}")]).await.status, 403, "CSRF");
    let reader = Person::signed_in(&workspace, "events:read").await;
    assert!(!reader.get("/console/live").await.text.contains(PATH));
    assert_eq!(reader.get(PATH).await.status, 403);
    assert_eq!(reader.post(PATH, &[("lines", "{}")]).await.status, 403);
}

#[tokio::test]
async fn a_packed_file_is_sent_piece_by_piece() {
    let tab = match BrowserTab::open().await {
        Ok(tab) => tab,
        Err(reason) => return eprintln!("SKIPPED a_packed_file_is_sent_piece_by_piece: {reason}"),
    };
    let workspace = Workspace::new().await;
    tab.go(link(&workspace, "*").await.as_str()).await;
    tab.go(&format!("{}{PATH}", server().url)).await;
    // 9,000 events are some 1.3 MiB: two pieces. The last line has no end.
    tab.value(
        "(async () => { const event = (n) => JSON.stringify({userId: `user-${n % 50}`, eventName: 'Imported',\
         clientEventId: `f${n}`, timestamp: '2026-03-01T08:00:00Z', properties: {note: 'é'.repeat(20)}});\
         const lines = [...Array(9000).keys()].map(event); lines[8999] = '{';\
         const plain = new Blob([lines.join('\\n')]);\
         const packed = await new Response(plain.stream().pipeThrough(new CompressionStream('gzip'))).blob();\
         const files = new DataTransfer(); files.items.add(new File([packed], 'events.ndjson.gz'));\
         document.getElementById('file').files = files.files;\
         document.getElementById('import').requestSubmit(); return plain.size; })()",
    )
    .await;
    tab.until("document.getElementById('import-counts').textContent === 'Done: 8,999 events accepted, 1 refused'")
        .await;
    let text = tab.text().await;
    assert!(text.contains("Line 9,000: is not JSON"), "{text}");
    stored(&workspace, 8_999.0).await;
    assert_eq!(tab.errors(), [""; 0]);
}
