//! Reachability of matching profiles, and the reasons of the others.

use audience::model::Exclusion;
use kernel::Channel;
use reqwest::Method;
use serde_json::{Value, json};

use super::fixture::{Asked, Person, list};
use crate::{
    consent::fixture::workspace_of,
    kit::{Workspace, unique},
};

/// Creates a profile with these addresses and this status on a channel.
async fn person(
    workspace: &Workspace,
    name: &str,
    (email, phone): (Option<&str>, Option<&str>),
    channel: Option<(&'static str, &'static str)>,
) -> Person {
    let mut person = Person::with(name, json!({}));
    (person.email, person.phone) = (email.map(str::to_owned), phone.map(str::to_owned));
    person.channels = channel.into_iter().collect();
    person.make(workspace).await;
    person
}

async fn suppress(workspace: &Workspace, body: Value) {
    workspace.api.post("/suppressions", &body, 201).await;
}

/// Each person's reason, in the order of the people; counts are compared with it.
async fn reasons(
    workspace: &Workspace,
    people: &[Person],
    asked: &Asked,
) -> Vec<Option<Exclusion>> {
    let reached = asked.pages(workspace.id, 2).await;
    let measured = asked.measure(workspace.id).await;
    assert_eq!(measured.matched, reached.len() as u64);
    assert_eq!(measured.matched, measured.reachable + measured.excluded.total());
    let count = |reason| reached.iter().filter(|one| one.excluded == reason).count() as u64;
    assert_eq!(measured.reachable, count(None));
    assert_eq!(measured.excluded.no_address, count(Some(Exclusion::NoAddress)));
    assert_eq!(measured.excluded.invalid_address, count(Some(Exclusion::InvalidAddress)));
    assert_eq!(measured.excluded.unsubscribed, count(Some(Exclusion::Unsubscribed)));
    assert_eq!(measured.excluded.suppressed, count(Some(Exclusion::Suppressed)));
    people
        .iter()
        .map(|person| {
            let id = person.id.parse().unwrap();
            reached.iter().find(|one| one.user == id).unwrap().excluded
        })
        .collect()
}

#[tokio::test]
async fn email_reachability_reports_the_first_reason() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let people = vec![
        person(&workspace, "none", (None, None), Some(("email", "unsubscribed"))).await,
        person(&workspace, "bounced", (Some("b@x.test"), None), Some(("email", "unsubscribed")))
            .await,
        person(&workspace, "out", (Some("o@x.test"), None), Some(("email", "unsubscribed"))).await,
        person(&workspace, "manual", (Some("m@x.test"), None), Some(("email", "optedIn"))).await,
        person(&workspace, "silent", (Some("s@x.test"), None), None).await,
        person(&workspace, "in", (Some("i@x.test"), None), Some(("email", "optedIn"))).await,
    ];
    api.post("/suppressions/hard-bounce", &json!({"identifier": "b@x.test"}), 201).await;
    suppress(&workspace, json!({"channel": "email", "identifier": "m@x.test"})).await;
    // Of another channel: no matter here.
    suppress(&workspace, json!({"channel": "sms", "identifier": "+4915100000"})).await;
    let none = Exclusion::NoAddress;
    let (bounced, out, suppressed) =
        (Exclusion::InvalidAddress, Exclusion::Unsubscribed, Exclusion::Suppressed);
    for (preference, expected) in [
        (
            "subscribed_or_opted_in",
            [Some(none), Some(bounced), Some(out), Some(suppressed), None, None],
        ),
        (
            "opted_in_only",
            [Some(none), Some(bounced), Some(out), Some(suppressed), Some(out), None],
        ),
        // The opt-out stands in the ledger as well, which holds whatever is preferred.
        ("all", [Some(none), Some(bounced), Some(suppressed), Some(suppressed), None, None]),
    ] {
        let asked = Asked::new(&json!({"subscriptionPreference": preference})).on(Channel::Email);
        assert_eq!(reasons(&workspace, &people, &asked).await, expected, "{preference}");
    }
    // Without a channel that needs consent every profile is reachable.
    assert_eq!(reasons(&workspace, &people, &Asked::new(&json!({}))).await, [None; 6]);
}

