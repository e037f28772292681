//! Merges beside upserts, consent writes, links and other merges: nothing that was acknowledged is lost.

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::{PgPool, error::DatabaseError, postgres::PgQueryResult};
use tokio::task::JoinSet;
use uuid::Uuid;

use super::{further, link, merge, profile};
use crate::kit::{Client, Workspace, eventually, server};

const ROUNDS: usize = 12;

/// Sends a request and gives its status.
async fn status(client: Client, method: Method, path: String, body: Value) -> u16 {
    client.request(method, &path).json(&body).send().await.unwrap().status().as_u16()
}

#[tokio::test(flavor = "multi_thread")]
async fn no_attribute_of_an_upsert_beside_a_merge_is_lost() {
    let workspace = Workspace::new().await;
    for round in 0..ROUNDS {
        let names = [format!("from-{round}"), format!("into-{round}")];
        for name in &names {
            profile(&workspace, name).await;
        }
        let mut calls = JoinSet::new();
        for n in 0..20 {
            let body = json!({"externalId": names[n % 2], "attributes": {format!("k{n}"): n}});
            calls.spawn(status(workspace.api.clone(), Method::POST, "/users".to_owned(), body));
        }
        let body = json!({"from": names[0], "into": names[1]});
        calls.spawn(status(workspace.api.clone(), Method::POST, "/users/merge".to_owned(), body));
        for status in calls.join_all().await {
            assert_eq!(status, 200);
        }
        let path = format!("/users/by-user-id/{}", names[0]);
        let survivor = workspace.api.get(path, 200).await.json();
        assert_eq!(survivor["externalId"], names[1]);
        assert_eq!(survivor["attributes"].as_object().unwrap().len(), 20, "{survivor}");
    }
    let page = workspace.api.get("/users", 200).await.json();
    assert_eq!(page["pagination"]["total"], ROUNDS);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_opt_out_beside_a_merge_is_lost() {
    let workspace = Workspace::new().await;
    let list = workspace.api.post("/lists", &json!({"name": "news"}), 201).await.json();
    let list = list["id"].as_str().unwrap().to_owned();
    for round in 0..ROUNDS {
        let mut ids = Vec::new();
        for side in ["from", "into"] {
            ids.push(profile(&workspace, &format!("{side}-{round}")).await);
        }
        // The opt-outs are of either side; the other side is subscribed before.
        let out = &ids[round % 2];
        for id in &ids {
            let path = format!("/subscriptions/contacts/{id}/channels/email");
            let body = json!({"channel": "email", "status": "optedIn"});
            assert_eq!(status(workspace.api.clone(), Method::PUT, path, body).await, 200);
            let path = format!("/subscriptions/contacts/{id}/lists/{list}");
            workspace.api.post(&path, &json!({"channel": "email"}), 200).await;
        }
        let mut calls = JoinSet::new();
        let path = format!("/subscriptions/contacts/{out}/channels/email");
        let body = json!({"channel": "email", "status": "unsubscribed"});
        calls.spawn(status(workspace.api.clone(), Method::PUT, path, body));
        let path = format!("/subscriptions/contacts/{out}/lists/{list}");
        calls.spawn(status(
            workspace.api.clone(),
            Method::DELETE,
            path,
            json!({"channel": "email"}),
        ));
        let body = json!({"from": ids[0], "into": ids[1]});
        calls.spawn(status(workspace.api.clone(), Method::POST, "/users/merge".to_owned(), body));
        for status in calls.join_all().await {
            assert_eq!(status, 200);
        }
        let path = format!("/subscriptions/contacts/{}", ids[1]);
        let contact = workspace.api.get(path, 200).await.json();
        assert_eq!(contact["channels"]["email"]["status"], "unsubscribed", "{contact}");
        let path = format!("/subscriptions/contacts/{}/lists", ids[1]);
        let lists = workspace.api.get(path, 200).await.json();
        let rows = lists.as_array().unwrap();
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0]["status"], "unsubscribed", "{lists}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn merges_that_race_leave_one_profile() {
    let workspace = Workspace::new().await;
    for round in 0..ROUNDS {
        let names: Vec<String> = (0..4).map(|n| format!("p{n}-{round}")).collect();
        for (n, name) in names.iter().enumerate() {
            let id = profile(&workspace, name).await;
            link(&workspace, &format!("a{n}-{round}"), &id).await;
        }
        let mut calls = JoinSet::new();
        for (from, into) in [(0, 1), (1, 0), (1, 2), (2, 3), (3, 0), (2, 1)] {
            let body = json!({"from": names[from], "into": names[into]});
            calls.spawn(status(
                workspace.api.clone(),
                Method::POST,
                "/users/merge".to_owned(),
                body,
            ));
        }
        for status in calls.join_all().await {
            assert_eq!(status, 200);
        }
        let mut found = Vec::new();
        for name in &names {
            let user = workspace.api.get(format!("/users/by-user-id/{name}"), 200).await.json();
            found.push(user["id"].clone());
            // Four anonymous ids, and both ids of each of the three merged profiles.
            assert_eq!(further(&workspace, name).await.len(), 4 + 2 * 3, "{name}");
        }
        assert!(found.iter().all(|id| *id == found[0]), "{found:?}");
    }
    let page = workspace.api.get("/users", 200).await.json();
    assert_eq!(page["pagination"]["total"], ROUNDS);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_beside_a_merge_is_the_survivors() {
    let workspace = Workspace::new().await;
    for round in 0..ROUNDS {
        let from = profile(&workspace, &format!("from-{round}")).await;
        let into = profile(&workspace, &format!("into-{round}")).await;
        let anonymous = format!("a-{round}");
        let (linked, _) =
            tokio::join!(link(&workspace, &anonymous, &from), merge(&workspace, &from, &into));
        assert!(linked.is_linked(), "{linked:?}");
        let found = further(&workspace, &into).await;
        assert!(found.contains(&format!("anonymous:{anonymous}")), "{found:?}");
    }
}

const INSERT: &str = "
    insert into identity (workspace_id, type, id, user_id, linked_at, source)
    values ($1, 'anonymous', gen_random_uuid()::text, decode($2, 'hex'), now(), 'identify')";
const MOVE: &str = "
    update identity set user_id = decode($2, 'hex'), version = default where workspace_id = $1";
const DELETE: &str = "delete from users where workspace_id = $1 and id = decode($2, 'hex')";
const ABSENT: &str = "0123456789abcdef01234567";

async fn execute(
    db: &PgPool,
    sql: &'static str,
    workspace: Uuid,
    user: &str,
) -> sqlx::Result<PgQueryResult> {
    sqlx::query(sql).bind(workspace).bind(user).execute(db).await
}

fn is_refused(outcome: sqlx::Result<PgQueryResult>) -> bool {
    let fault = outcome.unwrap_err();
    fault.as_database_error().is_some_and(DatabaseError::is_foreign_key_violation)
}

#[tokio::test]
async fn the_database_refuses_identifiers_without_a_profile() {
    let workspace = Workspace::new().await;
    let (db, id) = (server().db(), workspace.id.uuid());
    let ann = profile(&workspace, "ann").await;
    link(&workspace, "a1", &ann).await;
    let refused = server()
        .on(async move {
            [
                execute(&db, INSERT, id, ABSENT).await,
                execute(&db, MOVE, id, ABSENT).await,
                execute(&db, DELETE, id, &ann).await,
            ]
        })
        .await;
    for outcome in refused {
        assert!(is_refused(outcome));
    }
}

/// A profile that no other table names.
async fn bare_profile(db: &PgPool, workspace: Uuid) -> String {
    sqlx::query_scalar(
        "insert into users (workspace_id, id, created_at, updated_at)
         values ($1, substring(sha256(gen_random_uuid()::text::bytea) for 12), now(), now())
         returning encode(id, 'hex')",
    )
    .bind(workspace)
    .fetch_one(db)
    .await
    .unwrap()
}

/// Waits until this statement waits for a lock.
async fn until_it_waits(db: &PgPool, sql: &'static str) {
    let waiting = "select exists (
        select from pg_stat_activity where wait_event_type = 'Lock' and query = $1)";
    eventually("the statement waits", || async {
        let is_waiting: bool = sqlx::query_scalar(waiting).bind(sql).fetch_one(db).await.unwrap();
        is_waiting.then_some(())
    })
    .await;
}

/// A link and the deletion of its profile at once: whichever comes second is refused.
#[tokio::test]
async fn no_identifier_outlives_its_profile() {
    let workspace = Workspace::new().await;
    for (first, second) in [(INSERT, DELETE), (DELETE, INSERT)] {
        let (db, id) = (server().db(), workspace.id.uuid());
        let outcome = server()
            .on(async move {
                let user = bare_profile(&db, id).await;
                let mut tx = db.begin().await.unwrap();
                sqlx::query(first).bind(id).bind(&user).execute(&mut *tx).await.unwrap();
                let beside = db.clone();
                let later = tokio::spawn(async move { execute(&beside, second, id, &user).await });
                until_it_waits(&db, second).await;
                tx.commit().await.unwrap();
                later.await.unwrap()
            })
            .await;
        assert!(is_refused(outcome));
    }
}
