//! The form of a campaign: its message as it is typed, and the editor of code.

use serde_json::json;

use super::{
    campaigns::{has, made, of, webhook},
    kit::{Person, link},
};
use crate::kit::{BrowserTab, Workspace, eventually, server};

/// The fields of a form with a message.
fn message(
    subject: &'static str,
    html: &'static str,
    who: &'static str,
) -> [(&'static str, &'static str); 8] {
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
}

/// The frame of a form shows its message for a person, or what is wrong.
async fn is_shown(person: &Person, typed: &str) {
    let seen = person
        .post(typed, &message("Hi {{ user.firstName }}", "<b>New</b> </p><script>", "ann"))
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
        (message("{{ broken", "x", "ann"), "variant.message.subject"),
        (message("Hi", "x", "unknown"), "User not found"),
        (message("Hi", "x", ""), "Type the id of a person"),
    ] {
        has(&person.post(typed, &form).await, &[says]);
    }
}

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
    has(
        &person.get("/console/campaigns/new").await,
        &["formaction=\"/console/campaigns/new/typed\""],
    );
    let typed = format!("{address}/typed");
    for typed in [&typed, "/console/campaigns/new/typed"] {
        is_shown(&person, typed).await;
    }
    // Nothing was saved.
    assert_eq!(of(&workspace, &address).await["variants"][0]["message"]["subject"], "Saved");
    assert_eq!(person.post_bare(&typed, &message("Hi", "x", "ann")).await.status, 403);
    let reader = Person::signed_in(&workspace, "campaigns:read").await;
    assert!(!reader.get(&address).await.text.contains("preview.person"));
    has(&reader.post(&typed, &message("Hi", "x", "ann")).await, &["users:read"]);
}

/// The fields of the form of a webhook, with goals that no message depends on and that cannot be read.
fn webhook_form(
    url: &'static str,
    headers: &'static str,
    other: &'static str,
) -> [(&'static str, &'static str); 9] {
    [
        ("channel", "webhook"),
        ("variants[0].id", "a"),
        ("variants[0].message.url", url),
        ("variants[0].message.bodyType", "text"),
        ("variants[0].message.body", "Hi {{ user.firstName }}"),
        ("variants[0].message.headers", headers),
        ("conversionTracking.secondaryConversions", "["),
        ("other", other),
        ("preview.person", "ann"),
    ]
}

#[tokio::test]
async fn json_that_cannot_be_read_is_a_fault_at_its_field_of_the_message_as_it_is_typed() {
    const FAULT: &str = "<dt>headers</dt><dd class=\"fault\">is not valid JSON";
    let workspace = Workspace::new().await;
    let ann = json!({"externalId": "ann", "attributes": {"firstName": "Ann"}});
    workspace.api.post("/users", &ann, 201).await;
    let saved = format!("{}/typed", made(&workspace, &webhook("Typed")).await);
    let unsaved = "/console/campaigns/new/typed";
    let person = Person::signed_in(&workspace, "*").await;
    let url = "https://hook.test/typed";
    for typed in [&saved, unsaved] {
        let seen = person.post(typed, &webhook_form(url, "{\"X-Tag\": ", "")).await;
        has(&seen, &[url, "Hi Ann", "shown without what cannot be read", FAULT]);
        let seen = person.post(typed, &webhook_form(url, "{\"X-Tag\": \"a\"}", "")).await;
        has(&seen, &[url, "Hi Ann"]);
        assert!(!seen.text.contains("class=\"fault\""), "{}", seen.text);
        // Beside what the API refuses.
        let seen = person.post(typed, &webhook_form("hook", "{", "")).await;
        has(&seen, &["cannot be shown before", FAULT, "<li>variant.message.url "]);
    }
    // Settings around the message are those that are typed before the campaign is saved.
    let form = webhook_form(url, "", "{\"channelConfig\"");
    has(&person.post(unsaved, &form).await, &["Hi Ann", "<dt>other</dt><dd class=\"fault\">"]);
    assert!(!person.post(&saved, &form).await.text.contains("class=\"fault\""));
}

