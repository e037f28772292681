//! `GET /users/export` and `millrace export people`: every active profile once.

use std::collections::BTreeSet;

use reqwest::{Method, Response};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};
use tables::Format;
use tempfile::TempDir;

use super::{
    commands::{import_rows, run, text},
    fixture::{began_at, breaks_off, bytes_at, has_no_place, has_type, open_at, rows_at},
    formats::{read, without_empty},
};
use crate::{
    identity::{link, merge},
    kit::{Client, Workspace, server},
};

const PATH: &str = "/users/export";

async fn open(client: &Client, query: &str, accept: &str) -> Response {
    open_at(client, &format!("{PATH}{query}"), accept).await
}

async fn bytes(client: &Client, query: &str) -> Vec<u8> {
    bytes_at(client, &format!("{PATH}{query}")).await
}

async fn rows(client: &Client, query: &str) -> Vec<Value> {
    rows_at(client, &format!("{PATH}{query}")).await
}

fn ids(rows: &[Value]) -> Vec<&str> {
    rows.iter().map(|row| row["person_id"].as_str().unwrap()).collect()
}

/// Creates profiles, and gives how many.
async fn create(workspace: &Workspace, profiles: &[Value]) -> usize {
    for some in profiles.chunks(1_000) {
        let made = workspace.api.post("/users", &json!(some), 200).await.json();
        assert_eq!(made["created"], some.len(), "{}", made["failed"]);
    }
    profiles.len()
}

/// Attributes of so many bytes in compact JSON.
fn attributes_of(bytes: usize) -> Value {
    json!({"long": "x".repeat(bytes - r#"{"long":""}"#.len())})
}

/// The most bytes that attributes have.
const ATTRIBUTES_MAX: usize = 51_200;

/// Profiles of all kinds: without some identifiers, with texts that need quoting, at the limits.
fn people() -> String {
    let keys: serde_json::Map<String, Value> =
        (0..200).map(|number| (format!("key {number}"), json!(number))).collect();
    let all = [
        r#"{"externalId":"ann","email":"Ann@Example.TEST","phone":"+49 (151) 1234567","attributes":{"firstName":"Ann","score":49.90,
            "big":12345678901234567890.0123456789,"huge":1e300,"since":"2024-01-02","at":"2026-03-01T12:00:00+02:00"}}"#
            .to_owned(),
        json!({"externalId": "a,\"b\";\r\n'c'\t=1+1", "attributes": {"=cmd|' /C calc'!A0": "+1", "quoted": "a,\"b\"\r\n\\n\u{1}"}})
            .to_string(),
        json!({"email": "only@example.test", "attributes": {"nested": {"a": [1, {"b": [null, true, "é 日本 👩‍👩‍👧"]}]}, "": ""}}).to_string(),
        json!({"externalId": "日本", "email": "jürgen@bücher.example"}).to_string(),
        json!({"externalId": "@many", "phone": "0151 23456789", "attributes": keys}).to_string(),
        json!({"externalId": "-long", "attributes": attributes_of(ATTRIBUTES_MAX)}).to_string(),
        json!({"externalId": "nothing"}).to_string(),
    ];
    format!("[{}]", all.join(","))
}

async fn create_people(workspace: &Workspace) {
    let request = workspace.api.request(Method::POST, "/users");
    let request = request.header("content-type", "application/json").body(people());
    let made = workspace.api.send(request, 200).await.json();
    assert_eq!((&made["created"], &made["failed"]), (&json!(7), &json!([])));
}

/// A profile as `GET /users` answers it, with its attributes to the last digit.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Stored {
    identifiers: [Option<String>; 3],
    attributes: String,
}

async fn stored(workspace: &Workspace) -> BTreeSet<Stored> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct User {
        external_id: Option<String>,
        email: Option<String>,
        phone: Option<String>,
        attributes: Box<RawValue>,
    }
    #[derive(Deserialize)]
    struct Page {
        data: Vec<User>,
    }
    let page = workspace.api.get("/users?limit=200", 200).await;
    let page: Page = serde_json::from_str(&page.text).unwrap();
    let of = |user: User| Stored {
        identifiers: [user.external_id, user.email, user.phone],
        attributes: user.attributes.get().to_owned(),
    };
    page.data.into_iter().map(of).collect()
}

