//! Forms that are sent twice: one after the other, and at once.

use futures_util::future;
use serde_json::{Value, json};

use super::{
    campaigns::webhook,
    kit::{Person, Seen},
};
use crate::kit::{Workspace, server, unique};

/// Sends a form three times at once, and a fourth time after that.
async fn sent(person: &Person, path: &str, fields: &[(&str, &str)]) -> Vec<Seen> {
    let once = unique("form");
    let fields = [fields, &[("once", once.as_str())]].concat();
    let mut answers = future::join_all([(); 3].map(|()| person.post(path, &fields))).await;
    answers.push(person.post(path, &fields).await);
    answers
}

/// How many there are of what the API lists.
async fn total(workspace: &Workspace, list: &str) -> u64 {
    let page = workspace.api.get(list, 200).await.json();
    let all = page.as_array().map(|all| all.len() as u64);
    all.or_else(|| page["pagination"]["total"].as_u64()).unwrap()
}

#[tokio::test]
async fn a_form_that_is_sent_twice_makes_one() {
    let workspace = Workspace::new().await;
    let person = Person::signed_in(&workspace, "*").await;
    let campaign = [
        ("name", "March"),
        ("channel", "email"),
        ("sendType", "immediate"),
        ("audience", "everyone"),
        ("resendPolicy", "only_new"),
        ("variants[0].id", "a"),
        ("variants[0].name", "A"),
        ("variants[0].weight", "100"),
        ("variants[0].message.subject", "Hi"),
        ("variants[0].message.html", "<p>Hello {{ unsubscribe_url }}</p>"),
        ("do", "save"),
    ];
    let segment = [("name", "All"), ("targeting", "{}"), ("do", "save")];
    let list = [("name", "News"), ("channels", "email"), ("type", "marketing")];
    let question = [("question", "tab=trends&event=A&last=7d"), ("name", "Orders")];
    let domain = format!("{}.test", unique("twice").replace('_', "-"));
    let domain = [("domain", domain.as_str())];
    for (path, fields, listed) in [
        ("/console/campaigns", &campaign[..], "/campaigns"),
        ("/console/segments", &segment, "/segments"),
        ("/console/lists", &list, "/lists"),
        ("/console/explore/save", &question, "/insights"),
        ("/console/settings/domains", &domain, "/sender-domains"),
    ] {
        let before = if listed == "/sender-domains" { 0 } else { total(&workspace, listed).await };
        let answers = sent(&person, path, fields).await;
        for seen in &answers {
            assert_eq!(seen.status, 303, "{path}: {}", seen.text);
            assert_eq!(seen.location(), answers[0].location(), "{path}");
            assert!(seen.set_cookie("millrace_notice").is_some(), "{path}");
        }
        if listed == "/sender-domains" {
            let all = workspace.api.get(listed, 200).await.json();
            assert_eq!(all["data"].as_array().unwrap().len(), 1);
        } else {
            assert_eq!(total(&workspace, listed).await, before + 1, "{path}");
        }
    }
    // What was typed anew is another form, although its page is the same.
    let once = ("once", "the-same");
    for name in ["One", "Two"] {
        let fields = [("name", name), ("targeting", "{}"), ("do", "save"), once];
        assert_eq!(person.post("/console/segments", &fields).await.status, 303);
    }
    assert_eq!(total(&workspace, "/segments").await, 3);
}

#[tokio::test]
async fn pages_have_forms_that_are_known_again() {
    let workspace = Workspace::new().await;
    let person = Person::signed_in(&workspace, "*").await;
    let mut known = Vec::new();
    for path in [
        "/console/campaigns/new",
        "/console/segments/new",
        "/console/lists",
        "/console/settings/keys",
        "/console/settings/members",
        "/console/settings/keys",
    ] {
        let seen = person.get(path).await;
        let main = seen.text.split("<main").nth(1).unwrap();
        let value = main.split("name=\"once\" value=\"").nth(1).unwrap();
        let value = value.split('"').next().unwrap().to_owned();
        assert_eq!(value.len(), 32, "{path}: {value}");
        known.push(value);
    }
    known.sort();
    known.dedup();
    assert_eq!(known.len(), 6, "each form has one of its own, each time");
}

