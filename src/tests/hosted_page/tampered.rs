//! Links that are forged, damaged, for another purpose, or of a deleted contact.

use kernel::Channel;
use serde_json::json;

use super::fixture::{Fixture, open, submit};
use crate::kit::server;

#[tokio::test]
async fn a_token_changed_in_any_byte_is_refused() {
    let page = Fixture::new().await;
    let path = page.unsubscribe(None, None).await;
    let whole = open("/u/nonsense").await;
    assert_eq!(whole.status, 404);
    assert!(whole.html.contains("This link does not work"), "{}", whole.html);
    for at in 3..path.len() {
        let mut changed = path.clone().into_bytes();
        // Another letter of the same alphabet, six bits apart, so that no padding bit hides it.
        changed[at] = if changed[at] == b'A' { b'w' } else { b'A' };
        let changed = String::from_utf8(changed).unwrap();
        let answer = submit(&changed, &[]).await;
        assert_eq!((answer.status, &answer.html), (404, &whole.html), "{at}");
    }
    for cut in 3..path.len() {
        assert_eq!(open(&path[..cut]).await.status, 404, "{cut}");
    }
    for odd in [
        format!("{path}A"),
        format!("{path}=="),
        format!("{path}/x"),
        format!("{path}%00"),
        format!("{path}%ff"),
        "/u/".to_owned(),
        format!("/u/{}", "A".repeat(5_000)),
        "/u/%F0%9F%92%A9".to_owned(),
    ] {
        let answer = submit(&odd, &[]).await;
        assert_eq!(answer.status, 404, "{odd}");
    }
    assert!(page.history().await.is_empty());
}

#[tokio::test]
async fn a_token_is_valid_for_one_purpose_only() {
    let page = Fixture::new().await;
    let list = page.marketing().await;
    let tokens = [
        page.preferences().await,
        page.unsubscribe(None, None).await,
        page.confirmation(list, Channel::Email).await,
    ];
    for path in &tokens {
        for other in ["/p/", "/u/", "/c/"].iter().filter(|other| !path.starts_with(**other)) {
            let moved = format!("{other}{}", &path[3..]);
            assert_eq!(open(&moved).await.status, 404, "{moved}");
            assert_eq!(submit(&moved, &[]).await.status, 404, "{moved}");
        }
    }
    assert!(page.history().await.is_empty());
}

#[tokio::test]
async fn a_deleted_contact_is_answered_like_an_invalid_link() {
    let page = Fixture::new().await;
    let list = page.marketing().await;
    let paths = [
        page.preferences().await,
        page.unsubscribe(None, None).await,
        page.unsubscribe(Some(list), None).await,
        page.confirmation(list, Channel::Email).await,
    ];
    let (db, workspace, user) = (server().db(), page.workspace.id.uuid(), page.user);
    server()
        .on(async move {
            sqlx::query(
                "update users set deleted_at = now(), deleted_by = 'test', deleted_via = 'api'
                 where workspace_id = $1 and id = $2",
            )
            .bind(workspace)
            .bind(user.bytes().to_vec())
            .execute(&db)
            .await
            .unwrap();
        })
        .await;
    let never = open("/p/nonsense").await;
    for path in paths {
        for answer in [open(&path).await, submit(&path, &[]).await] {
            assert_eq!((answer.status, &answer.html), (404, &never.html), "{path}");
        }
    }
}

#[tokio::test]
async fn a_link_acts_in_its_own_workspace_only() {
    let (one, other) = (Fixture::new().await, Fixture::new().await);
    let foreign = other.marketing().await;
    // Signed by us, but of a list that this workspace does not have.
    let path = one.unsubscribe(Some(foreign), None).await;
    assert_eq!(open(&path).await.status, 404);
    assert_eq!(submit(&path, &[]).await.status, 404);
    assert_eq!(submit(&one.confirmation(foreign, Channel::Email).await, &[]).await.status, 404);
    submit(&one.unsubscribe(None, None).await, &[]).await;
    assert_eq!(one.channel("email").await, "unsubscribed");
    assert_eq!(other.channel("email").await, "");
    assert_eq!(
        other.api().get("/suppressions?channel=email", 200).await.json()["items"],
        json!([])
    );
}
