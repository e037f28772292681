//! Every type of filter with every operator it takes, on profiles made for it.

use serde_json::{Value, json};

use super::fixture::{Person, days_ago, iso, list, matching_ids, names, only};
use crate::kit::{Workspace, unique};

async fn people(workspace: &Workspace, people: Vec<(&str, Value)>) -> Vec<Person> {
    let mut made = Vec::new();
    for (name, attributes) in people {
        let mut person = Person::with(name, attributes);
        person.make(workspace).await;
        made.push(person);
    }
    made
}

/// Asks with every line of a table: operator, value, and who is meant.
async fn walk(
    workspace: &Workspace,
    people: &[Person],
    (kind, field): (&str, &str),
    table: &[(&str, Value, &[&str])],
) {
    for (operator, value, expected) in table {
        let filter = json!({"type": kind, "field": field, "operator": operator, "value": value});
        let found = names(workspace, people, &filter).await;
        assert_eq!(found, *expected, "{filter}");
    }
}

#[tokio::test]
async fn attributes_are_compared_by_type_and_operator() {
    let workspace = Workspace::new().await;
    let people = people(
        &workspace,
        vec![
            ("absent", json!({})),
            ("bool", json!({"v": true})),
            ("false", json!({"v": false})),
            ("list", json!({"v": ["red", 1, true]})),
            ("null", json!({"v": null})),
            ("number", json!({"v": 1})),
            ("object", json!({"v": {"red": 1}})),
            ("one", json!({"v": "1"})),
            ("red", json!({"v": "red"})),
            ("redder", json!({"v": "Redder than 100%"})),
        ],
    )
    .await;
    let all_but = |left_out: &[&str]| -> Vec<String> {
        let names = people.iter().map(|person| person.external_id.clone().unwrap());
        names.filter(|name| !left_out.contains(&name.as_str())).collect()
    };
    let table: Vec<(&str, Value, &[&str])> = vec![
        ("equals", json!(1), &["number"]),
        ("equals", json!(1.0), &["number"]),
        ("equals", json!("1"), &["one"]),
        ("equals", json!(true), &["bool"]),
        ("equals", json!("red"), &["red"]),
        ("contains", json!("red"), &["list", "red"]),
        ("contains", json!("00%"), &["redder"]),
        ("contains", json!("e_"), &[]),
        ("contains", json!(1), &["list"]),
        ("contains", json!(true), &["list"]),
        ("starts_with", json!("Red"), &["redder"]),
        ("ends_with", json!("d"), &["red"]),
        ("in", json!(["red", 1, false]), &["false", "number", "red"]),
        ("gt", json!(0.5), &["number"]),
        ("gt", json!(1), &[]),
        ("gte", json!(1), &["number"]),
        ("lt", json!(1), &[]),
        ("lte", json!(1), &["number"]),
        ("between", json!([0, 1]), &["number"]),
        ("is_true", Value::Null, &["bool"]),
        ("is_false", Value::Null, &["false"]),
        (
            "exists",
            Value::Null,
            &["bool", "false", "list", "number", "object", "one", "red", "redder"],
        ),
        ("not_exists", Value::Null, &["absent", "null"]),
    ];
    walk(&workspace, &people, ("attribute", "v"), &table).await;
    // Complements: every profile the positive one leaves out, those without the attribute included.
    for (operator, value, left_out) in [
        ("not_equals", json!("red"), vec!["red"]),
        ("not_contains", json!("red"), vec!["list", "red"]),
        ("not_in", json!([1, "1"]), vec!["number", "one"]),
    ] {
        let filter =
            json!({"type": "attribute", "field": "v", "operator": operator, "value": value});
        assert_eq!(names(&workspace, &people, &filter).await, all_but(&left_out), "{filter}");
    }
}

