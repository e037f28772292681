//! Creating, reading, changing, listing and deleting segments.

use reqwest::Method;
use serde_json::{Value, json};

use super::{
    all, create, delete, id, in_segment, members, path, person, plan, previewed, put, set,
};
use crate::{audience::fixture::list, kit::Workspace};

#[tokio::test]
async fn a_segment_is_answered_with_its_size_now() {
    let workspace = Workspace::new().await;
    for (name, tier) in [("ann", "pro"), ("bob", "pro"), ("cy", "free")] {
        person(&workspace, name, json!({"plan": tier})).await;
    }
    let targeting = all(&[plan("pro")]);
    let body = json!({
        "name": "  Paying ", "description": "They pay", "targeting": targeting, "count": 7,
    });
    let segment = workspace.api.post("/segments", &body, 201).await.json();
    let expected = json!({
        "id": segment["id"], "name": "Paying", "description": "They pay", "targeting": targeting,
        "count": 2, "reach": {"email": 2, "sms": 0, "whatsapp": 0, "push": 2, "viber": 0},
        "createdAt": segment["createdAt"], "updatedAt": segment["createdAt"],
    });
    assert_eq!(segment, expected);
    assert_eq!(workspace.api.get(path(&segment), 200).await.json(), expected);
    workspace.api.get(path(&segment).to_uppercase().replace("SEGMENTS", "segments"), 200).await;
    assert_eq!(members(&workspace, &segment).await, set(["ann", "bob"]));

    // An opt-out changes the reach, a new phone number as well, a new plan who is in it.
    let ann = workspace.api.get("/users/by-user-id/ann", 200).await.json();
    let channel = format!("/subscriptions/contacts/{}/channels/email", ann["id"].as_str().unwrap());
    let out = json!({"channel": "email", "status": "unsubscribed"});
    put(&workspace.api, &channel, &out, 200).await;
    put(&workspace.api, "/users/by-user-id/bob", &json!({"phone": "+4915112345678"}), 200).await;
    let moved = json!({"attributes": {"plan": "pro"}});
    put(&workspace.api, "/users/by-user-id/cy", &moved, 200).await;
    let read = workspace.api.get(path(&segment), 200).await.json();
    assert_eq!(read["count"], 3);
    assert_eq!(read["reach"], json!({"email": 2, "sms": 1, "whatsapp": 1, "push": 3, "viber": 1}));
    assert_eq!(read["updatedAt"], segment["updatedAt"]);
}

#[tokio::test]
async fn the_preference_of_a_segment_counts_for_its_reach() {
    let workspace = Workspace::new().await;
    for name in ["ann", "bob"] {
        person(&workspace, name, json!({})).await;
    }
    let ann = workspace.api.get("/users/by-user-id/ann", 200).await.json();
    let channel = format!("/subscriptions/contacts/{}/channels/email", ann["id"].as_str().unwrap());
    let opted_in = json!({"channel": "email", "status": "optedIn"});
    put(&workspace.api, &channel, &opted_in, 200).await;
    let targeting = json!({"subscriptionPreference": "opted_in_only"});
    let segment = create(&workspace, "Opted in", &targeting).await;
    assert_eq!((&segment["count"], &segment["reach"]["email"]), (&json!(2), &json!(1)));
    let everyone = create(&workspace, "Everyone", &json!({})).await;
    assert_eq!((&everyone["count"], &everyone["reach"]["email"]), (&json!(2), &json!(2)));
    // A targeting that uses it has a preference of its own.
    let body = json!({"targeting": all(&[in_segment(&segment, "member")]), "channel": "email"});
    let preview = workspace.api.post("/campaigns/preview", &body, 200).await.json();
    assert_eq!((&preview["total"], &preview["reachable"]), (&json!(2), &json!(2)));
}

