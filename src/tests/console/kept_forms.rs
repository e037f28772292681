//! What was typed into a form whose session ends before it is sent: it is there again after signing in.

use console::sign_in::LINK_ACTOR;
use serde_json::{Value, json};

use super::kit::{Person, link, link_for};
use crate::kit::{BrowserTab, Workspace, server, unique};

const NEW: &str = "/console/campaigns/new";
const NOTE: &str = "Unsaved text was restored.";

/// Opens a page of the server.
async fn go(tab: &BrowserTab, path: &str) {
    tab.go(&format!("{}{path}", server().url)).await;
    tab.until("!document.querySelector('.htmx-added, .htmx-settling, .htmx-request')").await;
}

async fn sign_in(tab: &BrowserTab, workspace: &Workspace) {
    tab.go(link(workspace, "*").await.as_str()).await;
}

/// Ends the sessions of all others of the workspace.
async fn end_sessions(workspace: &Workspace) {
    let other = Person::signed_in(workspace, "settings:*").await;
    let page = other.get("/console/settings/members").await;
    for part in page.text.split("/console/settings/sessions/").skip(1) {
        let id = part.split("/revoke").next().unwrap();
        let seen = other.post(&format!("/console/settings/sessions/{id}/revoke"), &[]).await;
        assert_eq!(seen.status, 303, "{}", seen.text);
    }
}

/// Types into fields by their ids, and waits for what a choice brings.
async fn fill(tab: &BrowserTab, fields: &[(&str, &str)]) {
    for (id, text) in fields {
        let (id, text) = (json!(id), json!(text));
        tab.value(&format!(
            "(() => {{ const field = document.getElementById({id}); field.value = {text};\
             field.dispatchEvent(new Event('change', {{bubbles: true}})); return true; }})()"
        ))
        .await;
        tab.until("!document.querySelector('.htmx-added, .htmx-settling, .htmx-request')").await;
    }
}

async fn text_of(tab: &BrowserTab, id: &str) -> Value {
    tab.value(&format!("document.getElementById({}).value", json!(id))).await
}

/// Types a campaign with two variants, and sends it after its session has ended.
async fn lose(tab: &BrowserTab, workspace: &Workspace) {
    go(tab, NEW).await;
    fill(tab, &[("name", "March"), ("channel", "sms"), ("variants[0].message.body", "Hi <b>")])
        .await;
    tab.click("button.button[value=add-variant]").await;
    tab.until("document.getElementById('variants[1].message.body')").await;
    fill(tab, &[("variants[1].message.body", "Hello")]).await;
    end_sessions(workspace).await;
    tab.click("button.primary[value=save]").await;
    tab.until("location.pathname === '/console/login'").await;
}

#[tokio::test]
async fn a_campaign_whose_session_ended_is_there_again_after_signing_in() {
    let tab = match BrowserTab::open().await {
        Ok(tab) => tab,
        Err(reason) => {
            return eprintln!(
                "SKIPPED a_campaign_whose_session_ended_is_there_again_after_signing_in: {reason}"
            );
        }
    };
    let workspace = Workspace::new().await;
    sign_in(&tab, &workspace).await;
    lose(&tab, &workspace).await;
    sign_in(&tab, &workspace).await;
    // Back on the page of the form.
    tab.until(&format!("location.pathname === '{NEW}'")).await;
    tab.until("!!document.getElementById('variants[1].message.body')").await;
    tab.until("!document.querySelector('.htmx-added, .htmx-settling, .htmx-request')").await;
    go(&tab, "/console").await;
    go(&tab, NEW).await;
    tab.until("document.getElementById('variants[1].message.body')").await;
    tab.until("!document.querySelector('.htmx-added, .htmx-settling, .htmx-request')").await;
    for (id, text) in [
        ("name", "March"),
        ("variants[0].message.body", "Hi <b>"),
        ("variants[1].message.body", "Hello"),
    ] {
        assert_eq!(text_of(&tab, id).await, text, "{id}");
    }
    assert!(tab.text().await.contains(NOTE), "{}", tab.text().await);
    // Neither secrets nor what belongs to the ended session are kept.
    let kept = tab.value("sessionStorage.getItem('millrace-kept')").await;
    let kept = kept.as_str().unwrap();
    assert!(
        kept.contains("March") && !kept.contains("csrf_token") && !kept.contains("\"once\""),
        "{kept}"
    );
    fill(&tab, &[("variants[0].weight", "50"), ("variants[1].weight", "50")]).await;
    tab.click("button.primary[value=save]").await;
    tab.until("location.pathname.startsWith('/console/campaigns/') && location.pathname !== '/console/campaigns/new'").await;
    let page = workspace.api.get("/campaigns", 200).await.json();
    assert_eq!(
        (&page["pagination"]["total"], &page["data"][0]["name"]),
        (&json!(1), &json!("March"))
    );
    // What is saved is not restored.
    tab.until("sessionStorage.getItem('millrace-kept') === null").await;
    go(&tab, NEW).await;
    assert_eq!(text_of(&tab, "name").await, "");
    assert!(!tab.text().await.contains(NOTE));
    assert_eq!(tab.errors(), [""; 0]);
}