#[tokio::test]
async fn phone_reachability_checks_number_channel_and_suppressions() {
    let workspace = Workspace::new().await;
    let people = vec![
        person(&workspace, "none", (None, None), None).await,
        person(&workspace, "words", (None, Some("call me")), None).await,
        person(&workspace, "out", (None, Some("+49 151 1")), Some(("sms", "unsubscribed"))).await,
        person(&workspace, "blocked", (None, Some("0049 (151) 2000")), None).await,
        person(&workspace, "twin", (None, Some("+491512000")), Some(("whatsapp", "optedIn"))).await,
        person(&workspace, "fine", (None, Some("+491513000")), None).await,
    ];
    for channel in ["sms", "whatsapp"] {
        suppress(&workspace, json!({"channel": channel, "identifier": "+49 151 2000"})).await;
    }
    let (none, words, out, blocked) = (
        Some(Exclusion::NoAddress),
        Some(Exclusion::InvalidAddress),
        Some(Exclusion::Unsubscribed),
        Some(Exclusion::Suppressed),
    );
    for (channel, expected) in [
        (Channel::Sms, [none, words, out, blocked, blocked, None]),
        (Channel::Whatsapp, [none, words, None, blocked, blocked, None]),
        (Channel::Viber, [none, words, None, None, None, None]),
    ] {
        let asked = Asked::new(&json!({})).on(channel);
        assert_eq!(reasons(&workspace, &people, &asked).await, expected, "{channel}");
    }
}

#[tokio::test]
async fn an_opt_out_by_phone_holds_in_every_workspace_of_the_organization() {
    let organization = unique("organization");
    let workspace = workspace_of(&organization).await;
    let sister = workspace_of(&organization).await;
    let number = format!("+4917{}", uuid::Uuid::new_v4().as_u128() % 1_000_000_000);
    let phone = Some(number.as_str());
    person(&workspace, "here", (None, phone), Some(("sms", "unsubscribed"))).await;
    let there = vec![person(&sister, "there", (None, phone), None).await];
    let asked = Asked::new(&json!({})).on(Channel::Sms);
    assert_eq!(reasons(&sister, &there, &asked).await, [Some(Exclusion::Suppressed)]);
}

#[tokio::test]
async fn push_reachability_needs_an_external_id() {
    let workspace = Workspace::new().await;
    let mut unknown = Person { email: Some("p@x.test".to_owned()), ..Person::default() };
    unknown.make(&workspace).await;
    let people = vec![
        unknown,
        person(&workspace, "known", (None, None), None).await,
        person(&workspace, "out", (None, None), Some(("push", "unsubscribed"))).await,
    ];
    let asked = Asked::new(&json!({})).on(Channel::Push);
    assert_eq!(
        reasons(&workspace, &people, &asked).await,
        [Some(Exclusion::NoAddress), None, Some(Exclusion::Unsubscribed)]
    );
}

#[tokio::test]
async fn list_opt_outs_and_group_suppressions_apply_to_that_list_only() {
    let workspace = Workspace::new().await;
    let (news, other) =
        (list(&workspace, &unique("n")).await, list(&workspace, &unique("o")).await);
    let mut people = vec![
        person(&workspace, "left", (Some("l@x.test"), None), None).await,
        person(&workspace, "group", (Some("g@x.test"), None), None).await,
        person(&workspace, "by-sms", (Some("t@x.test"), None), None).await,
        person(&workspace, "stranger", (Some("s@x.test"), None), None).await,
    ];
    for (number, channel) in [(0, "email"), (2, "sms")] {
        let path = format!("/subscriptions/contacts/{}/lists/{news}", people[number].id);
        let request =
            workspace.api.request(Method::DELETE, &path).json(&json!({"channel": channel}));
        workspace.api.send(request, 200).await;
    }
    people[0].lists.push((news.clone(), "email", "unsubscribed"));
    suppress(
        &workspace,
        json!({"channel": "email", "identifier": "g@x.test", "scope": "group", "listId": news}),
    )
    .await;
    let asked = Asked::new(&json!({})).on(Channel::Email);
    assert_eq!(reasons(&workspace, &people, &asked).await, [None; 4]);
    assert_eq!(reasons(&workspace, &people, &asked.clone().under(&other)).await, [None; 4]);
    assert_eq!(
        reasons(&workspace, &people, &asked.under(&news)).await,
        [Some(Exclusion::Unsubscribed), Some(Exclusion::Suppressed), None, None]
    );
}
