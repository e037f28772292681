//! Findings of each check of the content.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::*;
use crate::model::{Definition, Edit};

fn campaign(channel: &str, variants: &Value) -> Definition {
    let body = json!({"name": "n", "channel": channel, "variants": variants});
    Edit::of(body.as_object().unwrap().clone()).alone("UTC").unwrap()
}

/// A campaign with one variant with this message.
fn campaign_with(channel: &str, message: &Value) -> Definition {
    let content = if channel == "in_app" { "customContent" } else { "message" };
    campaign(channel, &json!([{"id": "a", "name": "A", "weight": 100, content: message}]))
}

fn found(definition: &Definition, id: CheckId) -> Check {
    let checks = content(definition);
    checks.into_iter().find(|check| check.id == id).unwrap()
}

fn weighed(weights: &[f64]) -> Definition {
    let variants = weights.iter().enumerate().map(|(at, weight)| {
        json!({"id": at.to_string(), "name": "n", "weight": weight, "message": {"body": "b"}})
    });
    campaign("sms", &variants.collect())
}

#[test]
fn a_variant_has_the_content_its_channel_requires() {
    use CheckStatus::{Fail, Pass, Warn};
    for (channel, message, status) in [
        ("email", json!({"subject": "s"}), Fail),
        ("email", json!({"html": " \n"}), Fail),
        ("email", json!({"html": "h"}), Pass),
        ("email", json!({"text": "t"}), Pass),
        ("email", json!({"templateId": "t"}), Warn),
        ("sms", json!({"from": "f"}), Fail),
        ("sms", json!({"body": "b"}), Pass),
        ("viber", json!({"variables": {}}), Fail),
        ("viber", json!({"templateId": "t"}), Pass),
        ("viber", json!({"body": "b"}), Pass),
        ("push", json!({"title": "t"}), Fail),
        ("push", json!({"body": "b"}), Pass),
        ("whatsapp", json!({"replyText": "r"}), Fail),
        ("whatsapp", json!({"templateId": "t"}), Pass),
        ("whatsapp", json!({"messageType": "reply", "templateId": "t"}), Fail),
        ("whatsapp", json!({"messageType": "reply", "replyText": "r"}), Pass),
        ("webhook", json!({"method": "GET"}), Fail),
        ("webhook", json!({"url": "https://x.test"}), Pass),
        (
            "webhook",
            json!({"url": "https://x.test", "auth": {"type": "basic", "username": "u"}}),
            Fail,
        ),
        (
            "webhook",
            json!({"url": "https://x.test", "auth": {"type": "bearer", "token": "t"}}),
            Pass,
        ),
        ("ai_optimized", json!({"channel": "push", "body": "b"}), Pass),
        ("ai_optimized", json!({"channel": "push"}), Fail),
        ("in_app", json!({"title": "t"}), Fail),
        ("in_app", json!({"html": "h"}), Pass),
        ("in_app", json!({"mode": "native", "html": "h"}), Fail),
        ("in_app", json!({"mode": "native", "title": "t"}), Pass),
        ("in_app", json!({"mode": "drag_drop", "designerData": {}}), Fail),
    ] {
        let check = found(&campaign_with(channel, &message), CheckId::ContentPresent);
        assert_eq!(check.status, status, "{channel} {message}: {}", check.message);
    }
    let empty = campaign("in_app", &json!([]));
    assert_eq!(found(&empty, CheckId::ContentPresent).status, Warn);
    let control = json!([{"id": "a", "name": "A", "weight": 100, "isControlGroup": true}]);
    assert_eq!(found(&campaign("sms", &control), CheckId::ContentPresent).status, Fail);
    let silent = json!([{"id": "a", "name": "A", "weight": 100}]);
    let check = found(&campaign("sms", &silent), CheckId::ContentPresent);
    assert_eq!((check.status, check.message.as_str()), (Fail, "variant a has no content"));
}

#[test]
fn an_email_has_a_subject() {
    for (message, status) in [
        (json!({"html": "h"}), CheckStatus::Fail),
        (json!({"html": "h", "subject": " "}), CheckStatus::Fail),
        (json!({"html": "h", "subject": "s"}), CheckStatus::Pass),
        (json!({"templateId": "t"}), CheckStatus::Pass),
    ] {
        let check = found(&campaign_with("email", &message), CheckId::SubjectPresent);
        assert_eq!(check.status, status, "{message}");
    }
    let sms = found(&campaign_with("sms", &json!({})), CheckId::SubjectPresent);
    assert_eq!(sms.status, CheckStatus::Pass);
}