#[tokio::test]
async fn unsaved_text_is_restored_for_the_same_person_until_it_is_dropped() {
    let tab = match BrowserTab::open().await {
        Ok(tab) => tab,
        Err(reason) => {
            return eprintln!(
                "SKIPPED unsaved_text_is_restored_for_the_same_person_until_it_is_dropped: {reason}"
            );
        }
    };
    let workspace = Workspace::new().await;
    let list = workspace.api.post("/lists", &json!({"name": "News"}), 201).await.json();
    let page = format!("/console/lists/{}", list["id"].as_str().unwrap());
    let settings = format!("{page}?tab=settings");
    let lose_settings = async || {
        sign_in(&tab, &workspace).await;
        go(&tab, &settings).await;
        tab.value("document.getElementById('isPublic-yes').checked = false").await;
        fill(&tab, &[("description", "Twice a month")]).await;
        end_sessions(&workspace).await;
        tab.click("main .primary").await;
        tab.until("location.pathname === '/console/login'").await;
    };
    lose_settings().await;
    sign_in(&tab, &workspace).await;
    go(&tab, &settings).await;
    assert_eq!(text_of(&tab, "description").await, "Twice a month");
    assert_eq!(tab.value("document.getElementById('isPublic-yes').checked").await, false);
    // Another form of the same list has nothing of it.
    go(&tab, &page).await;
    assert_eq!(text_of(&tab, "people").await, "");
    go(&tab, &settings).await;
    tab.value("window.isBefore = true").await;
    tab.click("main .alert button").await;
    tab.until("!window.isBefore && document.readyState === 'complete'").await;
    assert_eq!(text_of(&tab, "description").await, "");
    assert!(!tab.text().await.contains(NOTE));

    // Another person does not see it, and it is gone from the tab.
    lose_settings().await;
    tab.go(link_for(&workspace, "bob@example.test", "*").await.as_str()).await;
    go(&tab, &settings).await;
    assert_eq!(text_of(&tab, "description").await, "");
    assert_eq!(tab.value("sessionStorage.getItem('millrace-kept')").await, json!(null));

    // So is all after signing out.
    lose_settings().await;
    sign_in(&tab, &workspace).await;
    go(&tab, &settings).await;
    assert_eq!(text_of(&tab, "description").await, "Twice a month");
    tab.click(".sign-out button").await;
    tab.until("location.pathname === '/console/login'").await;
    assert_eq!(tab.value("sessionStorage.getItem('millrace-kept')").await, json!(null));
    assert_eq!(tab.errors(), [""; 0]);
}