#[tokio::test]
async fn membership_does_not_depend_on_the_channel_of_a_campaign() {
    let workspace = Workspace::new().await;
    let news = list(&workspace, "News").await;
    let ann = person(&workspace, "ann", json!({})).await;
    person(&workspace, "bob", json!({})).await;
    let join = format!("/subscriptions/contacts/{}/lists/{news}", ann["id"].as_str().unwrap());
    let request = workspace.api.request(Method::POST, &join).json(&json!({"channel": "sms"}));
    workspace.api.send(request, 200).await;
    let filter = json!({"type": "list", "field": news, "operator": "member"});
    let segment = create(&workspace, "Readers", &all(std::slice::from_ref(&filter))).await;
    assert_eq!(segment["count"], 1);
    for channel in ["email", "sms", "push"] {
        let member = all(&[in_segment(&segment, "member")]);
        let body = json!({"targeting": member, "channel": channel});
        let preview = workspace.api.post("/campaigns/preview", &body, 200).await.json();
        assert_eq!(preview["total"], 1, "{channel}");
        // A filter of the campaign's own is about its channel.
        let body = json!({"targeting": all(std::slice::from_ref(&filter)), "channel": channel});
        let preview = workspace.api.post("/campaigns/preview", &body, 200).await.json();
        assert_eq!(preview["total"], u64::from(channel == "sms"), "{channel}");
    }
}

#[tokio::test]
async fn a_change_of_a_segment_applies_to_what_is_sent() {
    let workspace = Workspace::new().await;
    person(&workspace, "ann", json!({"plan": "pro"})).await;
    person(&workspace, "bob", json!({"plan": "free"})).await;
    let segment = create(&workspace, "Paying", &all(&[plan("pro")])).await;
    // Nothing sent, nothing changed.
    assert_eq!(put(&workspace.api, &path(&segment), &json!({}), 200).await, segment);
    let described = json!({"description": "They pay"});
    let described = put(&workspace.api, &path(&segment), &described, 200).await;
    assert_eq!(described["description"], "They pay");
    assert_eq!(
        (&described["name"], &described["targeting"]),
        (&segment["name"], &segment["targeting"])
    );
    assert_eq!(described["createdAt"], segment["createdAt"]);
    assert!(described["updatedAt"].as_str() > segment["updatedAt"].as_str(), "{described}");
    let change = json!({"name": "Free", "description": null, "targeting": all(&[plan("free")])});
    let changed = put(&workspace.api, &path(&segment), &change, 200).await;
    assert_eq!((&changed["name"], &changed["description"]), (&json!("Free"), &json!("")));
    assert_eq!(changed["count"], 1);
    assert_eq!(workspace.api.get(path(&segment), 200).await.json(), changed);
    assert_eq!(members(&workspace, &segment).await, set(["bob"]));
    let member = all(&[in_segment(&segment, "member")]);
    assert_eq!(previewed(&workspace, &member).await, set(["bob"]));
}

#[tokio::test]
async fn names_are_unique_case_aside() {
    let (workspace, other) = (Workspace::new().await, Workspace::new().await);
    let vip = create(&workspace, "VIP", &json!({})).await;
    let rest = create(&workspace, "Rest", &json!({})).await;
    create(&other, "VIP", &json!({})).await;
    for name in ["VIP", "vip", " Vip "] {
        let message = format!("A segment named \"{}\" already exists", name.trim());
        let body = json!({"name": name, "targeting": {}});
        let refused = workspace.api.post("/segments", &body, 409).await.json();
        assert_eq!(refused["message"], *message);
        let refused = put(&workspace.api, &path(&rest), &json!({"name": name}), 409).await;
        assert_eq!(refused["message"], *message);
        assert_eq!(
            put(&workspace.api, &path(&vip), &json!({"name": name}), 200).await["name"],
            name.trim()
        );
    }
    delete(&workspace.api, &path(&vip), 204).await;
    create(&workspace, "vip", &json!({})).await;
}