#[test]
fn templates_render_for_a_profile_without_data() {
    for (channel, message, status) in [
        ("email", json!({"html": "{{ user.name | upcase }}"}), CheckStatus::Pass),
        ("email", json!({"html": "{% for i in (1..99999) %}{% endfor %}"}), CheckStatus::Fail),
        ("push", json!({"data": {"a": ["{{ 1 | divided_by: 0 }}"]}}), CheckStatus::Fail),
        ("sms", json!({"body": "{{ x | date: '%99999d' }}"}), CheckStatus::Fail),
        ("webhook", json!({"headers": {"X-A": "{{ 1 | divided_by: 0 }}"}}), CheckStatus::Fail),
        ("in_app", json!({"title": "{{ 1 | modulo: 0 }}"}), CheckStatus::Fail),
    ] {
        let check = found(&campaign_with(channel, &message), CheckId::LiquidValid);
        assert_eq!(check.status, status, "{message}: {}", check.message);
    }
}

#[test]
fn links_lead_somewhere() {
    for (href, status) in [
        ("https://x.test/a?b=c", CheckStatus::Pass),
        ("https://x.test/{{ user.id }}", CheckStatus::Pass),
        ("{{ unsubscribe_url }}", CheckStatus::Pass),
        ("https://{{ host }}/a", CheckStatus::Pass),
        ("mailto:a@x.test", CheckStatus::Pass),
        ("tel:+49", CheckStatus::Pass),
        ("#top", CheckStatus::Pass),
        ("#", CheckStatus::Warn),
        ("", CheckStatus::Warn),
        ("www.x.test", CheckStatus::Warn),
        ("/a", CheckStatus::Warn),
        ("javascript:alert(1)", CheckStatus::Fail),
        ("JavaScript:{{ x }}", CheckStatus::Fail),
        ("https://", CheckStatus::Fail),
        ("http://[x", CheckStatus::Fail),
    ] {
        let html = format!("<a href=\"{href}\">x</a>");
        let check = found(&campaign_with("email", &json!({"html": html})), CheckId::LinksValid);
        assert_eq!(check.status, status, "{href}: {}", check.message);
    }
    let many = "<a href=\"#\">x</a>".repeat(7);
    let check = found(&campaign_with("in_app", &json!({"html": many})), CheckId::LinksValid);
    assert!(check.message.ends_with("; and 2 more"), "{}", check.message);
}

#[test]
fn an_email_can_be_unsubscribed_from() {
    for (html, status) in [
        ("<a href='{{ unsubscribe_url }}'>out</a>", CheckStatus::Pass),
        ("<a href='{{ preferences_url }}'>choose</a>", CheckStatus::Pass),
        ("<a href='https://x.test'>Unsubscribe</a>", CheckStatus::Pass),
        ("<p>Hello</p>", CheckStatus::Warn),
    ] {
        let check =
            found(&campaign_with("email", &json!({"html": html})), CheckId::UnsubscribePresent);
        assert_eq!(check.status, status, "{html}");
    }
}

#[test]
fn weights_add_up_to_a_hundred() {
    for (weights, status) in [
        (&[1.0][..], CheckStatus::Pass),
        (&[50.0, 50.0], CheckStatus::Pass),
        (&[33.33, 33.33, 33.33], CheckStatus::Pass),
        (&[33.3, 33.3, 33.3], CheckStatus::Fail),
        (&[50.0, 50.01], CheckStatus::Pass),
        (&[50.0, 50.02], CheckStatus::Fail),
        (&[50.0, 49.99], CheckStatus::Pass),
        (&[50.0, 49.98], CheckStatus::Fail),
        (&[100.0, 100.0], CheckStatus::Fail),
    ] {
        let check = found(&weighed(weights), CheckId::WeightsSum);
        assert_eq!(check.status, status, "{weights:?}: {}", check.message);
    }
    let learned = json!([
        {"id": "a", "name": "A", "weight": 1, "message": {"html": "h"}},
        {"id": "b", "name": "B", "weight": 1, "message": {"html": "h"}},
    ]);
    let check = found(&campaign("ai_optimized", &learned), CheckId::WeightsSum);
    assert_eq!(check.status, CheckStatus::Pass);
}

#[test]
fn large_campaigns_are_checked_in_time() {
    let began = Instant::now();
    let html = "<p><a href='https://x.test/{{ a }}'>x</a></p>".repeat(1_000);
    let variants: Vec<Value> = (0..8)
        .map(|n| json!({"id": n.to_string(), "name": "n", "weight": 12.5, "message": {"html": html}}))
        .collect();
    assert_eq!(content(&campaign("email", &json!(variants))).len(), 6);
    assert!(began.elapsed() < Duration::from_mins(1), "{:?}", began.elapsed());
}
