//! What other areas do to many contacts at once: inline subscriptions, bulk members, new addresses.

use contacts::consent::{
    model::{MembershipStatus, Outcome, SkipReason, SubscriptionRequest},
    ops::{self, Added, AddressChange, Members},
};
use kernel::{Channel, Clock, Tenant, UserId};
use serde_json::json;
use web::{audit::Origin, http::Requester};

use super::fixture::{self, Contact, archive, delete_with, list, put, tenant};
use crate::kit::{Workspace, server, unique};

fn origin(source: &str) -> Origin {
    Origin {
        source: source.to_owned(),
        actor: "api_key:test".to_owned(),
        requester: Requester::default(),
    }
}

async fn inline(tenant: Tenant, requests: Vec<SubscriptionRequest>) -> Vec<Outcome> {
    let db = server().db();
    let now = Clock::system().now();
    server()
        .on(async move { ops::apply_inline(&db, now, tenant, &origin("api"), &requests).await.unwrap() })
        .await
}

async fn add(tenant: Tenant, list: kernel::ListId, users: Vec<UserId>) -> Added {
    let db = server().db();
    let now = Clock::system().now();
    server()
        .on(async move {
            let members = Members { list, channel: Channel::Email, users: &users };
            ops::add_members(&db, now, tenant, &origin("import"), members).await.unwrap()
        })
        .await
}

async fn remove(tenant: Tenant, list: kernel::ListId, users: Vec<UserId>) -> u64 {
    let db = server().db();
    let now = Clock::system().now();
    server()
        .on(async move {
            let members = Members { list, channel: Channel::Email, users: &users };
            ops::remove_members(&db, now, tenant, &origin("api"), members).await.unwrap()
        })
        .await
}

#[tokio::test]
async fn inline_subscriptions_apply_in_order_and_never_revert_an_opt_out() {
    use MembershipStatus::{Subscribed, Unsubscribed};
    let workspace = Workspace::new().await;
    let (ann, bob) = (Contact::new(&workspace).await, Contact::new(&workspace).await);
    let (open, left, old) = (
        list(workspace.id, true).await,
        list(workspace.id, false).await,
        list(workspace.id, false).await,
    );
    let body = json!({"channel": "sms"});
    delete_with(&workspace.api, &ann.path(&format!("/lists/{left}")), &body, 200).await;
    archive(workspace.id, old).await;
    let request = |user: &Contact, list: String, channel, status| SubscriptionRequest {
        user: user.id,
        list,
        channel,
        status,
    };
    let gone = Contact { id: UserId::from_bytes([9; 12]), ..ann.clone() };
    let outcomes = inline(
        tenant(workspace.id).await,
        vec![
            request(&ann, open.to_string(), Channel::Email, Subscribed),
            request(&ann, left.to_string(), Channel::Sms, Subscribed),
            request(&ann, left.to_string(), Channel::Email, Subscribed),
            request(&ann, "no id".to_owned(), Channel::Email, Subscribed),
            request(&ann, uuid::Uuid::nil().to_string(), Channel::Email, Subscribed),
            request(&ann, old.to_string(), Channel::Email, Subscribed),
            request(&bob, open.to_string(), Channel::Email, Unsubscribed),
            request(&bob, open.to_string(), Channel::Email, Subscribed),
            request(&ann, open.to_string(), Channel::Email, Subscribed),
            request(&gone, open.to_string(), Channel::Email, Subscribed),
        ],
    )
    .await;
    let skipped = Outcome::Skipped;
    assert_eq!(
        outcomes,
        [
            Outcome::Applied,
            skipped(SkipReason::OptedOut),
            Outcome::Applied,
            skipped(SkipReason::ListNotFound),
            skipped(SkipReason::ListNotFound),
            skipped(SkipReason::ListArchived),
            Outcome::Applied,
            skipped(SkipReason::OptedOut),
            Outcome::Applied,
            skipped(SkipReason::ContactNotFound),
        ]
    );
    assert_eq!(
        ann.actions(&workspace.api).await,
        ["api_update", "subscribe", "subscribe", "unsubscribe"]
    );
    assert_eq!(bob.actions(&workspace.api).await, ["unsubscribe"]);
    let entry = bob.history(&workspace.api).await[0].clone();
    assert_eq!((&entry["source"], &entry["listId"]), (&json!("api"), &json!(open)));
    assert!(inline(tenant(workspace.id).await, Vec::new()).await.is_empty());
}

