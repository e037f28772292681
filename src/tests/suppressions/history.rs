//! `GET /suppressions/:identifier/history`: rows that were added and removed, with who did so. Those of recipients, apps and
//! providers are beside the tests of these.

use serde_json::{Value, json};

use crate::{
    consent::fixture::{self, Contact, session},
    kit::{Client, Workspace, unique},
};

pub(crate) async fn history(api: &Client, channel: &str, identifier: &str, query: &str) -> Value {
    let identifier = identifier.replace('+', "%2B");
    let path = format!("/suppressions/{identifier}/history?channel={channel}{query}");
    api.get(path, 200).await.json()
}

/// What is in the history: action, reason, source and the kind of the actor, oldest first.
pub(crate) async fn words(api: &Client, channel: &str, identifier: &str) -> Vec<String> {
    let page = history(api, channel, identifier, "").await;
    let items = page["items"].as_array().unwrap();
    assert_eq!(page["total"], items.len());
    let words = |entry: &Value| {
        let text = |name: &str| entry[name].as_str().unwrap_or("-").to_owned();
        let actor = text("actor").split(':').next().unwrap_or_default().to_owned();
        format!("{} {} {} {actor}", text("action"), text("reason"), text("source"))
    };
    items.iter().rev().map(words).collect()
}

async fn add(api: &Client, body: Value) {
    api.post("/suppressions", &body, 201).await;
}

async fn remove(api: &Client, channel: &str, identifier: &str) {
    let identifier = identifier.replace('+', "%2B");
    let path = format!("/suppressions/{identifier}?channel={channel}");
    api.send(api.request(reqwest::Method::DELETE, &path), 200).await;
}

#[tokio::test]
async fn each_way_of_adding_and_removing_a_row_names_who_did_so() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let ann = Contact::new(&workspace).await;
    let manual = || json!({"channel": "email", "identifier": ann.email});
    assert_eq!(words(api, "email", &ann.email).await, [""; 0]);

    // By an operator, with a key and in a session.
    add(api, manual()).await;
    remove(api, "email", &ann.email).await;
    let email = "email_suppression:*";
    let person = session(workspace.id, email);
    add(&person, manual()).await;
    // What is there already stays the first one's.
    api.post("/suppressions", &manual(), 200).await;
    remove(&person, "email", &ann.email).await;
    let mut expected = vec![
        "added manual api api_key",
        "removed manual api api_key",
        "added manual api user",
        "removed manual api user",
    ];
    assert_eq!(words(api, "email", &ann.email).await, expected);

    // By clearing a bounce.
    api.post("/suppressions/hard-bounce", &json!({"identifier": ann.email}), 201).await;
    api.post(&ann.path("/clear-bounce"), &json!({}), 200).await;
    expected.extend(["added hard_bounce api api_key", "removed hard_bounce api api_key"]);
    assert_eq!(words(api, "email", &ann.email).await, expected);

    // By an opt-in to the channel, and to a list.
    ann.set(api, "email", "unsubscribed").await;
    let path = ann.path("/channels/email");
    let opt_in = json!({"channel": "email", "status": "optedIn", "source": "form"});
    fixture::put(api, &path, &opt_in, 200).await;
    expected.extend(["added unsubscribe api api_key", "removed unsubscribe form api_key"]);
    assert_eq!(words(api, "email", &ann.email).await, expected);
    let list = fixture::list(workspace.id, false).await;
    let mut of_list = manual();
    of_list["scope"] = json!("group");
    of_list["listId"] = json!(list);
    add(api, of_list).await;
    api.post(&ann.path(&format!("/lists/{list}")), &json!({"channel": "email"}), 200).await;
    expected.extend(["added manual api api_key", "removed manual api api_key"]);
    assert_eq!(words(api, "email", &ann.email).await, expected);
    let page = history(api, "email", &ann.email, "&limit=2").await;
    for entry in page["items"].as_array().unwrap() {
        assert_eq!((&entry["scope"], &entry["listId"]), (&json!("group"), &json!(list)));
    }

    // By an import, and by the platform.
    let import = json!({"channel": "email", "entries": [{"identifier": ann.email}]});
    person.post("/suppressions/import", &import, 200).await;
    fixture::run(workspace.id, "delete from suppression where workspace_id = $1").await;
    expected.extend(["added manual import user", "removed manual - -"]);
    assert_eq!(words(api, "email", &ann.email).await, expected);
}

