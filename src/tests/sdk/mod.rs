//! `/v1`: what apps and pages do with an SDK key, over HTTP on the real engines.

mod browsers;
mod devices;
mod event_sdks;
mod identity;
mod in_app;
mod optional;
mod public_key;
mod rates;
mod subscriptions;

use jsonwebtoken::{Algorithm, EncodingKey, Header};
use kernel::{Clock, WorkspaceId};
use millrace::app::App;
use reqwest::Method;
use sdk::ops::token_keys;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};
use web::auth::{
    KeyKind, ScopeSet,
    keys::{self, NewKey},
};

use crate::kit::{Answer, Client, TestServer, Workspace, server, unique};

/// An app of a workspace, with or without a user.
#[derive(Clone)]
pub(crate) struct Device {
    http: Client,
    key: String,
    /// What the workspace's backend signs user tokens with.
    secret: String,
    token: Option<String>,
}

impl Device {
    pub(crate) async fn of(workspace: &Workspace) -> Self {
        Self::on(server(), workspace.id, &workspace.name).await
    }

    /// An app of a workspace of this server.
    pub(crate) async fn on(server: &TestServer, workspace: WorkspaceId, name: &str) -> Self {
        let name = name.to_owned();
        let (key, secret) = server
            .with(async move |app: App| {
                let key = NewKey {
                    workspace: name,
                    organization: None,
                    scopes: ScopeSet::NONE,
                    label: None,
                    currency: None,
                    country: None,
                    kind: KeyKind::Sdk,
                };
                let now = Clock::system().now();
                let created = keys::create(app.db(), now, key).await.unwrap();
                let secret = token_keys::secret(app.db(), app.vault(), workspace, now).await;
                let text = |secret: SecretString| secret.expose_secret().to_owned();
                (text(created.token), text(secret.unwrap()))
            })
            .await;
        Self { http: Client::new(&server.url, None), key, secret, token: None }
    }

    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    /// The app in the hands of the person with this external id.
    pub(crate) fn by(&self, external_id: &str) -> Self {
        let claims = json!({"sub": external_id, "exp": now_s() + 600});
        self.with_token(&self.signed(&claims))
    }

    /// The app with this user token.
    pub(crate) fn with_token(&self, token: &str) -> Self {
        Self { token: Some(token.to_owned()), ..self.clone() }
    }

    /// A token that the workspace's backend signed.
    pub(crate) fn signed(&self, claims: &Value) -> String {
        signed(Algorithm::HS256, claims, &EncodingKey::from_secret(self.secret.as_bytes()))
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        let request = self.http.request(method, path).header("x-sdk-key", &self.key);
        match &self.token {
            Some(token) => request.header("x-user-token", token),
            None => request,
        }
    }

    pub(crate) async fn post(&self, path: &str, body: &Value, status: u16) -> Answer {
        self.http.send(self.request(Method::POST, path).json(body), status).await
    }

    pub(crate) async fn get(&self, path: &str, status: u16) -> Answer {
        self.http.send(self.request(Method::GET, path), status).await
    }

    pub(crate) async fn delete(&self, path: &str, status: u16) -> Answer {
        self.http.send(self.request(Method::DELETE, path), status).await
    }
}

pub(crate) fn signed(algorithm: Algorithm, claims: &Value, key: &EncodingKey) -> String {
    jsonwebtoken::encode(&Header::new(algorithm), claims, key).unwrap()
}

pub(crate) fn now_s() -> i64 {
    Clock::system().now().millis() / 1000
}

/// A profile: its external and its internal id.
pub(crate) async fn person(workspace: &Workspace, attributes: Value) -> (String, String) {
    let external = unique("ann");
    let body = json!({"externalId": external, "email": format!("{external}@example.test"), "attributes": attributes});
    let user = workspace.api.post("/users", &body, 201).await.json();
    (external, user["id"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn events_tracked_by_an_app_are_read_by_the_api() {
    let workspace = Workspace::new().await;
    let device = Device::of(&workspace).await;
    let event = json!({"userId": "ann", "eventName": "Opened", "clientEventId": "e1"});
    let one = device.post("/v1/track", &event, 200).await.json();
    assert_eq!(one, json!({"eventId": "sdk:e1", "success": true}));
    let many =
        device.post("/v1/track", &json!([event, {"eventName": "Anonymous"}]), 200).await.json();
    assert_eq!((many["accepted"].clone(), many["processed"].clone()), (json!(1), json!(2)));
    crate::kit::eventually("the event is read", || async {
        let events = workspace.api.get("/events/query?userId=ann", 200).await.json();
        (events.as_array().unwrap().len() == 1).then_some(())
    })
    .await;
    let message = device.post("/v1/track", &json!({"eventName": 7}), 400).await;
    assert_eq!(message.errors().len(), 2, "{}", message.text);
}

#[tokio::test]
async fn sdk_routes_accept_only_sdk_keys() {
    let workspace = Workspace::new().await;
    let device = Device::of(&workspace).await;
    let body = json!({"userId": "ann", "eventName": "A"});
    let refused = workspace.api.post("/v1/track", &body, 401).await.json();
    assert_eq!(refused["message"], "Missing SDK key");
    let bearer = Client::anonymous();
    let by_api_key =
        bearer.request(Method::POST, "/v1/track").header("x-sdk-key", "mr_x").json(&body);
    bearer.send(by_api_key, 401).await;
    for path in ["/users", "/events/query", "/campaigns"] {
        device.get(path, 401).await;
        let request = bearer.request(Method::GET, path).bearer_auth(&device.key);
        bearer.send(request, 401).await;
    }
}
