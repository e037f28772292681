//! `POST /campaigns/preview`.

use serde_json::{Value, json};

use super::fixture::Person;
use crate::kit::{Workspace, eventually};

async fn preview(workspace: &Workspace, body: &Value) -> Value {
    workspace.api.post("/campaigns/preview", body, 200).await.json()
}

fn names(preview: &Value) -> Vec<&str> {
    let users = preview["users"].as_array().unwrap();
    users.iter().map(|user| user["externalId"].as_str().unwrap()).collect()
}

/// So many people, the last made first in the answer; each third has no address.
async fn people(workspace: &Workspace, count: usize) {
    let users: Vec<Value> = (0..count)
        .map(|number| {
            let mut user = json!({
                "externalId": format!("p{number:04}"),
                "attributes": {"firstName": "Ann", "lastName": number, "third": number % 3},
            });
            if number % 3 != 0 {
                user["email"] = json!(format!("p{number}@example.test"));
            }
            user
        })
        .collect();
    for some in users.chunks(100) {
        workspace.api.post("/users", &json!(some), 200).await;
    }
}

#[tokio::test]
async fn a_preview_counts_and_shows_the_latest() {
    let workspace = Workspace::new().await;
    people(&workspace, 9).await;
    let mut last = Person::with("last", json!({"firstName": "Zoe", "lastName": "Ash", "third": 0}));
    (last.email, last.phone) = (Some("Zoe@Example.test".to_owned()), Some("0151 1".to_owned()));
    last.make(&workspace).await;
    let third = json!({"type": "attribute", "field": "third", "operator": "equals", "value": 0});
    let targeting = json!({"filterGroups": [{"filters": [third], "operator": "AND"}]});
    let all = preview(&workspace, &json!({"targeting": targeting})).await;
    assert_eq!((&all["total"], &all["reachable"]), (&json!(4), &json!(4)));
    assert_eq!(
        all["users"][0],
        json!({
            "id": last.id, "externalId": "last", "email": "zoe@example.test", "phone": "0151 1",
            "firstName": "Zoe", "lastName": "Ash",
        })
    );
    // A last name that is no text is none.
    assert_eq!(all["users"][1]["lastName"], Value::Null);
    for (channel, reachable) in
        [("email", 1), ("sms", 1), ("push", 4), ("in_app", 4), ("webhook", 4)]
    {
        let body = json!({"targeting": targeting, "channel": channel, "limit": 1});
        let one = preview(&workspace, &body).await;
        assert_eq!((&one["total"], &one["reachable"]), (&json!(4), &json!(reachable)), "{channel}");
        assert_eq!(names(&one), ["last"]);
    }
}

#[tokio::test]
async fn previews_clamp_the_limit_and_list_newest_profiles_first() {
    let workspace = Workspace::new().await;
    people(&workspace, 620).await;
    for (limit, shown) in [
        (Value::Null, 20),
        (json!(0), 20),
        (json!(-5), 20),
        (json!(1), 1),
        (json!(500), 500),
        (json!(501), 500),
        (json!(9_000_000_000_u64), 500),
    ] {
        let page = preview(&workspace, &json!({"targeting": {}, "limit": limit})).await;
        assert_eq!((names(&page).len(), &page["total"]), (shown, &json!(620)), "{limit}");
    }
    // Few are found by looking through all; many by looking at the latest alone.
    let everyone = preview(&workspace, &json!({"targeting": {}, "limit": 500})).await;
    let latest: Vec<&str> = names(&everyone);
    let some = json!({"userIds": [latest[7], latest[3], latest[400]]});
    let few = preview(&workspace, &json!({"targeting": some, "limit": 400})).await;
    assert_eq!(names(&few), [latest[3], latest[7], latest[400]]);
}

