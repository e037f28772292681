//! A workspace with a contact, its links and its consent.

use std::collections::BTreeMap;

use kernel::{Channel, Clock, ListId, UserId};
use reqwest::{Method, header::HeaderMap};
use serde_json::{Value, json};
use web::links::{ConfirmSubscription, Link, Links, Preferences, Unsubscribe};

use crate::kit::{Client, Workspace, server};

/// A workspace and one contact of it.
#[derive(Debug)]
pub(super) struct Fixture {
    pub(super) workspace: Workspace,
    pub(super) user: UserId,
}

/// A page as a browser gets it.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) html: String,
}

impl Page {
    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// The names of the page's boxes, and whether they are ticked.
    pub(super) fn boxes(&self) -> BTreeMap<String, bool> {
        let mut boxes = BTreeMap::new();
        for tag in self.html.split("<input").skip(1) {
            let tag = tag.split('>').next().unwrap();
            if tag.contains("type=\"checkbox\"") {
                let name = tag.split("value=\"").nth(1).unwrap().split('"').next().unwrap();
                boxes.insert(name.to_owned(), tag.contains(" checked"));
            }
        }
        boxes
    }

    /// The form as it would be sent with these boxes ticked.
    pub(super) fn form(&self, ticked: &[&str]) -> Vec<(String, String)> {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let shown = self.boxes().into_keys().map(|name| pair("shown", &name));
        let on = ticked.iter().map(|name| pair("on", name));
        shown.chain(on).chain([pair("action", "save")]).collect()
    }
}

/// Speaks to the pages as a browser that follows nothing by itself.
pub(super) fn browser() -> reqwest::Client {
    reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap()
}

pub(super) async fn send(request: reqwest::RequestBuilder) -> Page {
    let answer = request.send().await.unwrap();
    let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
    Page { status, headers, html: answer.text().await.unwrap() }
}

pub(super) async fn open(path: &str) -> Page {
    send(browser().get(format!("{}{path}", server().url))).await
}

pub(super) async fn submit(path: &str, fields: &[(String, String)]) -> Page {
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    let request = browser().post(format!("{}{path}", server().url));
    send(request.header("content-type", "application/x-www-form-urlencoded").body(body)).await
}

pub(super) fn pairs(fields: &[(&str, &str)]) -> Vec<(String, String)> {
    fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

impl Fixture {
    pub(super) async fn new() -> Self {
        let attributes = json!({"firstName": "Ann", "language": "en"});
        Self::with(Some("ann@example.test"), Some("+441632960001"), attributes).await
    }

    /// A workspace with a contact of these addresses.
    pub(super) async fn with(email: Option<&str>, phone: Option<&str>, attributes: Value) -> Self {
        let workspace = Workspace::new().await;
        let user = UserId::mint(Clock::system().now());
        let (email, phone) = (email.map(str::to_owned), phone.map(str::to_owned));
        let (db, id) = (server().db(), workspace.id.uuid());
        server()
            .on(async move {
                sqlx::query(
                    "insert into users (workspace_id, id, email, phone, attributes, created_at, updated_at)
                     values ($1, $2, $3, $4, $5, now(), now())",
                )
                .bind(id)
                .bind(user.bytes().to_vec())
                .bind(email)
                .bind(phone)
                .bind(attributes)
                .execute(&db)
                .await
                .unwrap();
            })
            .await;
        Self { workspace, user }
    }

    pub(super) fn api(&self) -> &Client {
        &self.workspace.api
    }

    /// Makes a list and gives its id.
    pub(super) async fn list(&self, body: Value) -> ListId {
        let list = self.api().post("/lists", &body, 201).await.json();
        list["id"].as_str().unwrap().parse().unwrap()
    }

    /// The list every workspace begins with.
    pub(super) async fn marketing(&self) -> ListId {
        let lists = self.api().get("/lists", 200).await.json();
        let lists = lists.as_array().unwrap();
        let default = lists.iter().find(|list| list["isDefault"] == true).unwrap();
        default["id"].as_str().unwrap().parse().unwrap()
    }

    async fn path(&self, page: &str, link: Link) -> String {
        let db = server().db();
        let token = server()
            .on(async move {
                let links = Links::new(db, "http://localhost".parse().unwrap());
                links.sign(Clock::system().now(), &link).await.unwrap()
            })
            .await;
        format!("/{page}/{token}")
    }

    pub(super) async fn preferences(&self) -> String {
        let link = Preferences { workspace: self.workspace.id, user: self.user };
        self.path("p", Link::Preferences(link)).await
    }

    pub(super) async fn unsubscribe(
        &self,
        list: Option<ListId>,
        channel: Option<Channel>,
    ) -> String {
        let (workspace, user) = (self.workspace.id, self.user);
        let link = Unsubscribe { workspace, user, list, channel, message: None };
        self.path("u", Link::Unsubscribe(link)).await
    }

    pub(super) async fn confirmation(&self, list: ListId, channel: Channel) -> String {
        let (workspace, user) = (self.workspace.id, self.user);
        let link = ConfirmSubscription { workspace, user, list, channel };
        self.path("c", Link::ConfirmSubscription(link)).await
    }

    /// Saves the template, and demands the status.
    pub(super) async fn template(&self, body: Value, expected: u16) -> Value {
        let path = "/subscriptions/hosted-page/preference-center";
        let request = self.api().request(Method::PUT, path).json(&body);
        self.api().send(request, expected).await.json()
    }

    pub(super) async fn history(&self) -> Vec<Value> {
        let path = format!("/subscriptions/contacts/{}/history", self.user);
        self.api().get(path, 200).await.json()["items"].as_array().unwrap().clone()
    }

    /// The status of a channel, `""` where there is none.
    pub(super) async fn channel(&self, channel: &str) -> String {
        let path = format!("/subscriptions/contacts/{}", self.user);
        let answer = self.api().get(path, 200).await.json();
        answer["channels"][channel]["status"].as_str().unwrap_or_default().to_owned()
    }

    /// The status of a membership, `""` where there is none.
    pub(super) async fn membership(&self, list: ListId, channel: &str) -> String {
        let path = format!("/subscriptions/contacts/{}/lists", self.user);
        let rows = self.api().get(path, 200).await.json();
        let row =
            rows.as_array().unwrap().iter().find(|row| {
                row["listId"] == list.to_string().as_str() && row["channel"] == channel
            });
        row.map_or(String::new(), |row| row["status"].as_str().unwrap().to_owned())
    }

    pub(super) async fn subscribe(&self, list: ListId, channel: &str) {
        let path = format!("/subscriptions/contacts/{}/lists/{list}", self.user);
        self.api().post(&path, &json!({"channel": channel}), 200).await;
    }
}
