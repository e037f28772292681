//! `/u/:token`: one click for mail programs (RFC 8058), a button for people, and the `redirect` mode.

use kernel::Channel;
use serde_json::json;

use super::fixture::{Fixture, browser, open, pairs, send, submit};
use crate::kit::server;

const ONE_CLICK: &str = "List-Unsubscribe=One-Click";
const TARGET: &str = "https://example.test/bye?a=b";

#[tokio::test]
async fn one_click_unsubscribes_from_the_channel_and_is_idempotent() {
    let page = Fixture::new().await;
    let path = page.unsubscribe(None, None).await;
    let asked = open(&path).await;
    assert!(
        asked.html.contains("Unsubscribe?") && asked.html.contains("no more emails"),
        "{}",
        asked.html
    );
    assert!(page.history().await.is_empty());
    for _ in 0..2 {
        let url = format!("{}{path}", server().url);
        let request =
            browser().post(url).header("content-type", "application/x-www-form-urlencoded");
        let done = send(request.body(ONE_CLICK)).await;
        assert_eq!(done.status, 200);
        assert_eq!(done.html, "", "a program reads no page");
        assert_eq!(page.channel("email").await, "unsubscribed");
    }
    let history = page.history().await;
    assert_eq!(history.last().unwrap()["action"], "unsubscribe");
    assert_eq!(history.last().unwrap()["source"], "unsubscribe_link");
    assert!(history.iter().all(|entry| entry["newStatus"] == "unsubscribed"));
    let row = page.api().get("/suppressions/ann@example.test?channel=email", 200).await.json();
    assert_eq!(row["source"], "unsubscribe_link");
}

#[tokio::test]
async fn one_click_accepts_multipart_and_empty_bodies() {
    for (content_type, body) in [
        (
            Some("multipart/form-data; boundary=XX"),
            "--XX\r\nContent-Disposition: form-data; name=\"List-Unsubscribe\"\r\n\r\nOne-Click\r\n--XX--\r\n",
        ),
        (Some("application/x-www-form-urlencoded"), ONE_CLICK),
        (None, ""),
    ] {
        let page = Fixture::new().await;
        page.template(json!({"mode": "redirect", "redirectUrl": TARGET}), 200).await;
        let path = page.unsubscribe(None, Some(Channel::Sms)).await;
        let mut request = browser().post(format!("{}{path}", server().url)).body(body);
        if let Some(content_type) = content_type {
            request = request.header("content-type", content_type);
        }
        let done = send(request).await;
        // No redirect: a mail client would not follow it.
        assert_eq!((done.status, done.header("location")), (200, ""), "{content_type:?}");
        assert_eq!(page.channel("sms").await, "unsubscribed");
        assert_eq!(page.channel("email").await, "");
    }
}

#[tokio::test]
async fn a_list_unsubscribe_applies_to_its_channel_only() {
    let page = Fixture::new().await;
    let list = page.list(json!({"name": "Weekly news", "channels": ["email", "sms"]})).await;
    page.subscribe(list, "email").await;
    page.subscribe(list, "sms").await;
    let path = page.unsubscribe(Some(list), Some(Channel::Email)).await;
    assert!(open(&path).await.html.contains("Weekly news"));
    submit(&path, &pairs(&[("action", "unsubscribe")])).await;
    assert_eq!(page.membership(list, "email").await, "unsubscribed");
    assert_eq!(page.membership(list, "sms").await, "subscribed");
    assert_eq!(page.channel("email").await, "");
    // A message of a list that was archived meanwhile is still obeyed.
    let request = page.api().request(reqwest::Method::DELETE, &format!("/lists/{list}"));
    page.api().send(request, 204).await;
    let path = page.unsubscribe(Some(list), Some(Channel::Sms)).await;
    assert_eq!(submit(&path, &pairs(&[("action", "unsubscribe")])).await.status, 200);
    assert_eq!(page.membership(list, "sms").await, "unsubscribed");
}

#[tokio::test]
async fn only_a_submitted_form_redirects_to_the_workspaces_url() {
    let page = Fixture::new().await;
    let path = page.unsubscribe(None, None).await;
    let button = pairs(&[("action", "unsubscribe")]);
    let done = submit(&path, &button).await;
    assert_eq!((done.status, done.header("location")), (200, ""));

    page.template(json!({"redirectUrl": TARGET}), 200).await;
    assert_eq!(submit(&path, &button).await.status, 200, "only the mode matters");
    page.template(json!({"mode": "redirect"}), 200).await;
    let asked = open(&path).await;
    assert_eq!(asked.status, 200);
    assert!(
        asked
            .header("content-security-policy")
            .ends_with("form-action 'self' https://example.test")
    );
    let done = submit(&path, &button).await;
    assert_eq!((done.status, done.header("location")), (303, TARGET));
    assert_eq!(done.header("referrer-policy"), "no-referrer");
    // Nothing that is sent chooses the target.
    let path_with_query = format!("{path}?redirectUrl=https://evil.test&next=https://evil.test");
    let fields = pairs(&[("action", "unsubscribe"), ("redirectUrl", "https://evil.test")]);
    assert_eq!(submit(&path_with_query, &fields).await.header("location"), TARGET);
    let both = pairs(&[("action", "unsubscribe"), ("List-Unsubscribe", "One-Click")]);
    assert_eq!(submit(&path, &both).await.status, 200);
}

#[tokio::test]
async fn in_redirect_mode_the_page_asks_once_and_redirects() {
    let page = Fixture::new().await;
    let list = page.marketing().await;
    page.subscribe(list, "email").await;
    page.template(json!({"mode": "redirect", "redirectUrl": TARGET}), 200).await;
    let path = page.preferences().await;
    let asked = open(&path).await;
    assert_eq!((asked.status, asked.boxes().len()), (200, 0));
    assert_eq!(page.history().await.len(), 1);
    let done = submit(&path, &pairs(&[("action", "unsubscribe")])).await;
    assert_eq!((done.status, done.header("location")), (303, TARGET));
    assert_eq!(page.channel("email").await, "unsubscribed");
    assert_eq!(page.membership(list, "email").await, "unsubscribed");
}
