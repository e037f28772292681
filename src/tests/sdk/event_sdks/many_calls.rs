//! Profile calls of one workspace beside very many of another.

use super::*;
use crate::kit::{data_dir, run, settings};

/// Calls of the workspace with very many: twenty times what is applied of one workspace before calls of others.
const CALLS: usize = 20_000;
/// Calls of one request.
const CALLS_PER_REQUEST: usize = 2_000;

/// When the newest profile of this external id was made.
async fn created_at(workspace: &Workspace, id: &str) -> String {
    let user = profile(workspace, id, |_| true).await;
    user["createdAt"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn one_identify_does_not_wait_for_very_many_of_another_workspace() {
    let settings = settings(&data_dir("event-sdks-many-calls"), &[]);
    let server = tokio::task::spawn_blocking(|| run(settings, Clock::system())).await.unwrap();
    let server = std::sync::Arc::new(server);
    let (many, few) = (Workspace::on(&server).await, Workspace::on(&server).await);
    let client = Client::new(&server.url, None);
    let scopes = "events:write,users:write";
    let [(many_key, _), (few_key, _)] =
        [server.key(&many.name, scopes).await, server.key(&few.name, scopes).await];
    let send = async |key: &str, calls: &[Value]| {
        let request = client.request(Method::POST, "/v1/batch").basic_auth(key, Some(""));
        client.send(request.json(&json!({"batch": calls})), 200).await;
    };

    // The first call waits for this profile until all calls are recorded, so that the machine may be as fast as it likes.
    many.api.post("/users", &json!({"externalId": "u0"}), 201).await;
    let (db, workspace) = (server.db(), many.id.uuid());
    let locked = server.on(async move {
        let mut transaction = db.begin().await.unwrap();
        sqlx::query("select from users where workspace_id = $1 and external_id = 'u0' for update")
            .bind(workspace)
            .execute(&mut *transaction)
            .await
            .unwrap();
        transaction
    });
    let transaction = locked.await;
    let calls: Vec<Value> = (0..CALLS)
        .map(|number| json!({"type": "identify", "userId": format!("u{number}"), "traits": {"number": number}}))
        .collect();
    for calls in calls.chunks(CALLS_PER_REQUEST) {
        send(&many_key, calls).await;
    }
    send(&few_key, &[json!({"type": "identify", "userId": "ann", "traits": {"plan": "pro"}})])
        .await;
    server.on(async move { transaction.commit().await.unwrap() }).await;

    let ann = created_at(&few, "ann").await;
    eventually("all calls are applied", || async {
        let users = many.api.get("/users?limit=1", 200).await.json();
        (users["pagination"]["total"] == CALLS).then_some(())
    })
    .await;
    let last = created_at(&many, &format!("u{}", CALLS - 1)).await;
    assert!(ann < last, "{ann} is not before {last}");
    let first = profile(&many, "u0", |user| user["attributes"]["number"] == 0).await;
    assert_eq!(first["externalId"], "u0");

    // The workspace is read with others again, and its calls keep their order.
    send(&many_key, &[json!({"type": "identify", "userId": "u0", "traits": {"number": -1}})]).await;
    profile(&many, "u0", |user| user["attributes"]["number"] == -1).await;
}