#[tokio::test]
async fn a_secret_is_shown_once_and_the_second_answer_says_where_its_key_is() {
    let workspace = Workspace::new().await;
    let person = Person::signed_in(&workspace, "*").await;
    let key = [("name", "Shop"), ("kind", "api"), ("scopes", "users:read")];
    let member = [("email", "bob@example.test"), ("role", "analyst")];
    for (path, fields, list, secret) in [
        ("/console/settings/keys", &key[..], "/keys", "<code>mr_"),
        ("/console/settings/members/new", &member, "/members", "token="),
    ] {
        let before = total(&workspace, list).await;
        let answers = sent(&person, path, fields).await;
        let (first, again): (Vec<&Seen>, Vec<&Seen>) =
            answers.iter().partition(|seen| seen.status == 200);
        assert_eq!((first.len(), again.len()), (1, 3), "{path}: {answers:?}");
        assert!(first[0].text.contains(secret), "{path}: {}", first[0].text);
        for seen in again {
            assert_eq!(seen.status, 303, "{path}");
            assert!(seen.text.is_empty(), "{path}: {}", seen.text);
            let page = person.get(seen.location()).await;
            assert_eq!(page.status, 200);
            assert!(!page.text.contains(secret), "{path}");
        }
        assert_eq!(total(&workspace, list).await, before + 1, "{path}");
        let seen = sent(&person, path, fields).await;
        assert!(seen.iter().any(|seen| seen.status != 303), "a form of another page: {path}");
    }
    let fields = [&key[..], &[("once", "x")]].concat();
    assert_eq!(person.post("/console/settings/keys", &fields).await.status, 200);
    let again = person.post("/console/settings/keys", &fields).await;
    let page = person.get(again.location()).await;
    assert!(page.text.contains("Shop was made already"), "{}", page.text);
}

#[tokio::test]
async fn a_test_that_is_sent_twice_is_sent_once() {
    let workspace = Workspace::new().await;
    workspace.api.post("/users", &json!({"externalId": "ann"}), 201).await;
    let content = json!({"mode": "native", "title": "Hi"});
    let body = json!({"name": "Banner", "channel": "in_app", "sendType": "immediate", "variants": [
        {"id": "a", "name": "A", "weight": 100, "customContent": content}]});
    let made = workspace.api.post("/campaigns", &body, 201).await.json();
    let page = format!("/console/campaigns/{}/test", made["id"].as_str().unwrap());
    let person = Person::signed_in(&workspace, "*").await;
    let tests = async || -> i64 {
        let (db, id) = (server().db(), workspace.id.uuid());
        let asked = async move {
            let count = "select count(*) from in_app_test where workspace_id = $1";
            sqlx::query_scalar(count).bind(id).fetch_one(&db).await.unwrap()
        };
        server().on(asked).await
    };
    for seen in sent(&person, &page, &[("person", "ann")]).await {
        assert_eq!((seen.status.as_u16(), seen.location()), (303, page.as_str()), "{}", seen.text);
    }
    assert_eq!(tests().await, 1);
    // Asked for again from the page, it is sent again.
    sent(&person, &page, &[("person", "ann")]).await;
    assert_eq!(tests().await, 2);
}

/// A form that takes something away: its path, what confirms it, and what the audit log has of it.
struct Removal {
    path: String,
    confirm: String,
    audited: Option<&'static str>,
}

/// Something to take away of every kind that the console has a form for.
async fn removals(workspace: &Workspace) -> Vec<Removal> {
    let api = &workspace.api;
    let made = async |path: &str, body: &Value| -> String {
        let made = api.post(path, body, 201).await.json();
        made["id"].as_str().unwrap().to_owned()
    };
    let domain = format!("{}.test", unique("twice").replace('_', "-"));
    let question = json!({"series": [{"metric": "count", "eventName": "A"}], "last": {"amount": 7, "unit": "days"}});
    let question = json!({"name": "Orders", "kind": "trends", "question": question});
    let member = json!({"email": "bob@example.test", "role": "analyst"});
    let segment = made("/segments", &json!({"name": "All", "targeting": {}})).await;
    let list = made("/lists", &json!({"name": "News"})).await;
    let key = made("/keys", &json!({"name": "Shop", "scopes": ["users:read"]})).await;
    let question = made("/insights", &question).await;
    let member = made("/members", &member).await;
    let sender = made("/sender-domains", &json!({"domain": domain})).await;
    let campaign = made("/campaigns", &webhook("March")).await;
    let suppressed = json!({"channel": "email", "identifier": "ann@example.test"});
    api.post("/suppressions", &suppressed, 201).await;
    let other = Person::signed_in(workspace, "users:read").await;
    assert_eq!(other.get("/console/people").await.status, 200);
    let own = Person::signed_in(workspace, "*").await.get("/console/settings/members").await;
    let session = own.between("/console/settings/sessions/", "/revoke").to_owned();
    let removal = |path: String, confirm: &str, audited| Removal {
        path: format!("/console/{path}"),
        confirm: confirm.to_owned(),
        audited,
    };
    let suppression = "suppressions/remove?channel=email&identifier=ann%40example.test";
    vec![
        removal(format!("segments/{segment}/delete"), "All", None),
        removal(format!("lists/{list}/archive"), "News", Some("list.archived")),
        removal(format!("settings/keys/{key}/revoke"), "Shop", Some("key.revoked")),
        removal(format!("explore/delete?insight={question}"), "Orders", None),
        removal(
            format!("settings/members/{member}/delete"),
            "bob@example.test",
            Some("member.deleted"),
        ),
        removal(format!("settings/domains/{sender}/delete"), &domain, None),
        removal(format!("campaigns/{campaign}/do/delete"), "March", None),
        removal(suppression.to_owned(), "ann@example.test", None),
        removal(format!("settings/sessions/{session}/revoke"), "", Some("session.revoked")),
    ]
}

