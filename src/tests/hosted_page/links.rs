//! `millrace links create`: the links of messages, created by hand.

use std::process::Output;

use serde_json::json;

use super::fixture::{Fixture, open, submit};
use crate::kit::{MILLRACE, server};

async fn create(page: &Fixture, arguments: &[&str]) -> Output {
    let user = page.user.to_string();
    tokio::process::Command::new(MILLRACE)
        .args(["links", "create", "--workspace", &page.workspace.name, "--user", &user])
        .args(arguments)
        .env("MILLRACE_DATA_DIR", &server().data_dir)
        .env("MILLRACE_PUBLIC_URL", "https://links.example.test/mail")
        .env_remove("DATABASE_URL")
        .output()
        .await
        .unwrap()
}

/// The path of the link, alone on standard output.
fn path(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let line = String::from_utf8(output.stdout.clone()).unwrap();
    line.trim_end().strip_prefix("https://links.example.test/mail").unwrap().to_owned()
}

#[tokio::test]
async fn links_printed_by_the_command_line_open_their_pages() {
    let page = Fixture::new().await;
    let list = page.list(json!({"name": "Club", "channels": ["email", "sms"]})).await.to_string();
    let preferences = path(&create(&page, &[]).await);
    assert!(open(&preferences).await.html.contains("Your preferences"));
    let arguments = ["--purpose", "unsubscribe", "--list", &list, "--channel", "sms"];
    let unsubscribe = path(&create(&page, &arguments).await);
    assert!(open(&unsubscribe).await.html.contains("Club"));
    assert_eq!(submit(&unsubscribe, &[]).await.status, 200);
    assert_eq!(page.membership(list.parse().unwrap(), "sms").await, "unsubscribed");
    let confirm = path(&create(&page, &["--purpose", "confirm", "--list", &list]).await);
    assert!(open(&confirm).await.html.contains("Confirm your subscription"));
}

#[tokio::test]
async fn an_unknown_contact_gets_no_link() {
    let (page, other) = (Fixture::new().await, Fixture::new().await);
    let stranger = Fixture { workspace: page.workspace, user: other.user };
    let output = create(&stranger, &[]).await;
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("the workspace has no contact"), "{stderr}");
    // Bad usage: nothing to confirm without a list.
    assert_eq!(create(&stranger, &["--purpose", "confirm"]).await.status.code(), Some(2));
    assert_eq!(create(&stranger, &["--channel", "fax"]).await.status.code(), Some(2));
}
