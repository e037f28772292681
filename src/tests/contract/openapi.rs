//! The description of the API: made of the mounted routes, readable without a network.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::kit::{Client, snapshots};

#[tokio::test]
async fn openapi_lists_exactly_the_mounted_routes() {
    let answer = Client::anonymous().get("/openapi.json", 200).await.json();
    let paths: Vec<&str> =
        answer["paths"].as_object().unwrap().keys().map(String::as_str).collect();
    for path in [
        "/events/track",
        "/events/query",
        "/events/aggregate",
        "/users/{userId}/events",
        "/livez",
        "/readyz",
    ] {
        assert!(paths.contains(&path), "{path} is missing of {paths:?}");
    }
    for (path, item) in answer["paths"].as_object().unwrap() {
        for method in item.as_object().unwrap().keys() {
            let path = path.replace("{userId}", "0123456789abcdef01234567");
            let client = Client::anonymous();
            let request = client.request(method.to_uppercase().parse().unwrap(), &path);
            let status = request.send().await.unwrap().status().as_u16();
            assert!(status != 404 && status != 405, "{method} {path} answers {status}");
        }
    }
    let track = &answer["paths"]["/events/track"]["post"];
    for status in ["200", "400", "401", "403"] {
        assert!(track["responses"].get(status).is_some(), "{status}: {track}");
    }
    assert!(answer["components"]["securitySchemes"].is_object());
}

/// Collects the names that references to schemas lead to.
fn references(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            let name = map.get("$ref").and_then(Value::as_str);
            let schema = name.and_then(|it| it.strip_prefix("#/components/schemas/"));
            names.extend(schema.map(str::to_owned));
            map.values().for_each(|inside| references(inside, names));
        }
        Value::Array(items) => items.iter().for_each(|inside| references(inside, names)),
        _ => {}
    }
}

#[test]
fn every_referenced_schema_exists() {
    let document = serde_json::to_value(millrace::router::description()).unwrap();
    let mut names = BTreeSet::new();
    references(&document, &mut names);
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let missing: Vec<&String> = names.iter().filter(|name| !schemas.contains_key(*name)).collect();
    assert!(names.len() > 100 && missing.is_empty(), "{missing:?} of {}", names.len());
}

#[test]
fn every_operation_has_a_summary() {
    let document = serde_json::to_value(millrace::router::description()).unwrap();
    let paths = document["paths"].as_object().unwrap();
    let operations = paths.iter().flat_map(|(path, methods)| {
        methods
            .as_object()
            .unwrap()
            .iter()
            .map(move |(method, operation)| (path, method, operation))
    });
    let operations = operations.filter(|(_, _, operation)| operation["responses"].is_object());
    let missing: Vec<_> = operations
        .filter(|(_, _, operation)| operation["summary"].as_str().is_none_or(str::is_empty))
        .map(|(path, method, _)| format!("{method} {path}"))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn openapi_matches_the_snapshot() {
    let document = serde_json::to_value(millrace::router::description()).unwrap();
    snapshots("snapshots").bind(|| insta::assert_json_snapshot!("openapi", document));
}

#[tokio::test]
async fn the_api_reference_page_loads_no_external_resources() {
    let client = Client::anonymous();
    let page = client.get("/docs/", 200).await;
    let mut assets = Vec::new();
    for part in page.text.split(['"', '\'']) {
        assert!(
            !part.starts_with("http://")
                && !part.starts_with("https://")
                && !part.starts_with("//"),
            "{part}"
        );
        if let Some(asset) = part.strip_prefix("./").filter(|asset| asset.contains("swagger-ui")) {
            assets.push(asset.to_owned());
        }
    }
    assert!(!assets.is_empty(), "{}", page.text);
    for asset in assets {
        client.get(format!("/docs/{asset}"), 200).await;
    }
}