#[tokio::test]
async fn what_is_taken_away_twice_is_answered_as_the_first_time() {
    let workspace = Workspace::new().await;
    let person = Person::signed_in(&workspace, "*").await;
    for Removal { path, confirm, audited } in removals(&workspace).await {
        let answers = sent(&person, &path, &[("confirm", &confirm)]).await;
        let notice = answers[0].set_cookie("millrace_notice").map(str::to_owned);
        assert!(notice.is_some(), "{path}: {}", answers[0].text);
        for seen in &answers {
            assert_eq!(seen.status, 303, "{path}: {}", seen.text);
            assert_eq!(seen.location(), answers[0].location(), "{path}");
            assert_eq!(seen.set_cookie("millrace_notice"), notice.as_deref(), "{path}");
        }
        if let Some(action) = audited {
            let log = workspace.api.get(format!("/audit?action={action}"), 200).await.json();
            assert_eq!(log["data"].as_array().unwrap().len(), 1, "{action}: {log}");
        }
    }
}

#[tokio::test]
async fn a_link_that_is_asked_for_twice_is_made_once() {
    let workspace = Workspace::new().await;
    let body = json!({"email": "bob@example.test", "role": "analyst"});
    let made = workspace.api.post("/members", &body, 201).await.json();
    let path = format!("/console/settings/members/{}/invite", made["id"].as_str().unwrap());
    let person = Person::signed_in(&workspace, "*").await;
    let answers = sent(&person, &path, &[]).await;
    let (first, again): (Vec<&Seen>, Vec<&Seen>) =
        answers.iter().partition(|seen| seen.status == 200);
    assert_eq!((first.len(), again.len()), (1, 3), "{answers:?}");
    assert!(first[0].text.contains("token="), "{}", first[0].text);
    let page = person.get(again[0].location()).await;
    assert!(page.text.contains("was made already") && !page.text.contains("token="));
    let log = workspace.api.get("/audit?action=member.invited", 200).await.json();
    assert_eq!(log["data"].as_array().unwrap().len(), 1, "{log}");
}

#[tokio::test]
async fn a_form_that_was_refused_can_be_sent_again() {
    let workspace = Workspace::new().await;
    let person = Person::signed_in(&workspace, "*").await;
    let fields = [("name", "Taken"), ("targeting", "{}"), ("do", "save"), ("once", "x")];
    let taken = json!({"name": "Taken", "targeting": {}});
    let taken = workspace.api.post("/segments", &taken, 201).await.json();
    assert_eq!(person.post("/console/segments", &fields).await.status, 409);
    let path = format!("/segments/{}", taken["id"].as_str().unwrap());
    let deleted = workspace.api.request(reqwest::Method::DELETE, &path);
    workspace.api.send(deleted, 204).await;
    assert_eq!(person.post("/console/segments", &fields).await.status, 303);
}

#[tokio::test]
async fn a_person_is_exported_and_erased_once() {
    let workspace = crate::privacy::workspace().await;
    let person = Person::signed_in(&workspace, "users:read,users:delete").await;
    for (name, does, fields, requests) in [
        ("ann", "export", &[][..], 1),
        ("bob", "erase?events=delete", &[("confirm", "bob")], 2),
        ("cy", "delete", &[("confirm", "cy")], 2),
    ] {
        let made = workspace.api.post("/users", &json!({"externalId": name}), 201).await.json();
        let page = format!("/console/people/{}", made["id"].as_str().unwrap());
        for seen in sent(&person, &format!("{page}/{does}"), fields).await {
            assert_eq!(seen.status, 303, "{does}: {}", seen.text);
        }
        assert_eq!(total(&workspace, "/privacy/requests").await, requests, "{does}");
    }
}