#[tokio::test]
async fn date_attributes_are_compared_as_timestamps() {
    let workspace = Workspace::new().await;
    let people = people(
        &workspace,
        vec![
            ("day", json!({"at": "2026-03-01"})),
            ("east", json!({"at": "2026-03-02T01:00:00+02:00"})),
            ("never", json!({"at": "2026-02-30"})),
            ("noon", json!({"at": "2026-03-01T12:00:00.000Z"})),
            ("number", json!({"at": 20_260_301})),
            ("recent", json!({"at": iso(days_ago(3))})),
            ("west", json!({"at": "2026-02-28T23:00:00-05:00"})),
        ],
    )
    .await;
    let table: Vec<(&str, Value, &[&str])> = vec![
        ("before", json!("2026-03-01"), &[]),
        ("before", json!("2026-03-01T12:00:00Z"), &["day", "west"]),
        ("after", json!("2026-03-01"), &["recent"]),
        ("after", json!("2026-03-01T04:00:00Z"), &["east", "noon", "recent"]),
        ("gt", json!("2026-03-01T12:00:00Z"), &["east", "recent"]),
        ("gte", json!("2026-03-01"), &["day", "east", "noon", "recent", "west"]),
        ("lt", json!("2026-03-01T04:00:00Z"), &["day"]),
        ("lte", json!("2026-03-01"), &["day", "east", "noon", "west"]),
        ("between", json!(["2026-03-01", "2026-03-01"]), &["day", "east", "noon", "west"]),
        ("within_last", json!(4), &["recent"]),
        ("within_last", json!({"amount": 1, "unit": "hours"}), &[]),
        (
            "not_within_last",
            json!({"amount": 1, "unit": "weeks"}),
            &["day", "east", "never", "noon", "number", "west"],
        ),
    ];
    walk(&workspace, &people, ("attribute", "at"), &table).await;
}

#[tokio::test]
async fn attribute_paths_address_nested_keys_but_not_list_items() {
    let workspace = Workspace::new().await;
    let people = people(
        &workspace,
        vec![
            ("deep", json!({"a": {"b": "x"}})),
            ("flat", json!({"a.b": "x"})),
            ("list", json!({"a": ["x"]})),
            ("other", json!({"a": {"b": "y"}, "a.b": "z"})),
        ],
    )
    .await;
    let table: Vec<(&str, Value, &[&str])> = vec![
        ("equals", json!("x"), &["deep", "flat"]),
        ("not_equals", json!("x"), &["list", "other"]),
        ("in", json!(["y", "z"]), &["other"]),
        ("exists", Value::Null, &["deep", "flat", "other"]),
    ];
    walk(&workspace, &people, ("attribute", "a.b"), &table).await;
    let table: Vec<(&str, Value, &[&str])> = vec![("exists", Value::Null, &[])];
    walk(&workspace, &people, ("attribute", "a.0"), &table).await;
}

#[tokio::test]
async fn profile_fields_are_compared_as_they_are_stored() {
    let workspace = Workspace::new().await;
    let mut people = Vec::new();
    for (name, email, phone) in [
        ("Ann_1", Some("Ann@Bücher.test"), Some("0049 151 (1234567)")),
        ("Bob", Some("bob@example.test"), Some("call me")),
        ("cid", None, None),
    ] {
        let mut person = Person::with(name, json!({}));
        (person.email, person.phone) = (email.map(str::to_owned), phone.map(str::to_owned));
        person.make(&workspace).await;
        people.push(person);
    }
    let email: Vec<(&str, Value, &[&str])> = vec![
        ("equals", json!("ANN@bücher.test"), &["Ann_1"]),
        ("not_equals", json!("ann@bücher.test"), &["Bob", "cid"]),
        ("in", json!([" Bob@Example.TEST ", "x@y.z"]), &["Bob"]),
        ("not_in", json!(["bob@example.test"]), &["Ann_1", "cid"]),
        ("contains", json!("XN--"), &["Ann_1"]),
        ("not_contains", json!("example"), &["Ann_1", "cid"]),
        ("starts_with", json!("Bob@"), &["Bob"]),
        ("ends_with", json!(".test"), &["Ann_1", "Bob"]),
        ("exists", Value::Null, &["Ann_1", "Bob"]),
        ("not_exists", Value::Null, &["cid"]),
    ];
    walk(&workspace, &people, ("profile", "email"), &email).await;
    let phone: Vec<(&str, Value, &[&str])> = vec![
        ("equals", json!("+49 151 1234567"), &["Ann_1"]),
        ("equals", json!("call me"), &["Bob"]),
        ("in", json!(["00491511234567"]), &["Ann_1"]),
        ("starts_with", json!("0049 15"), &["Ann_1"]),
        ("contains", json!("151-12"), &["Ann_1"]),
        ("ends_with", json!("567"), &["Ann_1"]),
        ("not_exists", Value::Null, &["cid"]),
    ];
    walk(&workspace, &people, ("profile", "phone"), &phone).await;
    let external: Vec<(&str, Value, &[&str])> = vec![
        ("equals", json!("bob"), &[]),
        ("equals", json!("Bob"), &["Bob"]),
        ("contains", json!("_"), &["Ann_1"]),
        ("starts_with", json!("c"), &["cid"]),
        ("not_in", json!(["Bob", "cid"]), &["Ann_1"]),
    ];
    walk(&workspace, &people, ("profile", "externalId"), &external).await;
}

