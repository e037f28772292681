//! `/console/people`.

use ingest::record::MessageKind;
use serde_json::json;

use super::{
    accessible,
    kit::{Person, Seen},
};
use crate::{
    identity::{link, link_publicly},
    kit::{Workspace, eventually, within},
    privacy::DONE_MAX,
    stats::fixture::{hour, iso, message_event, publish, track},
};

#[tokio::test]
async fn people_are_listed_found_and_shown() {
    let workspace = Workspace::new().await;
    let person = Person::signed_in(&workspace, "*").await;
    let empty = person.get("/console/people").await;
    assert!(empty.text.contains("No people yet") && empty.text.contains("curl"), "{}", empty.text);
    let hostile = "<script>alert(1)</script>";
    let ann = json!({
        "externalId": "ann/1", "email": "ann@example.test",
        "attributes": {"name": hostile, "plan": "pro", "tags": ["<b>x</b>"]},
    });
    let ann = workspace.api.post("/users", &ann, 201).await.json();
    let id = ann["id"].as_str().unwrap();
    workspace.api.post("/users", &json!({"externalId": "bob"}), 201).await;

    let list = person.get("/console/people").await;
    assert!(list.text.contains("1–2") && list.text.contains("bob"), "{}", list.text);
    assert!(list.text.contains("&lt;script&gt;alert(1)") && !list.text.contains(hostile));
    let found = person.get("/console/people?query=ann%40example.test").await;
    assert!(found.text.contains(id) && !found.text.contains("bob"), "{}", found.text);
    let none = person.get("/console/people?query=zzz").await;
    assert!(none.text.contains("No one was found"), "{}", none.text);

    let path = format!("/console/people/{id}");
    let seen = person.get("/console/people/ann%2F1").await;
    assert_eq!((seen.status.as_u16(), seen.location()), (303, path.as_str()));
    let seen = person.get("/console/people/ann%2F1?tab=consent").await;
    assert_eq!(seen.location(), format!("{path}?tab=consent"));
    assert_eq!(person.get(&format!("{path}?skip=18446744073709551615")).await.status, 200);
    let event = json!({"userId": "ann/1", "eventName": "Order Completed",
        "properties": {"orderId": "o-1", "note": "<i>hi</i>"}});
    workspace.api.post("/events/track", &event, 200).await;
    eventually("the event is on the timeline", || async {
        person.get(&path).await.text.contains("Order Completed").then_some(())
    })
    .await;
    let timeline = person.get(&path).await;
    assert!(timeline.text.contains("&lt;i&gt;hi&lt;/i&gt;") && !timeline.text.contains("<i>hi"));
    let attributes = person.get(&format!("{path}?tab=attributes")).await;
    assert!(attributes.text.contains("pro") && !attributes.text.contains("<b>x"));
    let identifiers = person.get(&format!("{path}?tab=identifiers")).await;
    assert!(identifiers.text.contains("ann/1") && identifiers.text.contains("external"));
    assert_eq!(person.get("/console/people/00000000000000000000dead").await.status, 404);
}

#[tokio::test]
async fn consent_is_shown_with_lists_and_history() {
    let workspace = Workspace::new().await;
    let person = Person::signed_in(&workspace, "*").await;
    let ann = json!({"externalId": "ann", "email": "ann@example.test"});
    let ann = workspace.api.post("/users", &ann, 201).await.json();
    let id = ann["id"].as_str().unwrap();
    let list = workspace.api.post("/lists", &json!({"name": "News & <more>"}), 201).await.json();
    let list = list["id"].as_str().unwrap();
    let membership = format!("/subscriptions/contacts/{id}/lists/{list}");
    workspace.api.post(&membership, &json!({"channel": "email"}), 200).await;
    let consent = person.get(&format!("/console/people/{id}?tab=consent")).await;
    assert!(consent.text.contains("News &amp; &lt;more&gt;"), "{}", consent.text);
    assert!(consent.text.contains("History") && consent.text.contains("subscribed"));
    // Without the scope the tab says which one it is.
    let person = Person::signed_in(&workspace, "users:read").await;
    let consent = person.get(&format!("/console/people/{id}?tab=consent")).await;
    assert!(consent.text.contains("compliance:read"), "{}", consent.text);
}

