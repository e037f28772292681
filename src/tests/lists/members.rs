//! Members of a list: counts, and bulk adding and removing.

use kernel::{Clock, UserId};
use reqwest::Method;
use serde_json::{Value, json};

use super::lifecycle::create;
use crate::kit::{Workspace, server};

/// Contacts, written straight into the table.
async fn contacts(workspace: &Workspace, count: usize) -> Vec<String> {
    let now = Clock::system().now();
    let ids: Vec<UserId> = (0..count).map(|_| UserId::mint(now)).collect();
    let (db, workspace) = (server().db(), workspace.id.uuid());
    let bytes: Vec<Vec<u8>> = ids.iter().map(|id| id.bytes().to_vec()).collect();
    server()
        .on(async move {
            sqlx::query(
                "insert into users (workspace_id, id, created_at, updated_at)
                 select $1, id, now(), now() from unnest($2::bytea[]) as t (id)",
            )
            .bind(workspace)
            .bind(bytes)
            .execute(&db)
            .await
            .unwrap();
        })
        .await;
    ids.iter().map(ToString::to_string).collect()
}

async fn bulk(
    workspace: &Workspace,
    method: Method,
    list: &str,
    body: Value,
    expected: u16,
) -> Value {
    let request = workspace.api.request(method, &format!("/lists/{list}/members/bulk")).json(&body);
    workspace.api.send(request, expected).await.json()
}

async fn list_of(workspace: &Workspace) -> String {
    create(workspace, json!({"name": "News"})).await["id"].as_str().unwrap().to_owned()
}

async fn members(workspace: &Workspace, list: &str, query: &str) -> Value {
    workspace.api.get(format!("/lists/{list}/members{query}"), 200).await.json()
}

#[tokio::test]
async fn members_are_added_once_and_never_resurrected() {
    let workspace = Workspace::new().await;
    let (list, ids) = (list_of(&workspace).await, contacts(&workspace, 4).await);
    // One opted out by its own word.
    let path = format!("/subscriptions/contacts/{}/lists/{list}", ids[3]);
    let request = workspace.api.request(Method::DELETE, &path).json(&json!({"channel": "email"}));
    workspace.api.send(request, 200).await;

    let sent = json!([
        ids[0],
        ids[1],
        ids[0].to_uppercase(),
        ids[3],
        "nonsense",
        "",
        "0123456789abcdef01234567"
    ]);
    let body = json!({"contactIds": sent, "channel": "email", "source": "migration"});
    let added = bulk(&workspace, Method::POST, &list, body.clone(), 200).await;
    assert_eq!(added, json!({"added": 2, "updated": 0, "skippedUnsubscribed": 1}));
    let again = bulk(&workspace, Method::POST, &list, body, 200).await;
    assert_eq!(again, json!({"added": 0, "updated": 0, "skippedUnsubscribed": 1}));

    let page = members(&workspace, &list, "?status=subscribed").await;
    assert_eq!(page["total"], 2);
    let row = &page["members"][0];
    assert_eq!(row["optInSource"], "migration");
    assert_eq!(row["listId"], list.as_str());
    assert_eq!(row["workspaceId"], workspace.id.to_string().as_str());
    for field in [
        "_id",
        "organizationId",
        "contactId",
        "channel",
        "status",
        "subscribedAt",
        "createdAt",
        "updatedAt",
    ] {
        assert!(row[field].is_string(), "{field}: {row}");
    }
    // Audited like every write.
    let history = format!("/subscriptions/contacts/{}/history", ids[0]);
    let history = workspace.api.get(history, 200).await.json();
    assert_eq!(history["items"][0]["source"], "migration");
    assert_eq!(history["items"][0]["listId"], list.as_str());
}

#[tokio::test]
async fn members_are_removed_by_unsubscribing_their_rows() {
    let workspace = Workspace::new().await;
    let (list, ids) = (list_of(&workspace).await, contacts(&workspace, 3).await);
    let two = json!({"contactIds": [ids[0], ids[1]], "channel": "sms"});
    bulk(&workspace, Method::POST, &list, two, 200).await;
    let all = json!({"contactIds": [ids[0], ids[0], ids[1], ids[2], "nonsense"], "channel": "sms"});
    // On another channel no member is subscribed.
    let other = json!({"contactIds": ids, "channel": "email"});
    assert_eq!(bulk(&workspace, Method::DELETE, &list, other, 200).await, json!({"removed": 0}));
    assert_eq!(
        bulk(&workspace, Method::DELETE, &list, all.clone(), 200).await,
        json!({"removed": 2})
    );
    assert_eq!(bulk(&workspace, Method::DELETE, &list, all, 200).await, json!({"removed": 0}));
    let page = members(&workspace, &list, "").await;
    assert_eq!(page["total"], 2);
    assert!(page["members"].as_array().unwrap().iter().all(|row| row["status"] == "unsubscribed"));
    let stats = workspace.api.get(format!("/lists/{list}/stats"), 200).await.json();
    assert_eq!(
        stats,
        json!({"total": 2, "byChannel": {"email": 0, "sms": 0, "whatsapp": 0, "push": 0, "viber": 0},
               "subscribed": 0, "unsubscribed": 2})
    );
}

