//! Clicks on the email that was sent: its version, tagged links, and links without a number.

use ingest::record::MessageKind as K;
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use super::kit::Person;
use crate::{
    kit::Workspace,
    stats::fixture::{TestMessageEvent, campaign, hour, in_euros, message_event, publish},
};

/// A variant whose links are these.
fn variant(links: &str) -> Value {
    json!({"id": "a", "name": "A", "weight": 100, "message": {"subject": "Hi", "html": format!(
        "<p>{links} <a href=\"{{{{ unsubscribe_url }}}}\">out</a></p>")}})
}

/// People who clicked an address, one message each.
fn clicked(id: Uuid, url: &str, people: std::ops::Range<usize>) -> Vec<TestMessageEvent> {
    let of = |number: usize, kind, at| {
        message_event(id, &format!("{:024x}", 0x7000_0000 + number), kind, hour(at))
    };
    let events = |number| [of(number, K::Sent, 0), of(number, K::Clicked, 1).on(url)];
    people.flat_map(events).collect()
}

async fn change(workspace: &Workspace, id: Uuid, variants: Value) {
    let request = workspace.api.request(Method::PUT, &format!("/campaigns/{id}"));
    workspace.api.send(request.json(&json!({"variants": variants})), 200).await;
}

/// The text of the report, and of the frame with the clicks.
async fn seen(person: &Person, id: Uuid, rest: &str) -> (String, String) {
    let report = person.get(&format!("/console/campaigns/{id}/report?numbers=on{rest}")).await;
    let frame = report.between("loading=\"lazy\" src=\"", "\"").replace("&amp;", "&");
    (report.text, person.get(&frame).await.text)
}

/// The marks of a document, in order.
fn marks(text: &str) -> Vec<&str> {
    text.split("%);\">").skip(1).map(|rest| rest.split("</span>").next().unwrap()).collect()
}

#[tokio::test]
async fn clicks_stand_on_the_version_that_was_sent() {
    let workspace = in_euros().await;
    let links = "<a href=\"https://shop.example/sale\">one</a> <a href=\"https://shop.example/sale\">two</a> \
                 <a href=\"https://shop.example/new?utm_source=own\">new</a> <a href=\"mailto:a@shop.example\">mail</a>";
    let id = campaign(
        &workspace,
        json!({"variants": [variant(links)], "utmSettings": {"source": "news"}}),
    )
    .await;
    let all = [
        clicked(id, "https://shop.example/sale?utm_source=news", 0..5),
        clicked(id, "https://shop.example/new?utm_source=own", 5..7),
    ]
    .concat();
    publish(&workspace, &all).await;
    let person = Person::signed_in(&workspace, "campaigns:read").await;
    let (report, frame) = seen(&person, id, "").await;
    assert_eq!(marks(&frame), ["5 (2 links)", "5 (2 links)", "2"], "{frame}");
    assert!(!report.contains("The variants were changed"), "{report}");

    // The HTML is another one now; what was sent is not.
    change(&workspace, id, json!([variant("<a href=\"https://shop.example/other\">other</a>")]))
        .await;
    let (report, frame) = seen(&person, id, "").await;
    assert!(report.contains("they were made from versions 1 to 2"), "{report}");
    assert_eq!(marks(&frame), ["0"], "{frame}");
    // Messages of the time before the change were made from the first version.
    let rest = format!("&to={}", crate::stats::fixture::iso(hour(2)));
    let (report, frame) = seen(&person, id, &rest).await;
    assert!(
        report.contains("Shown is version 1, which messages of this time were made from."),
        "{report}"
    );
    assert_eq!(marks(&frame), ["5 (2 links)", "5 (2 links)", "2"], "{frame}");
    let none = format!("/console/campaigns/{id}/clicks?variant=a&version=99");
    assert_eq!(person.get(&none).await.status, 404);
}