#[tokio::test]
async fn previews_of_event_audiences_list_newest_profiles_first() {
    // As many as are looked for among the latest profiles, and more of these than are looked at: a quarter.
    const TRACKED: usize = 20_100;
    const PROFILES: usize = 5_200;
    let workspace = Workspace::new().await;
    people(&workspace, PROFILES).await;
    // Each tenth did nothing, and most of those who did are no profiles.
    let seen: Vec<Value> = (0..TRACKED)
        .filter(|number| number % 10 != 0 || *number >= PROFILES)
        .map(|number| json!({"eventName": "Seen", "userId": format!("p{number:04}")}))
        .chain((0..PROFILES / 10).map(|n| json!({"eventName": "Seen", "userId": format!("q{n}")})))
        .collect();
    for some in seen.chunks(500) {
        workspace.api.post("/events/track", &json!(some), 200).await;
    }
    let saw = json!({"type": "event", "field": "Seen", "operator": "performed"});
    let asked = |more: &[Value], limit: usize| {
        let filters: Vec<&Value> = std::iter::once(&saw).chain(more).collect();
        let targeting = json!({"filterGroups": [{"filters": filters}]});
        json!({"targeting": targeting, "limit": limit, "channel": "email"})
    };
    let page = eventually("all of them can be asked about", async || {
        let page = preview(&workspace, &asked(&[], 20)).await;
        (page["total"] == PROFILES / 10 * 9).then_some(page)
    })
    .await;
    assert_eq!(page["reachable"], PROFILES / 10 * 9 * 2 / 3);
    let everyone = preview(&workspace, &json!({"targeting": {}, "limit": 500})).await;
    let newest: Vec<&str> =
        names(&everyone).into_iter().filter(|name| !name.ends_with('0')).collect();
    assert_eq!(names(&page), newest[..20], "by looking at the latest");
    let page = preview(&workspace, &asked(&[], 400)).await;
    assert_eq!(names(&page), newest[..400], "all of them are the latest");
    let third =
        json!({"type": "attribute", "field": "lastName", "operator": "in", "value": [3, 10, 107]});
    let page = preview(&workspace, &asked(&[third], 20)).await;
    assert_eq!(
        (names(&page), &page["reachable"]),
        (vec!["p0107", "p0003"], &json!(1)),
        "looked for by themselves"
    );
}

#[tokio::test]
async fn invalid_targetings_are_refused_field_by_field() {
    let workspace = Workspace::new().await;
    let body = json!({
        "targeting": {"filterGroups": [{"filters": [{"type": "moon"}]}]},
        "limit": "many",
        "channel": "fax",
        "webAppId": "app-1",
    });
    let errors = workspace.api.post("/campaigns/preview", &body, 400).await.errors();
    assert_eq!(errors.len(), 4, "{errors:?}");
    assert!(errors[0].starts_with("targeting.filterGroups[0].filters[0].type must be one of:"));
    assert_eq!(errors[1], "limit must be an integer");
    assert!(errors[2].starts_with("channel must be one of: email, sms,"));
    assert_eq!(errors[3], "webAppId must be absent: no web app is registered in this workspace");
    for (body, problem) in [
        (json!({}), "targeting is required"),
        (json!({"targeting": []}), "targeting must be an object"),
        (
            json!({"targeting": {"userIds": []}}),
            "targeting.userIds must have at least 1 element; leave it out to mean everyone",
        ),
        (
            json!({"targeting": {"userIds": ["a\u{0}"]}}),
            "targeting.userIds[0] must not contain NUL characters",
        ),
    ] {
        assert_eq!(workspace.api.post("/campaigns/preview", &body, 400).await.errors(), [problem]);
    }
}

#[tokio::test]
async fn hostile_texts_are_only_values() {
    // A field or a value that broke out of its place would be an injection.
    let workspace = Workspace::new().await;
    let nasty = [
        "it's",
        "a\"b",
        "back\\slash",
        "new\nline",
        "'); drop table users; --",
        "$1",
        "?",
        "%",
        "_",
        "\u{1}",
        "日本語",
        "🙂",
        "{\"a\":1}",
        "$.a",
        "strict $",
        "\\u0041",
        "a b",
        "\u{2028}",
        " ",
    ];
    for (number, text) in nasty.iter().enumerate() {
        let mut person =
            Person::with(&format!("n{number}"), json!({*text: text, "n": {*text: number}}));
        person.make(&workspace).await;
        for (field, operator, value) in [
            ((*text).to_owned(), "equals", json!(text)),
            ((*text).to_owned(), "contains", json!(text)),
            ((*text).to_owned(), "starts_with", json!(text)),
            ((*text).to_owned(), "in", json!([text, 5])),
            (format!("n.{text}"), "gte", json!(number)),
            (format!("n.{text}"), "between", json!([number, number])),
        ] {
            // Below another key a dot means one more key.
            if field.starts_with("n.") && text.contains('.') {
                continue;
            }
            let filter =
                json!({"type": "attribute", "field": field, "operator": operator, "value": value});
            let body = json!({"targeting": {"filterGroups": [{"filters": [filter]}]}});
            let found = preview(&workspace, &body).await;
            assert!(
                names(&found).contains(&format!("n{number}").as_str()),
                "{text:?} {operator}: {found}"
            );
        }
        let event = json!({"type": "event", "field": text, "operator": "performed",
            "value": {"properties": {*text: text}}});
        let body = json!({"targeting": {"filterGroups": [{"filters": [event]}]}});
        assert_eq!(preview(&workspace, &body).await["total"], 0);
    }
}
