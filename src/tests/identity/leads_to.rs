//! Whose an event is, asked in every way: one definition, so one answer.

use std::collections::BTreeSet;

use audience::{AudienceState, model::AudienceQuery, ops as audiences};
use reqwest::Method;
use serde_json::{Value, json};

use super::{alias, events_of, link, link_publicly, merge, remove, track, until_mirrored, user};
use crate::{
    export::fixture::rows,
    kit::{Workspace, server},
    sql_listener::fixture::Sql,
};

const UNKNOWN: &str = "0123456789abcdef01234567";
/// As an SDK makes it up for a visitor.
const RANDOM: &str = "0198c5a4-8f3e-7c1b-9d2a-5b6c7d8e9f01";

/// What an event is tracked with, and whose it is.
struct Case {
    ids: Value,
    /// The names of the profiles that it is found for.
    owners: &'static [&'static str],
    /// Whose it is where it can be of one only: a name, or else the identifier itself.
    person: &'static str,
}

fn case(ids: Value, owners: &'static [&'static str], person: &'static str) -> Case {
    Case { ids, owners, person }
}

/// Profiles by their names.
struct People {
    named: Vec<(&'static str, String)>,
}

impl People {
    /// The internal id of a name; anything else is itself.
    fn id(&self, name: &str) -> String {
        let found = self.named.iter().find(|(known, _)| *known == name);
        found.map_or_else(|| name.to_owned(), |(_, id)| id.clone())
    }
}

async fn people(workspace: &Workspace) -> People {
    let mut named = Vec::new();
    for name in ["ann", "bob", "carl", "gone"] {
        let body = json!({"externalId": name, "attributes": {"name": name}});
        named.push((name, user(workspace, &body).await));
    }
    let dora = json!({"email": "dora@example.test", "attributes": {"name": "dora"}});
    named.push(("dora", user(workspace, &dora).await));
    let people = People { named };
    link(workspace, "anon-1", &people.id("ann")).await;
    // An anonymous id may be another profile's external id.
    link(workspace, "bob", &people.id("ann")).await;
    // A public key may not claim an id that a server could use for a user.
    link_publicly(workspace, "1001", &people.id("ann")).await;
    link_publicly(workspace, RANDOM, &people.id("ann")).await;
    link(workspace, "anon-gone", &people.id("gone")).await;
    alias(workspace, "ann", "annie").await;
    alias(workspace, "ann", "anna").await;
    merge(workspace, "carl", "bob").await;
    link(workspace, "anon-off", &people.id("ann")).await;
    link(workspace, "anon-moved", &people.id("ann")).await;
    link_publicly(workspace, "anon-public", &people.id("bob")).await;
    let ids = json!({"ids": ["anon-off", "anon-moved", "anna"]});
    assert_eq!(remove(workspace, "ann", &ids).await, 3);
    assert_eq!(remove(workspace, "carl", &json!({"linkedBy": "sdkKey"})).await, 1);
    link(workspace, "anon-moved", &people.id("bob")).await;
    let deletion = workspace.api.request(Method::DELETE, &format!("/users/{}", people.id("gone")));
    workspace.api.send(deletion, 204).await;
    people
}

fn cases(people: &People) -> Vec<Case> {
    let (ann, carl, dora) = (people.id("ann"), people.id("carl"), people.id("dora"));
    vec![
        case(json!({"userId": "ann"}), &["ann"], "ann"),
        case(json!({"userId": ann}), &["ann"], "ann"),
        case(json!({"serviceUserId": ann}), &["ann"], "ann"),
        case(json!({"serviceUserId": ann, "userId": "ann"}), &["ann"], "ann"),
        case(json!({"userId": "annie"}), &["ann"], "ann"),
        case(json!({"anonymousId": "anon-1"}), &["ann"], "ann"),
        case(json!({"userId": "anon-1"}), &["ann"], "ann"),
        case(json!({"anonymousId": "1001"}), &["ann"], "ann"),
        case(json!({"userId": "1001"}), &[], "1001"),
        case(json!({"serviceUserId": UNKNOWN, "userId": "1001"}), &[], "1001"),
        case(json!({"userId": RANDOM}), &["ann"], "ann"),
        case(json!({"userId": "bob"}), &["bob"], "bob"),
        case(json!({"anonymousId": "bob"}), &["ann"], "ann"),
        case(json!({"userId": "carl"}), &["bob"], "bob"),
        case(json!({"serviceUserId": carl}), &["bob"], "bob"),
        case(json!({"userId": "carl", "serviceUserId": carl}), &["bob"], "bob"),
        case(json!({"serviceUserId": UNKNOWN, "userId": "ann"}), &["ann"], "ann"),
        case(json!({"serviceUserId": UNKNOWN, "userId": "annie"}), &["ann"], "ann"),
        case(json!({"serviceUserId": UNKNOWN, "userId": "anon-1"}), &["ann"], "ann"),
        case(json!({"serviceUserId": dora, "userId": "zed"}), &["dora"], "dora"),
        case(json!({"serviceUserId": ann, "userId": "bob"}), &["ann", "bob"], "ann"),
        case(json!({"userId": "zed", "anonymousId": "anon-1"}), &[], "zed"),
        case(json!({"serviceUserId": UNKNOWN, "anonymousId": "anon-1"}), &[], UNKNOWN),
        case(json!({"serviceUserId": UNKNOWN, "userId": "zed"}), &[], "zed"),
        case(json!({"anonymousId": "anon-9"}), &[], "anon-9"),
        // An anonymous id of a deleted profile is free again.
        case(json!({"anonymousId": "anon-gone"}), &[], "anon-gone"),
        // A removed identifier belongs to no profile, or to the one it was linked to afterwards.
        case(json!({"anonymousId": "anon-off"}), &[], "anon-off"),
        case(json!({"userId": "anon-off"}), &[], "anon-off"),
        case(json!({"userId": "anna"}), &[], "anna"),
        case(json!({"serviceUserId": UNKNOWN, "userId": "anna"}), &[], "anna"),
        case(json!({"anonymousId": "anon-public"}), &[], "anon-public"),
        case(json!({"anonymousId": "anon-moved"}), &["bob"], "bob"),
        case(json!({"userId": "anon-moved"}), &["bob"], "bob"),
        case(json!({"userAlias": {"aliasLabel": "crm", "aliasName": "42"}}), &[], "42"),
    ]
}

/// The internal ids of those who performed an event, so often.
pub(super) async fn performers(
    workspace: &Workspace,
    name: &str,
    count: Value,
    copies: bool,
) -> BTreeSet<String> {
    let filter = json!({"type": "event", "field": name, "operator": "performed", "value": count});
    let targeting = json!({"filterGroups": [{"filters": [filter]}]});
    let targeting = serde_json::from_value(targeting).unwrap();
    let workspace = workspace.id;
    server()
        .with(move |app| async move {
            let query = AudienceQuery { targeting: Some(&targeting), ..AudienceQuery::default() };
            let state: &AudienceState = app.contacts();
            let state = if copies { state.clone() } else { state.without_copies() };
            let found = audiences::page(&state, workspace, &query, None, 100).await.unwrap();
            let measured = audiences::measure(&state, workspace, &query).await.unwrap();
            assert_eq!(measured.matched, found.len() as u64);
            found.into_iter().map(|reached| reached.user.to_string()).collect()
        })
        .await
}

#[tokio::test]
async fn all_who_ask_agree_whose_an_event_is() {
    let workspace = Workspace::new().await;
    let people = people(&workspace).await;
    let cases = cases(&people);
    let events: Vec<Value> = cases
        .iter()
        .enumerate()
        .map(|(at, case)| {
            let mut event = case.ids.clone();
            event["eventName"] = json!(format!("case-{at}"));
            event["clientEventId"] = json!(format!("{at}"));
            event["timestamp"] = json!("2026-03-01T12:00:00Z");
            event
        })
        .collect();
    track(&workspace, &events, events.len()).await;
    until_mirrored(workspace.id).await;

    // The reference: events by profile.
    for name in ["ann", "bob", "dora"] {
        let expected: BTreeSet<String> = (0..cases.len())
            .filter(|at| cases[*at].owners.contains(&name))
            .map(|at| at.to_string())
            .collect();
        let (found, _) = events_of(&workspace, &people.id(name)).await;
        assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), expected, "{name}");
    }
    let exported = rows(&workspace.api, "").await;
    let sql = Sql::of(&workspace).await;
    let in_sql = sql.rows("SELECT event_id, person_id FROM events").await;
    for (at, case) in cases.iter().enumerate() {
        let (ids, number, name) = (&case.ids, at.to_string(), format!("case-{at}"));
        let person = people.id(case.person);
        let row = exported.iter().find(|row| row["event_id"] == json!(number)).unwrap();
        assert_eq!(row["person_id"], json!(person), "export of {ids}");
        let row = in_sql.iter().find(|row| row[0] == number).unwrap();
        assert_eq!(row[1], person, "SQL of {ids}");
        let question = json!({"series": [{"eventName": name}], "interval": "none", "from": "2026-03-01",
                              "to": "2026-03-01", "breakdown": {"profile": "name"}});
        let answer = workspace.api.post("/insights/trends", &question, 200).await.json();
        let known = (person != case.person).then_some(case.person);
        assert_eq!(answer["series"][0]["breakdown"], json!(known), "insight of {ids}");
        assert_eq!(answer["series"][0]["total"], json!(1), "insight of {ids}");
        let owners: BTreeSet<String> = case.owners.iter().map(|name| people.id(name)).collect();
        for count in [json!({}), json!({"count": {"op": "equals", "n": 1}})] {
            for copies in [true, false] {
                let found = performers(&workspace, &name, count.clone(), copies).await;
                assert_eq!(found, owners, "audience of {ids} {count}, by copies: {copies}");
            }
        }
    }
}
