//! `GET /campaigns`: filters and pages.

use serde_json::{Value, json};

use super::{call, email, email_with, made, put, triggered};
use crate::kit::Workspace;

async fn names(workspace: &Workspace, query: &str) -> Vec<String> {
    let answer = workspace.api.get(format!("/campaigns{query}"), 200).await.json();
    let data = answer["data"].as_array().unwrap();
    assert_eq!(answer["pagination"]["total"], data.len(), "{query}");
    data.iter().map(|campaign| campaign["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn each_list_filter_matches_and_filters_combine() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    made(api, &email_with("Spring Sale", json!({"tags": ["vip", "eu,west"]}))).await;
    made(api, &email_with("other", json!({"description": "100% SPRINGS_x"}))).await;
    let live = made(api, &triggered("welcome")).await;
    call(api, &live, "send", 200).await;
    let app = json!({"name": "banner", "channel": "in_app", "tags": ["spring", "x"]});
    let app = made(api, &app).await;
    call(api, &app, "archive", 200).await;

    for (query, expected) in [
        ("", &["banner", "welcome", "other", "Spring Sale"][..]),
        ("?status=draft", &["other", "Spring Sale"]),
        ("?status=active,archived", &["banner", "welcome"]),
        ("?status=completed", &[]),
        ("?channel=email", &["welcome", "other", "Spring Sale"]),
        ("?channel=in_app,sms", &["banner"]),
        ("?tags=vip", &["Spring Sale"]),
        ("?tags=vip,x", &["banner", "Spring Sale"]),
        ("?tags=v", &[]),
        ("?q=SPRING", &["banner", "other", "Spring Sale"]),
        ("?q=g%20s", &["Spring Sale"]),
        ("?q=0%25", &["other"]),
        ("?q=s_x", &["other"]),
        ("?q=%25", &["other"]),
        ("?q=_", &["other"]),
        ("?q=%5C", &[]),
        ("?q=nothing", &[]),
        ("?q=spring&status=draft&tags=vip&channel=email", &["Spring Sale"]),
        ("?q=spring&channel=in_app&status=draft", &[]),
        ("?createdFrom=2020-01-01", &["banner", "welcome", "other", "Spring Sale"]),
        ("?createdFrom=2999-01-01", &[]),
        ("?status=&q=&tags=", &["banner", "welcome", "other", "Spring Sale"]),
    ] {
        assert_eq!(names(&workspace, query).await, expected, "{query}");
    }
}

#[tokio::test]
async fn campaigns_are_filtered_by_creator_and_editor() {
    let workspace = Workspace::new().await;
    let second = workspace.with_scopes("campaigns:*").await;
    let first = made(&workspace.api, &email("first")).await;
    let other = made(&second, &email("second")).await;
    let (one, two) = (first["createdBy"].as_str().unwrap(), other["createdBy"].as_str().unwrap());
    assert_ne!(one, two);
    let bare = two.strip_prefix("api_key:").unwrap();
    assert_eq!(names(&workspace, &format!("?createdBy={one}")).await, ["first"]);
    assert_eq!(names(&workspace, &format!("?createdBy={bare}")).await, ["second"]);
    assert_eq!(names(&workspace, &format!("?createdBy={one},{bare}")).await, ["second", "first"]);
    assert_eq!(names(&workspace, &format!("?editedBy={bare}")).await, ["second"]);
    let edited = put(&second, &first, json!({"description": "d"}), 200).await.json();
    assert_eq!((&edited["createdBy"], &edited["updatedBy"]), (&json!(one), &json!(two)));
    assert_eq!(names(&workspace, &format!("?editedBy={bare}")).await, ["second", "first"]);
    assert_eq!(names(&workspace, "?createdBy=unknown").await, [""; 0]);
}

#[tokio::test]
async fn pages_of_campaigns_are_consecutive_and_report_their_position() {
    let workspace = Workspace::new().await;
    for n in 0..5 {
        made(&workspace.api, &email(&format!("c{n}"))).await;
    }
    let page =
        async |query: &str| workspace.api.get(format!("/campaigns{query}"), 200).await.json();
    let first = page("?limit=2").await;
    assert_eq!(
        first["pagination"],
        json!({"total": 5, "page": 1, "limit": 2, "offset": 0, "totalPages": 3, "hasMore": true})
    );
    let mut seen: Vec<Value> = Vec::new();
    for number in 1..=3 {
        let page = page(&format!("?limit=2&page={number}")).await;
        assert_eq!(page["pagination"]["hasMore"], number < 3);
        seen.extend(page["data"].as_array().unwrap().iter().map(|it| it["name"].clone()));
    }
    assert_eq!(seen, ["c4", "c3", "c2", "c1", "c0"]);
    let beyond = page("?limit=2&page=4").await;
    assert_eq!(beyond["data"], json!([]));
    assert_eq!(
        beyond["pagination"],
        json!({"total": 5, "page": 4, "limit": 2, "offset": 6, "totalPages": 3, "hasMore": false})
    );
    for (query, number, limit) in [
        ("", 1, 20),
        ("?limit=100", 1, 100),
        ("?limit=101", 1, 100),
        ("?limit=0&page=0", 1, 20),
        ("?limit=x&page=-1", 1, 20),
        ("?page=99999999999999999999", 4_294_967_295_u32, 20),
    ] {
        let pagination = page(query).await["pagination"].clone();
        assert_eq!((&pagination["page"], &pagination["limit"]), (&json!(number), &json!(limit)));
    }
}

#[tokio::test]
async fn unknown_filter_values_are_refused_by_name() {
    let workspace = Workspace::new().await;
    for (query, problem) in [
        ("?status=draft,gone", "status must be one of: draft, scheduled, active"),
        ("?channel=fax", "channel must be one of: email, sms"),
        ("?createdFrom=yesterday", "createdFrom must be an ISO 8601"),
        ("?q=a%00", "q must not contain NUL"),
    ] {
        let answer = workspace.api.get(format!("/campaigns{query}"), 400).await;
        assert!(answer.errors()[0].starts_with(problem), "{}", answer.text);
    }
    let long = format!("?q={}", "x".repeat(256));
    workspace.api.get(format!("/campaigns{long}"), 400).await;
}

#[tokio::test]
async fn an_oversized_page_of_campaigns_is_refused_before_it_is_read() {
    let workspace = Workspace::new().await;
    for n in 0..3 {
        let campaign = made(&workspace.api, &email(&format!("c{n}"))).await;
        let swell = "update campaign
             set definition = jsonb_set(definition, '{description}', to_jsonb(repeat('x', 24000000)))
             where workspace_id = $1 and id = $2";
        super::sql(&workspace, &campaign, swell).await;
    }
    let answer = workspace.api.get("/campaigns?limit=3", 400).await;
    assert!(answer.errors()[0].contains("larger than 67108864 bytes"), "{}", answer.text);
    // No campaign that was saved by a call is as large as the description of the API allows for.
    let page = workspace
        .api
        .request(reqwest::Method::GET, "/campaigns?limit=1&page=3")
        .send()
        .await
        .unwrap();
    assert_eq!(page.status(), 200);
    assert_eq!(page.json::<Value>().await.unwrap()["data"][0]["name"], "c0");
}
