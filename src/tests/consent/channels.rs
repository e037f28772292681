//! Channel consent: states, bounces, and the suppressions it adds.

use serde_json::{Value, json};

use super::fixture::{self, Contact, put, standing};
use crate::kit::Workspace;

async fn workspace_with_contact() -> (Workspace, Contact) {
    let workspace = Workspace::new().await;
    let ann = Contact::new(&workspace).await;
    (workspace, ann)
}

async fn channels(workspace: &Workspace, contact: &Contact) -> Value {
    workspace.api.get(contact.path(""), 200).await.json()["channels"].clone()
}

#[tokio::test]
async fn each_consent_call_sets_its_status() {
    let (workspace, ann) = workspace_with_contact().await;
    let steps = [
        ("subscribed", "subscribe", Value::Null),
        ("subscribed", "api_update", json!("subscribed")),
        ("optedIn", "api_update", json!("subscribed")),
        ("unsubscribed", "unsubscribe", json!("optedIn")),
        ("unsubscribed", "api_update", json!("unsubscribed")),
        ("optedIn", "resubscribe", json!("unsubscribed")),
        ("unsubscribed", "unsubscribe", json!("optedIn")),
        ("subscribed", "resubscribe", json!("unsubscribed")),
    ];
    for (number, (status, action, previous)) in steps.iter().enumerate() {
        let answer = ann.set(&workspace.api, "viber", status).await;
        assert_eq!(answer["viber"]["status"], *status);
        assert_eq!(answer, channels(&workspace, &ann).await, "the answer is what is read later");
        let history = ann.history(&workspace.api).await;
        assert_eq!(history.len(), number + 1, "every write has an entry");
        let newest = &history[0];
        assert_eq!(
            (&newest["action"], &newest["previousStatus"], &newest["newStatus"]),
            (&json!(action), previous, &json!(status)),
            "step {number}"
        );
        let check = workspace.api.get(ann.path("/channels/viber/status"), 200).await.json();
        assert_eq!(check["subscribed"], json!(*status != "unsubscribed"));
    }
}

#[tokio::test]
async fn an_opt_out_needs_no_earlier_opt_in() {
    let (workspace, ann) = workspace_with_contact().await;
    let answer = ann.set(&workspace.api, "push", "unsubscribed").await;
    let push = &answer["push"];
    assert_eq!(push["status"], "unsubscribed");
    assert!(push["optOutDate"].is_string() && push.get("optInDate").is_none(), "{push}");
    assert_eq!(ann.actions(&workspace.api).await, ["unsubscribe"]);
}

#[tokio::test]
async fn the_answer_shows_every_channel_and_the_path_wins_over_the_body() {
    let (workspace, ann) = workspace_with_contact().await;
    ann.set(&workspace.api, "sms", "unsubscribed").await;
    let body = json!({"channel": "sms", "status": "optedIn", "source": "form", "consentText": "Yes, news."});
    let answer = put(&workspace.api, &ann.path("/channels/email"), &body, 200).await.json();
    assert_eq!(answer["sms"]["status"], "unsubscribed");
    let email = &answer["email"];
    assert_eq!(email["status"], "optedIn");
    assert_eq!(
        (&email["optInSource"], &email["consentText"]),
        (&json!("form"), &json!("Yes, news."))
    );
    assert_eq!((&email["isValid"], &email["bounceCount"]), (&json!(true), &json!(0)));
    assert!(email["bounceType"].is_null() && email.get("bounceType").is_some(), "{email}");
    assert!(email.get("lastBounceAt").is_none() && email.get("optOutDate").is_none(), "{email}");
    assert!(answer["sms"].get("isValid").is_none(), "bounces are of email only");
    let kept = ann.set(&workspace.api, "email", "optedIn").await["email"].clone();
    assert_eq!(kept["optInDate"], email["optInDate"]);
    assert_eq!((&kept["consentText"], &kept["optInSource"]), (&json!("Yes, news."), &json!("api")));
}

#[tokio::test]
async fn every_field_of_the_wrong_type_is_named_once_in_order() {
    let (workspace, ann) = workspace_with_contact().await;
    let path = ann.path("/channels/email");
    let body =
        json!({"channel": 1, "status": [], "source": {}, "consentText": true, "reason": 0.5});
    let answer = put(&workspace.api, &path, &body, 400).await;
    assert_eq!(
        answer.errors(),
        [
            "channel must be a string",
            "status must be a string",
            "source must be a string",
            "consentText must be a string",
            "reason must be a string",
        ]
    );
    let answer = put(&workspace.api, &path, &json!({}), 400).await;
    assert_eq!(answer.errors(), ["channel is required", "status is required"]);
    let body = json!({"channel": "fax", "status": "maybe", "source": ""});
    assert_eq!(
        put(&workspace.api, &path, &body, 400).await.errors(),
        [
            "channel must be one of: email, sms, whatsapp, push, viber",
            "status must be one of: optedIn, subscribed, unsubscribed",
            "source must be between 1 and 255 characters",
        ]
    );
    let of = |field: &str, text: String| {
        let mut body = json!({"channel": "email", "status": "subscribed"});
        body[field] = json!(text);
        body
    };
    for (field, max) in [("source", 255), ("consentText", 10_000), ("reason", 1000)] {
        put(&workspace.api, &path, &of(field, "ä".repeat(max)), 200).await;
        let answer = put(&workspace.api, &path, &of(field, "ä".repeat(max + 1)), 400).await;
        assert_eq!(answer.errors().len(), 1, "{field}");
        let answer = put(&workspace.api, &path, &of(field, "a\0".to_owned()), 400).await;
        assert_eq!(answer.errors(), [format!("{field} must not contain NUL characters")]);
    }
    for body in [json!([]), json!("x"), json!(null)] {
        put(&workspace.api, &path, &body, 400).await;
    }
    assert_eq!(ann.history(&workspace.api).await.len(), 3, "the refused call stored nothing");
}