#[tokio::test]
async fn what_someone_without_a_name_typed_is_not_kept() {
    let tab = match BrowserTab::open().await {
        Ok(tab) => tab,
        Err(reason) => {
            return eprintln!("SKIPPED what_someone_without_a_name_typed_is_not_kept: {reason}");
        }
    };
    let workspace = Workspace::new().await;
    let list = workspace.api.post("/lists", &json!({"name": "News"}), 201).await.json();
    let settings = format!("/console/lists/{}?tab=settings", list["id"].as_str().unwrap());
    let lose = async || {
        go(&tab, &settings).await;
        fill(&tab, &[("description", "Twice a month")]).await;
        end_sessions(&workspace).await;
        tab.click("main .primary").await;
        tab.until("location.pathname === '/console/login'").await;
    };
    let kept = async || tab.value("sessionStorage.getItem('millrace-kept')").await;
    let unnamed = async || link_for(&workspace, LINK_ACTOR, "settings:*").await;
    tab.go(unnamed().await.as_str()).await;
    lose().await;
    assert_eq!(kept().await, json!(null));
    tab.go(unnamed().await.as_str()).await;
    go(&tab, &settings).await;
    assert_eq!(text_of(&tab, "description").await, "");
    // What another person typed before is gone from the tab, too.
    tab.go(link_for(&workspace, "ann@example.test", "settings:*").await.as_str()).await;
    lose().await;
    assert!(kept().await.is_string());
    tab.go(unnamed().await.as_str()).await;
    go(&tab, &settings).await;
    assert_eq!(text_of(&tab, "description").await, "");
    assert_eq!(kept().await, json!(null));
    assert_eq!(tab.errors(), [""; 0]);
}

/// What a page says by which the person is known again, if it does.
async fn key_of(person: &Person) -> Option<String> {
    let page = person.get("/console").await;
    let (_, rest) = page.text.split_once("<meta name=\"person\" content=\"")?;
    Some(rest.split('"').next().unwrap().to_owned())
}

#[tokio::test]
async fn a_person_is_known_again_by_the_member_or_by_the_name_of_the_link() {
    let workspaces = [Workspace::new().await, Workspace::new().await];
    let [workspace, other] = &workspaces;
    let by_link = async |workspace: &Workspace, actor: &str| {
        let person = Person::new();
        let seen = person.open(&link_for(workspace, actor, "settings:*").await).await;
        assert_eq!(seen.status, 303, "{}", seen.text);
        key_of(&person).await
    };
    let email = format!("{}@example.test", unique("ann"));
    let body = json!({"email": email, "role": "operator"});
    let made = workspace.api.post("/members", &body, 201).await.json();
    let url: url::Url = made["invitation"]["url"].as_str().unwrap().parse().unwrap();
    let token = url.query_pairs().next().unwrap().1.into_owned();
    let password = "correct horse battery";
    let member = Person::new();
    let fields = [("token", token.as_str()), ("password", password)];
    assert_eq!(member.post_bare("/console/password", &fields).await.status, 303);
    let again = Person::new();
    let fields = [("email", email.as_str()), ("password", password)];
    assert_eq!(again.post_bare("/console/login", &fields).await.status, 303);
    let of_member = key_of(&member).await;
    assert_eq!(key_of(&again).await, of_member);

    let named = by_link(workspace, &email).await;
    assert_eq!(by_link(workspace, &email).await, named);
    let others = [by_link(workspace, "bob").await, by_link(other, &email).await];
    let mut all: Vec<String> =
        [of_member, named].into_iter().chain(others).map(Option::unwrap).collect();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 4, "{all:?}");
    assert_eq!(by_link(workspace, LINK_ACTOR).await, None);
}

#[tokio::test]
async fn a_form_is_sent_once_although_its_button_is_pressed_twice() {
    let tab = match BrowserTab::open().await {
        Ok(tab) => tab,
        Err(reason) => {
            return eprintln!(
                "SKIPPED a_form_is_sent_once_although_its_button_is_pressed_twice: {reason}"
            );
        }
    };
    let workspace = Workspace::new().await;
    sign_in(&tab, &workspace).await;
    go(&tab, "/console/segments/new").await;
    fill(&tab, &[("name", "Twice"), ("g0.r0.field", "plan"), ("g0.r0.value", "pro")]).await;
    // The second press comes before the page of the answer, as of a double click.
    tab.value(
        "(() => { const button = document.querySelector('button.primary[value=save]');\
         button.click(); button.click(); return true; })()",
    )
    .await;
    tab.until("document.querySelector('#toasts .toast')?.textContent === 'Twice was saved.'").await;
    let page = workspace.api.get("/segments", 200).await.json();
    assert_eq!(page["pagination"]["total"], 1);
    assert_eq!(tab.errors(), [""; 0]);
}
