//! Rates of opens and clicks, and links as they were written.

use ingest::record::MessageKind as K;
use serde_json::{Value, json};
use uuid::Uuid;

use super::fixture::{
    TestMessageEvent, campaign, hour, message_event, near, person, publish, report,
};
use crate::kit::Workspace;

/// Ids of people a campaign was sent to.
async fn sent(workspace: &Workspace, campaign: Uuid, count: usize) -> Vec<String> {
    let (mut users, mut all) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let (_, user) = person(workspace).await;
        all.push(message_event(campaign, &user, K::Queued, hour(0)));
        all.push(message_event(campaign, &user, K::Sent, hour(1)));
        users.push(user);
    }
    publish(workspace, &all).await;
    users
}

/// The rates of opening and clicking of the only variant, and that of its only link.
async fn rates(workspace: &Workspace, campaign: Uuid) -> [Value; 4] {
    let variants = report(workspace, campaign, "variant-stats").await;
    let links = report(workspace, campaign, "links").await;
    let of = &variants["variants"][0];
    let link = links["links"][0]["clickRate"].clone();
    [of["openRate"].clone(), of["clickRate"].clone(), of["clickToOpenRate"].clone(), link]
}

#[track_caller]
fn are(found: &[Value; 4], expected: [f64; 4]) {
    let is_so = found.iter().zip(expected).all(|(found, expected)| near(found, expected));
    assert!(is_so, "{found:?} are not {expected:?}");
}

#[tokio::test]
async fn rates_are_of_the_messages_that_were_sent_and_did_not_bounce() {
    let workspace = Workspace::new().await;
    let id = campaign(&workspace, json!({})).await;
    let users = sent(&workspace, id, 8).await;
    let at = |user: usize, kind| message_event(id, &users[user], kind, hour(2));
    let click = |user: usize| at(user, K::Clicked).on("https://x.test/");
    // Two open, another clicks with pictures off: three opened.
    publish(
        &workspace,
        &[at(0, K::Opened), at(1, K::Opened), at(1, K::Opened), click(1), click(2)],
    )
    .await;
    let stats = report(&workspace, id, "stats").await["stats"].clone();
    for (name, expected) in
        [("sent", 8), ("delivered", 3), ("opened", 3), ("clicked", 2), ("totalOpens", 4)]
    {
        assert_eq!(stats[name], expected, "{name} of {stats}");
    }
    are(&rates(&workspace, id).await, [3.0 / 8.0, 2.0 / 8.0, 2.0 / 3.0, 2.0 / 8.0]);

    // A reported delivery changes no rate. An opened message counts as delivered.
    publish(&workspace, &[at(3, K::Delivered)]).await;
    assert_eq!(report(&workspace, id, "stats").await["stats"]["delivered"], 4);
    are(&rates(&workspace, id).await, [3.0 / 8.0, 2.0 / 8.0, 2.0 / 3.0, 2.0 / 8.0]);

    // A bounced message was not delivered, even after a delivery report. An opened one was, whatever bounced.
    let bounced = |user: usize| message_event(id, &users[user], K::Bounced, hour(3));
    publish(&workspace, &[at(4, K::Delivered), bounced(3), bounced(0)]).await;
    assert_eq!(report(&workspace, id, "stats").await["stats"]["delivered"], 4);
    are(&rates(&workspace, id).await, [3.0 / 7.0, 2.0 / 7.0, 2.0 / 3.0, 2.0 / 7.0]);
}

#[tokio::test]
async fn a_bot_open_implies_no_delivery() {
    let workspace = Workspace::new().await;
    let id = campaign(&workspace, json!({})).await;
    let users = sent(&workspace, id, 4).await;
    let at = |user: usize, kind| message_event(id, &users[user], kind, hour(2));
    let machine = |user: usize| TestMessageEvent { is_bot: true, ..at(user, K::Opened) };
    publish(&workspace, &[machine(0), machine(1), at(2, K::Clicked).on("https://x.test/")]).await;
    let stats = report(&workspace, id, "stats").await["stats"].clone();
    assert_eq!((&stats["machineOpened"], &stats["opened"]), (&json!(2), &json!(1)), "{stats}");
    are(&rates(&workspace, id).await, [0.25, 0.25, 1.0, 0.25]);
}

