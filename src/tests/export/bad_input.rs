//! Faulty queries of exports are refused with the field and the limit.

use crate::kit::Workspace;

#[tokio::test]
async fn faulty_queries_are_refused() {
    let workspace = Workspace::new().await;
    let no_cursor = "cursor must be a value of the column cursor of an export";
    let cases = [
        ("format=xml", "format must be one of: ndjson, csv, parquet"),
        ("format=arrow", "format must be one of: ndjson, csv, parquet"),
        ("format=CSV", "format must be one of: ndjson, csv, parquet"),
        ("from=yesterday", "from must be an ISO 8601 date or date-time"),
        ("to=2026-13-01", "to must be an ISO 8601 date or date-time"),
        ("from=2026-03-02&to=2026-03-01", "from must not be after to"),
        ("cursor=x", no_cursor),
        ("cursor=2026-03-01", no_cursor),
        ("cursor=%00", "cursor must not contain NUL characters"),
        ("eventName=a%00", "eventName must not contain NUL characters"),
    ];
    for (query, expected) in cases {
        let answer = workspace.api.get(format!("/events/export?{query}"), 400).await;
        assert_eq!(answer.errors(), [expected], "{query}");
    }
    let long = "x".repeat(256);
    let answer = workspace.api.get(format!("/events/export?eventName={long}"), 400).await;
    assert_eq!(answer.errors(), ["eventName must be at most 255 characters"]);
    let long = "x".repeat(4_097);
    let answer = workspace.api.get(format!("/events/export?cursor={long}"), 400).await;
    assert_eq!(answer.errors(), ["cursor must be at most 4096 characters"]);
    let answer = workspace.api.get("/events/export?format=x&from=y&cursor=z", 400).await;
    assert_eq!(answer.errors().len(), 3, "all are named: {}", answer.text);
}
