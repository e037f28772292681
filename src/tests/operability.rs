//! Health endpoints and the graceful shutdown.

use crate::kit::{Client, eventually, server};

#[tokio::test]
async fn both_listeners_serve_liveness_and_readiness_without_a_credential() {
    for base in [&server().url, &server().admin_url] {
        let client = Client::new(base, None);
        client.get("/livez", 200).await;
        // A store that is slow to answer beside other tests is not ready for a moment.
        eventually("the server is ready", || async {
            let answer = client.request(reqwest::Method::GET, "/readyz").send().await.unwrap();
            answer.status().is_success().then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn metrics_are_served_only_on_the_admin_listener() {
    Client::anonymous().get("/metrics", 404).await;
}