/// What the report calls a link that two people followed to this address.
async fn reported(workspace: &Workspace, followed: &str) -> String {
    let id = campaign(workspace, json!({})).await;
    let users = sent(workspace, id, 2).await;
    let click = |user: &String| message_event(id, user, K::Clicked, hour(2)).on(followed);
    publish(workspace, &users.iter().map(click).collect::<Vec<TestMessageEvent>>()).await;
    let links = report(workspace, id, "links").await["links"].clone();
    assert_eq!(links.as_array().unwrap().len(), 1, "{followed}: {links}");
    assert_eq!(links[0]["uniqueClicks"], 2, "{followed}");
    links[0]["url"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_link_is_reported_without_added_tracking_parameters() {
    const TAGS: &str =
        "utm_source=news&utm_medium=email&utm_campaign=May%20%26%20June&utm_term=t&utm_content=c";
    let workspace = Workspace::new().await;
    // As it was followed, and as it was written.
    let table = [
        (format!("https://x.test/?{TAGS}"), "https://x.test/"),
        (format!("https://x.test?{TAGS}"), "https://x.test"),
        (format!("https://x.test/a?b=1&{TAGS}"), "https://x.test/a?b=1"),
        (format!("https://x.test/a?{TAGS}&b=1"), "https://x.test/a?b=1"),
        (
            "https://x.test/m?b=1&utm_source=news&c=2&utm_medium=e".into(),
            "https://x.test/m?b=1&c=2",
        ),
        (format!("https://x.test/a?{TAGS}#part"), "https://x.test/a#part"),
        (format!("https://x.test/a?b=1&{TAGS}#part"), "https://x.test/a?b=1#part"),
        ("https://x.test/plain".into(), "https://x.test/plain"),
        (
            "https://x.test/my?my_utm_source=1&x=utm_source".into(),
            "https://x.test/my?my_utm_source=1&x=utm_source",
        ),
        (
            format!("https://x.test/q?url=https%3A%2F%2Fy.test%2F%3Futm_source%3Dz&{TAGS}"),
            "https://x.test/q?url=https%3A%2F%2Fy.test%2F%3Futm_source%3Dz",
        ),
    ];
    for (followed, written) in table {
        assert_eq!(reported(&workspace, &followed).await, written, "{followed}");
    }
}

#[tokio::test]
async fn parameters_in_a_url_fragment_are_kept() {
    let workspace = Workspace::new().await;
    for url in ["https://x.test/a?b=1#utm_source=mine", "https://x.test/#/a?utm_source=mine&b=1"] {
        assert_eq!(reported(&workspace, url).await, url);
    }
}

#[tokio::test]
async fn a_link_is_one_row_whatever_its_per_person_parameters() {
    let workspace = Workspace::new().await;
    let id = campaign(&workspace, json!({})).await;
    let users = sent(&workspace, id, 3).await;
    let click =
        |user: usize, url: &str| message_event(id, &users[user], K::Clicked, hour(2)).on(url);
    publish(
        &workspace,
        &[
            click(0, "https://x.test/a?b=1&utm_content=one"),
            click(1, "https://x.test/a?b=1&utm_content=two"),
            click(1, "https://x.test/a?b=1"),
            click(2, "https://x.test/a?utm_content=two"),
        ],
    )
    .await;
    let links = report(&workspace, id, "links").await;
    let rows = links["links"].as_array().unwrap();
    let counted: Vec<_> =
        rows.iter().map(|row| (&row["url"], &row["totalClicks"], &row["uniqueClicks"])).collect();
    let (with, without) = (json!("https://x.test/a?b=1"), json!("https://x.test/a"));
    let [one, two, three] = [json!(1), json!(2), json!(3)];
    assert_eq!(counted, [(&with, &three, &two), (&without, &one, &one)], "{links}");
}
