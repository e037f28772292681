//! Sender domains of campaigns, transactional messages and tests.

use serde_json::{Value, json};

use super::{new_domain, path, record, shared, verify};
use crate::kit::{Client, eventually, unique};

/// A new profile of a workspace, by its external id.
async fn person(api: &Client) -> String {
    let external = unique("ann");
    let body = json!({"externalId": external, "email": format!("{external}@example.org")});
    api.post("/users", &body, 201).await;
    external
}

fn message(from: &str) -> Value {
    json!({"subject": "Hi", "text": "Hi {{ unsubscribe_url }}", "from": from})
}

/// A campaign to one profile from this sender.
async fn campaign(api: &Client, (person, from): (&str, &str)) -> String {
    let body = json!({
        "name": unique("campaign"), "channel": "email", "targeting": {"userIds": [person]},
        "variants": [{"id": "a", "name": "A", "weight": 100, "message": message(from)}],
    });
    let made = api.post("/campaigns", &body, 201).await.json();
    made["id"].as_str().unwrap().to_owned()
}

async fn called(api: &Client, campaign: &str, call: &str, status: u16) -> Value {
    let path = format!("/campaigns/{campaign}/{call}");
    api.send(api.request(reqwest::Method::POST, &path), status).await.json()
}

/// The check `sender_configured` of a campaign's preview: its status and what it says.
async fn sender_check(api: &Client, campaign: &str) -> (String, String) {
    let preview = called(api, campaign, "preview-launch", 200).await;
    let checks = preview["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["id"] == "sender_configured").unwrap();
    let text = |name: &str| check[name].as_str().unwrap().to_owned();
    (text("status"), text("message"))
}

fn refusal(field: &str, domain: &str) -> String {
    format!(
        "{field} must be in the domain of the email channel, or in one that the workspace verified \
         (POST /sender-domains): {domain} is neither"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_from_foreign_domains_are_not_sent() {
    let (shared, domain) = (shared().await, new_domain());
    let (api, other) = (&shared.workspace().await, &shared.workspace().await);
    shared.verified(other, &domain).await;
    let person = &person(api).await;
    let from = &format!("Acme <hello@{domain}>");
    let id = &campaign(api, (person, from)).await;
    let refused = [refusal("variants[0].message.from", &domain)];
    assert_eq!(sender_check(api, id).await, ("fail".to_owned(), refused[0].clone()));
    assert_eq!(called(api, id, "send", 400).await["errors"], json!(refused));

    let single = json!({"userId": person, "channel": "email",
        "message": {"subject": "Hi", "body": "Hi", "from": from}});
    let refused = [refusal("message.from", &domain)];
    let answer = api.post("/campaigns/transactional/send", &single, 400).await;
    assert_eq!(answer.errors(), refused);
    let test = json!({"to": "bob@example.org"});
    let tests = &format!("/campaigns/{id}/send-test-email");
    assert_eq!(api.post(tests, &test, 400).await.errors(), refused);

    let own = shared.verified(api, &domain).await;
    called(api, id, "send", 200).await;
    api.post("/campaigns/transactional/send", &single, 200).await;
    api.post(tests, &test, 200).await;
    let mails = eventually("three mails arrive", async || {
        let mails = shared.mail.taken().into_iter().filter(|mail| mail.mail.contains(&domain));
        Some(mails.collect::<Vec<_>>()).filter(|mails| mails.len() == 3)
    })
    .await;
    for mail in mails {
        assert_eq!(mail.from, format!("hello@{domain}"), "bounces return to the sender");
        for signed in ["d=example.test; s=s1;".to_owned(), format!("d={domain}; s=s1;")] {
            assert!(mail.mail.contains(&signed), "{signed}: {}", mail.mail);
        }
    }
    api.send(api.request(reqwest::Method::DELETE, &path(&own)), 204).await;
    api.post(tests, &test, 400).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn launch_checks_warn_of_missing_dns_records() {
    let (shared, domain) = (shared().await, new_domain());
    let api = &shared.workspace().await;
    let own = shared.verified(api, &domain).await;
    let id = &campaign(api, (&person(api).await, &format!("a@news.{domain}"))).await;
    let warning = format!("{domain} lacks DNS records for DKIM, SPF, DMARC");
    assert_eq!(sender_check(api, id).await, ("warn".to_owned(), warning));
    for purpose in ["dkim", "spf", "dmarc"] {
        let (name, value) = record(&own, purpose);
        shared.dns.set_texts(&name, &[&value]);
    }
    verify(api, &own).await;
    assert_eq!(sender_check(api, id).await.0, "pass");
    called(api, id, "send", 200).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn domains_of_the_channel_can_be_used_by_every_workspace() {
    let shared = shared().await;
    let api = &shared.workspace().await;
    let person = &person(api).await;
    for from in [
        "hello@example.test",
        "Shop <news@mail.example.test>",
        "a@letters.test",
        "b@PRESS.example.org",
    ] {
        let id = &campaign(api, (person, from)).await;
        assert_eq!(sender_check(api, id).await.0, "pass", "{from}");
    }
    for from in ["a@notexample.test", "a@example.org", "a@example.test.evil.test"] {
        let id = &campaign(api, (person, from)).await;
        assert_eq!(sender_check(api, id).await.0, "fail", "{from}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_liquid_sender_is_checked_when_the_message_is_sent() {
    let (shared, domain) = (shared().await, new_domain());
    let api = &shared.workspace().await;
    let person = &person(api).await;
    let path = format!("/users/by-user-id/{person}");
    let attributes = json!({"attributes": {"rep": format!("rep@{domain}")}});
    let put = api.request(reqwest::Method::PUT, &path).json(&attributes);
    api.send(put, 200).await;
    let id = &campaign(api, (person, "{{ user.rep }}")).await;
    called(api, id, "send", 200).await;
    let events = eventually("the message fails", async || {
        // A profile is a recipient once an event of it is recorded.
        let path = format!("/campaigns/{id}/recipients/{person}");
        let answer = api.request(reqwest::Method::GET, &path).send().await.unwrap();
        let found: Value = answer.json().await.unwrap();
        let events = found["messages"][0]["events"].as_array().cloned().unwrap_or_default();
        events.into_iter().find(|event| event["type"] == "failed")
    })
    .await;
    assert_eq!(events["metadata"]["code"], "sender_not_verified", "{events}");
    let reason = events["metadata"]["reason"].as_str().unwrap();
    assert!(reason.contains(&domain), "{reason}");
    assert!(shared.mail.taken().iter().all(|mail| !mail.from.ends_with(&domain)));

    shared.verified(api, &domain).await;
    let id = &campaign(api, (person, "{{ user.rep }}")).await;
    called(api, id, "send", 200).await;
    eventually("the message arrives", async || {
        shared.mail.taken().into_iter().find(|mail| mail.from == format!("rep@{domain}"))
    })
    .await;
}
