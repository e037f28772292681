//! `/p/:token`: the built-in page, and what its form does.

use serde_json::json;

use super::fixture::{Fixture, browser, open, pairs, send, submit};
use crate::{kit::server, suppressions::history::words};

#[tokio::test]
async fn the_page_shows_public_lists_in_their_order_and_the_channels() {
    let page = Fixture::new().await;
    let news = page
        .list(json!({"name": "News", "description": "Weekly", "channels": ["email", "sms"]}))
        .await;
    page.list(json!({"name": "Hidden", "isPublic": false})).await;
    let gone = page.list(json!({"name": "Gone"})).await;
    let request = page.api().request(reqwest::Method::DELETE, &format!("/lists/{gone}"));
    page.api().send(request, 204).await;
    let marketing = page.marketing().await;
    page.subscribe(news, "sms").await;

    let shown = open(&page.preferences().await).await;
    assert_eq!(shown.status, 200);
    let expected = [
        ("channel.email".to_owned(), true),
        ("channel.sms".to_owned(), true),
        (format!("list.{marketing}.email"), false),
        (format!("list.{news}.email"), false),
        (format!("list.{news}.sms"), true),
    ];
    assert_eq!(shown.boxes(), expected.into());
    let at = |text: &str| shown.html.find(text).unwrap_or_else(|| panic!("{text}: {}", shown.html));
    assert!(at("Marketing") < at("News") && at("News") < at("Weekly"));
    for hidden in ["Hidden", "Gone"] {
        assert!(!shown.html.contains(hidden), "{hidden}");
    }
    // In the workspace's name, and the address only as much as its owner needs.
    assert!(shown.html.contains(&page.workspace.name));
    assert!(shown.html.contains("a•••@example.test") && !shown.html.contains("ann@example.test"));
}

#[tokio::test]
async fn every_page_has_security_headers() {
    let page = Fixture::new().await;
    let list = page.marketing().await;
    for path in [
        page.preferences().await,
        page.unsubscribe(None, None).await,
        page.confirmation(list, kernel::Channel::Email).await,
        "/p/nonsense".to_owned(),
    ] {
        let shown = open(&path).await;
        assert_eq!(
            shown.header("content-security-policy"),
            "default-src 'none'; img-src https: data:; style-src 'unsafe-inline'; base-uri 'none'; \
             frame-ancestors 'none'; form-action 'self'"
        );
        for (name, value) in [
            ("content-type", "text/html; charset=utf-8"),
            ("referrer-policy", "no-referrer"),
            ("cache-control", "no-store"),
            ("x-robots-tag", "noindex"),
            ("x-frame-options", "DENY"),
            ("x-content-type-options", "nosniff"),
            ("set-cookie", ""),
        ] {
            assert_eq!(shown.header(name), value, "{path}: {name}");
        }
        assert!(!shown.html.contains("<script") && !shown.html.contains("javascript:"), "{path}");
        assert!(shown.html.starts_with("<!DOCTYPE html><html lang=\"en\">"), "{}", shown.html);
        for landmark in ["<main>", "<h1>", "name=\"viewport\"", "<title>"] {
            assert!(shown.html.contains(landmark), "{path}: {landmark}");
        }
    }
}

#[tokio::test]
async fn every_box_has_a_label_and_every_group_a_name() {
    let page = Fixture::new().await;
    page.list(json!({"name": "News", "channels": ["email", "sms", "push"]})).await;
    let html = open(&page.preferences().await).await.html;
    // A box is inside its label.
    for before in html.split("type=\"checkbox\"").take(html.matches("type=\"checkbox\"").count()) {
        let (label, end) = (before.rfind("<label"), before.rfind("</label>"));
        assert!(
            label > end,
            "a box without a label: …{}",
            &before[before.len().saturating_sub(200)..]
        );
    }
    assert_eq!(html.matches("<fieldset>").count(), html.matches("<legend>").count());
    assert!(html.contains("role=\"group\" aria-label=\"News\""), "{html}");
}