#[tokio::test]
async fn opt_outs_add_suppressions_and_an_opt_in_removes_them() {
    let (workspace, ann) = workspace_with_contact().await;
    let api = &workspace.api;
    for (channel, opt_in) in
        [("email", "subscribed"), ("sms", "optedIn"), ("whatsapp", "subscribed")]
    {
        let body =
            json!({"channel": channel, "status": "unsubscribed", "source": "unsubscribe_link"});
        put(api, &ann.path(&format!("/channels/{channel}")), &body, 200).await;
        let row = ann.standing(api, channel).await;
        assert_eq!(
            (&row["suppressed"], &row["reason"], &row["source"], &row["scope"], &row["listId"]),
            (
                &json!(true),
                &json!("unsubscribe"),
                &json!("unsubscribe_link"),
                &json!("global"),
                &Value::Null
            )
        );
        // A repeat keeps the first one's source.
        ann.set(api, channel, "unsubscribed").await;
        assert_eq!(ann.standing(api, channel).await["source"], "unsubscribe_link");
        // An operator's row goes with the opt-in as well.
        let identifier = if channel == "email" { &ann.email } else { &ann.phone };
        let manual = json!({"channel": channel, "identifier": identifier, "reason": "manual"});
        api.post("/suppressions", &manual, 201).await;
        ann.set(api, channel, opt_in).await;
        assert_eq!(ann.standing(api, channel).await, json!({"suppressed": false}), "{channel}");
    }
    // The other channels of one number stay apart.
    ann.set(api, "sms", "unsubscribed").await;
    assert_eq!(ann.standing(api, "whatsapp").await["suppressed"], false);
    for channel in ["push", "viber"] {
        ann.set(api, channel, "unsubscribed").await;
    }
    assert_eq!(ann.standing(api, "whatsapp").await["suppressed"], false);
}

#[tokio::test]
async fn an_opt_in_keeps_deliverability_and_group_suppressions() {
    let (workspace, ann) = workspace_with_contact().await;
    let (api, list) = (&workspace.api, fixture::list(workspace.id, false).await);
    api.post("/suppressions/hard-bounce", &json!({"identifier": ann.email}), 201).await;
    fixture::run(
        workspace.id,
        "insert into suppression (workspace_id, id, channel, identifier, reason, source, scope, created_at)
         select $1, gen_random_uuid(), 'email', email, 'complaint', 'delivery', 'global', now()
         from users where workspace_id = $1",
    )
    .await;
    let group =
        json!({"channel": "email", "identifier": ann.email, "scope": "group", "listId": list});
    api.post("/suppressions", &group, 201).await;
    ann.set(api, "email", "unsubscribed").await;
    let total = async || api.get("/suppressions?channel=email", 200).await.json()["total"].clone();
    assert_eq!(total().await, 4);
    ann.set(api, "email", "optedIn").await;
    assert_eq!(total().await, 3, "hard bounce, complaint and the group's row stay");
    assert_eq!(ann.standing(api, "email").await["reason"], "hard_bounce");
    let email = channels(&workspace, &ann).await["email"].clone();
    assert_eq!((&email["isValid"], &email["bounceType"]), (&json!(false), &json!("hard")));
}

#[tokio::test]
async fn a_suppression_covers_every_profile_with_the_address() {
    let (workspace, ann) = workspace_with_contact().await;
    let twin = Contact::with(&workspace, &ann.email, &ann.phone).await;
    ann.set(&workspace.api, "email", "unsubscribed").await;
    assert_eq!(twin.standing(&workspace.api, "email").await["suppressed"], true);
    let check = workspace.api.get(twin.path("/channels/email/status"), 200).await.json();
    assert_eq!(check["subscribed"], true, "the twin said nothing itself");
}

#[tokio::test]
async fn an_opt_in_clears_soft_bounces() {
    let (workspace, ann) = workspace_with_contact().await;
    for (status, forgotten) in [("unsubscribed", false), ("subscribed", true), ("optedIn", true)] {
        fixture::run(
            workspace.id,
            "insert into channel_consent (workspace_id, user_id, channel, bounce_type, bounce_count, last_bounce_at, updated_at)
             select $1, id, 'email', 'soft', 2, now(), now() from users where workspace_id = $1
             on conflict (workspace_id, user_id, channel) do update
             set bounce_type = 'soft', bounce_count = 2, last_bounce_at = now()",
        )
        .await;
        let email = ann.set(&workspace.api, "email", status).await["email"].clone();
        let expected = if forgotten {
            json!([null, 0, null])
        } else {
            json!(["soft", 2, email["lastBounceAt"]])
        };
        let seen = json!([email["bounceType"], email["bounceCount"], email["lastBounceAt"]]);
        assert_eq!(seen, expected, "{status}");
        assert_eq!(email["isValid"], true);
    }
}

