//! Metrics of requests, with labels that callers cannot choose.

use metrics_exporter_prometheus::PrometheusBuilder;

use super::kit::start;

#[tokio::test]
async fn requests_are_counted_by_matched_route() {
    let recorder = PrometheusBuilder::new().build_recorder();
    let handle = recorder.handle();
    // The test runs on one thread, server included, so a recorder of the thread sees everything.
    let _guard = metrics::set_default_local_recorder(&recorder);
    let server = start().await;
    server.get("/named/1").await;
    server.get("/named/2?secret=x").await;
    server.get("/nowhere/at/all").await;
    server.get("/panics").await;
    server.post("/named/3", &[], Vec::new()).await;
    let invented = reqwest::Method::from_bytes(b"BREW").unwrap();
    reqwest::Client::new().request(invented, server.url("/named/1")).send().await.unwrap();
    let text = handle.render();
    let expect = |line: &str| assert!(text.contains(line), "{line} is missing in:\n{text}");
    expect(r#"millrace_http_requests_total{route="/named/{id}",method="GET",status="200"} 2"#);
    expect(r#"millrace_http_requests_total{route="<unknown>",method="GET",status="404"} 1"#);
    expect(r#"millrace_http_requests_total{route="/panics",method="GET",status="500"} 1"#);
    expect(r#"millrace_http_requests_total{route="/named/{id}",method="POST",status="405"} 1"#);
    expect(r#"millrace_http_requests_total{route="/named/{id}",method="OTHER",status="405"} 1"#);
    expect("millrace_http_requests_in_flight 0");
    expect(r#"millrace_http_request_duration_seconds_count{route="/named/{id}"} 4"#);
    assert!(!text.contains("secret") && !text.contains("nowhere"), "{text}");
}