#[tokio::test]
async fn members_are_paged_filtered_and_counted_and_deleted_contacts_are_gone() {
    let workspace = Workspace::new().await;
    let (list, ids) = (list_of(&workspace).await, contacts(&workspace, 60).await);
    for (channel, range) in [("email", 0..60), ("push", 0..5), ("viber", 5..8)] {
        let body = json!({"contactIds": ids[range], "channel": channel});
        bulk(&workspace, Method::POST, &list, body, 200).await;
    }
    let body = json!({"contactIds": ids[..10], "channel": "email"});
    bulk(&workspace, Method::DELETE, &list, body, 200).await;

    for (query, total, page) in [
        ("", 68, 50),
        ("?limit=200", 68, 68),
        ("?limit=201", 68, 68),
        ("?limit=abc&offset=-5", 68, 50),
        ("?limit=50&offset=50", 68, 18),
        ("?offset=68", 68, 0),
        ("?channel=email", 60, 50),
        ("?channel=email&status=unsubscribed", 10, 10),
        ("?channel=viber&status=subscribed", 3, 3),
        ("?channel=sms", 0, 0),
        ("?status=subscribed&limit=100", 58, 58),
    ] {
        let answer = members(&workspace, &list, query).await;
        let rows = answer["members"].as_array().unwrap().len();
        assert_eq!((answer["total"].as_i64(), rows), (Some(total), page), "{query}");
    }
    let stats = format!("/lists/{list}/stats");
    assert_eq!(
        workspace.api.get(&stats, 200).await.json(),
        json!({"total": 68, "byChannel": {"email": 50, "sms": 0, "whatsapp": 0, "push": 5, "viber": 3},
               "subscribed": 58, "unsubscribed": 10})
    );
    for query in ["?channel=fax", "?status=pending"] {
        let errors = workspace.api.get(format!("/lists/{list}/members{query}"), 400).await.errors();
        assert_eq!(errors.len(), 1, "{query}");
    }
    let (db, id, gone) = (server().db(), workspace.id.uuid(), hex::decode(&ids[0]).unwrap());
    server()
        .on(async move {
            sqlx::query(
                "update users set deleted_at = now(), deleted_by = 'test', deleted_via = 'api'
                 where workspace_id = $1 and id = $2",
            )
            .bind(id)
            .bind(gone)
            .execute(&db)
            .await
            .unwrap();
        })
        .await;
    // It was on email, opted out, and on push.
    assert_eq!(members(&workspace, &list, "").await["total"], 66);
    let after = workspace.api.get(&stats, 200).await.json();
    assert_eq!((&after["subscribed"], &after["unsubscribed"]), (&json!(57), &json!(9)));
}

#[tokio::test]
async fn ten_thousand_members_are_added_and_removed_in_one_call_each() {
    let workspace = Workspace::new().await;
    let (list, ids) = (list_of(&workspace).await, contacts(&workspace, 10_000).await);
    let body = json!({"contactIds": ids, "channel": "email"});
    for (method, expected) in [
        (Method::POST, json!({"added": 10_000, "updated": 0, "skippedUnsubscribed": 0})),
        (Method::DELETE, json!({"removed": 10_000})),
        (Method::POST, json!({"added": 0, "updated": 0, "skippedUnsubscribed": 10_000})),
    ] {
        let answer = bulk(&workspace, method.clone(), &list, body.clone(), 200).await;
        assert_eq!(answer, expected, "{method}");
    }
}

#[tokio::test]
async fn bulk_bodies_are_bounded_and_errors_named() {
    let workspace = Workspace::new().await;
    let list = list_of(&workspace).await;
    let id = "0123456789abcdef01234567";
    for (body, error) in [
        (json!({"contactIds": [], "channel": "email"}), "contactIds must not be empty"),
        (
            json!({"contactIds": vec![id; 10_001], "channel": "email"}),
            "contactIds must have at most 10000 elements, received 10001",
        ),
        (json!({"channel": "email"}), "contactIds is required"),
        (json!({"contactIds": [7], "channel": "email"}), "contactIds[0] must be a string"),
        (json!({"contactIds": [id]}), "channel is required"),
        (
            json!({"contactIds": [id], "channel": "fax"}),
            "channel must be one of: email, sms, whatsapp, push, viber",
        ),
        (json!({"contactIds": [id], "channel": "email", "source": 7}), "source must be a string"),
    ] {
        for method in [Method::POST, Method::DELETE] {
            let refused = bulk(&workspace, method, &list, body.clone(), 400).await;
            assert_eq!(refused["errors"], json!([error]));
        }
    }
    let most = json!({"contactIds": vec![id; 10_000], "channel": "email"});
    let added = bulk(&workspace, Method::POST, &list, most, 200).await;
    assert_eq!(added, json!({"added": 0, "updated": 0, "skippedUnsubscribed": 0}));
    bulk(&workspace, Method::POST, &list, json!({}), 400).await;
}

#[tokio::test]
async fn bulk_calls_at_once_on_the_same_contacts_all_succeed() {
    let workspace = Workspace::new().await;
    let (list, ids) = (list_of(&workspace).await, contacts(&workspace, 200).await);
    let reversed: Vec<&String> = ids.iter().rev().collect();
    let (there, back) = (
        json!({"contactIds": ids, "channel": "email"}),
        json!({"contactIds": reversed, "channel": "email"}),
    );
    let calls = (0..8).map(|number| {
        let body = if number % 2 == 0 { there.clone() } else { back.clone() };
        bulk(&workspace, Method::POST, &list, body, 200)
    });
    let added: i64 = futures_util::future::join_all(calls)
        .await
        .iter()
        .map(|answer| answer["added"].as_i64().unwrap())
        .sum();
    assert_eq!(added, 200);
    assert_eq!(members(&workspace, &list, "").await["total"], 200);
}