#[tokio::test]
async fn a_person_is_deleted_only_by_the_name_that_is_shown() {
    let workspace = Workspace::new().await;
    let ann = json!({"externalId": "ann", "attributes": {"firstName": "Ann", "lastName": "Lee"}});
    let ann = workspace.api.post("/users", &ann, 201).await.json();
    let path = format!("/console/people/{}", ann["id"].as_str().unwrap());
    let action = format!("{path}/delete");
    let reader = Person::signed_in(&workspace, "users:read").await;
    assert!(!reader.get(&path).await.text.contains("Delete…"));
    assert_eq!(reader.post(&action, &[("confirm", "Ann Lee")]).await.status, 403);
    let person = Person::signed_in(&workspace, "*").await;
    assert_eq!(person.post_bare(&action, &[("confirm", "Ann Lee")]).await.status, 403, "CSRF");
    let wrong = person.post(&action, &[("confirm", "Ann")]).await;
    assert_eq!(wrong.status, 400);
    assert!(wrong.text.contains("nothing was deleted"), "{}", wrong.text);
    assert_eq!(person.get(&path).await.status, 200);
    let done = person.post(&action, &[("confirm", "Ann Lee")]).await;
    assert_eq!((done.status.as_u16(), done.location()), (303, "/console/people"));
    let list = person.get("/console/people").await;
    assert!(list.text.contains("Ann Lee was deleted."), "{}", list.text);
    assert!(!person.get("/console/people").await.text.contains("was deleted"), "shown once");
    assert_eq!(person.get(&path).await.status, 404);
}

#[tokio::test]
async fn a_person_is_exported_and_erased_from_the_page() {
    let workspace = crate::privacy::workspace().await;
    let ann = json!({"externalId": "ann", "attributes": {"firstName": "<b>Ann"}});
    let ann = workspace.api.post("/users", &ann, 201).await.json();
    let path = format!("/console/people/{}", ann["id"].as_str().unwrap());
    let support = Person::signed_in(&workspace, "users:read,users:delete").await;
    let tab = support.get(&format!("{path}?tab=privacy")).await;
    assert!(
        tab.text.contains("Erase, keep counts…") && !tab.text.contains("<b>Ann"),
        "{}",
        tab.text
    );
    assert!(support.get("/console/privacy").await.text.contains("No requests yet"));
    let done = support.post(&format!("{path}/export"), &[]).await;
    assert_eq!((done.status.as_u16(), done.location()), (303, "/console/privacy"));
    let list = within(DONE_MAX, "the document is there", || async {
        let list = support.get("/console/privacy").await;
        list.text.contains("/download").then_some(list)
    })
    .await;
    assert!(!list.text.contains("every 2s"), "nothing is open any more: {}", list.text);
    let id = list.between("/console/privacy/", "/download").to_owned();
    let document = support.get(&format!("/console/privacy/{id}/download")).await;
    assert!(document.headers["content-disposition"].to_str().unwrap().starts_with("attachment"));
    let document: serde_json::Value = serde_json::from_str(&document.text).unwrap();
    assert_eq!(document["profiles"][0]["attributes"]["firstName"], "<b>Ann");

    let erase = format!("{path}/erase?events=anonymize");
    let wrong = support.post(&erase, &[("confirm", "Ann")]).await;
    assert!(wrong.status == 400 && wrong.text.contains("nothing was erased"), "{}", wrong.text);
    assert_eq!(support.post_bare(&erase, &[("confirm", "<b>Ann")]).await.status, 403, "CSRF");
    let other = format!("{path}/erase?events=some");
    assert_eq!(support.post(&other, &[("confirm", "<b>Ann")]).await.status, 400);
    let reader = Person::signed_in(&workspace, "users:read").await;
    for path in [format!("{path}?tab=privacy"), "/console/privacy".to_owned()] {
        assert!(reader.get(&path).await.text.contains("users:delete"), "{path}");
    }
    assert_eq!(reader.post(&erase, &[("confirm", "<b>Ann")]).await.status, 403);
    let done = support.post(&erase, &[("confirm", "<b>Ann")]).await;
    assert_eq!((done.status.as_u16(), done.location()), (303, "/console/privacy"));
    let rows = within(DONE_MAX, "the person is erased", || async {
        let rows = support.get("/console/privacy/requests").await;
        assert!(!rows.text.contains("<html"), "{}", rows.text);
        rows.text.contains("erased</span>").then_some(rows)
    })
    .await;
    assert!(!rows.text.contains("/download"), "with the person: {}", rows.text);
    assert_eq!(support.get(&path).await.status, 404);
    assert_eq!(support.get(&format!("/console/privacy/{id}/download")).await.status, 404);
}

