//! Unsubscribe links of test sends to a named address: they open, and change no consent.

use reqwest::{StatusCode, redirect::Policy};
use serde_json::{Value, json};

use super::fixture::{Person, Sender, sender};
use crate::kit::unique;

const ONE_CLICK: &str = "List-Unsubscribe=One-Click";

/// A test send of one profile's mail to another reader, as it arrived.
async fn arrived(person: &Person) -> Value {
    let Sender { api, .. } = &*sender().await;
    let html =
        "<a href=\"{{ unsubscribe_url }}\">out</a> <a href=\"{{ preferences_url }}\">choose</a>";
    let body = json!({
        "name": unique("campaign"), "channel": "email",
        "variants": [{"id": "a", "name": "A", "weight": 100, "message": {"subject": "s", "html": html}}],
    });
    let campaign = api.post("/campaigns", &body, 201).await.json();
    let path = format!("/campaigns/{}/send-test-email", campaign["id"].as_str().unwrap());
    let to = format!("{}@example.test", unique("colleague"));
    let tested = api.post(&path, &json!({"userId": person.external_id, "to": to}), 200).await;
    let arrived = sender().await.arrived(tested.json()["messageId"].as_str().unwrap()).await;
    assert_eq!(arrived["to"], to);
    arrived
}

/// A profile's consent: channels, lists and their history.
async fn consent(person: &Person) -> Value {
    let Sender { api, .. } = &*sender().await;
    let path = format!("/subscriptions/contacts/{}", person.id);
    let consent = api.get(&path, 200).await.json();
    let history = api.get(format!("{path}/history"), 200).await.json();
    let row = format!("/suppressions/{}?channel=email", person.email);
    json!([consent, history, api.get(row, 200).await.json()])
}

#[tokio::test]
async fn links_of_a_test_send_change_no_consent() {
    let Sender { url, .. } = &*sender().await;
    let person = sender().await.person().await;
    let before = consent(&person).await;
    let mail = arrived(&person).await;
    let (out, choose) = (format!("{url}/u/test"), format!("{url}/p/test"));
    let html = mail["message"]["html"].as_str().unwrap();
    for link in [&out, &choose] {
        assert!(html.contains(&format!("href=\"{link}\"")), "{link}: {html}");
    }
    let headers = mail["message"]["headers"].as_array().unwrap();
    assert!(headers.contains(&json!(["List-Unsubscribe", format!("<{out}>")])), "{headers:?}");
    assert!(headers.contains(&json!(["List-Unsubscribe-Post", ONE_CLICK])), "{headers:?}");

    let browser = reqwest::Client::builder().redirect(Policy::none()).build().unwrap();
    for link in [&out, &choose] {
        let page = browser.get(link).send().await.unwrap();
        assert_eq!(page.status(), StatusCode::OK, "{link}");
        let html = page.text().await.unwrap();
        assert!(html.contains("This is the link of a test message"), "{link}: {html}");
        assert!(!html.contains("<form"), "there is nothing to choose: {html}");
    }
    let post = |link: &str, body: &'static str| {
        let request =
            browser.post(link).header("content-type", "application/x-www-form-urlencoded");
        request.body(body).send()
    };
    for body in [ONE_CLICK, "", "list-unsubscribe=one-click&action=unsubscribe"] {
        let answer = post(&out, body).await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK, "{body}");
        assert_eq!(answer.text().await.unwrap(), "", "a program reads no page");
    }
    let by_button = post(&out, "action=unsubscribe").await.unwrap();
    assert_eq!(by_button.status(), StatusCode::OK);
    assert!(by_button.text().await.unwrap().contains("test message"));
    post(&choose, "action=save&shown=channel.email").await.unwrap();
    assert_eq!(consent(&person).await, before, "no consent changed");
}
