//! Changes that are confirmed by typing a name: a name is compared as it looks.

use serde_json::json;

use super::{
    campaigns::{made, webhook},
    kit::{Person, link},
};
use crate::kit::{BrowserTab, Workspace, server};

/// As names come from spreadsheets and chats: two spaces, a line break, a mark of direction, and an accent apart.
const NAME: &str = "Jose\u{301}  \u{202e}\nLee";
/// As a person types it.
const TYPED: &str = "Jos\u{e9} Lee";
/// A name that shows nothing.
const BLANK: &str = "\u{200b}\u{202e}";

/// The page of a new person with a name, and the id.
async fn person_named(workspace: &Workspace, external_id: &str, name: &str) -> [String; 2] {
    let body = json!({"externalId": external_id, "attributes": {"name": name}});
    let made = workspace.api.post("/users", &body, 201).await.json();
    let id = made["id"].as_str().unwrap().to_owned();
    [format!("/console/people/{id}"), id]
}

async fn is_confirmed(person: &Person, action: &str, typed: &str) {
    for other in ["", "Lee", "Jose Lee", "\u{200b}"] {
        let seen = person.post(action, &[("confirm", other)]).await;
        assert_eq!(seen.status, 400, "{other:?} at {action}: {}", seen.text);
        // It can be typed again at once, also without scripts.
        let form = format!("action=\"{}\"", action.replace('&', "&amp;"));
        let has_reason = seen.text.contains("role=\"alert\"") && seen.text.contains("othing was");
        assert!(has_reason && seen.text.contains(&form), "no form {form}: {}", seen.text);
    }
    let seen = person.post(action, &[("confirm", typed)]).await;
    assert_eq!(seen.status, 303, "{action}: {}", seen.text);
}

#[tokio::test]
async fn names_with_spaces_and_marks_that_are_not_seen_are_confirmed_as_they_look() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let [ann, _] = person_named(&workspace, "ann", NAME).await;
    let [bob, _] = person_named(&workspace, "bob", NAME).await;
    let id = |made: serde_json::Value| made["id"].as_str().unwrap().to_owned();
    let segment = json!({"name": NAME, "targeting": {}});
    let segment = id(api.post("/segments", &segment, 201).await.json());
    let list = id(api.post("/lists", &json!({"name": NAME}), 201).await.json());
    let key = json!({"name": NAME.replace('\n', ""), "scopes": ["users:read"]});
    let key = id(api.post("/keys", &key, 201).await.json());
    let question = json!({"series": [{"metric": "count", "eventName": "A"}], "last": {"amount": 7, "unit": "days"}});
    let question = json!({"name": NAME, "kind": "trends", "question": question});
    let question = id(api.post("/insights", &question, 201).await.json());
    let campaign = made(&workspace, &webhook(NAME)).await;
    let person = Person::signed_in(&workspace, "*").await;
    for action in [
        format!("{ann}/delete"),
        format!("{bob}/erase?events=delete"),
        format!("/console/segments/{segment}/delete"),
        format!("/console/lists/{list}/archive"),
        format!("/console/settings/keys/{key}/revoke"),
        format!("/console/explore/delete?insight={question}"),
        format!("{campaign}/do/delete"),
    ] {
        is_confirmed(&person, &action, TYPED).await;
    }
    let row = json!({"channel": "email", "identifier": "ann@example.test"});
    api.post("/suppressions", &row, 201).await;
    let remove = "/console/suppressions/remove?channel=email&identifier=ann%40example.test";
    is_confirmed(&person, remove, "ann@example.test").await;
}

#[tokio::test]
async fn what_has_a_name_that_shows_nothing_is_confirmed_by_its_id() {
    let workspace = Workspace::new().await;
    let [ann, id] = person_named(&workspace, "ann", BLANK).await;
    let body = json!({"name": BLANK, "targeting": {}});
    let segment = workspace.api.post("/segments", &body, 201).await.json();
    let segment = segment["id"].as_str().unwrap();
    let person = Person::signed_in(&workspace, "*").await;
    for (page, id) in [(ann, id.as_str()), (format!("/console/segments/{segment}"), segment)] {
        let seen = person.get(&page).await;
        assert!(seen.text.contains(&format!("data-must-equal=\"{id}\"")), "{}", seen.text);
        is_confirmed(&person, &format!("{page}/delete"), id).await;
    }
}

#[tokio::test]
async fn the_script_compares_names_as_the_server_does() {
    let tab = match BrowserTab::open().await {
        Ok(tab) => tab,
        Err(reason) => {
            return eprintln!("SKIPPED the_script_compares_names_as_the_server_does: {reason}");
        }
    };
    let workspace = Workspace::new().await;
    let [ann, _] = person_named(&workspace, "ann", NAME).await;
    tab.go(link(&workspace, "*").await.as_str()).await;
    tab.go(&format!("{}{ann}", server().url)).await;
    tab.click("[data-opens=delete-person]").await;
    for (typed, is_same) in [("", false), ("Jose Lee", false), (TYPED, true), (NAME, true)] {
        let typed = json!(typed);
        let enabled = tab
            .value(&format!(
                "(() => {{ const field = document.getElementById('delete-person-name'); field.value = {typed};\
                 field.dispatchEvent(new Event('input', {{bubbles: true}}));\
                 return !field.form.querySelector('[type=submit]').disabled; }})()"
            ))
            .await;
        assert_eq!(enabled, is_same, "{typed}");
    }
    tab.click("#delete-person .danger").await;
    tab.until("location.pathname === '/console/people'").await;
    assert_eq!(tab.errors(), [""; 0]);
}