#[tokio::test]
async fn a_save_writes_only_changes() {
    let page = Fixture::new().await;
    let list = page.marketing().await;
    let path = page.preferences().await;
    let shown = open(&path).await;
    let on = format!("list.{list}.email");

    let saved = submit(&path, &shown.form(&["channel.email", &on])).await;
    assert_eq!(saved.status, 200);
    assert!(saved.html.contains("Saved."), "{}", saved.html);
    assert!(saved.boxes()[&on]);
    assert_eq!(page.membership(list, "email").await, "subscribed");
    let history = page.history().await;
    assert_eq!(history.len(), 1, "{history:?}");
    assert_eq!(history[0]["source"], "preference_center");
    assert_eq!(history[0]["action"], "subscribe");
    assert_eq!(history[0]["listId"], list.to_string().as_str());
    assert_eq!(history[0]["ipAddress"], "127.0.0.1");

    // The same again says nothing new, so nothing is written.
    submit(&path, &shown.form(&["channel.email", &on])).await;
    assert_eq!(page.history().await.len(), 1);

    let saved = submit(&path, &shown.form(&[&on])).await;
    assert!(!saved.boxes()["channel.email"]);
    assert_eq!(page.channel("email").await, "unsubscribed");
    assert_eq!(page.membership(list, "email").await, "subscribed");
    let saved = submit(&path, &shown.form(&["channel.email"])).await;
    assert_eq!(page.channel("email").await, "subscribed");
    assert_eq!(page.membership(list, "email").await, "unsubscribed");
    assert!(!saved.boxes()[&on]);
    // The way back after an opt-out is the contact's own.
    submit(&path, &shown.form(&["channel.email", &on])).await;
    assert_eq!(page.membership(list, "email").await, "subscribed");
    assert_eq!(page.history().await.len(), 5);
}

#[tokio::test]
async fn an_opt_out_on_the_page_adds_a_suppression() {
    let page = Fixture::new().await;
    let path = page.preferences().await;
    let shown = open(&path).await;
    submit(&path, &shown.form(&[])).await;
    let row = page.api().get("/suppressions/ann@example.test?channel=email", 200).await.json();
    assert_eq!((&row["suppressed"], &row["source"]), (&json!(true), &json!("preference_center")));
    submit(&path, &shown.form(&["channel.email"])).await;
    let row = page.api().get("/suppressions/ann@example.test?channel=email", 200).await.json();
    assert_eq!(row["suppressed"], false);
    let history = [
        "added unsubscribe preference_center recipient",
        "removed unsubscribe preference_center recipient",
    ];
    assert_eq!(words(page.api(), "email", "ann@example.test").await, history);
}

#[tokio::test]
async fn unsubscribing_from_everything_opts_out_of_all_channels_and_lists() {
    let page = Fixture::new().await;
    let (news, hidden) = (
        page.list(json!({"name": "News", "channels": ["email", "sms"]})).await,
        page.list(json!({"name": "Hidden", "isPublic": false})).await,
    );
    page.subscribe(news, "email").await;
    page.subscribe(hidden, "email").await;
    let path = page.preferences().await;
    let saved = submit(&path, &pairs(&[("action", "unsubscribe")])).await;
    assert_eq!(saved.status, 200);
    assert!(saved.boxes().values().all(|ticked| !ticked), "{:?}", saved.boxes());
    for channel in ["email", "sms", "whatsapp", "push", "viber"] {
        assert_eq!(page.channel(channel).await, "unsubscribed", "{channel}");
    }
    assert_eq!(page.membership(news, "email").await, "unsubscribed");
    assert_eq!(page.membership(news, "sms").await, "");
    let written = page.history().await.len();
    submit(&path, &pairs(&[("action", "unsubscribe")])).await;
    assert_eq!(page.history().await.len(), written);
}