#[tokio::test]
async fn segments_are_listed_newest_first_without_their_sizes() {
    let workspace = Workspace::new().await;
    let mut created: Vec<Value> = Vec::new();
    for n in 0..5 {
        created.insert(0, create(&workspace, &format!("S{n}"), &all(&[plan("pro")])).await);
    }
    for segment in &mut created {
        segment.as_object_mut().unwrap().retain(|field, _| field != "count" && field != "reach");
    }
    let page = workspace.api.get("/segments", 200).await.json();
    assert_eq!(page["data"], json!(created));
    assert_eq!(page["pagination"], json!({"total": 5, "limit": 50, "offset": 0, "hasMore": false}));
    let page = workspace.api.get("/segments?limit=2&offset=1", 200).await.json();
    assert_eq!(page["data"], json!(created[1..3]));
    assert_eq!(page["pagination"], json!({"total": 5, "limit": 2, "offset": 1, "hasMore": true}));
    for (query, limit, offset) in [
        ("limit=201&offset=-1", 200, 0),
        ("limit=0&offset=x", 50, 0),
        ("limit=200&offset=5", 200, 5),
    ] {
        let page = workspace.api.get(format!("/segments?{query}"), 200).await.json();
        let position = &page["pagination"];
        assert_eq!((&position["limit"], &position["offset"]), (&json!(limit), &json!(offset)));
        assert_eq!(page["data"].as_array().unwrap().len(), if offset == 5 { 0 } else { 5 });
    }
}

#[tokio::test]
async fn members_are_paged_latest_change_first_and_deleted_profiles_leave() {
    let workspace = Workspace::new().await;
    for n in 0..7 {
        person(&workspace, &format!("p{n}"), json!({"plan": "pro"})).await;
    }
    person(&workspace, "out", json!({"plan": "free"})).await;
    put(&workspace.api, "/users/by-user-id/p3", &json!({"attributes": {"x": 1}}), 200).await;
    let segment = create(&workspace, "Paying", &all(&[plan("pro")])).await;
    let ids = |page: &Value| -> Vec<String> {
        let users = page["data"].as_array().unwrap();
        users.iter().map(|user| user["externalId"].as_str().unwrap().to_owned()).collect()
    };
    let page = workspace.api.get(format!("{}/members", path(&segment)), 200).await.json();
    assert_eq!(ids(&page), ["p3", "p6", "p5", "p4", "p2", "p1", "p0"]);
    // Rows are profiles as everywhere.
    let p3 = workspace.api.get("/users/by-user-id/p3", 200).await.json();
    assert_eq!(page["data"][0], p3);
    assert_eq!(p3["segments"], json!([{"id": id(&segment), "name": "Paying"}]));
    let window = format!("{}/members?limit=3&offset=2", path(&segment));
    let page = workspace.api.get(&window, 200).await.json();
    assert_eq!(ids(&page), ["p5", "p4", "p2"]);
    assert_eq!(page["pagination"], json!({"total": 7, "limit": 3, "offset": 2, "hasMore": true}));
    let beyond = format!("{}/members?offset=7", path(&segment));
    assert_eq!(workspace.api.get(&beyond, 200).await.json()["data"], json!([]));

    delete(&workspace.api, &format!("/users/{}", p3["id"].as_str().unwrap()), 204).await;
    assert_eq!(members(&workspace, &segment).await, set(["p0", "p1", "p2", "p4", "p5", "p6"]));
}

#[tokio::test]
async fn a_deleted_segment_is_gone_and_has_no_members() {
    let (workspace, other) = (Workspace::new().await, Workspace::new().await);
    person(&workspace, "ann", json!({})).await;
    person(&other, "bob", json!({})).await;
    let segment = create(&workspace, "Everyone", &json!({})).await;
    let member = all(&[in_segment(&segment, "member")]);
    assert_eq!(previewed(&workspace, &member).await, set(["ann"]));
    // A segment of another workspace is none.
    assert_eq!(previewed(&other, &member).await, set([]));
    assert_eq!(previewed(&other, &all(&[in_segment(&segment, "not_member")])).await, set(["bob"]));
    delete(&workspace.api, &path(&segment), 204).await;
    for method in [Method::GET, Method::PUT, Method::DELETE] {
        let request = workspace.api.request(method, &path(&segment)).json(&json!({"name": "x"}));
        let absent = workspace.api.send(request, 404).await.json();
        assert_eq!(absent["message"], "Segment not found");
    }
    workspace.api.get(format!("{}/members", path(&segment)), 404).await;
    assert_eq!(previewed(&workspace, &member).await, set([]));
    let ann = workspace.api.get("/users/by-user-id/ann", 200).await.json();
    assert_eq!(ann["segments"], json!([]));
}
