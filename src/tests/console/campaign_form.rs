//! The form of a campaign: its message as it is typed, and the editor of code.

use serde_json::json;

use super::{
    campaigns::{has, made, of, webhook},
    kit::{Person, link},
};
use crate::kit::{BrowserTab, Workspace, eventually, server};

#[tokio::test]
async fn a_message_is_shown_as_it_is_typed_for_a_person() {
    let workspace = Workspace::new().await;
    let ann = json!({"externalId": "ann", "email": "ann@example.test", "attributes": {"firstName": "Ann"}});
    workspace.api.post("/users", &ann, 201).await;
    let body = json!({"name": "Spring", "channel": "email", "variants": [
        {"id": "a", "name": "A", "weight": 100, "message": {"subject": "Saved", "html": "<p>{{ unsubscribe_url }}</p>"}}]});
    let address = made(&workspace, &body).await;
    let person = Person::signed_in(&workspace, "*").await;
    has(&person.get(&address).await, &["formtarget=\"typed-message\"", "name=\"preview.person\""]);
    has(&person.get("/console/campaigns/new").await, &["once the campaign is saved"]);

    let typed = format!("{address}/typed");
    let form = |subject: &'static str, html: &'static str, who: &'static str| {
        [
            ("channel", "email"),
            ("variants[0].id", "a"),
            ("variants[0].name", ""),
            ("variants[0].message.subject", subject),
            ("variants[0].message.preheader", "For {{ user.firstName }} alone"),
            ("variants[0].message.html", html),
            ("preview.person", who),
            ("preview.variant", "0"),
        ]
    };
    let seen = person
        .post(&typed, &form("Hi {{ user.firstName }}", "<b>New</b> </p><script>", "ann"))
        .await;
    assert_eq!(seen.status, 200, "{}", seen.text);
    has(&seen, &["Hi Ann", "srcdoc=\"", "&lt;b&gt;New&lt;/b&gt;", "sandbox"]);
    // An inbox shows subject and preview text, and no headers.
    has(&seen, &["class=\"preheader\" dir=\"auto\">For Ann alone</p>"]);
    let head = seen.between("<body>", "<iframe");
    assert!(!head.contains("List-Unsubscribe") && !head.contains("headers"), "{head}");
    assert!(!seen.text.contains("<script>"), "{}", seen.text);
    let policy = seen.headers["content-security-policy"].to_str().unwrap();
    assert!(
        policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'self'"),
        "{policy}"
    );
    for (form, says) in [
        (form("{{ broken", "x", "ann"), "variant.message.subject"),
        (form("Hi", "x", "unknown"), "User not found"),
        (form("Hi", "x", ""), "Type the id of a person"),
    ] {
        has(&person.post(&typed, &form).await, &[says]);
    }
    // Nothing was saved.
    assert_eq!(of(&workspace, &address).await["variants"][0]["message"]["subject"], "Saved");
    assert_eq!(person.post_bare(&typed, &form("Hi", "x", "ann")).await.status, 403);
    let reader = Person::signed_in(&workspace, "campaigns:read").await;
    assert!(!reader.get(&address).await.text.contains("preview.person"));
    has(&reader.post(&typed, &form("Hi", "x", "ann")).await, &["users:read"]);
}

#[tokio::test]
async fn the_frame_follows_what_is_typed() {
    let tab = match BrowserTab::open().await {
        Ok(tab) => tab,
        Err(reason) => return eprintln!("SKIPPED the_frame_follows_what_is_typed: {reason}"),
    };
    let workspace = Workspace::new().await;
    workspace.api.post("/users", &json!({"externalId": "ann"}), 201).await;
    let address = made(&workspace, &webhook("Typed")).await;
    tab.go(link(&workspace, "*").await.as_str()).await;
    tab.go(&format!("{}{address}", server().url)).await;
    for (id, text) in [
        ("preview.device", "phone"),
        ("preview.person", "ann"),
        ("variants[0].message.url", "https://hook.test/typed"),
    ] {
        let (id, text) = (json!(id), json!(text));
        tab.value(&format!(
            "(() => {{ const field = document.getElementById({id}); field.value = {text};\
             field.dispatchEvent(new Event('input', {{bubbles: true}})); return true; }})()"
        ))
        .await;
    }
    tab.until("document.querySelector('iframe.device.phone').clientWidth <= 390").await;
    eventually("the frame has the message", || async {
        tab.frames().await.iter().any(|url| url.ends_with("/typed")).then_some(())
    })
    .await;
    assert_eq!(tab.errors(), [""; 0]);
}

#[tokio::test]
async fn html_is_typed_in_an_editor_that_fills_its_field() {
    let tab = match BrowserTab::open().await {
        Ok(tab) => tab,
        Err(reason) => {
            return eprintln!("SKIPPED html_is_typed_in_an_editor_that_fills_its_field: {reason}");
        }
    };
    let workspace = Workspace::new().await;
    let body = json!({"name": "Spring", "channel": "email", "variants": [
        {"id": "a", "name": "A", "weight": 100, "message": {"subject": "Hi", "html": "<p>Old {{ unsubscribe_url }}</p>"}}]});
    let address = made(&workspace, &body).await;
    tab.go(link(&workspace, "*").await.as_str()).await;
    tab.go(&format!("{}{address}", server().url)).await;
    tab.until(
        "document.querySelectorAll('textarea[data-code=htmlmixed] + .CodeMirror').length === 1",
    )
    .await;
    let label = "document.querySelector('textarea[data-code=htmlmixed] + .CodeMirror [contenteditable]').getAttribute('aria-label')";
    assert_eq!(tab.value(label).await, "HTML");
    assert_eq!(
        tab.value(
            "document.querySelector('textarea[data-code=htmlmixed] + .CodeMirror .cm-tag') !== null"
        )
        .await,
        true
    );
    // As a keyboard does it.
    tab.value(
        "document.querySelector('textarea[data-code=htmlmixed] + .CodeMirror').CodeMirror.focus()",
    )
    .await;
    tab.command("Input.insertText", json!({"text": "<b>New</b>"})).await;
    tab.until(
        "document.getElementById('variants[0].message.html').value.startsWith('<b>New</b><p>Old')",
    )
    .await;
    // What is typed survives that other fields come.
    tab.click("button.button[value=add-variant]").await;
    tab.until(
        "document.querySelectorAll('textarea[data-code=htmlmixed] + .CodeMirror').length === 2",
    )
    .await;
    let first = "document.querySelector('textarea[data-code=htmlmixed] + .CodeMirror').CodeMirror.getValue().startsWith('<b>New</b>')";
    assert_eq!(tab.value(first).await, true);
    tab.click("button.button[value='remove-variant 1']").await;
    tab.until(
        "document.querySelectorAll('textarea[data-code=htmlmixed] + .CodeMirror').length === 1",
    )
    .await;
    tab.click("button.primary[value=save]").await;
    eventually("it is saved", || async {
        let saved = of(&workspace, &address).await;
        let html = saved["variants"][0]["message"]["html"].as_str().unwrap().to_owned();
        html.starts_with("<b>New</b><p>Old").then_some(())
    })
    .await;
    assert_eq!(tab.errors(), [""; 0]);
}