#[test]
fn skip_reasons_have_the_documented_texts() {
    let texts = [
        (SkipReason::ListNotFound, "list not found"),
        (SkipReason::ListArchived, "list is archived"),
        (SkipReason::OptedOut, "contact has opted out of this list on this channel"),
        (SkipReason::ContactNotFound, "contact not found"),
    ];
    for (reason, text) in texts {
        assert_eq!(reason.to_string(), text);
    }
}

#[tokio::test]
async fn bulk_adding_keeps_existing_rows_and_removing_unsubscribes_them() {
    let workspace = Workspace::new().await;
    let tenant = tenant(workspace.id).await;
    let list = list(workspace.id, true).await;
    let (new, member, left) = (
        Contact::new(&workspace).await,
        Contact::new(&workspace).await,
        Contact::new(&workspace).await,
    );
    let path = |contact: &Contact| contact.path(&format!("/lists/{list}"));
    let body = json!({"channel": "email"});
    let row = workspace.api.post(&path(&member), &body, 200).await.json();
    delete_with(&workspace.api, &path(&left), &body, 200).await;
    let stranger = Contact::new(&Workspace::new().await).await;
    let users = vec![new.id, member.id, left.id, stranger.id, new.id, UserId::from_bytes([9; 12])];
    let added = add(tenant, list, users.clone()).await;
    assert_eq!(added, Added { added: 1, skipped_unsubscribed: 1 });
    let lists = async |contact: &Contact| {
        workspace.api.get(contact.path("/lists"), 200).await.json()[0].clone()
    };
    assert_eq!(lists(&member).await, row, "untouched");
    assert_eq!(lists(&left).await["status"], "unsubscribed");
    let made = lists(&new).await;
    assert_eq!((&made["status"], &made["optInSource"]), (&json!("subscribed"), &json!("import")));
    assert_eq!(new.actions(&workspace.api).await, ["subscribe"]);
    assert_eq!(member.actions(&workspace.api).await, ["subscribe"], "left alone means no entry");
    assert_eq!(remove(tenant, list, users.clone()).await, 2);
    assert_eq!(remove(tenant, list, users).await, 0);
    assert_eq!(new.actions(&workspace.api).await, ["unsubscribe", "subscribe"]);
    assert_eq!(lists(&new).await["status"], "unsubscribed");
}

#[tokio::test]
async fn adding_and_removing_ten_thousand_members_logs_each() {
    const MEMBERS: usize = 10_000;
    let workspace = Workspace::new().await;
    let tenant = tenant(workspace.id).await;
    let list = list(workspace.id, false).await;
    fixture::run(
        workspace.id,
        "insert into users (workspace_id, id, created_at, updated_at)
         select $1, decode(lpad(to_hex(n), 24, '0'), 'hex'), now(), now() from generate_series(1, 10000) n",
    )
    .await;
    let user = |n: usize| {
        let mut bytes = [0; 12];
        bytes[4..].copy_from_slice(&(n as u64).to_be_bytes());
        UserId::from_bytes(bytes)
    };
    let users: Vec<UserId> = (1..=MEMBERS).map(user).collect();
    let added = add(tenant, list, users.clone()).await;
    assert_eq!(added, Added { added: MEMBERS as u64, skipped_unsubscribed: 0 });
    let again = add(tenant, list, users.clone()).await;
    assert_eq!(again, Added { added: 0, skipped_unsubscribed: 0 });
    assert_eq!(remove(tenant, list, users.clone()).await, MEMBERS as u64);
    let added = add(tenant, list, users).await;
    assert_eq!(added, Added { added: 0, skipped_unsubscribed: MEMBERS as u64 });
    let db = server().db();
    let workspace = workspace.id.uuid();
    let entries: i64 = server()
        .on(async move {
            sqlx::query_scalar("select count(*) from subscription_history where workspace_id = $1")
                .bind(workspace)
                .fetch_one(&db)
                .await
                .unwrap()
        })
        .await;
    assert_eq!(u64::try_from(entries).unwrap(), 2 * MEMBERS as u64);
}