#[tokio::test]
async fn profile_timestamps_are_compared_as_timestamps() {
    let workspace = Workspace::new().await;
    let people = people(&workspace, vec![("new", json!({}))]).await;
    let (past, future) = (json!(iso(days_ago(1))), json!(iso(days_ago(-1))));
    for (operator, value, holds) in [
        ("after", past.clone(), true),
        ("after", future.clone(), false),
        ("before", future.clone(), true),
        ("gt", past.clone(), true),
        ("gte", past.clone(), true),
        ("lt", past.clone(), false),
        ("lte", future.clone(), true),
        ("between", json!([past, future]), true),
        ("within_last", json!({"amount": 1, "unit": "hours"}), true),
        ("not_within_last", json!(1), false),
        ("exists", Value::Null, true),
        ("not_exists", Value::Null, false),
    ] {
        for field in ["createdAt", "updatedAt"] {
            let filter =
                json!({"type": "profile", "field": field, "operator": operator, "value": value});
            let found = names(&workspace, &people, &filter).await;
            assert_eq!(!found.is_empty(), holds, "{filter}");
        }
    }
}

#[tokio::test]
async fn channel_filters_compare_recorded_consent() {
    let workspace = Workspace::new().await;
    let mut people = Vec::new();
    for (name, status) in [
        ("in", Some("optedIn")),
        ("none", None),
        ("out", Some("unsubscribed")),
        ("sub", Some("subscribed")),
    ] {
        let mut person = Person::with(name, json!({}));
        person.channels = status.map(|status| ("push", status)).into_iter().collect();
        person.make(&workspace).await;
        people.push(person);
    }
    let table: Vec<(&str, Value, &[&str])> = vec![
        ("equals", json!("optedIn"), &["in"]),
        ("not_equals", json!("unsubscribed"), &["in", "none", "sub"]),
        ("in", json!(["optedIn", "subscribed"]), &["in", "sub"]),
        ("not_in", json!(["optedIn", "subscribed"]), &["none", "out"]),
        ("exists", Value::Null, &["in", "out", "sub"]),
        ("not_exists", Value::Null, &["none"]),
    ];
    walk(&workspace, &people, ("channel", "push"), &table).await;
    let table: Vec<(&str, Value, &[&str])> = vec![("exists", Value::Null, &[])];
    walk(&workspace, &people, ("channel", "viber"), &table).await;
}

#[tokio::test]
async fn list_filters_match_subscribed_members_of_active_lists() {
    let workspace = Workspace::new().await;
    let news = list(&workspace, &unique("news")).await;
    let mut people = Vec::new();
    for (name, status) in
        [("in", Some("subscribed")), ("none", None), ("out", Some("unsubscribed"))]
    {
        let mut person = Person::with(name, json!({}));
        person.lists = status.map(|status| (news.clone(), "sms", status)).into_iter().collect();
        person.make(&workspace).await;
        people.push(person);
    }
    let by_field = json!({"type": "list", "field": news, "operator": "member"});
    let by_value =
        json!({"type": "list", "field": "listId", "operator": "not_member", "value": news});
    assert_eq!(names(&workspace, &people, &by_field).await, ["in"]);
    assert_eq!(names(&workspace, &people, &by_value).await, ["none", "out"]);
    let delete = workspace.api.request(reqwest::Method::DELETE, &format!("/lists/{news}"));
    workspace.api.send(delete, 204).await;
    assert!(names(&workspace, &people, &by_field).await.is_empty());
    assert_eq!(names(&workspace, &people, &by_value).await, ["in", "none", "out"]);
}

