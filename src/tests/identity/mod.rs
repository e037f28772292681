//! One person, many identifiers: links, aliases and merges.
//!
//! Most tests call the operations on the running server, which event SDKs reach by calls.

mod aliases;
mod histories;
mod leads_to;
mod links;
mod merge_races;
mod merges;
mod mirror;
mod races;
mod reads;
mod removal_races;
mod removals;

use std::time::Duration;

use contacts::{consent, users::ops::upsert::WriteContext};
use identity::{
    model::{Alias, Aliased, Link, LinkSource, Linked, Trust},
    ops,
};
use kernel::WorkspaceId;
use millrace::app::App;
use reqwest::Method;
use serde_json::{Value, json};
use web::{audit::Origin, http::Requester};

use crate::kit::{Answer, Client, Workspace, eventually, server};

/// Creates a profile and returns its internal id.
async fn profile(workspace: &Workspace, external: &str) -> String {
    user(workspace, &json!({"externalId": external})).await
}

async fn user(workspace: &Workspace, body: &Value) -> String {
    let made = workspace.api.post("/users", body, 201).await.json();
    made["id"].as_str().unwrap().to_owned()
}

/// Does something with the context of a write in a workspace.
async fn within<T, W>(
    workspace: WorkspaceId,
    work: impl FnOnce(App, kernel::Tenant) -> W + Send + 'static,
) -> T
where
    T: Send + 'static,
    W: Future<Output = T> + Send + 'static,
{
    server()
        .with(move |app| async move {
            let tenant = consent::ops::read::tenant_of(app.services().db(), workspace).await;
            work(app, tenant.unwrap().unwrap()).await
        })
        .await
}

fn context(app: &App, tenant: kernel::Tenant) -> WriteContext<'_> {
    let services = app.services();
    WriteContext { db: services.db(), tenant, country: None, now: services.clock().now() }
}

/// An anonymous id and the internal id of the profile that it is to be linked to.
#[derive(Debug, Clone)]
struct Wish {
    anonymous: String,
    user: String,
    trust: Trust,
}

impl Wish {
    fn new(anonymous: &str, user: &str) -> Self {
        Self { anonymous: anonymous.to_owned(), user: user.to_owned(), trust: Trust::Server }
    }
}

/// Links in one call; gives the outcome of each.
async fn link_all(workspace: WorkspaceId, wishes: Vec<Wish>) -> Vec<Linked> {
    within(workspace, async move |app, tenant| {
        let context = context(&app, tenant);
        let links: Vec<Link<'_>> = wishes
            .iter()
            .map(|wish| Link {
                anonymous_id: &wish.anonymous,
                user: wish.user.parse().unwrap(),
                source: LinkSource::Identify,
                at: context.now,
                trust: wish.trust,
                applied_at: None,
            })
            .collect();
        ops::link(context, &links).await.unwrap()
    })
    .await
}

pub(crate) async fn link(workspace: &Workspace, anonymous: &str, user: &str) -> Linked {
    link_all(workspace.id, vec![Wish::new(anonymous, user)]).await[0]
}

/// Links as a call with an SDK key does.
pub(crate) async fn link_publicly(workspace: &Workspace, anonymous: &str, user: &str) -> Linked {
    let wish = Wish { trust: Trust::Public, ..Wish::new(anonymous, user) };
    link_all(workspace.id, vec![wish]).await[0]
}

fn origin() -> Origin {
    let requester = Requester::default();
    Origin { source: "test".to_owned(), actor: "test".to_owned(), requester }
}

async fn alias_by(workspace: &Workspace, trust: Trust, previous: &str, user: &str) -> Aliased {
    let (previous, user) = (previous.to_owned(), user.to_owned());
    within(workspace.id, async move |app, tenant| {
        let alias = Alias { previous: &previous, user: &user };
        ops::alias(context(&app, tenant), &origin(), trust, alias).await.unwrap()
    })
    .await
}

pub(crate) async fn alias(workspace: &Workspace, previous: &str, user: &str) -> Aliased {
    alias_by(workspace, Trust::Server, previous, user).await
}

pub(crate) async fn merge(workspace: &Workspace, from: &str, into: &str) -> Value {
    let body = json!({"from": from, "into": into});
    workspace.api.post("/users/merge", &body, 200).await.json()
}

/// Asks to remove identifiers of a profile.
async fn removal(api: &Client, id: &str, body: &Value, expected: u16) -> Answer {
    let request = api.request(Method::DELETE, &format!("/users/{id}/identities"));
    api.send(request.json(body), expected).await
}

/// Removes identifiers of a profile, and says how many it lost.
pub(crate) async fn remove(workspace: &Workspace, id: &str, body: &Value) -> u64 {
    removal(&workspace.api, id, body, 200).await.json()["removed"].as_u64().unwrap()
}

/// Waits until all changes of a workspace's profiles and identifiers are copied to ClickHouse.
async fn until_mirrored(workspace: WorkspaceId) {
    let is_copied = server()
        .with(move |app| async move {
            let (db, max) = (app.services().db(), Duration::from_mins(2));
            people_mirror::ops::wait_for_mirror(db, workspace, max).await.unwrap()
        })
        .await;
    assert!(is_copied);
}

/// The identifiers of a profile besides its own, as `type:id`, in alphabetical order.
async fn further(workspace: &Workspace, id: &str) -> Vec<String> {
    let answer = workspace.api.get(format!("/users/{id}/identities"), 200).await.json();
    let mut found: Vec<String> = answer["data"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| it["source"] != "profile")
        .map(|it| format!("{}:{}", it["type"].as_str().unwrap(), it["id"].as_str().unwrap()))
        .collect();
    found.sort();
    found
}

/// Tracks events, and waits until the workspace has so many.
async fn track(workspace: &Workspace, events: &[Value], total: usize) {
    for some in events.chunks(500) {
        let answer = workspace.api.post("/events/track", &json!(some), 200).await.json();
        assert_eq!(answer["rejected"], json!([]), "{answer}");
    }
    eventually("the events are visible", || async {
        let mut found = 0;
        loop {
            let path = format!("/events/query?limit=1000&offset={found}");
            let page = workspace.api.get(path, 200).await.json();
            let rows = page.as_array().unwrap().len();
            found += rows;
            if rows < 1000 {
                return (found >= total).then_some(());
            }
        }
    })
    .await;
}

/// The ids of a person's events, in alphabetical order, and their total.
async fn events_of(workspace: &Workspace, id: &str) -> (Vec<String>, u64) {
    let page = workspace.api.get(format!("/users/{id}/events?limit=1000"), 200).await.json();
    let mut ids: Vec<String> = page["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| event["event_id"].as_str().unwrap().to_owned())
        .collect();
    ids.sort();
    (ids, page["total"].as_u64().unwrap())
}