#[tokio::test]
async fn fetching_a_page_changes_nothing() {
    let page = Fixture::new().await;
    let list = page.marketing().await;
    page.subscribe(list, "email").await;
    let channel = kernel::Channel::Email;
    for path in [
        page.preferences().await,
        page.unsubscribe(Some(list), Some(channel)).await,
        page.unsubscribe(None, None).await,
        page.confirmation(list, channel).await,
    ] {
        for _ in 0..2 {
            assert_eq!(open(&path).await.status, 200);
            assert_eq!(
                open(&format!("{path}?action=unsubscribe&List-Unsubscribe=One-Click")).await.status,
                200
            );
            assert_eq!(send(browser().head(format!("{}{path}", server().url))).await.status, 200);
        }
        for method in [reqwest::Method::PUT, reqwest::Method::DELETE, reqwest::Method::PATCH] {
            let refused = send(browser().request(method, format!("{}{path}", server().url))).await;
            assert_eq!(refused.status, 405);
            assert!(refused.header("content-type").starts_with("text/html"), "{}", refused.html);
            assert!(refused.header("allow").contains("POST"), "{:?}", refused.headers);
        }
    }
    let history = page.history().await;
    assert_eq!(history.len(), 1, "only the subscription of the test: {history:?}");
}

#[tokio::test]
async fn choices_that_were_not_shown_are_unchanged() {
    let (page, other) = (Fixture::new().await, Fixture::new().await);
    let foreign = other.marketing().await;
    let hidden = page.list(json!({"name": "Hidden", "isPublic": false})).await;
    let path = page.preferences().await;
    let mut fields = Vec::new();
    for name in [
        format!("list.{foreign}.email"),
        format!("list.{hidden}.email"),
        "list.nonsense.email".to_owned(),
        "channel.fax".to_owned(),
        String::new(),
    ] {
        fields.push(("shown".to_owned(), name.clone()));
        fields.push(("on".to_owned(), name));
    }
    fields.push(("action".to_owned(), "save".to_owned()));
    assert_eq!(submit(&path, &fields).await.status, 200);
    assert!(page.history().await.is_empty());
    assert!(other.history().await.is_empty());
}

#[tokio::test]
async fn names_and_addresses_are_html_escaped() {
    let attack = "<script>alert(1)</script>\"'onmouseover=alert(1) x=";
    let page = Fixture::with(
        Some("\"><script>alert(1)</script>@example.test"),
        None,
        json!({"firstName": attack}),
    )
    .await;
    let list = page
        .list(json!({"name": attack, "description": attack, "channels": ["email", "sms"]}))
        .await;
    page.subscribe(list, "sms").await;
    let name = format!("{} {attack}", page.workspace.name);
    let (db, id) = (server().db(), page.workspace.id.uuid());
    server()
        .on(async move {
            let renamed =
                sqlx::query("update workspace set name = $1 where id = $2").bind(name).bind(id);
            renamed.execute(&db).await.unwrap();
        })
        .await;
    for path in [
        page.preferences().await,
        page.unsubscribe(Some(list), None).await,
        page.confirmation(list, kernel::Channel::Sms).await,
    ] {
        let html = open(&path).await.html;
        assert!(!html.contains("<script"), "{html}");
        // Attributes stand in double quotes, so a single one ends nothing.
        assert!(!html.contains("\"'onmouseover") && !html.contains("\" onmouseover"), "{html}");
        assert!(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{html}");
    }
}

#[tokio::test]
async fn invalid_forms_are_refused_with_an_html_page() {
    let page = Fixture::new().await;
    let path = page.preferences().await;
    let url = format!("{}{path}", server().url);
    for (content_type, body, status) in [
        ("application/json", "{}".to_owned(), 415),
        ("text/plain", "a".to_owned(), 415),
        ("multipart/form-data", "a".to_owned(), 400),
        ("multipart/form-data; boundary=b", "nonsense".to_owned(), 400),
        ("application/x-www-form-urlencoded", "a".repeat((256 << 10) + 1), 413),
        ("application/x-www-form-urlencoded", "a&".repeat(10_001), 400),
        ("application/x-www-form-urlencoded", "\u{0}=%00&shown=%ff&on=\u{fffd}".to_owned(), 200),
        ("application/x-www-form-urlencoded", "a".repeat(256 << 10), 200),
    ] {
        let length = body.len();
        let answer =
            send(browser().post(&url).header("content-type", content_type).body(body)).await;
        assert_eq!(answer.status, status, "{content_type} {length}: {}", answer.html);
        assert!(answer.header("content-type").starts_with("text/html"), "{content_type}");
    }
    assert!(page.history().await.is_empty());
}