#[tokio::test]
async fn segment_filters_match_no_profile() {
    let workspace = Workspace::new().await;
    let people = people(&workspace, vec![("one", json!({}))]).await;
    for (operator, expected) in [("member", vec![]), ("not_member", vec!["one".to_owned()])] {
        let filter = json!({"type": "segment", "field": "vips", "operator": operator});
        assert_eq!(names(&workspace, &people, &filter).await, expected);
    }
}

#[tokio::test]
async fn filter_groups_are_united_intersected_and_excluded() {
    let workspace = Workspace::new().await;
    let people = people(
        &workspace,
        vec![
            ("a", json!({"x": 1})),
            ("ab", json!({"x": 1, "y": 1})),
            ("b", json!({"y": 1})),
            ("none", json!({})),
        ],
    )
    .await;
    let has = |key: &str| json!({"type": "attribute", "field": key, "operator": "exists"});
    let group = |keys: &[&str], operator: &str| -> Value {
        let filters: Vec<Value> = keys.iter().map(|key| has(key)).collect();
        json!({"filters": filters, "operator": operator})
    };
    for (targeting, expected) in [
        (json!({}), vec!["a", "ab", "b", "none"]),
        (json!({"filterGroups": [group(&["x", "y"], "AND")]}), vec!["ab"]),
        (json!({"filterGroups": [group(&["x", "y"], "OR")]}), vec!["a", "ab", "b"]),
        (json!({"filterGroups": [group(&["x"], "AND"), group(&["y"], "AND")]}), vec!["ab"]),
        (
            json!({"filterGroups": [group(&["x"], "AND"), group(&["y"], "AND")], "filterOperator": "OR"}),
            vec!["a", "ab", "b"],
        ),
        (
            json!({"excludeFilterGroups": [group(&["x"], "AND"), group(&["y"], "AND")]}),
            vec!["none"],
        ),
        (
            json!({"filterGroups": [group(&["x"], "AND")], "excludeFilterGroups": [group(&["y"], "AND")]}),
            vec!["a"],
        ),
        (json!({"userIds": ["a", people[2].id, "unknown"]}), vec!["a", "b"]),
        (json!({"userIds": [people[2].id.to_uppercase()]}), vec!["b"]),
        (json!({"userIds": ["a", "b"], "filterGroups": [group(&["y"], "AND")]}), vec!["b"]),
        (json!({"userIds": ["a", "b"], "excludeFilterGroups": [group(&["y"], "AND")]}), vec!["a"]),
    ] {
        let matching_ids = matching_ids(&workspace, &targeting).await;
        let found: Vec<&str> = people
            .iter()
            .filter(|person| matching_ids.contains(&person.id.parse().unwrap()))
            .filter_map(|person| person.external_id.as_deref())
            .collect();
        assert_eq!(found, expected, "{targeting}");
    }
}

#[tokio::test]
async fn the_largest_allowed_targeting_is_evaluated() {
    // The statement's parameters and depth have limits of their own; ours lie below them.
    let workspace = Workspace::new().await;
    let people =
        people(&workspace, vec![("one", json!({"a": {"b": {"c": {"d": {"e": 1}}}}}))]).await;
    let path = "a.b.c.d.e";
    let dates = json!({"type": "attribute", "field": path, "operator": "between", "value": ["2026-01-01", "2026-02-01"]});
    let group = json!({"filters": vec![dates; 50], "operator": "OR"});
    let targeting = json!({"filterGroups": [group], "excludeFilterGroups": [group]});
    assert!(matching_ids(&workspace, &targeting).await.is_empty());
    let ids: Vec<String> = (0..9_999).map(|n| format!("u{n}")).chain(["one".to_owned()]).collect();
    assert_eq!(matching_ids(&workspace, &json!({"userIds": ids})).await.len(), 1);
    let equals = json!({"type": "attribute", "field": path, "operator": "equals", "value": 1});
    assert_eq!(names(&workspace, &people, &equals).await, ["one"]);
    assert_eq!(matching_ids(&workspace, &only(&equals)).await.len(), 1);
}
