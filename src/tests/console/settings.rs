//! `/console/settings`: keys, sender domains, sessions and the audit log.

use serde_json::json;

use super::kit::Person;
use crate::kit::{Client, Workspace, eventually, server, unique};

#[tokio::test]
async fn a_key_is_shown_once_works_and_is_revoked() {
    let workspace = Workspace::new().await;
    let person = Person::signed_in(&workspace, "*").await;
    let fields =
        [("name", "Shop"), ("kind", "api"), ("scopes", "users:read"), ("scopes", "events:write")];
    let seen = person.post("/console/settings/keys", &fields).await;
    assert_eq!(seen.status, 200, "{}", seen.text);
    let key = seen.between("<code>mr_", "</code>").to_owned();
    let (id, secret) = key.split_once('_').unwrap();
    let client = Client::new(&server().url, Some(&format!("mr_{key}")));
    client.get("/users", 200).await;
    client.get("/campaigns", 403).await;
    // With what to paste into a program.
    for text in ["npm install @segment/analytics-node", "pip install posthog", &server().url] {
        assert!(seen.text.contains(text), "no {text}: {}", seen.text);
    }
    assert!(!seen.text.contains("WRITE_KEY") && !seen.text.contains("127.0.0.1:8080"));
    let seen = person.get("/console/settings/keys").await;
    assert!(seen.text.contains("Shop") && seen.text.contains(id), "{}", seen.text);
    assert!(!seen.text.contains(secret), "it was shown once");
    let revoke = format!("/console/settings/keys/{id}/revoke");
    assert_eq!(person.post(&revoke, &[("confirm", "Other")]).await.status, 400);
    client.get("/users", 200).await;
    assert_eq!(person.post(&revoke, &[("confirm", "Shop")]).await.status, 303);
    eventually("the key is refused", || async {
        let answer = client.request(reqwest::Method::GET, "/users").send().await.unwrap();
        (answer.status() == 401).then_some(())
    })
    .await;
    let seen = person.get("/console/settings/audit").await;
    for text in ["key.created", "key.revoked", "user:ann@example.test", "command_line"] {
        assert!(seen.text.contains(text), "no {text}: {}", seen.text);
    }
    // For apps, without scopes and with the quick starts for browsers.
    let seen = person.post("/console/settings/keys", &[("name", ""), ("kind", "sdk")]).await;
    assert!(seen.text.contains("<code>mrs_") && seen.text.contains("posthog-js"), "{}", seen.text);
}

#[tokio::test]
async fn keys_have_faults_at_fields_and_no_more_scopes_than_the_session() {
    let workspace = Workspace::new().await;
    let person = Person::signed_in(&workspace, "settings:read,settings:write,users:read").await;
    let seen = person.get("/console/settings").await;
    assert!(
        seen.text.contains("value=\"users:read\"") && !seen.text.contains("value=\"users:write\"")
    );
    let long = "<i>".repeat(100);
    let fields = [("name", long.as_str()), ("kind", "api"), ("scopes", "users:read")];
    let seen = person.post("/console/settings/keys", &fields).await;
    assert_eq!(seen.status, 400);
    assert!(seen.text.contains("id=\"name-fault\"") && !seen.text.contains("<i>"), "{}", seen.text);
    let checked = "value=\"users:read\" checked";
    assert!(seen.text.contains(checked), "{}", seen.text);
    let seen = person.post("/console/settings/keys", &[("name", "x"), ("kind", "api")]).await;
    assert_eq!(seen.status, 400);
    assert!(seen.text.contains("Choose at least one for an API key"), "{}", seen.text);
    let forged = [("name", "x"), ("kind", "api"), ("scopes", "*")];
    assert_eq!(person.post("/console/settings/keys", &forged).await.status, 403);
    assert_eq!(person.post_bare("/console/settings/keys", &fields).await.status, 403);
    let reader = Person::signed_in(&workspace, "settings:read").await;
    let seen = reader.get("/console/settings/keys").await;
    assert!(
        seen.text.contains("settings:write") && !seen.text.contains("Make the key"),
        "{}",
        seen.text
    );
    let fields = [("name", "x"), ("kind", "api"), ("scopes", "settings:read")];
    assert_eq!(reader.post("/console/settings/keys", &fields).await.status, 403);
    assert_eq!(workspace.api.get("/keys", 200).await.json()["pagination"]["total"], 1);
    let none = Person::signed_in(&workspace, "users:read").await;
    for tab in ["", "/keys", "/channels", "/domains", "/members", "/audit"] {
        assert_eq!(none.get(&format!("/console/settings{tab}")).await.status, 403, "{tab}");
        assert_eq!(reader.get(&format!("/console/settings{tab}")).await.status, 200, "{tab}");
    }
}

#[tokio::test]
async fn hostile_names_of_keys_are_text() {
    let workspace = Workspace::new().await;
    let hostile = "<script>alert(1)</script>\"' مرحبا";
    let body = json!({"name": hostile, "scopes": ["users:read"]});
    workspace.api.post("/keys", &body, 201).await;
    let person = Person::signed_in(&workspace, "*").await;
    for tab in ["keys", "audit"] {
        let seen = person.get(&format!("/console/settings/{tab}")).await;
        assert!(
            !seen.text.contains("<script>") && seen.text.contains("&lt;script&gt;"),
            "{}",
            seen.text
        );
    }
}

