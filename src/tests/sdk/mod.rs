//! `/v1`: what apps and pages do with an SDK key, over HTTP on the real engines.

mod browsers;
mod devices;
mod in_app;
mod subscriptions;

use millrace::{
    auth::{
        KeyKind, ScopeSet,
        keys::{self, NewKey},
    },
    kernel::Clock,
};
use reqwest::Method;
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use crate::kit::{Answer, Client, Workspace, server, unique};

/// An app of a workspace.
pub(crate) struct Device {
    http: Client,
    key: String,
}

impl Device {
    pub(crate) async fn of(workspace: &Workspace) -> Self {
        let (db, name) = (server().db(), workspace.name.clone());
        let key = server()
            .on(async move {
                let key = NewKey {
                    workspace: name,
                    organization: None,
                    scopes: ScopeSet::NONE,
                    label: None,
                    currency: None,
                    kind: KeyKind::Sdk,
                };
                let created = keys::create(&db, Clock::system().now(), key).await.unwrap();
                created.token.expose_secret().to_owned()
            })
            .await;
        Self { http: Client::anonymous(), key }
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        self.http.request(method, path).header("x-sdk-key", &self.key)
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

/// A profile: its external and its internal id.
pub(crate) async fn person(workspace: &Workspace, attributes: Value) -> (String, String) {
    let external = unique("ann");
    let body = json!({"externalId": external, "email": format!("{external}@example.test"), "attributes": attributes});
    let user = workspace.api.post("/users", &body, 201).await.json();
    (external, user["id"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn what_an_app_tracks_is_what_the_api_reads() {
    let workspace = Workspace::new().await;
    let device = Device::of(&workspace).await;
    let event = json!({"userId": "ann", "eventName": "Opened", "clientEventId": "e1"});
    let one = device.post("/v1/track", &event, 200).await.json();
    assert_eq!(one, json!({"eventId": "e1", "success": true}));
    let many =
        device.post("/v1/track", &json!([event, {"eventName": "Nobody's"}]), 200).await.json();
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
async fn an_app_has_its_own_key_and_no_other_opens_its_routes() {
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