/// The fields of a form of a campaign that is sent every day at a time.
fn daily(at: &'static str) -> [(&'static str, &'static str); 6] {
    [
        ("channel", "email"),
        ("sendType", "recurring"),
        ("recurringSchedule.frequency", "daily"),
        ("recurringSchedule.timeOfDay", at),
        ("recurringSchedule.timezone", "Asia/Kolkata"),
        ("recurringSchedule.maxOccurrences", "2"),
    ]
}

#[tokio::test]
async fn the_next_occurrences_are_those_of_the_schedule_as_it_is_typed() {
    let workspace = Workspace::new().await;
    let body = json!({"name": "Daily", "channel": "email", "sendType": "recurring",
        "recurringSchedule": {"frequency": "daily", "timeOfDay": "09:00", "timezone": "Europe/Berlin"},
        "variants": [{"id": "a", "name": "A", "weight": 100, "message": {"subject": "Hi", "html": "<p>x</p>"}}]});
    let address = made(&workspace, &body).await;
    let person = Person::signed_in(&workspace, "*").await;
    has(&person.get(&address).await, &["Next occurrences", "09:00:00 Europe/Berlin"]);
    for of in [&address, "/console/campaigns/new"] {
        let part = format!("{of}/upcoming");
        let seen = person.post(&part, &daily("06:30")).await;
        assert_eq!(seen.status, 200, "{}", seen.text);
        assert_eq!(seen.text.matches("06:30:00 Asia/Kolkata").count(), 2, "{}", seen.text);
        assert!(!seen.text.contains("<html"), "{}", seen.text);
        has(&person.post(&part, &daily("25:00")).await, &["Time of day</a>: must be"]);
        let unset = [("channel", "email"), ("sendType", "recurring")];
        has(&person.post(&part, &unset).await, &["says how often"]);
        let once = [("channel", "email"), ("sendType", "immediate")];
        assert_eq!(person.post(&part, &once).await.text, "");
        assert_eq!(person.post_bare(&part, &daily("06:30")).await.status, 403);
    }
    // A form that comes back has those of what was typed.
    let fields = [&daily("06:30")[..], &[("name", ""), ("audience", "everyone"), ("do", "save")]];
    let seen = person.post(&address, &fields.concat()).await;
    assert_eq!(seen.status, 400);
    has(&seen, &["06:30:00 Asia/Kolkata", "name-fault"]);
    assert_eq!(
        person.post("/console/campaigns/unknown/upcoming", &daily("06:30")).await.status,
        404
    );
}

#[tokio::test]
async fn the_next_occurrences_follow_what_is_typed() {
    let tab = match BrowserTab::open().await {
        Ok(tab) => tab,
        Err(reason) => {
            return eprintln!("SKIPPED the_next_occurrences_follow_what_is_typed: {reason}");
        }
    };
    let workspace = Workspace::new().await;
    tab.go(link(&workspace, "*").await.as_str()).await;
    tab.go(&format!("{}/console/campaigns/new", server().url)).await;
    let chosen = |id: &str, value: &str, event: &str| {
        let (id, value, event) = (json!(id), json!(value), json!(event));
        format!(
            "(() => {{ const field = document.getElementById({id}); field.value = {value};\
             field.dispatchEvent(new Event({event}, {{bubbles: true}})); return true; }})()"
        )
    };
    tab.value(&chosen("sendType", "recurring", "change")).await;
    tab.until("document.getElementById('occurrences')?.textContent.includes('says how often')")
        .await;
    tab.until("!document.querySelector('.htmx-added, .htmx-settling, .htmx-request')").await;
    tab.value(&chosen("recurringSchedule.frequency", "daily", "input")).await;
    tab.value(&chosen("recurringSchedule.timeOfDay", "06:30", "input")).await;
    tab.until("document.querySelectorAll('#occurrences li').length === 5").await;
    tab.until("document.getElementById('occurrences').textContent.includes('06:30:00')").await;
    tab.value(&chosen("recurringSchedule.timeOfDay", "25:00", "input")).await;
    tab.until(
        "document.getElementById('occurrences').textContent.includes('Time of day: must be')",
    )
    .await;
    assert_eq!(tab.errors(), [""; 0]);
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
