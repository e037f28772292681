//! Write keys, and what pages of other origins may do.

use web::auth::keys as issued;

use super::*;

#[tokio::test]
async fn the_key_may_stand_in_basic_in_the_query_or_in_the_body() {
    let workspace = Workspace::new().await;
    let sender = Sender::of(&workspace, "events:write").await;
    let key = &sender.key;
    let call = json!({"type": "track", "event": "E", "userId": "ann"});
    let http = Client::anonymous();
    let post = |path: String, body: Value| http.request(Method::POST, &path).json(&body);
    http.send(post("/v1/batch".into(), json!({"batch": [call], "writeKey": key})), 200).await;
    http.send(post(format!("/beacon/v1/batch?writeKey={key}"), json!({"batch": [call]})), 200)
        .await;
    let mut single = call.clone();
    single["writeKey"] = json!(key);
    http.send(post("/v1/t".into(), single.clone()), 200).await;
    http.send(post("/v1/track".into(), single), 200).await;
    sender.batch(&[call]).await;
    events(&workspace, "ann", 5).await;
}

#[tokio::test]
async fn a_request_without_a_valid_key_is_refused_with_a_code() {
    let workspace = Workspace::new().await;
    let body = json!({"batch": [{"type": "track", "event": "E", "userId": "ann"}]});
    let http = Client::anonymous();
    for (path, message) in [
        ("/v1/batch", "Missing write key"),
        ("/v1/track", "Missing SDK key"),
        ("/batch/", "Missing write key"),
        ("/v1/i", "Missing write key"),
    ] {
        let refused = http.send(http.request(Method::POST, path).json(&body), 401).await.json();
        assert_eq!(
            (&refused["code"], &refused["message"]),
            (&json!(401), &json!(message)),
            "{path}"
        );
    }
    for key in ["nonsense", &format!("mr_{}_{}", "a".repeat(12), "b".repeat(43))] {
        let request = http.request(Method::POST, "/v1/batch").basic_auth(key, Some("")).json(&body);
        let refused = http.send(request, 401).await.json();
        assert_eq!(refused["code"], 401);
        let in_body = json!({"api_key": key, "batch": [{"event": "E", "distinct_id": "ann"}]});
        http.send(http.request(Method::POST, "/batch/").json(&in_body), 401).await;
    }
    let reader = Sender::of(&workspace, "events:read").await;
    let refused = reader.post("/v1/batch", &body, 403).await.json();
    assert_eq!(refused["code"], 403);
    assert!(refused["message"].as_str().unwrap().contains("events:write"), "{refused}");
}

#[tokio::test]
async fn a_revoked_key_is_refused_at_the_next_retry() {
    let workspace = Workspace::new().await;
    let sender = Sender::of(&workspace, "events:write").await;
    let call = json!({"type": "track", "event": "E", "userId": "ann", "messageId": "m"});
    sender.batch(std::slice::from_ref(&call)).await;
    let id = sender.key.split('_').nth(1).unwrap().parse().unwrap();
    server()
        .on({
            let db = server().db();
            async move { issued::revoke(&db, Clock::system().now(), id).await.unwrap() }
        })
        .await;
    let refused = eventually("the key is refused", || async {
        let request = sender.request("/v1/batch").json(&json!({"batch": [call]}));
        let answer = request.send().await.unwrap();
        (answer.status() == 401).then_some(answer)
    })
    .await;
    // rudder-sdk-python reads there that it may stop.
    assert_eq!(refused.json::<Value>().await.unwrap()["code"], 401);
    // The key in a body counts as revoked, too.
    let body = json!({"api_key": sender.key, "batch": [{"event": "F", "distinct_id": "ann"}]});
    let request = sender.http.request(Method::POST, "/batch/").json(&body);
    assert_eq!(sender.http.send(request, 401).await.json()["code"], 401);
    events(&workspace, "ann", 1).await;
}

#[tokio::test]
async fn pages_may_send_with_the_headers_of_sdks() {
    let http = Client::anonymous();
    for (path, method) in [
        ("/v1/batch", "POST"),
        ("/v1/t", "POST"),
        ("/v1/m", "POST"),
        ("/beacon/v1/batch", "POST"),
        ("/e/", "POST"),
        ("/i/v0/e/", "POST"),
        ("/flags/", "POST"),
        ("/pixel/v1/page", "GET"),
        ("/v1/projects/mrs_x/settings", "GET"),
        ("/array/mrs_x/config.js", "GET"),
        ("/sourceConfig/", "GET"),
        ("/v1/track", "POST"),
    ] {
        let preflight = http
            .request(Method::OPTIONS, path)
            .header("origin", "https://shop.example")
            .header("access-control-request-method", method)
            .header("access-control-request-headers", "authorization,content-type,x-retry-count");
        let answer = http.send(preflight, 204).await;
        assert_eq!(answer.headers["access-control-allow-origin"], "*", "{path}");
        assert_eq!(answer.headers["access-control-allow-methods"], method, "{path}");
        let allowed = answer.headers["access-control-allow-headers"].to_str().unwrap().to_owned();
        for header in [
            "authorization",
            "content-type",
            "x-retry-count",
            "anonymousid",
            "sentat",
            "rsa-recovered",
            "rsa-retry-attempt",
            "rsa-since-last-attempt",
            "rsa-since-first-attempt",
            "rsa-retry-reason",
        ] {
            assert!(allowed.split(", ").any(|it| it == header), "{path}: {allowed}");
        }
    }
    let refused = http.request(Method::POST, "/v1/batch").header("origin", "https://shop.example");
    let refused = http.send(refused.json(&json!({"batch": []})), 401).await;
    assert_eq!(refused.headers["access-control-allow-origin"], "*");
}

#[tokio::test]
async fn one_workspace_never_touches_another() {
    let (one, other) = (Workspace::new().await, Workspace::new().await);
    let sender = Sender::of(&one, "events:write,users:write").await;
    other.api.post("/users", &json!({"externalId": "ann", "email": "ann@example.test"}), 201).await;
    sender
        .batch(&[
            json!({"type": "track", "event": "E", "userId": "ann"}),
            json!({"type": "identify", "userId": "ann", "traits": {"email": "new@example.test"}}),
        ])
        .await;
    events(&one, "ann", 1).await;
    profile(&one, "ann", |it| it["email"] == "new@example.test").await;
    events(&other, "ann", 0).await;
    profile(&other, "ann", |it| it["email"] == "ann@example.test").await;
}
