//! Phone numbers as people write them at home: one with their international spelling where the country is known.

use aws_lc_rs::hmac;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use kernel::Clock;
use reqwest::Method;
use serde_json::{Value, json};
use web::auth::{
    KeyKind,
    keys::{self, NewKey},
};

use super::fixture::{Sender, start};
use crate::{
    kit::{Client, Workspace, eventually, server, unique},
    suppressions::history::{history, words},
};

const TOKEN: &str = "national-token";

/// The last eight digits of a number that no other test uses.
fn digits() -> String {
    format!("{:08}", uuid::Uuid::now_v7().as_u128() % 100_000_000)
}

async fn profile(api: &Client, phone: &str) -> (String, String) {
    let external_id = unique("ann");
    let body = json!({"externalId": external_id, "phone": phone});
    let user = api.post("/users", &body, 201).await.json();
    assert_eq!(user["phone"], phone, "a profile shows what was sent");
    (external_id, user["id"].as_str().unwrap().to_owned())
}

async fn text(api: &Client, external_id: &str) -> Value {
    let body = json!({"userId": external_id, "channel": "sms", "message": {"body": "Hi"}});
    api.post("/campaigns/transactional/send", &body, 200).await.json()
}

/// A text from a number, as Twilio hands it on.
async fn inbound(sender: &Sender, from: &str, words: &str) {
    let sid = unique("SM");
    let fields = [("Body", words), ("From", from), ("MessageSid", &sid), ("To", "+15550001111")];
    let mut signed = format!("{}/callbacks/sms/twilio", sender.url);
    for (name, value) in fields {
        signed.push_str(name);
        signed.push_str(value);
    }
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, TOKEN.as_bytes());
    let signature = STANDARD.encode(hmac::sign(&key, signed.as_bytes()));
    let form = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    let caller = Client::new(&sender.url, None);
    let request = caller
        .request(Method::POST, "/callbacks/sms/twilio")
        .header("x-twilio-signature", signature)
        .header("content-type", "application/x-www-form-urlencoded")
        .body(form);
    caller.send(request, 200).await;
}

#[tokio::test]
async fn a_stop_from_the_international_number_suppresses_the_national_one() {
    let settings = [
        ("MILLRACE_PHONE_NUMBERS__COUNTRY", "de".to_owned()),
        ("MILLRACE_CALLBACKS__TWILIO_AUTH_TOKEN", TOKEN.to_owned()),
    ];
    let sender = start("national-numbers", &settings).await;
    let api = &sender.api;
    let digits = digits();
    let (national, international) = (format!("0151 {digits}"), format!("+49151{digits}"));
    let (ann, ann_id) = profile(api, &national).await;
    let sent = text(api, &ann).await;
    assert_eq!(sent["success"], true, "{sent}");
    let call = sender.arrived(sent["messageId"].as_str().unwrap()).await;
    assert_eq!(call["to"], international, "providers get the international number");

    inbound(&sender, &international, "STOP").await;
    let consent = api.get(format!("/subscriptions/contacts/{ann_id}"), 200).await.json();
    assert_eq!(consent["channels"]["sms"]["status"], "unsubscribed", "{consent}");
    for spelling in [&national, &international, &format!("0049 151{digits}")] {
        let spelling = spelling.replace('+', "%2B").replace(' ', "%20");
        let row = api.get(format!("/suppressions/{spelling}?channel=sms"), 200).await.json();
        assert_eq!(row["suppressed"], true, "{spelling}: {row}");
        assert_eq!(row["identifier"], international);
    }
    let (other, _) = profile(api, &format!("(0151) {digits}")).await;
    for person in [&ann, &other] {
        let skipped = text(api, person).await;
        assert_eq!(skipped["status"], "skipped", "{skipped}");
        assert_eq!(skipped["reason"], "unsubscribe", "{skipped}");
    }

    // Found, filtered and lifted by either spelling.
    for query in
        [format!("0151{digits}"), format!("%2B49151{digits}"), format!("0151{}", &digits[..4])]
    {
        let found = api.get(format!("/users/search?query={query}"), 200).await.json();
        assert_eq!(found["pagination"]["total"], 2, "{query}: {found}");
    }
    for (operator, value) in [
        ("equals", national.clone()),
        ("equals", international.clone()),
        ("starts_with", format!("0151{}", &digits[..6])),
    ] {
        let filter =
            json!({"type": "profile", "field": "phone", "operator": operator, "value": value});
        let targeting = json!({"filterGroups": [{"filters": [filter]}]});
        let body = json!({"targeting": targeting, "channel": "sms"});
        let preview = api.post("/campaigns/preview", &body, 200).await.json();
        assert_eq!(preview["total"], 2, "{operator} {value}: {preview}");
    }
    let path = format!("/suppressions/0151{digits}?channel=sms");
    let removed = api.send(api.request(Method::DELETE, &path), 200).await.json();
    assert_eq!((&removed["identifier"], &removed["removed"]), (&json!(international), &json!(1)));
}

#[tokio::test]
async fn a_country_set_later_reads_stored_numbers_again() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let digits = digits();
    let (national, international) = (format!("0151{digits}"), format!("+49151{digits}"));
    profile(api, &national).await;
    let manual = json!({"channel": "sms", "identifier": national});
    api.post("/suppressions", &manual, 201).await;
    let path = format!("/suppressions/{national}?channel=sms");
    api.send(api.request(Method::DELETE, &path), 200).await;
    let row = json!({"channel": "sms", "identifier": national, "reason": "unsubscribe"});
    let stored = api.post("/suppressions", &row, 201).await.json();
    assert_eq!(stored["identifier"], national, "no country is guessed");

    let (db, name) = (server().db(), workspace.name.clone());
    server()
        .on(async move {
            let key = NewKey {
                workspace: name,
                organization: None,
                scopes: "users:read".parse().unwrap(),
                label: None,
                currency: None,
                country: "DE".parse().ok(),
                kind: KeyKind::Api,
            };
            keys::create(&db, Clock::system().now(), key).await.unwrap();
        })
        .await;
    let query = format!("/users/search?query=%2B49151{digits}");
    eventually("the profile has its international number", async || {
        (api.get(query.as_str(), 200).await.json()["pagination"]["total"] == 1).then_some(())
    })
    .await;
    // For a moment both spellings are suppressed.
    eventually("the suppression has only that number", async || {
        let rows = api.get("/suppressions?channel=sms", 200).await.json();
        let is_moved = rows["total"] == 1 && rows["items"][0]["identifier"] == international;
        is_moved.then_some(())
    })
    .await;
    // Entries and their total are two statements, between which the history may move.
    eventually("the history is that number's", || async {
        let page = history(api, "sms", &international, "").await;
        let is_whole = page["total"] == 3 && page["items"].as_array().unwrap().len() == 3;
        is_whole.then_some(())
    })
    .await;
    let whole =
        ["added manual api api_key", "removed manual api api_key", "added unsubscribe api api_key"];
    assert_eq!(words(api, "sms", &international).await, whole);
}