#[tokio::test]
async fn opt_outs_move_to_a_new_address_and_bounces_do_not() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let ann = Contact::new(&workspace).await;
    for channel in ["email", "sms", "viber"] {
        ann.set(api, channel, "unsubscribed").await;
    }
    api.post("/suppressions/hard-bounce", &json!({"identifier": ann.email}), 201).await;
    let moved = Contact {
        email: format!("new-{}", ann.email),
        phone: "+4915199999999".to_owned(),
        ..ann.clone()
    };
    let (db, tenant) = (server().db(), tenant(workspace.id).await);
    let (email, phone, user) = (moved.email.clone(), moved.phone.clone(), ann.id);
    server()
        .on(async move {
            let mut tx = db.begin().await.unwrap();
            sqlx::query(
                "update users set email = $3, phone = $4 where workspace_id = $1 and id = $2",
            )
            .bind(tenant.workspace.uuid())
            .bind(&user.bytes()[..])
            .bind(email)
            .bind(phone)
            .execute(&mut *tx)
            .await
            .unwrap();
            let changes = [AddressChange { user, email: true, phone: true }];
            let now = Clock::system().now();
            ops::addresses_changed(&mut tx, now, tenant, &changes).await.unwrap();
            tx.commit().await.unwrap();
        })
        .await;
    for (channel, suppressed) in [("email", true), ("sms", true), ("whatsapp", false)] {
        assert_eq!(moved.standing(api, channel).await["suppressed"], suppressed, "{channel}");
    }
    assert_eq!(moved.standing(api, "email").await["reason"], "unsubscribe");
    assert_eq!(
        ann.standing(api, "email").await["reason"],
        "hard_bounce",
        "the old address keeps it"
    );
    let email = api.get(ann.path(""), 200).await.json()["channels"]["email"].clone();
    assert_eq!((&email["isValid"], &email["bounceCount"]), (&json!(true), &json!(0)));
    assert_eq!(email["status"], "unsubscribed");
}

#[tokio::test]
async fn user_upserts_apply_subscriptions_and_new_addresses_alike() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let list = list(workspace.id, false).await;
    let email = format!("{}@example.test", unique("ann"));
    let body = json!({
        "externalId": unique("ann"), "email": email, "phone": "+4915112345678",
        "subscriptions": [{"listId": list}, {"listId": "no list"}],
    });
    let user = api.post("/users", &body, 201).await.json();
    assert_eq!(user["subscriptions"]["applied"], 1);
    let id: UserId = user["id"].as_str().unwrap().parse().unwrap();
    let ann = Contact { id, email, phone: "+4915112345678".to_owned() };
    let entry = ann.history(api).await[0].clone();
    assert_eq!(
        json!([entry["action"], entry["source"], entry["listId"], entry["ipAddress"]]),
        json!(["subscribe", "api", list, "127.0.0.1"])
    );
    ann.set(api, "email", "unsubscribed").await;
    let moved = Contact { email: format!("new-{}", ann.email), ..ann.clone() };
    put(api, &format!("/users/{id}"), &json!({"email": moved.email}), 200).await;
    assert_eq!(moved.standing(api, "email").await["suppressed"], true);
}