#[tokio::test]
async fn a_change_in_another_workspace_of_the_organization_names_no_credential() {
    let organization = unique("organization");
    let here = fixture::workspace_of(&organization).await;
    let there = fixture::workspace_of(&organization).await;
    let ann = Contact::new(&here).await;
    ann.set(&here.api, "sms", "unsubscribed").await;
    ann.set(&here.api, "sms", "optedIn").await;
    let of = async |api: &Client| words(api, "sms", &ann.phone).await;
    let own = ["added unsubscribe api api_key", "removed unsubscribe api api_key"];
    assert_eq!(of(&here.api).await, own);
    let other = ["added unsubscribe api -", "removed unsubscribe api -"];
    assert_eq!(of(&there.api).await, other);
    // An address, and a workspace of another organization.
    assert_eq!(words(&there.api, "email", &ann.email).await, [""; 0]);
    assert_eq!(of(&Workspace::new().await.api).await, [""; 0]);
}

#[tokio::test]
async fn pages_of_the_history_are_newest_first() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    fixture::run(
        workspace.id,
        "insert into suppression (workspace_id, id, channel, identifier, reason, source, scope, created_at)
         select $1, gen_random_uuid(), 'sms', '+4915112345', reason, 'old', 'global',
             now() - interval '1 hour' + position * interval '1 minute'
         from unnest(array['manual', 'unsubscribe', 'complaint']) with ordinality as r (reason, position)",
    )
    .await;
    remove(api, "sms", "+4915112345").await;
    add(api, json!({"channel": "sms", "identifier": "+4915112345"})).await;
    let page = async |query: &str| {
        let page = history(api, "sms", "+4915112345", query).await;
        let letters = |entry: &Value| {
            ["action", "reason"].map(|name| entry[name].as_str().unwrap().chars().next().unwrap())
        };
        let items: String = page["items"].as_array().unwrap().iter().flat_map(letters).collect();
        json!([items, page["total"], page["limit"], page["offset"]])
    };
    let whole = page("").await;
    let items = whole[0].as_str().unwrap().to_owned();
    assert!(items.starts_with("am") && items.ends_with("acauam"), "{items}");
    assert_eq!((items.len(), &whole[1]), (14, &json!(7)));
    for (query, from, to) in [("&limit=2", 0, 2), ("&limit=2&offset=3", 3, 5), ("&offset=6", 6, 7)]
    {
        assert_eq!(page(query).await[0].as_str().unwrap(), &items[2 * from..2 * to], "{query}");
    }
    for (query, expected) in [
        ("&limit=1001", json!([1000, 0])),
        ("&limit=0&offset=-1", json!([100, 0])),
        ("&offset=7", json!([100, 7])),
    ] {
        let page = page(query).await;
        assert_eq!(json!([page[2], page[3]]), expected, "{query}");
        assert_eq!(page[1], 7);
    }
    // A removal is not before its addition, also where a clock was ahead.
    fixture::run(
        workspace.id,
        "update suppression set created_at = now() + interval '1 hour' where workspace_id = $1",
    )
    .await;
    remove(api, "sms", "+4915112345").await;
    let newest = history(api, "sms", "+4915112345", "&limit=2").await;
    assert_eq!(newest["items"][0]["action"], "removed");
    assert_eq!(newest["items"][0]["at"], newest["items"][1]["at"]);
    for (channel, identifier) in [("sms", "ann@example.test"), ("email", "1234567")] {
        let path = format!("/suppressions/{identifier}/history?channel={channel}");
        let refused = api.get(path, 400).await;
        assert!(refused.errors()[0].starts_with("identifier must be"), "{}", refused.text);
    }
}
