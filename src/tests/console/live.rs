//! `/console/live`.

use std::time::Duration;

use reqwest::Method;
use serde_json::json;

use super::kit::{Person, link};
use crate::kit::{BrowserTab, Client, LiveStream, Part, Workspace, eventually, server, unique};

#[tokio::test]
async fn the_page_begins_with_what_came_before() {
    let workspace = Workspace::new().await;
    let person = Person::signed_in(&workspace, "*").await;
    let empty = person.get("/console/live").await;
    assert!(empty.text.contains("No event yet"), "{}", empty.text);
    let events = json!([
        {"userId": "ann", "eventName": "Signed Up", "properties": {"x": "<u>y</u>"}},
        {"userId": "ann", "eventName": ""},
    ]);
    let answer = workspace.api.post("/events/track", &events, 200).await.json();
    let reason = answer["rejected"][0]["reason"].as_str().unwrap().to_owned();
    // The reason is the API's own text.
    let escaped = reason.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
    let shown = eventually("both are shown", || async {
        let seen = person.get("/console/live").await;
        let both = seen.text.contains("Signed Up") && seen.text.contains(&escaped);
        both.then_some(seen)
    })
    .await;
    assert!(!shown.text.contains("<u>y"), "{}", shown.text);
    let refused = person.get("/console/live?status=rejected").await;
    assert!(!refused.text.contains("Signed Up"), "{}", refused.text);
    assert_eq!(person.get("/console/live/stream?status=unknown").await.status, 400);
}

#[tokio::test]
async fn people_are_opened_from_events_by_those_who_may_see_them() {
    const LINK: &str = "data-slot=\"person\"";
    let workspace = Workspace::new().await;
    let person = Person::signed_in(&workspace, "events:read,users:read").await;
    assert!(person.get("/console/live").await.text.contains(LINK));
    let reader = Person::signed_in(&workspace, "events:read").await;
    assert!(!reader.get("/console/live").await.text.contains(LINK));
    let tab = match BrowserTab::open().await {
        Ok(tab) => tab,
        Err(reason) => {
            eprintln!("SKIPPED people_are_opened_from_events_by_those_who_may_see_them: {reason}");
            return;
        }
    };
    tab.go(link(&workspace, "events:read").await.as_str()).await;
    tab.go(&format!("{}/console/live", server().url)).await;
    tab.until("document.getElementById('live-state').textContent === 'Listening'").await;
    let event = json!({"userId": "ann", "eventName": "Seen"});
    workspace.api.post("/events/track", &event, 200).await;
    tab.until("document.querySelector('#live strong')?.textContent === 'Seen'").await;
    let links = "document.querySelectorAll('#live a').length";
    assert_eq!(tab.value(links).await, json!(0));
    assert_eq!(tab.errors(), [""; 0]);
}

#[tokio::test]
async fn the_stream_ends_when_its_scope_is_taken_away() {
    let workspace = Workspace::new().await;
    let email = format!("{}@example.test", unique("ann"));
    let member = json!({"email": email, "scopes": ["events:read", "users:read"]});
    let member = workspace.api.post("/members", &member, 201).await.json();
    let token = member["invitation"]["url"].as_str().unwrap().split_once("token=").unwrap().1;
    let person = Person::at(&server().url, Some("127.0.4.1".parse().unwrap()));
    let fields = [("token", token), ("password", "correct horse battery")];
    assert_eq!(person.post_bare("/console/password", &fields).await.status, 303);
    let stream = person.request(Method::GET, "/console/live/stream").send().await.unwrap();
    assert_eq!(stream.status(), 200);
    let mut stream = LiveStream::of(stream);
    assert_eq!(stream.next().await, Some(Part::Comment("listening".to_owned())));
    let path = format!("/members/{}", member["id"].as_str().unwrap());
    let change = async |scopes: &[&str]| {
        let body = json!({"scopes": scopes});
        workspace.api.send(workspace.api.request(Method::PATCH, &path).json(&body), 200).await;
    };
    // While it has the scope it goes on.
    change(&["events:read"]).await;
    let event = json!({"userId": "ann", "eventName": "Signed Up"});
    workspace.api.post("/events/track", &event, 200).await;
    assert_eq!(stream.event().await["name"], "Signed Up");
    change(&["users:read"]).await;
    let ends = async { while stream.next().await.is_some() {} };
    tokio::time::timeout(Duration::from_mins(1), ends).await.expect("the stream ends");
    assert_eq!(person.get("/console/live/stream").await.status, 403);
}

#[tokio::test]
async fn events_arrive_in_the_page_while_it_is_open() {
    let tab = match BrowserTab::open().await {
        Ok(tab) => tab,
        Err(reason) => {
            eprintln!("SKIPPED events_arrive_in_the_page_while_it_is_open: {reason}");
            return;
        }
    };
    let workspace = Workspace::new().await;
    tab.go(link(&workspace, "*").await.as_str()).await;
    tab.go(&format!("{}/console/live", server().url)).await;
    tab.until("document.getElementById('live-state').textContent === 'Listening'").await;
    let track = async |name: &str| {
        let event = json!({"userId": "ann", "eventName": name});
        workspace.api.post("/events/track", &event, 200).await;
    };
    track("<img src=x>").await;
    tab.until("document.querySelector('#live strong')?.textContent === '<img src=x>'").await;
    assert_eq!(tab.value("document.querySelectorAll('#live img').length").await, json!(0));
    let href = "document.querySelector('#live [data-slot=person]').getAttribute('href')";
    assert_eq!(tab.value(href).await, json!("/console/people/ann"));
    tab.click("#live-pause").await;
    track("Second").await;
    tab.until("document.getElementById('live-state').textContent.includes('1 waiting')").await;
    assert!(!tab.text().await.contains("Second"));
    tab.click("#live-pause").await;
    tab.until("document.querySelector('#live strong').textContent === 'Second'").await;
    // Of a call of an event SDK, what was changed about it.
    let (key, _) = server().key(&workspace.name, "events:write").await;
    let call = json!({"type": "track", "event": "Third", "userId": "ann", "properties": {"$a": 1},
        "context": {"a": "b\u{0}", "c": "d\u{0}"}});
    let request = Client::anonymous().request(Method::POST, "/v1/track").basic_auth(&key, Some(""));
    Client::anonymous().send(request.json(&call), 200).await;
    tab.until(
        "document.querySelector('#live [data-slot=adjusted]')?.textContent === '2 cut, 1 renamed'",
    )
    .await;
    assert_eq!(tab.errors(), [""; 0]);
}
