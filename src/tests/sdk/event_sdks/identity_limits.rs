//! Storms of identify, aliases in circles, and what is said of links and traits that have no room.

use std::collections::BTreeSet;

use futures_util::future::join_all;

use super::{
    faulty_batches::{all_refused, refused},
    segment::identities,
    *,
};
use crate::kit::{Process, data_dir};

/// Identifiers of a profile, its own two among them.
const IDENTIFIERS_MAX: usize = 1_000;
const FULL: &str =
    "anonymousId is not linked: the profile has 1000 identifiers, the most it may have";

fn identify(user: &str, anonymous: &str) -> Value {
    json!({"type": "identify", "userId": user, "anonymousId": anonymous, "messageId": format!("of {anonymous}"),
        "traits": {"last": anonymous}})
}

fn alias(previous: &str, user: &str, id: usize) -> Value {
    json!({"type": "alias", "previousId": previous, "userId": user, "messageId": format!("alias {id}")})
}

/// Waits until all that was sent before is applied to profiles.
async fn applied(workspace: &Workspace, sender: &Sender) {
    let user = unique("last");
    // Links follow the profiles that are changed together.
    sender.batch(&[json!({"type": "identify", "userId": user, "anonymousId": user})]).await;
    identities(workspace, &user, 3).await;
}

#[tokio::test]
async fn an_anonymous_id_of_many_users_belongs_to_the_first() {
    let workspace = Workspace::new().await;
    let sender = Sender::of(&workspace, "events:write,users:write").await;
    let name = |number: usize| format!("u{number}");
    let mut calls: Vec<Value> = (0..100).map(|number| identify(&name(number), "shared")).collect();
    for (number, call) in calls.iter_mut().enumerate() {
        call["messageId"] = json!(number.to_string());
    }
    sender.batch(&calls).await;
    // Others follow from many places at once.
    let storm: Vec<Vec<Value>> = (0..10)
        .map(|place| {
            let numbers = 100 + place * 990..100 + (place + 1) * 990;
            numbers.map(|number| json!({"type": "identify", "userId": name(number), "anonymousId": "shared"})).collect()
        })
        .collect();
    join_all(storm.iter().map(|calls| sender.batch(calls))).await;
    sender.batch(&[json!({"type": "track", "event": "E", "anonymousId": "shared"})]).await;
    applied(&workspace, &sender).await;
    let ids = identities(&workspace, "u0", 3).await;
    assert_eq!(ids[2], ("anonymous".to_owned(), "shared".to_owned()));
    for number in (1..10_000).step_by(99) {
        identities(&workspace, &name(number), 2).await;
    }
    let users = workspace.api.get("/users?limit=1", 200).await.json();
    assert_eq!(users["pagination"]["total"], 10_001, "and the last of `applied`");
    events(&workspace, "u0", 1).await;
    // To share a device is no fault.
    refused(&workspace, 0).await;
}

#[tokio::test]
async fn public_keys_take_up_half_the_room_and_no_user_ids() {
    let workspace = Workspace::new().await;
    let (server_key, app) =
        (Sender::of(&workspace, "events:write,users:write").await, Sender::app(&workspace).await);
    let calls: Vec<Value> = (0..510).map(|number| identify("ann", &format!("p{number}"))).collect();
    app.batch(&calls).await;
    applied(&workspace, &server_key).await;
    let ids = identities(&workspace, "ann", 2 + 500).await;
    assert!(
        ids.contains(&("anonymous".to_owned(), "p499".to_owned())),
        "the first ones are linked"
    );
    let listed = refused(&workspace, 10).await;
    let reason = "anonymousId is not linked: the profile has 1000 identifiers, or 500 that SDK keys linked, the most it may have";
    assert!(listed.iter().all(|it| it["reason"] == reason), "{listed:?}");
    server_key.batch(&[identify("ann", "of the server")]).await;
    identities(&workspace, "ann", 2 + 501).await;
    // An event of a user id without a profile is of no other profile.
    server_key
        .batch(&[
            json!({"type": "track", "event": "E", "userId": "p1", "messageId": "by user"}),
            json!({"type": "track", "event": "E", "anonymousId": "p1", "messageId": "anonymous"}),
        ])
        .await;
    let of_ann = events(&workspace, "ann", 1).await;
    assert_eq!(of_ann[0]["event_id"], "anonymous");
    events(&workspace, "p1", 1).await;
}

