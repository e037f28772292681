//! Content of campaigns, over HTTP: stored and returned unchanged on every channel; errors have their path.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{made, put, read};
use crate::kit::Workspace;

/// A campaign of one variant with this content.
fn with_content(channel: &str, content: &Value) -> Value {
    let field = if channel == "in_app" { "customContent" } else { "message" };
    let variant = json!({"id": "a", "name": "A", "weight": 100, field: content});
    json!({"name": "n", "channel": channel, "variants": [variant]})
}

fn messages() -> Vec<(&'static str, Value)> {
    vec![
        (
            "email",
            json!({"subject": "Hi {{ user.name | default: 'you' }}", "preheader": "p", "from": "A <a@b.test>",
                "fromName": "Shop", "html": "<p>{{ x }} &amp; “ü”</p>", "templateId": "t-1", "text": "x\ny"}),
        ),
        ("sms", json!({"body": "Hi", "from": "+49151", "shortenLinks": false})),
        ("viber", json!({"templateId": "t", "variables": {"a": "{{ x }}", "n": 5}, "body": "b"})),
        (
            "push",
            json!({"title": "t", "body": "b", "icon": "ic_bell", "image": "https://x.test/a.png",
                "data": {"k": "{{ v }}", "deep": {"n": [1, null, 1.5]}}}),
        ),
        (
            "whatsapp",
            json!({"messageType": "reply", "templateId": "t", "wabaId": "1", "variableMapping": {"1": "x"},
                "replyText": "r"}),
        ),
        (
            "webhook",
            json!({"url": "https://x.test/{{ user.id }}", "method": "PATCH", "headers": {"X-A": "b"},
                "body": "{\"a\": \"{{ x }}\"}", "auth": {"type": "bearer", "token": "t"}, "bodyType": "json"}),
        ),
        ("ai_optimized", json!({"channel": "sms", "body": "Hi"})),
        (
            "in_app",
            json!({"mode": "native", "title": "Hi", "body": "a & b", "imageUrl": "https://x.test/a.png",
                "buttons": [{"id": "b", "text": "Go", "action": "url", "url": "https://x.test"}],
                "closeButton": true, "backdropDismissible": false,
                "style": {"textColor": "no colour", "cornerRadius": 48, "fontSize": 10.5, "titleWeight": "bold",
                    "textAlign": "end", "fontFamily": "Inter", "customCss": "p{}"},
                "html": "<b>", "css": "b{}", "designerData": {"a": {}}}),
        ),
    ]
}

#[tokio::test]
async fn messages_of_every_channel_read_back_unchanged() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    for (channel, content) in messages() {
        let mut body = with_content(channel, &content);
        let unknown = if channel == "in_app" { "customContent" } else { "message" };
        body["variants"][0][unknown]["somethingElse"] = json!(1);
        let campaign = made(api, &body).await;
        let mut sent = with_content(channel, &content)["variants"].clone();
        if let Some(token) = sent.pointer_mut("/0/message/auth/token") {
            *token = json!("********");
        }
        // Where each message chooses its channel, the fields of others are kept.
        if channel == "ai_optimized" {
            sent[0]["message"]["somethingElse"] = json!(1);
        }
        assert_eq!(campaign["variants"], sent, "{channel}");
        assert_eq!(read(api, &campaign).await["variants"], sent, "{channel}");
        let changed = put(api, &campaign, json!({"description": "d"}), 200).await.json();
        assert_eq!(changed["variants"], sent, "{channel}");
    }
}