#[tokio::test]
async fn a_profile_is_exported_with_all_that_is_stored_in_every_format() {
    let workspace = Workspace::new().await;
    create_people(&workspace).await;
    let users = workspace.api.get("/users?limit=200", 200).await.json();
    let mut users = users["data"].as_array().unwrap().clone();
    users.sort_by_key(|user| user["id"].as_str().unwrap().to_owned());
    let ann = users.iter().find(|it| it["externalId"] == "ann").unwrap()["id"].clone();
    let ann = ann.as_str().unwrap();
    for anonymous in ["b,\"c\"", "A"] {
        link(&workspace, anonymous, ann).await;
    }
    for (channel, status) in [("sms", "unsubscribed"), ("email", "optedIn")] {
        let path = format!("/subscriptions/contacts/{ann}/channels/{channel}");
        let body = json!({"channel": channel, "status": status});
        workspace.api.send(workspace.api.request(Method::PUT, &path).json(&body), 200).await;
    }
    let list = workspace.api.post("/lists", &json!({"name": "News"}), 201).await.json();
    let list = list["id"].as_str().unwrap();
    let path = format!("/subscriptions/contacts/{ann}/lists/{list}");
    workspace.api.post(&path, &json!({"channel": "email"}), 200).await;

    let text = |value: &Value| json!(value.as_str().unwrap_or_default());
    let exported = rows(&workspace.api, "").await;
    assert_eq!(exported.len(), users.len());
    for (row, user) in exported.iter().zip(&users) {
        let mut expected = json!({
            "person_id": user["id"], "external_id": text(&user["externalId"]), "email": text(&user["email"]),
            "phone": text(&user["phone"]), "anonymous_ids": [], "attributes": user["attributes"],
            "created_at": user["createdAt"], "updated_at": user["updatedAt"], "consent": {}, "lists": [],
        });
        if user["id"] == ann {
            expected["anonymous_ids"] = json!(["A", "b,\"c\""]);
            expected["consent"] = json!({"sms": "unsubscribed", "email": "optedIn"});
            expected["lists"] = json!([list]);
        }
        assert_eq!(*row, expected);
    }
    let ndjson = bytes(&workspace.api, "?format=ndjson").await;
    let digits = [r#""score":49.90"#, r#""big":12345678901234567890.0123456789"#];
    let whole = String::from_utf8(ndjson.clone()).unwrap();
    assert!(digits.iter().all(|it| whole.contains(it)), "numbers keep their digits");

    let ndjson = read(&ndjson, Format::Ndjson);
    let parquet = bytes(&workspace.api, "?format=parquet").await;
    assert_eq!(read(&parquet, Format::Parquet), ndjson);
    let csv = bytes(&workspace.api, "?format=csv").await;
    assert_eq!(read(&csv, Format::Csv), without_empty(ndjson));
    let csv = String::from_utf8(csv).unwrap();
    assert!(csv.contains("\"a,\"\"b\"\";\r\n'c'\t=1+1\""), "cells are what is stored: {csv}");
}

#[tokio::test]
async fn what_was_exported_makes_the_same_profiles_in_another_workspace() {
    let source = Workspace::new().await;
    create_people(&source).await;
    let expected = stored(&source).await;
    assert_eq!(expected.len(), 7);
    let folder = TempDir::new().unwrap();
    for format in ["csv", "ndjson", "parquet"] {
        let file = folder.path().join(format!("people.{format}"));
        let exported = run(&["export", "people", text(&file), "--workspace", &source.name]).await;
        assert_eq!((exported.status, exported.stdout.as_str()), (0, ""), "{}", exported.stderr);
        let target = Workspace::new().await;
        // Again it changes nothing.
        for _ in 0..2 {
            let imported = import_rows("people", &target, &file).await;
            assert_eq!(imported.status, 0, "{}", imported.stderr);
            assert_eq!(imported.stdout, "7 rows, 7 accepted, 0 refused\n");
            assert_eq!(stored(&target).await, expected, "{format}");
        }
        // And none into its own.
        let imported = import_rows("people", &source, &file).await;
        assert_eq!(imported.status, 0, "{}", imported.stderr);
        assert_eq!(stored(&source).await, expected, "{format}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3, "no other file is left");
    let unnamed = folder.path().join("some");
    let arguments = ["export", "people", text(&unnamed), "--workspace", &source.name];
    let refused = run(&arguments).await;
    assert!(refused.status == 1 && refused.stderr.contains("--format"), "{}", refused.stderr);
    let exported = run(&[&arguments[..], &["--format", "ndjson"]].concat()).await;
    assert_eq!(exported.status, 0, "{}", exported.stderr);
    assert_eq!(std::fs::read(&unnamed).unwrap(), bytes(&source.api, "").await);
}

#[tokio::test]
async fn a_key_needs_its_scope_and_exports_its_own_workspace() {
    let (workspace, other) = (Workspace::new().await, Workspace::new().await);
    create(&workspace, &[json!({"externalId": "ann"}), json!({"externalId": "bob"})]).await;
    create(&other, &[json!({"externalId": "ann"})]).await;
    let (here, there) = (rows(&workspace.api, "").await, rows(&other.api, "").await);
    assert_eq!((here.len(), there.len()), (2, 1));
    assert!(!ids(&here).contains(&ids(&there)[0]));
    let after = rows(&other.api, &format!("?cursor={}", ids(&here)[0])).await;
    assert!(after.iter().all(|row| ids(&there).contains(&row["person_id"].as_str().unwrap())));
    let reader = workspace.with_scopes("events:read").await;
    assert_eq!(open(&reader, "", "*/*").await.status(), 403);
    assert_eq!(open(&Client::anonymous(), "", "*/*").await.status(), 401);

    let folder = TempDir::new().unwrap();
    let file = folder.path().join("people.csv");
    let (wrong, _) = server().key(&workspace.name, "events:read").await;
    let refused = run(&["export", "people", text(&file), "--api-key", &wrong]).await;
    assert_eq!(refused.status, 1);
    assert!(refused.stderr.contains("users:read"), "{}", refused.stderr);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left");
}

#[tokio::test]
async fn the_format_is_that_of_the_query_else_of_the_header() {
    let workspace = Workspace::new().await;
    let cases = [
        ("", "*/*", "application/x-ndjson"),
        ("", "text/html", "application/x-ndjson"),
        ("", "text/csv", "text/csv"),
        ("?format=parquet", "text/csv", "application/vnd.apache.parquet"),
    ];
    for (query, accept, expected) in cases {
        let path = format!("{PATH}{query}");
        let response = has_type(&workspace.api, &path, [accept, expected]).await;
        let file = response.headers()["content-disposition"].to_str().unwrap();
        assert!(file.starts_with("attachment; filename=\"people."), "{file}");
    }
    // Without profiles each is a whole table of its format.
    let csv = String::from_utf8(bytes(&workspace.api, "?format=csv").await).unwrap();
    assert!(csv.starts_with("person_id,external_id,email,") && csv.lines().count() == 1, "{csv}");
    assert!(read(&bytes(&workspace.api, "?format=parquet").await, Format::Parquet).is_empty());
    let no_cursor = "cursor must be a value of the column person_id of an export";
    for (query, expected) in [
        ("format=arrow", "format must be one of: ndjson, csv, parquet"),
        ("format=CSV", "format must be one of: ndjson, csv, parquet"),
        ("cursor=ann", no_cursor),
        ("cursor=6b01417d621db7fb2000000", no_cursor),
        ("cursor=6b01417d621db7fb200000000", "cursor must be at most 24 characters"),
    ] {
        let refused = workspace.api.get(format!("{PATH}?{query}"), 400).await;
        assert_eq!(refused.errors(), [expected], "{query}");
    }
}

#[tokio::test]
async fn deleted_and_merged_profiles_are_left_out() {
    let workspace = Workspace::new().await;
    let profiles = ["stays", "goes", "merged", "back"].map(|id| json!({"externalId": id}));
    create(&workspace, &profiles).await;
    let remove = async |external: &str| {
        let user = workspace.api.get(format!("/users/by-user-id/{external}"), 200).await.json();
        let path = format!("/users/{}", user["id"].as_str().unwrap());
        workspace.api.send(workspace.api.request(Method::DELETE, &path), 204).await;
    };
    remove("goes").await;
    merge(&workspace, "merged", "stays").await;
    remove("back").await;
    create(&workspace, &[json!({"externalId": "back"})]).await;
    let rows = rows(&workspace.api, "").await;
    let names: BTreeSet<&str> =
        rows.iter().map(|row| row["external_id"].as_str().unwrap()).collect();
    assert_eq!((rows.len(), names), (2, BTreeSet::from(["back", "stays"])));
}

#[tokio::test]
async fn more_profiles_than_a_page_come_each_once() {
    let workspace = Workspace::new().await;
    let small = |number: usize| json!({"externalId": format!("small-{number}")});
    let large = |number: usize| json!({"externalId": format!("large-{number}"), "attributes": attributes_of(ATTRIBUTES_MAX)});
    // Large ones end a page before its number does; those after them are many again.
    let mut count = create(&workspace, &(0..1_900).map(small).collect::<Vec<_>>()).await;
    count += create(&workspace, &(0..200).map(large).collect::<Vec<_>>()).await;
    count += create(&workspace, &(1_900..3_000).map(small).collect::<Vec<_>>()).await;
    let all = rows(&workspace.api, "").await;
    let found = ids(&all);
    assert_eq!(found.len(), count);
    assert!(found.is_sorted_by(|one, other| one < other), "each once, in order");
    let names: BTreeSet<&str> =
        all.iter().map(|row| row["external_id"].as_str().unwrap()).collect();
    assert_eq!(names.len(), count);
    for at in [0, 99, 2_000, count - 1] {
        let rest = rows(&workspace.api, &format!("?cursor={}", found[at])).await;
        assert_eq!(rest, all[at + 1..], "after row {at}");
    }
    let parquet = read(&bytes(&workspace.api, "?format=parquet").await, Format::Parquet);
    assert_eq!(parquet.len(), count);

    let folder = TempDir::new().unwrap();
    let file = folder.path().join("people.parquet");
    let exported = run(&["export", "people", text(&file), "--workspace", &workspace.name]).await;
    assert_eq!(exported.status, 0, "{}", exported.stderr);
    let target = Workspace::new().await;
    let imported = import_rows("people", &target, &file).await;
    assert_eq!(imported.stdout, format!("{count} rows, {count} accepted, 0 refused\n"));
    let copied = rows(&target.api, "").await;
    let without_ids = |rows: &[Value]| -> BTreeSet<String> {
        rows.iter().map(|row| format!("{} {}", row["external_id"], row["attributes"])).collect()
    };
    assert!(without_ids(&copied) == without_ids(&all), "the same profiles");
}

#[tokio::test]
async fn exports_have_so_many_places_and_end_with_their_key() {
    let workspace = Workspace::new().await;
    // More than buffers of connections hold.
    let large = |number: usize| json!({"externalId": format!("large-{number}"), "attributes": attributes_of(50_000)});
    create(&workspace, &(0..600).map(large).collect::<Vec<_>>()).await;
    let (key, _) = server().key(&workspace.name, "users:read,events:read").await;
    let client = Client::new(&server().url, Some(&key));
    let (first, second) = (began_at(&client, PATH).await, began_at(&client, PATH).await);
    // Exports of events and of people share the places.
    for path in [PATH, "/events/export"] {
        has_no_place(&client, path).await;
    }
    drop(second);
    drop(began_at(&client, PATH).await);

    let (db, id) = (server().db(), key.split('_').nth(1).unwrap().to_owned());
    server()
        .on(async move {
            let now = kernel::Clock::system().now();
            web::auth::keys::revoke(&db, now, id.parse().unwrap()).await.unwrap();
        })
        .await;
    breaks_off(&client, "/users", first).await;
}