/// The ids of calls whose links were refused for lack of room, each once.
fn without_room(listed: &[Value], user: &str) -> BTreeSet<String> {
    let ids: BTreeSet<String> = listed
        .iter()
        .map(|it| {
            assert_eq!(
                (&it["name"], &it["userId"], &it["reason"]),
                (&json!("identify"), &json!(user), &json!(FULL))
            );
            it["messageId"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(ids.len(), listed.len(), "each is listed once");
    ids
}

/// The calls whose anonymous ids are not among the identifiers.
fn not_linked(linked: &BTreeSet<String>, anonymous: &[String]) -> BTreeSet<String> {
    let others = anonymous.iter().filter(|id| !linked.contains(*id));
    others.map(|id| format!("of {id}")).collect()
}

#[tokio::test]
async fn a_user_of_too_many_anonymous_ids_keeps_a_thousand_and_the_others_name_the_limit() {
    let workspace = Workspace::new().await;
    let sender = Sender::of(&workspace, "events:write,users:write").await;
    let anonymous: Vec<String> = (0..10_000).map(|number| format!("a{number}")).collect();
    let calls: Vec<Value> = anonymous.iter().map(|id| identify("ann", id)).collect();
    join_all(calls.chunks(1_000).map(|calls| sender.batch(calls))).await;
    applied(&workspace, &sender).await;
    let ids = identities(&workspace, "ann", IDENTIFIERS_MAX).await;
    let listed = all_refused(&workspace, 9_002).await;
    let linked = ids.iter().map(|(_, id)| id.clone()).collect();
    assert_eq!(without_room(&listed, "ann"), not_linked(&linked, &anonymous));
    // The traits are applied all the same, and a late retry adds nothing to the list.
    sender.batch(&[identify("ann", "one-more")]).await;
    profile(&workspace, "ann", |it| it["attributes"]["last"] == "one-more").await;
    assert_eq!(refused(&workspace, 9_003).await[0]["messageId"], "of one-more");
    for calls in calls.chunks(2_500) {
        sender.batch(calls).await;
    }
    sender.batch(&[alias("another", "ann", 1)]).await;
    applied(&workspace, &sender).await;
    let listed = refused(&workspace, 9_004).await;
    assert_eq!((&listed[0]["name"], &listed[0]["messageId"]), (&json!("alias"), &json!("alias 1")));
    assert_eq!(listed[0]["reason"], FULL.replace("anonymousId", "previousId"));
    assert_eq!(identities(&workspace, "ann", IDENTIFIERS_MAX).await, ids);

    // The newest ten thousand are listed, and all are counted.
    let more: Vec<Value> =
        (0..1_100).map(|number| identify("ann", &format!("more{number}"))).collect();
    sender.batch(&more).await;
    let listed = all_refused(&workspace, 10_104).await;
    assert_eq!(listed.len(), 10_000);
    let newest: BTreeSet<&str> =
        listed.iter().take(1_100).map(|it| it["messageId"].as_str().unwrap()).collect();
    assert!(more.iter().all(|call| newest.contains(call["messageId"].as_str().unwrap())));
}

#[tokio::test]
async fn a_refused_link_is_listed_once_whatever_is_killed() {
    let dir = data_dir("identity-limits");
    let (mut process, key) = Process::start(&dir, &[]).await;
    let key = key.unwrap();
    let anonymous: Vec<String> = (0..1_060).map(|number| format!("a{number}")).collect();
    let calls: Vec<Value> = anonymous.iter().map(|id| identify("ann", id)).collect();
    let send = async |process: &Process, calls: &[Value]| {
        let client = Client::new(&process.url, None);
        let request = client.request(Method::POST, "/v1/batch").basic_auth(&key, Some(""));
        client.send(request.json(&json!({"batch": calls})), 200).await;
    };
    let refusals = 2 + anonymous.len() - IDENTIFIERS_MAX;
    for calls in calls.chunks(265) {
        send(&process, calls).await;
        process.kill();
        process = Process::start(&dir, &[]).await.0;
    }
    let listed = async |process: &Process| {
        let client = process.client(&key);
        eventually("the refusals are listed", || async {
            let list = client.get("/events/rejected?limit=1000", 200).await.json();
            let listed = list["data"].as_array().unwrap().clone();
            assert_eq!(list["total"], listed.len());
            (listed.len() >= refusals).then_some(listed)
        })
        .await
    };
    listed(&process).await;
    // Those are read again that were applied since the cursor was written; the last call shows that all were.
    process.kill();
    let (process, _) = Process::start(&dir, &[]).await;
    send(&process, &[json!({"type": "identify", "userId": "ann", "traits": {"end": 1}})]).await;
    let client = process.client(&key);
    eventually("the last call is applied", || async {
        let user = client.get("/users/search?query=ann", 200).await.json();
        (user["data"][0]["attributes"]["end"] == 1).then_some(())
    })
    .await;
    let ids = client.get("/users/ann/identities", 200).await.json();
    let ids = ids["data"].as_array().unwrap();
    assert_eq!(ids.len(), IDENTIFIERS_MAX);
    let linked = ids.iter().map(|it| it["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(without_room(&listed(&process).await, "ann"), not_linked(&linked, &anonymous));
}

/// Aliases in circles, of one id, of two and of three.
const CIRCLES: [(&str, &str); 6] =
    [("a", "a"), ("a", "b"), ("b", "a"), ("b", "c"), ("c", "a"), ("a", "c")];

async fn circles(sender: &Sender) {
    let people = ["a", "b", "c"];
    let identify =
        people.map(|name| json!({"type": "identify", "userId": name, "traits": {name: 1}}));
    sender.batch(&identify).await;
    let calls: Vec<Value> = CIRCLES
        .iter()
        .enumerate()
        .map(|(id, (previous, user))| alias(previous, user, id))
        .collect();
    sender.batch(&calls).await;
    // Again, each by itself and under another id.
    for (id, (previous, user)) in CIRCLES.iter().enumerate() {
        sender.batch(&[alias(previous, user, 10 + id)]).await;
    }
}

#[tokio::test]
async fn aliases_in_circles_end_with_one_person() {
    let workspace = Workspace::new().await;
    let sender = Sender::of(&workspace, "events:write,users:write").await;
    circles(&sender).await;
    // An id that is no one's is a new person's, whose alias it is.
    sender.batch(&[alias("new", "new", 20), alias("new", "new", 21)]).await;
    applied(&workspace, &sender).await;
    let mut ids = Vec::new();
    for name in ["a", "b", "c"] {
        let path = format!("/users/by-user-id/{name}");
        let user = workspace.api.get(path, 200).await.json();
        assert_eq!(user["attributes"], json!({"a": 1, "b": 1, "c": 1}), "{name}");
        ids.push(user["id"].clone());
    }
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    let found = workspace.api.get("/users", 200).await.json();
    // The person, the new one, and the last of `applied`.
    assert_eq!(found["pagination"]["total"], 3, "{found}");
    refused(&workspace, 0).await;
}

#[tokio::test]
async fn what_a_public_key_would_merge_in_circles_is_refused() {
    let workspace = Workspace::new().await;
    let app = Sender::app(&workspace).await;
    circles(&app).await;
    applied(&workspace, &app).await;
    for name in ["a", "b", "c"] {
        let user = profile(&workspace, name, |_| true).await;
        assert_eq!(user["attributes"], json!({name: 1}));
        identities(&workspace, name, 2).await;
    }
    let listed = refused(&workspace, 10).await;
    let expected: BTreeSet<String> = [1, 2, 3, 4, 5]
        .into_iter()
        .flat_map(|id| [id, 10 + id])
        .map(|id| format!("alias {id}"))
        .collect();
    let mut ids = BTreeSet::new();
    let key = app.key.split('_').nth(1).unwrap();
    for refusal in &listed {
        assert_eq!(refusal["keyId"], key);
        assert_eq!(
            (&refusal["name"], &refusal["reason"]),
            (
                &json!("alias"),
                &json!("previousId has a profile, which an SDK key never merges or renames")
            )
        );
        ids.insert(refusal["messageId"].as_str().unwrap().to_owned());
    }
    assert_eq!(ids, expected);
}

#[tokio::test]
async fn traits_without_room_are_refused_alone_and_name_the_limit() {
    let workspace = Workspace::new().await;
    let sender = Sender::of(&workspace, "events:write,users:write").await;
    let traits = |range: std::ops::Range<usize>| {
        let members = range.map(|number| (format!("k{number}"), json!(1)));
        Value::Object(members.collect())
    };
    let call = |id: &str, traits: Value| json!({"type": "identify", "userId": "ann", "messageId": id, "traits": traits});
    // Each is within the limit, both together are not.
    sender.batch(&[call("1", traits(0..150)), call("2", traits(150..300))]).await;
    applied(&workspace, &sender).await;
    // With what is stored, only the second of these is beyond it.
    sender
        .batch(&[
            call("3", traits(150..200)),
            call("4", traits(200..201)),
            call("5", json!({"k0": 2, "email": "ann@example.test"})),
        ])
        .await;
    let ann = profile(&workspace, "ann", |it| it["attributes"]["k0"] == 2).await;
    let mut expected = traits(0..200);
    expected["k0"] = json!(2);
    assert_eq!((&ann["attributes"], &ann["email"]), (&expected, &json!("ann@example.test")));
    let listed = refused(&workspace, 2).await;
    let found: Vec<_> = listed.iter().rev().map(|it| (&it["messageId"], &it["reason"])).collect();
    let reason = |keys: usize| {
        json!(format!(
            "attributes must have at most 200 keys, received {keys} after merging with those stored"
        ))
    };
    assert_eq!(found, [(&json!("2"), &reason(300)), (&json!("4"), &reason(201))]);
    // Each with its key, and a sample of what it said.
    let key = sender.key.split('_').nth(1).unwrap();
    assert!(listed.iter().all(|it| it["keyId"] == key), "{listed:?}");
    let sample =
        json!({"type": "identify", "messageId": "4", "userId": "ann", "traits": traits(200..201)});
    let body = listed[0]["body"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(body).unwrap(), sample);
    let call = json!({"type": "group", "groupId": "acme", "userId": "ann", "traits": {"long": "x".repeat(3_000)}});
    sender.batch(&[call]).await;
    let body = json!({"api_key": sender.key, "batch": [
        {"event": "Bought", "uuid": "5", "distinct_id": "ann", "$set_once": {"k200": 1}},
        {"event": "$set", "uuid": "6", "distinct_id": "ann", "$set": {"k201": 1}}]});
    sender.post("/batch/", &body, 200).await;
    let listed = refused(&workspace, 5).await;
    let names: Vec<_> = listed.iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(
        BTreeSet::from_iter(&names),
        BTreeSet::from([&"group", &"$set", &"$set_once", &"identify"])
    );
    let group = listed.iter().find(|it| it["name"] == "group").unwrap();
    let body = group["body"].as_str().unwrap();
    assert!(body.len() == 2_048 && body.starts_with(r#"{"type":"group","#), "{body}");
}

#[tokio::test]
async fn an_anonymous_id_is_linked_although_the_traits_have_no_room() {
    let workspace = Workspace::new().await;
    let (sender, app) =
        (Sender::of(&workspace, "events:write,users:write").await, Sender::app(&workspace).await);
    let full: Value = (0..200).map(|number| (format!("k{number}"), json!(1))).collect();
    sender.batch(&[json!({"type": "identify", "userId": "ann", "traits": full})]).await;
    profile(&workspace, "ann", |it| it["attributes"]["k199"] == 1).await;
    let call = |user: &str, anonymous: &str| {
        json!({"type": "identify", "userId": user, "anonymousId": anonymous, "messageId": format!("of {anonymous}"),
            "traits": {"more": 1}})
    };
    // By itself; as one change with another call; and with a public key.
    sender.batch(&[call("ann", "a1")]).await;
    identities(&workspace, "ann", 3).await;
    sender
        .batch(&[
            call("ann", "a2"),
            json!({"type": "identify", "userId": "ann", "anonymousId": "a3", "traits": {"k0": 2}}),
        ])
        .await;
    identities(&workspace, "ann", 5).await;
    app.batch(&[call("ann", "a4")]).await;
    let linked: BTreeSet<String> =
        identities(&workspace, "ann", 6).await.into_iter().skip(2).map(|(_, id)| id).collect();
    assert_eq!(linked, ["a1", "a2", "a3", "a4"].map(str::to_owned).into());
    refused(&workspace, 3).await;
    // A repeat changes nothing.
    sender.batch(&[call("ann", "a1"), call("ann", "a2")]).await;
    // A lead is not the user's as long as it is not taken over.
    let lead = format!("{}@example.test", unique("lead"));
    workspace.api.post("/users", &json!({"email": lead, "attributes": full}), 201).await;
    let mut of_lead = call("bob", "b1");
    of_lead["traits"]["email"] = json!(lead);
    sender.batch(&[of_lead]).await;
    refused(&workspace, 4).await;
    sender.batch(&[json!({"type": "identify", "userId": "bob", "anonymousId": "b1"})]).await;
    let ids = identities(&workspace, "bob", 3).await;
    assert_eq!(ids[2], ("anonymous".to_owned(), "b1".to_owned()));
    let bob = profile(&workspace, "bob", |_| true).await;
    assert_eq!((&bob["attributes"], &bob["email"]), (&json!({}), &Value::Null));
    identities(&workspace, "ann", 6).await;
}

#[tokio::test]
async fn a_flood_of_links_is_removed_and_only_later_calls_link_again() {
    let workspace = Workspace::new().await;
    let (server_key, app) =
        (Sender::of(&workspace, "events:write,users:write").await, Sender::app(&workspace).await);
    let flood: Vec<Value> = (0..500).map(|number| identify("ann", &format!("p{number}"))).collect();
    app.batch(&flood).await;
    applied(&workspace, &server_key).await;
    identities(&workspace, "ann", 2 + 500).await;
    app.batch(&[identify("ann", "browser")]).await;
    refused(&workspace, 1).await;
    server_key.batch(&[identify("ann", "of the server")]).await;
    identities(&workspace, "ann", 2 + 501).await;
    server_key.batch(&[json!({"type": "track", "event": "E", "anonymousId": "p1"})]).await;
    events(&workspace, "ann", 1).await;

    let remove = workspace.api.request(Method::DELETE, "/users/ann/identities");
    let remove = remove.json(&json!({"linkedBy": "sdkKey"}));
    assert_eq!(workspace.api.send(remove, 200).await.json(), json!({"removed": 500}));
    events(&workspace, "ann", 0).await;
    // Calls that come again were applied before the removal: what they linked stays removed, and no fault is listed.
    app.batch(&flood).await;
    applied(&workspace, &server_key).await;
    identities(&workspace, "ann", 2 + 1).await;
    let mut again = identify("ann", "browser");
    again["messageId"] = json!("another call");
    let mut of_flood = flood[1].clone();
    of_flood["messageId"] = json!("a later call");
    app.batch(&[again, of_flood]).await;
    let ids = identities(&workspace, "ann", 2 + 3).await;
    for id in ["browser", "p1"] {
        assert!(ids.contains(&("anonymous".to_owned(), id.to_owned())), "{ids:?}");
    }
    events(&workspace, "ann", 1).await;
    refused(&workspace, 1).await;
}