#[tokio::test]
async fn every_invalid_field_of_every_variant_is_reported() {
    let workspace = Workspace::new().await;
    let body = json!({"name": "n", "channel": "email", "variants": [
        {"id": "a", "name": "A", "weight": 101, "message": {"subject": "a\r\nBcc: x@y.test", "html": "\n {{ a | b }}"}},
        {"id": "a", "name": "", "weight": "1", "isControlGroup": 1, "customContent": {"title": "t"}},
    ]});
    let answer = workspace.api.post("/campaigns", &body, 400).await.json();
    assert_eq!(
        answer["errors"],
        json!([
            "variants[0].weight must be between 0 and 100",
            "variants[0].message.subject must be one line without control characters",
            "variants[0].message.html is not valid Liquid: Unknown filter: b (line 2, column 9)",
            "variants[1].name must be between 1 and 255 characters",
            "variants[1].weight must be a number",
            "variants[1].customContent is for the channel in_app alone",
            "variants[1].isControlGroup must be a boolean",
            "variants[1].id must be unlike those of the other variants",
        ])
    );
    let native = json!({"buttons": [{"id": "b", "text": "t", "action": "url"}], "style": {"cornerRadius": 49}});
    let answer =
        workspace.api.post("/campaigns", &with_content("in_app", &native), 400).await.json();
    assert_eq!(
        answer["errors"],
        json!([
            "variants[0].customContent.buttons[0].url is required when the action is url or deep_link",
            "variants[0].customContent.style.cornerRadius must be between 0 and 48",
        ])
    );
}

#[tokio::test]
async fn incomplete_drafts_are_saved() {
    let workspace = Workspace::new().await;
    let channels =
        ["email", "sms", "viber", "push", "whatsapp", "webhook", "ai_optimized", "in_app"];
    for channel in channels {
        let mut body = with_content(channel, &json!({}));
        if channel == "ai_optimized" {
            body["variants"][0]["message"] = json!({"channel": "push"});
        }
        let bare = json!({"id": "b", "name": "B", "weight": 0});
        body["variants"].as_array_mut().unwrap().push(bare);
        made(&workspace.api, &body).await;
    }
}

#[tokio::test]
async fn liquid_templates_that_explode_are_refused_quickly() {
    let workspace = Workspace::new().await;
    let css = |css: String| with_content("in_app", &json!({"style": {"customCss": css}}));
    let html = |html: String| with_content("email", &json!({"html": html}));
    let began = Instant::now();
    for (body, problem) in [
        (css("a{".repeat(10_000)), "must not be nested deeper than 16 blocks"),
        (css("x".repeat(20_001)), "must be at most 20000 characters"),
        (html("<div>".repeat(50_000)), "must not nest elements deeper than 200"),
        (
            html(format!("<p {}>", "a ".repeat(100_000))),
            "must not have an element with more than 200",
        ),
        (html("{% if a %}".repeat(20_000)), "blocks are nested deeper than 32"),
        (html("x".repeat(262_145)), "must be at most 262144 bytes, received 262145"),
        (
            with_content("webhook", &json!({"body": "[".repeat(65_537)})),
            "must be at most 65536 bytes",
        ),
    ] {
        let answer = workspace.api.post("/campaigns", &body, 400).await.json();
        let errors = answer["errors"].to_string();
        assert!(errors.contains(problem), "{problem}: {errors}");
    }
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}

#[tokio::test]
async fn an_ai_optimized_message_keeps_the_fields_of_every_channel() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let message = json!({"subject": "Hi", "text": "x", "title": "T", "body": "B", "x": {"n": [1, {"y": "{{"}]}});
    let mut campaign = with_content("ai_optimized", &message);
    campaign["variants"][0]["weight"] = json!(50);
    let saved = made(api, &campaign).await;
    let at = "/variants/0/message";
    assert_eq!(saved.pointer(at), Some(&message));
    assert_eq!(read(api, &saved).await.pointer(at), Some(&message));
    let renamed = put(api, &saved, json!({"name": "Other"}), 200).await.json();
    assert_eq!(renamed.pointer(at), Some(&message));
    campaign["variants"][0]["message"]["x"] = json!("a".repeat(16 << 10));
    let refused = api.post("/campaigns", &campaign, 400).await.errors().concat();
    assert!(refused.starts_with("variants[0].message has fields that are unknown"), "{refused}");
}