#[tokio::test]
async fn the_timeline_has_events_and_messages_in_one_page_after_page() {
    let workspace = crate::stats::fixture::in_euros().await;
    let (external, id) = crate::stats::fixture::person(&workspace).await;
    let campaign = crate::stats::fixture::campaign(&workspace, json!({})).await;
    let at = |minute: i64| hour(1) + minute * 60_000;
    // Two of each minute, so that a page ends between entries of one moment.
    let events: Vec<_> = (0..40)
        .map(|minute| {
            json!({"userId": external, "eventName": format!("Seen {minute}"), "timestamp": iso(at(minute))})
        })
        .collect();
    track(&workspace, &events, 40).await;
    let messages: Vec<_> = (0..40)
        .map(|minute| {
            let url = format!("https://example.com/{minute}");
            message_event(campaign, &id, MessageKind::Clicked, at(minute)).on(&url)
        })
        .collect();
    publish(&workspace, &messages).await;
    let person = Person::signed_in(&workspace, "users:read").await;
    let mut address = format!("/console/people/{id}");
    let mut shown = Vec::new();
    for _ in 0..2 {
        let seen = person.get(&address).await;
        assert_eq!(seen.status, 200, "{}", seen.text);
        let list = seen.between("<ol class=\"timeline\"", "</ol>");
        shown.extend(list.split("<li").skip(1).map(str::to_owned));
        let Some(older) = seen.text.split("href=\"").find(|link| link.contains("until=")) else {
            break;
        };
        address = older.split('"').next().unwrap().replace("&amp;", "&");
    }
    assert_eq!(shown.len(), 80);
    for minute in 0..40 {
        for text in [format!("Seen {minute}<"), format!("https://example.com/{minute}<")] {
            assert_eq!(shown.iter().filter(|entry| entry.contains(&text)).count(), 1, "{text}");
        }
    }
    let first = format!("{}{}", shown[0], shown[1]);
    assert!(first.contains("Seen 39") && first.contains("example.com/39"), "{first}");
    assert!(shown[1].contains(&format!("/console/campaigns/{campaign}/report")), "{first}");
    let title = shown[1].split("</summary>").next().unwrap();
    assert!(!title.contains("<a "), "a link in what opens the details: {title}");
    assert!(person.get(&address).await.text.contains("Newest"));
    accessible::check(&workspace, &[format!("/console/people/{id}")]).await;
}