#[tokio::test]
async fn commands_to_copy_have_the_name_of_the_workspace_as_one_word() {
    let name = format!("{}'s $(shop)", unique("ann"));
    let (key, id) = server().key(&name, "*").await;
    let api = Client::new(&server().url, Some(&key));
    let person = Person::signed_in(&Workspace::known(name.clone(), id, api), "*").await;
    let seen = person.get("/console/settings/members").await;
    let word = name.replace('\'', r"'\''");
    let command = format!("millrace console link --workspace '{word}' --actor");
    assert!(seen.text.contains(&command), "no {command}: {}", seen.text);
}

#[tokio::test]
async fn a_name_that_is_not_confirmed_is_refused_above_the_list() {
    let workspace = Workspace::new().await;
    let person = Person::signed_in(&workspace, "*").await;
    let key = json!({"name": "Shop", "scopes": ["users:read"]});
    let key = workspace.api.post("/keys", &key, 201).await.json();
    let domain = format!("{}.test", unique("above").replace('_', "-"));
    let domain = json!({"domain": domain});
    let domain = workspace.api.post("/sender-domains", &domain, 201).await.json();
    let id = |made: &serde_json::Value| made["id"].as_str().unwrap().to_owned();
    for (change, form) in [
        (format!("keys/{}/revoke", id(&key)), "New key"),
        (format!("domains/{}/delete", id(&domain)), "Add a domain"),
    ] {
        let fields = [("confirm", "other")];
        let seen = person.post(&format!("/console/settings/{change}"), &fields).await;
        assert_eq!(seen.status, 400, "{}", seen.text);
        let (above, form) = seen.text.split_once(&format!("<h2>{form}</h2>")).unwrap();
        assert!(above.contains("role=\"alert\"") && above.contains("nothing was"), "{above}");
        assert!(!form.contains("role=\"alert\""), "{form}");
    }
}

#[tokio::test]
async fn sender_domains_show_their_records() {
    let workspace = Workspace::new().await;
    let person = Person::signed_in(&workspace, "*").await;
    let seen = person.get("/console/settings/domains").await;
    assert!(seen.text.contains("No sender domain yet"), "{}", seen.text);
    let domain = format!("{}.test", unique("console").replace('_', "-"));
    assert_eq!(person.post("/console/settings/domains", &[("domain", &domain)]).await.status, 303);
    let found = workspace.api.get("/sender-domains", 200).await.json();
    let found = &found["data"][0];
    let seen = person.get("/console/settings/domains").await;
    for record in found["records"].as_array().unwrap() {
        let value = record["value"].as_str().unwrap();
        assert!(seen.text.contains(&value.replace('"', "&quot;")), "no {value}: {}", seen.text);
    }
    let seen = person.post("/console/settings/domains", &[("domain", "co.uk")]).await;
    assert_eq!(seen.status, 400);
    assert!(
        seen.text.contains("id=\"domain-fault\"") && seen.text.contains("value=\"co.uk\""),
        "{}",
        seen.text
    );
    let delete = format!("/console/settings/domains/{}/delete", found["id"].as_str().unwrap());
    assert_eq!(person.post(&delete, &[("confirm", "x")]).await.status, 400);
    assert_eq!(person.post(&delete, &[("confirm", &domain)]).await.status, 303);
    assert_eq!(workspace.api.get("/sender-domains", 200).await.json()["data"], json!([]));
}

#[tokio::test]
async fn sessions_are_listed_and_ended() {
    let workspace = Workspace::new().await;
    let person = Person::signed_in(&workspace, "*").await;
    let other = Person::signed_in(&workspace, "users:read").await;
    let seen = person.get("/console/settings/members").await;
    assert!(
        seen.text.contains("this session") && seen.text.contains("No members yet"),
        "{}",
        seen.text
    );
    let id = seen.between("/console/settings/sessions/", "/revoke").to_owned();
    let revoke = format!("/console/settings/sessions/{id}/revoke");
    let reader = Person::signed_in(&workspace, "settings:read").await;
    assert_eq!(reader.post(&revoke, &[]).await.status, 403);
    assert_eq!(other.get("/console/people").await.status, 200);
    assert_eq!(person.post(&revoke, &[]).await.status, 303);
    assert_eq!(other.get("/console/people").await.status, 303);
    // One of another workspace is not there.
    let elsewhere = Person::signed_in(&Workspace::new().await, "*").await;
    assert_eq!(elsewhere.post(&revoke, &[]).await.status, 404);
}

#[tokio::test]
async fn channels_show_their_providers_and_what_a_test_lacks() {
    let workspace = Workspace::new().await;
    let person = Person::signed_in(&workspace, "settings:read,campaigns:send").await;
    let seen = person.get("/console/settings/channels").await;
    let problem = "no provider is set for channel email";
    for text in ["<code>webhook</code>", problem, "No channel has a provider yet."] {
        assert!(seen.text.contains(text), "no {text}: {}", seen.text);
    }
    let fields = [("channel", "email"), ("to", "ann@example.test")];
    let seen = person.post("/console/settings/channels", &fields).await;
    assert!(seen.status == 400 && seen.text.contains("no provider is set"), "{}", seen.text);
    assert_eq!(person.post_bare("/console/settings/channels", &fields).await.status, 403);
    let reader = Person::signed_in(&workspace, "settings:read").await;
    let seen = reader.get("/console/settings/channels").await;
    assert!(seen.status == 200 && !seen.text.contains("Send a test"), "{}", seen.text);
    assert_eq!(reader.post("/console/settings/channels", &fields).await.status, 403);
}
