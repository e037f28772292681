//! Metrics of consent and suppressions.

use crate::{
    consent::fixture::Contact,
    kit::{Client, Workspace, eventually, server},
};

#[tokio::test]
async fn consent_changes_and_suppression_counts_are_metrics() {
    let workspace = Workspace::new().await;
    let ann = Contact::new(&workspace).await;
    ann.set(&workspace.api, "whatsapp", "subscribed").await;
    let admin = Client::new(&server().admin_url, None);
    let text = eventually("the ledgers are counted", || async {
        let text = admin.get("/metrics", 200).await.text;
        text.contains("millrace_suppression_rows{").then_some(text)
    })
    .await;
    for sample in [
        "millrace_consent_changes_total{channel=\"whatsapp\",action=\"subscribe\"}",
        "millrace_suppression_rows{channel=\"email\",reason=\"hard_bounce\"}",
        "millrace_suppression_rows{channel=\"sms\",reason=\"unsubscribe\"}",
    ] {
        assert!(text.contains(sample), "{sample} is missing of {text}");
    }
}