#[tokio::test]
async fn a_person_is_changed_on_the_page() {
    let workspace = Workspace::new().await;
    let ann = json!({
        "externalId": "ann", "email": "ann@example.test", "phone": "+491511234567",
        "attributes": {"plan": "pro", "score": 1, "old": "<x>"},
    });
    let ann = workspace.api.post("/users", &ann, 201).await.json();
    let path = format!("/console/people/{}", ann["id"].as_str().unwrap());
    let edit = format!("{path}/edit");
    let reader = Person::signed_in(&workspace, "users:read").await;
    assert!(reader.get(&format!("{path}?tab=edit")).await.text.contains("users:write"));
    let forged = [("shown", "{}"), ("email", "x@example.test")];
    assert_eq!(reader.post(&edit, &forged).await.status, 403);
    let person = Person::signed_in(&workspace, "users:read,users:write").await;
    let form = person.get(&format!("{path}?tab=edit")).await;
    assert!(
        form.text.contains("ann@example.test") && form.text.contains("&lt;x&gt;"),
        "{}",
        form.text
    );
    let shown = shown_by(&form);
    let fields = |email: &'static str, attributes: &'static str| {
        [
            ("shown", shown.as_str()),
            ("email", email),
            ("phone", "+491511234567"),
            ("attributes", attributes),
        ]
    };
    assert_eq!(person.post_bare(&edit, &fields("", "{}")).await.status, 403, "CSRF");
    // What was typed stays, each fault at its field.
    let seen = person.post(&edit, &fields("no address", r#"{"plan": "free"}"#)).await;
    assert_eq!(seen.status, 400);
    assert!(
        seen.text.contains("no address") && seen.text.contains("&quot;free&quot;"),
        "{}",
        seen.text
    );
    assert!(seen.between("id=\"email-fault\"", "</p>").contains("must be"), "{}", seen.text);
    let seen = person.post(&edit, &fields("ann@example.test", "[1]")).await;
    assert!(seen.between("id=\"attributes-fault\"", "</p>").contains("must be a JSON object"));

    let digits = r#"{"plan": "free", "score": 12345678901234567890.125}"#;
    let seen = person.post(&edit, &fields("", digits)).await;
    assert_eq!((seen.status.as_u16(), seen.location()), (303, &*format!("{path}?tab=attributes")));
    let stored = workspace.api.get(format!("/users/{}", ann["id"].as_str().unwrap()), 200).await;
    assert!(stored.text.contains("12345678901234567890.125"), "{}", stored.text);
    let stored = stored.json();
    assert_eq!((&stored["email"], &stored["phone"]), (&json!(null), &json!("+491511234567")));
    assert_eq!(
        (&stored["attributes"]["plan"], &stored["attributes"]["old"]),
        (&json!("free"), &json!(null))
    );
    // What was not touched stays: digits that a page cannot show, and what others changed while the form was open.
    let form = person.get(&format!("{path}?tab=edit")).await;
    let attributes = form.between("name=\"attributes\"", "</textarea>");
    let attributes = attributes.split_once('>').unwrap().1.replace("&quot;", "\"");
    let meanwhile = json!({"externalId": "ann", "attributes": {"plan": "team", "fresh": true}});
    workspace.api.post("/users", &meanwhile, 200).await;
    let shown = shown_by(&form);
    let fields =
        [("shown", shown.as_str()), ("email", ""), ("phone", ""), ("attributes", &attributes)];
    person.post(&edit, &fields).await;
    let stored = workspace.api.get(format!("/users/{}", ann["id"].as_str().unwrap()), 200).await;
    assert!(stored.text.contains("12345678901234567890.125"), "{}", stored.text);
    let stored = stored.json();
    assert_eq!(stored["phone"], json!(null));
    assert_eq!(
        (&stored["attributes"]["plan"], &stored["attributes"]["fresh"]),
        (&json!("team"), &json!(true))
    );
    assert_eq!(person.post(&edit, &fields[1..]).await.status, 400, "what was shown is missing");
}

/// What a form of a profile sends along of what it shows.
fn shown_by(form: &Seen) -> String {
    form.between("name=\"shown\" value=\"", "\"")
        .replace("&quot;", "\"")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
}

#[tokio::test]
async fn consent_is_changed_and_kept_as_typed_when_refused() {
    let workspace = Workspace::new().await;
    let ann = json!({"externalId": "ann", "email": "ann@example.test"});
    let id =
        workspace.api.post("/users", &ann, 201).await.json()["id"].as_str().unwrap().to_owned();
    let person = Person::signed_in(&workspace, "*").await;
    let (page, to) =
        (format!("/console/people/{id}?tab=consent"), format!("/console/people/{id}/consent"));
    let fields = [
        ("channel", "email"),
        ("status", "unsubscribed"),
        ("source", "phone call"),
        ("reason", "asked <us>"),
        ("consentText", ""),
    ];
    assert_eq!(person.post_bare(&to, &fields).await.status, 403, "CSRF");
    assert_eq!(person.post(&to, &fields).await.location(), page);
    let seen = person.get(&page).await;
    assert!(
        seen.text.contains("none → unsubscribed") && seen.text.contains("phone call"),
        "{}",
        seen.text
    );
    let contact = workspace.api.get(&format!("/subscriptions/contacts/{id}"), 200).await.json();
    assert_eq!(contact["channels"]["email"]["status"], "unsubscribed");
    // A source has at most 255 characters.
    let long = "s".repeat(256);
    let mut wrong = fields;
    (wrong[1].1, wrong[2].1) = ("optedIn", long.as_str());
    let seen = person.post(&to, &wrong).await;
    assert_eq!(seen.status, 400, "{}", seen.text);
    assert!(
        seen.text.contains("id=\"source-fault\"") && seen.text.contains(&long),
        "{}",
        seen.text
    );
    assert!(seen.text.contains("value=\"asked &lt;us&gt;\""), "{}", seen.text);
    wrong[2].1 = "s";
    assert_eq!(person.post(&to, &wrong).await.status, 303);
    let reader = Person::signed_in(&workspace, "users:read,compliance:read").await;
    assert!(!reader.get(&page).await.text.contains("Set consent"));
    let seen = reader.post(&to, &fields).await;
    assert_eq!(seen.status, 403);
    assert!(seen.text.contains("compliance:write"), "{}", seen.text);
    assert!(seen.text.contains("value=\"asked &lt;us&gt;\""), "{}", seen.text);
    let contact = workspace.api.get(&format!("/subscriptions/contacts/{id}"), 200).await.json();
    assert_eq!(contact["channels"]["email"]["status"], "optedIn");
}

#[tokio::test]
async fn the_history_of_consent_has_pages() {
    let workspace = Workspace::new().await;
    let ann = json!({"externalId": "ann", "email": "ann@example.test"});
    let ann = workspace.api.post("/users", &ann, 201).await.json();
    let id = ann["id"].as_str().unwrap();
    for number in 0..51 {
        let status = if number % 2 == 0 { "optedIn" } else { "unsubscribed" };
        let path = format!("/subscriptions/contacts/{id}/channels/email");
        let body =
            json!({"channel": "email", "status": status, "source": format!("call {number}.")});
        let change = workspace.api.request(reqwest::Method::PUT, &path).json(&body);
        workspace.api.send(change, 200).await;
    }
    let person = Person::signed_in(&workspace, "*").await;
    let page = format!("/console/people/{id}?tab=consent");
    let first = person.get(&page).await;
    assert!(
        first.text.contains("51 changes") && first.text.contains("(call 50.)"),
        "{}",
        first.text
    );
    assert!(!first.text.contains("(call 0.)"), "{}", first.text);
    let next = format!("/console/people/{id}?tab=consent&amp;offset=50");
    assert!(first.text.contains(&next), "{}", first.text);
    let last = person.get(&format!("{page}&offset=50")).await;
    assert!(last.text.contains("(call 0.)") && !last.text.contains("(call 1.)"), "{}", last.text);
    assert!(last.text.contains("tab=consent&amp;offset=0"), "{}", last.text);
}

#[tokio::test]
async fn bounces_are_cleared_where_there_are_some() {
    let workspace = Workspace::new().await;
    let ann = json!({"externalId": "ann", "email": "ann@example.test"});
    let id =
        workspace.api.post("/users", &ann, 201).await.json()["id"].as_str().unwrap().to_owned();
    let (page, to) =
        (format!("/console/people/{id}?tab=consent"), format!("/console/people/{id}/clear-bounce"));
    let person = Person::signed_in(&workspace, "*").await;
    assert!(!person.get(&page).await.text.contains("Clear bounces"));
    let bounce = json!({"identifier": "ann@example.test"});
    workspace.api.post("/suppressions/hard-bounce", &bounce, 201).await;
    let seen = person.get(&page).await;
    assert!(
        seen.text.contains("invalid address") && seen.text.contains("Clear bounces"),
        "{}",
        seen.text
    );
    let reader = Person::signed_in(&workspace, "users:read,compliance:read").await;
    assert!(!reader.get(&page).await.text.contains("Clear bounces"));
    assert_eq!(reader.post(&to, &[("bounceReason", "")]).await.status, 403);
    assert_eq!(person.post_bare(&to, &[("bounceReason", "x")]).await.status, 403, "CSRF");
    let long = "r".repeat(1_001);
    let seen = person.post(&to, &[("bounceReason", &long)]).await;
    assert_eq!(seen.status, 400, "{}", seen.text);
    assert!(seen.text.contains("bounceReason-fault") && seen.text.contains(&long), "{}", seen.text);
    assert_eq!(person.post(&to, &[("bounceReason", "a new mailbox")]).await.location(), page);
    assert!(!person.get(&page).await.text.contains("invalid address"));
    let valid = workspace.api.get(&format!("/subscriptions/contacts/{id}/email-valid"), 200).await;
    assert_eq!(valid.json(), json!({"valid": true}));
}

#[tokio::test]
async fn a_person_leads_to_why_a_campaign_did_not_reach_them() {
    let workspace = Workspace::new().await;
    let made = workspace.api.post("/users", &json!({"externalId": "ann"}), 201).await.json();
    let id = made["id"].as_str().unwrap();
    for name in ["Spring <sale>", "Autumn"] {
        let campaign = json!({"name": name, "channel": "email", "variants": [{"id": "a", "name": "A", "weight": 100,
            "message": {"subject": "Hi", "html": "<p>{{ unsubscribe_url }}</p>"}}]});
        workspace.api.post("/campaigns", &campaign, 201).await;
    }
    let person = Person::signed_in(&workspace, "*").await;
    let seen = person.get(&format!("/console/people/{id}?tab=campaigns&q=spring")).await;
    assert!(
        seen.text.contains("Spring &lt;sale&gt;") && !seen.text.contains("Autumn"),
        "{}",
        seen.text
    );
    let report = seen.between("<td><a href=\"", "\"").to_owned();
    let seen = person.get(&report).await;
    assert!(report.contains(&format!("/report?person={id}")), "{report}");
    assert!(
        seen.text.contains("No message of this campaign was made for this person"),
        "{}",
        seen.text
    );
    let reader = Person::signed_in(&workspace, "users:read").await;
    let seen = reader.get(&format!("/console/people/{id}?tab=campaigns")).await;
    assert!(seen.text.contains("campaigns:read"), "{}", seen.text);
}

#[tokio::test]
async fn deleted_people_are_listed() {
    let workspace = Workspace::new().await;
    let person = Person::signed_in(&workspace, "*").await;
    assert!(person.get("/console/people/deleted").await.text.contains("No one was found"));
    for name in ["ann", "bob"] {
        let made = workspace.api.post("/users", &json!({"externalId": name}), 201).await.json();
        let address = format!("/console/people/{}", made["id"].as_str().unwrap());
        let deleted = person.post(&format!("{address}/delete"), &[("confirm", name)]).await;
        assert_eq!(deleted.status, 303);
    }
    let seen = person.get("/console/people/deleted?query=an").await;
    assert!(seen.text.contains("1–1 of 1") && seen.text.contains(">ann<"), "{}", seen.text);
    assert!(
        !seen.text.contains(">bob<") && seen.text.contains("ann@example.test"),
        "{}",
        seen.text
    );
}

#[tokio::test]
async fn identifiers_are_removed_one_by_one_or_all_that_sdk_keys_linked() {
    let workspace = Workspace::new().await;
    let ann = json!({"externalId": "ann", "attributes": {"name": "Ann Lee"}});
    let ann = workspace.api.post("/users", &ann, 201).await.json();
    let id = ann["id"].as_str().unwrap();
    for anonymous in ["<b>tablet", "of-ann"] {
        link(&workspace, anonymous, id).await;
    }
    for anonymous in ["flood-1", "flood-2"] {
        link_publicly(&workspace, anonymous, id).await;
    }
    let page = format!("/console/people/{id}?tab=identifiers");
    let (one, linked) = (
        format!("/console/people/{id}/identifiers/remove"),
        format!("/console/people/{id}/identifiers/remove-linked"),
    );
    let reader = Person::signed_in(&workspace, "users:read").await;
    assert!(!reader.get(&page).await.text.contains("Remove identifiers"));
    let seen = reader.post(&one, &[("identifier", "<b>tablet")]).await;
    assert_eq!(seen.status, 403, "{}", seen.text);
    assert!(seen.text.contains("value=\"&lt;b&gt;tablet\""), "{}", seen.text);
    assert_eq!(reader.post(&linked, &[("confirm", "Ann Lee")]).await.status, 403);
    let person = Person::signed_in(&workspace, "*").await;
    assert!(person.get(&page).await.text.contains("Remove identifiers"));
    assert_eq!(person.post_bare(&one, &[("identifier", "of-ann")]).await.status, 403, "CSRF");
    for (typed, reason) in [
        ("unknown", "nothing was removed"),
        ("ann", "is an id of the profile itself"),
        ("", "must be between 1 and 255 characters"),
    ] {
        let seen = person.post(&one, &[("identifier", typed)]).await;
        assert!(seen.status == 400 && seen.text.contains(reason), "{typed}: {}", seen.text);
    }
    let seen = person.post(&one, &[("identifier", "<b>tablet")]).await;
    assert_eq!((seen.status.as_u16(), seen.location()), (303, page.as_str()));
    let shown = person.get(&page).await;
    assert!(shown.text.contains("&lt;b&gt;tablet was removed."), "{}", shown.text);
    assert!(!person.get(&page).await.text.contains("tablet"));
    let wrong = person.post(&linked, &[("confirm", "Ann")]).await;
    assert!(wrong.status == 400 && wrong.text.contains("nothing was removed"), "{}", wrong.text);
    let seen = person.post(&linked, &[("confirm", "Ann Lee")]).await;
    assert_eq!((seen.status.as_u16(), seen.location()), (303, page.as_str()));
    let shown = person.get(&page).await;
    assert!(shown.text.contains("2 identifiers were removed."), "{}", shown.text);
    assert!(shown.text.contains("of-ann") && !shown.text.contains("flood"), "{}", shown.text);
}

#[tokio::test]
async fn events_of_an_id_without_profile_have_a_page() {
    let workspace = Workspace::new().await;
    let person = Person::signed_in(&workspace, "*").await;
    let id = "<b>it's";
    let page = "/console/people/%3Cb%3Eit%27s";
    // Nothing names the id yet.
    let none = person.get(page).await;
    assert_eq!(none.status, 404);
    assert!(!none.text.contains("No profile yet"), "{}", none.text);
    let event = json!({"userId": id, "eventName": "Order Completed", "properties": {"total": 5}});
    workspace.api.post("/events/track", &event, 200).await;
    let seen = eventually("the event is shown", || async {
        let seen = person.get(page).await;
        seen.text.contains("No profile yet").then_some(seen)
    })
    .await;
    assert_eq!(seen.status, 404);
    for text in ["Order Completed", "&lt;b&gt;it's", "externalId", "/console/people/deleted"] {
        assert!(seen.text.contains(text), "no {text}: {}", seen.text);
    }
    assert!(!seen.text.contains("<b>it"), "{}", seen.text);
    // Without the scope for events there is nothing to show.
    let reader = Person::signed_in(&workspace, "users:read").await;
    assert!(!reader.get(page).await.text.contains("No profile yet"));
    // Once there is a profile, the same link leads to it.
    workspace.api.post("/users", &json!({"externalId": id}), 201).await;
    assert_eq!(person.get(page).await.status, 303);
}