#[tokio::test]
async fn clearing_a_bounce_validates_the_address_and_lifts_its_suppressions() {
    let (workspace, ann) = workspace_with_contact().await;
    let api = &workspace.api;
    ann.set(api, "email", "subscribed").await;
    let manual = json!({"channel": "email", "identifier": ann.email});
    api.post("/suppressions", &manual, 201).await;
    fixture::run(
        workspace.id,
        "insert into suppression (workspace_id, id, channel, identifier, reason, source, scope, created_at)
         select $1, gen_random_uuid(), 'email', email, 'complaint', 'delivery', 'global', now()
         from users where workspace_id = $1",
    )
    .await;
    api.post("/suppressions/hard-bounce", &json!({"identifier": ann.email}), 201).await;
    let valid = async || api.get(ann.path("/email-valid"), 200).await.json()["valid"].clone();
    assert_eq!(valid().await, false);
    let answer = api.post(&ann.path("/clear-bounce"), &json!({"reason": "called us"}), 200).await;
    assert_eq!(answer.json(), json!({"success": true}));
    assert_eq!(valid().await, true);
    let email = channels(&workspace, &ann).await["email"].clone();
    assert_eq!((&email["bounceType"], &email["bounceCount"]), (&Value::Null, &json!(0)));
    assert!(email.get("lastBounceAt").is_none());
    assert_eq!(email["status"], "subscribed", "consent is untouched");
    let page = api.get("/suppressions?channel=email", 200).await.json();
    assert_eq!((&page["total"], &page["items"][0]["reason"]), (&json!(1), &json!("manual")));
    let newest = &ann.history(api).await[0];
    assert_eq!(
        (&newest["action"], &newest["metadata"], &newest["newStatus"]),
        (&json!("api_update"), &json!({"reason": "called us"}), &json!("subscribed"))
    );
    // Without a body, and with nothing to clear: done and written down.
    let request = api.request(reqwest::Method::POST, &ann.path("/clear-bounce"));
    assert_eq!(api.send(request, 200).await.json(), json!({"success": true}));
    assert_eq!(ann.history(api).await.len(), 4);
    let answer = api.post(&ann.path("/clear-bounce"), &json!({"reason": 7}), 400).await;
    assert_eq!(answer.errors(), ["reason must be a string"]);
}

#[tokio::test]
async fn clearing_bounces_restores_a_contact_without_consent() {
    let (workspace, ann) = workspace_with_contact().await;
    let bounce = json!({"identifier": ann.email});
    workspace.api.post("/suppressions/hard-bounce", &bounce, 201).await;
    let email = channels(&workspace, &ann).await["email"].clone();
    assert!(email.get("status").is_none(), "{email}");
    workspace.api.post(&ann.path("/clear-bounce"), &json!({}), 200).await;
    assert_eq!(channels(&workspace, &ann).await, json!({}));
}

#[tokio::test]
async fn a_bounced_address_is_invalid_for_its_next_owner() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let gone = "gone@example.test";
    api.post("/suppressions/hard-bounce", &json!({"identifier": gone}), 201).await;
    let heir = api.post("/users", &json!({"externalId": "heir", "email": gone}), 201).await;
    let heir = heir.json()["id"].as_str().unwrap().to_owned();
    let valid = async || {
        let path = format!("/subscriptions/contacts/{heir}/email-valid");
        api.get(path, 200).await.json()["valid"].as_bool().unwrap()
    };
    assert!(!valid().await, "made with it");
    for (email, expected) in [("fresh@example.test", true), (gone, false)] {
        let request = api.request(reqwest::Method::PUT, &format!("/users/{heir}"));
        api.send(request.json(&json!({"email": email})), 200).await;
        assert_eq!(valid().await, expected, "moved to {email}");
    }
}

#[tokio::test]
async fn a_contact_without_an_address_can_opt_out() {
    let workspace = Workspace::new().await;
    let ann = Contact::new(&workspace).await;
    fixture::run(
        workspace.id,
        "update users set email = null, phone = null where workspace_id = $1",
    )
    .await;
    for channel in ["email", "sms", "whatsapp"] {
        assert_eq!(
            ann.set(&workspace.api, channel, "unsubscribed").await[channel]["status"],
            "unsubscribed"
        );
        assert_eq!(
            standing(
                &workspace.api,
                channel,
                if channel == "email" { &ann.email } else { &ann.phone }
            )
            .await["suppressed"],
            false
        );
        let list = workspace.api.get(format!("/suppressions?channel={channel}"), 200).await.json();
        assert_eq!(list["total"], 0);
    }
    workspace.api.post(&ann.path("/clear-bounce"), &json!({}), 200).await;
}
