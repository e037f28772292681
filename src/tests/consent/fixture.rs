//! Contacts, lists and organizations to test with.

use std::time::Duration;

use kernel::{Clock, ListId, OrganizationId, Tenant, UserId, WorkspaceId};
use reqwest::Method;
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use uuid::Uuid;
use web::auth::{
    KeyKind, ScopeSet,
    keys::{self, NewKey},
    sessions::{NewSession, Sessions},
};

use crate::kit::{Client, Workspace, server, unique};

/// A contact, with the addresses the ledgers follow.
#[derive(Debug, Clone)]
pub(crate) struct Contact {
    pub(crate) id: UserId,
    pub(crate) email: String,
    pub(crate) phone: String,
}

impl Contact {
    /// A contact with an address of its own.
    pub(crate) async fn new(workspace: &Workspace) -> Self {
        let number = Uuid::new_v4().as_u128() % 1_000_000_000_000;
        let email = format!("{}@example.test", unique("ann"));
        Self::with(workspace, &email, &format!("+49{number:012}")).await
    }

    /// A contact with these addresses.
    pub(crate) async fn with(workspace: &Workspace, email: &str, phone: &str) -> Self {
        let id = UserId::mint(Clock::system().now());
        insert(workspace.id, id, Some(email), Some(phone)).await;
        Self { id, email: email.to_owned(), phone: phone.to_owned() }
    }

    /// A path below this contact.
    pub(crate) fn path(&self, rest: &str) -> String {
        format!("/subscriptions/contacts/{}{rest}", self.id)
    }

    pub(crate) async fn set(&self, api: &Client, channel: &str, status: &str) -> Value {
        let body = json!({"channel": channel, "status": status});
        put(api, &self.path(&format!("/channels/{channel}")), &body, 200).await.json()
    }

    /// The newest entries of the history, at most 200.
    pub(crate) async fn history(&self, api: &Client) -> Vec<Value> {
        let page = api.get(self.path("/history?limit=200"), 200).await.json();
        page["items"].as_array().unwrap().clone()
    }

    /// Actions of the history, newest first.
    pub(crate) async fn actions(&self, api: &Client) -> Vec<String> {
        let text = |entry: &Value| entry["action"].as_str().unwrap().to_owned();
        self.history(api).await.iter().map(text).collect()
    }

    /// What stands in a ledger about one of the contact's addresses.
    pub(crate) async fn standing(&self, api: &Client, channel: &str) -> Value {
        let identifier = if channel == "email" { &self.email } else { &self.phone };
        standing(api, channel, identifier).await
    }
}

/// What stands in a ledger about an identifier.
pub(crate) async fn standing(api: &Client, channel: &str, identifier: &str) -> Value {
    let identifier = identifier.replace('+', "%2B");
    api.get(format!("/suppressions/{identifier}?channel={channel}"), 200).await.json()
}

/// Writes a profile straight into the table.
pub(crate) async fn insert(
    workspace: WorkspaceId,
    id: UserId,
    email: Option<&str>,
    phone: Option<&str>,
) {
    let db = server().db();
    let (email, phone) = (email.map(str::to_owned), phone.map(str::to_owned));
    server()
        .on(async move {
            sqlx::query(
                "insert into users (workspace_id, id, email, phone, created_at, updated_at)
                 values ($1, $2, $3, $4, now(), now())",
            )
            .bind(workspace.uuid())
            .bind(&id.bytes()[..])
            .bind(email)
            .bind(phone)
            .execute(&db)
            .await
            .unwrap();
        })
        .await;
}

/// Runs a statement in which `$1` is the workspace.
pub(crate) async fn run(workspace: WorkspaceId, statement: &'static str) {
    let db = server().db();
    server()
        .on(async move {
            sqlx::query(statement).bind(workspace.uuid()).execute(&db).await.unwrap();
        })
        .await;
}

/// Puts a contact into the recycle bin.
pub(crate) async fn delete(workspace: WorkspaceId, id: UserId) {
    let db = server().db();
    server()
        .on(async move {
            sqlx::query(
                "update users set deleted_at = now(), deleted_by = 'test', deleted_via = 'api'
                 where workspace_id = $1 and id = $2",
            )
            .bind(workspace.uuid())
            .bind(&id.bytes()[..])
            .execute(&db)
            .await
            .unwrap();
        })
        .await;
}

pub(crate) async fn list(workspace: WorkspaceId, double_opt_in: bool) -> ListId {
    let db = server().db();
    let id = ListId::mint(Clock::system().now());
    server()
        .on(async move {
            sqlx::query(
                "insert into subscription_list
                     (workspace_id, id, name, require_double_opt_in, display_order, created_at, updated_at)
                 values ($1, $2, $3, $4, 2, now(), now())",
            )
            .bind(workspace.uuid())
            .bind(id.uuid())
            .bind(id.to_string())
            .bind(double_opt_in)
            .execute(&db)
            .await
            .unwrap();
        })
        .await;
    id
}

pub(crate) async fn archive(workspace: WorkspaceId, list: ListId) {
    let db = server().db();
    server()
        .on(async move {
            sqlx::query(
                "update subscription_list set archived_at = now() where workspace_id = $1 and id = $2",
            )
            .bind(workspace.uuid())
            .bind(list.uuid())
            .execute(&db)
            .await
            .unwrap();
        })
        .await;
}

/// A workspace of a named organization.
pub(crate) async fn workspace_of(organization: &str) -> Workspace {
    let name = unique("workspace");
    let key = NewKey {
        workspace: name.clone(),
        organization: Some(organization.to_owned()),
        scopes: ScopeSet::all(),
        label: None,
        currency: None,
        country: None,
        kind: KeyKind::Api,
    };
    let db = server().db();
    let created = server()
        .on(async move { keys::create(&db, Clock::system().now(), key).await.unwrap() })
        .await;
    let api = Client::new(&server().url, Some(created.token.expose_secret()));
    Workspace::known(name, created.workspace, api)
}

/// The workspace in its organization.
pub(crate) async fn tenant(workspace: WorkspaceId) -> Tenant {
    let db = server().db();
    let organization: Uuid = server()
        .on(async move {
            sqlx::query_scalar("select organization_id from workspace where id = $1")
                .bind(workspace.uuid())
                .fetch_one(&db)
                .await
                .unwrap()
        })
        .await;
    Tenant { organization: OrganizationId::new(organization), workspace }
}

/// A client with a dashboard session.
pub(crate) fn session(workspace: WorkspaceId, scopes: &str) -> Client {
    let sessions = Sessions::from_data_dir(&server().data_dir).unwrap();
    let new = NewSession {
        workspace,
        actor: "ann".to_owned(),
        scopes: scopes.parse().unwrap(),
        ttl: Duration::from_mins(5),
    };
    let token = sessions.create(Clock::system().now(), new).unwrap();
    Client::new(&server().url, Some(token.expose_secret()))
}

pub(crate) async fn put(
    api: &Client,
    path: &str,
    body: &Value,
    expected: u16,
) -> crate::kit::Answer {
    api.send(api.request(Method::PUT, path).json(body), expected).await
}

/// DELETEs with a body.
pub(crate) async fn delete_with(
    api: &Client,
    path: &str,
    body: &Value,
    expected: u16,
) -> crate::kit::Answer {
    api.send(api.request(Method::DELETE, path).json(body), expected).await
}
