//! ClickHouse as this program uses it, over HTTP: the embedded engine must pass what a ClickHouse server passes.

mod inserts;
mod statements;

use std::time::Duration;

use bytes::Bytes;
use clickhouse::{Client, Compression, Row, error::Error};
use reqwest::{RequestBuilder, StatusCode};
use serde::{Deserialize, Serialize};

use crate::kit::engines::{ClickHouseAddress, clickhouse};

/// A condition that never comes true fails its test after this.
const PATIENCE: Duration = Duration::from_mins(2);

#[derive(Debug, Clone, PartialEq, Row, Serialize, Deserialize)]
struct Item {
    id: u64,
    name: String,
    price: Option<f64>,
    tags: Vec<String>,
}

impl Item {
    fn numbered(id: u64) -> Self {
        Self {
            id,
            name: format!("item {id} ünïcode"),
            price: (!id.is_multiple_of(3)).then_some(id as f64 / 4.0),
            tags: (0..id % 4).map(|tag| tag.to_string()).collect(),
        }
    }
}

fn client(address: &ClickHouseAddress) -> Client {
    Client::default()
        .with_url(&address.url)
        .with_user(&address.user)
        .with_password(&address.password)
        .with_database(&address.database)
}

fn post(
    address: &ClickHouseAddress,
    query: &[(&str, &str)],
    body: impl Into<reqwest::Body>,
) -> RequestBuilder {
    reqwest::Client::new()
        .post(&address.url)
        .basic_auth(&address.user, Some(&address.password))
        .query(&[("database", address.database.as_str())])
        .query(query)
        .body(body)
}

async fn text_of(request: RequestBuilder) -> String {
    let answer = request.send().await.unwrap();
    let status = answer.status();
    let text = answer.text().await.unwrap();
    assert_eq!(status, StatusCode::OK, "{text}");
    text
}

/// Status and ClickHouse's code of a request that must fail.
async fn refusal_of(request: RequestBuilder) -> (u16, String, String) {
    let answer = request.send().await.unwrap();
    let code = answer.headers()["x-clickhouse-exception-code"].to_str().unwrap().to_owned();
    (answer.status().as_u16(), code, answer.text().await.unwrap())
}

/// A table of its own for each test.
async fn table(client: &Client, columns: &str) -> String {
    let name = format!("engine_test_{}", uuid::Uuid::new_v4().simple());
    let create = format!(
        "CREATE TABLE {name} ({columns}) ENGINE = MergeTree ORDER BY id SETTINGS non_replicated_deduplication_window = 100"
    );
    client.query(&create).execute().await.unwrap();
    name
}

async fn count(client: &Client, table: &str) -> u64 {
    client.query(&format!("SELECT count() FROM {table}")).fetch_one().await.unwrap()
}

/// Statements running now whose text holds `mark`.
async fn running(client: &Client, mark: &str) -> u64 {
    client
        .query("SELECT count() FROM system.processes WHERE position(query, {mark:String}) > 0 AND query NOT LIKE '%system.processes%'")
        .param("mark", mark)
        .fetch_one()
        .await
        .unwrap()
}

async fn until(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !condition().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting)
        .await
        .unwrap_or_else(|_| panic!("not within {PATIENCE:?}: {what}"));
}

fn code_of(error: &Error) -> &str {
    let Error::BadResponse(text) = error else { panic!("not an answer of ClickHouse: {error:?}") };
    text.strip_prefix("Code: ")
        .and_then(|rest| rest.split('.').next())
        .unwrap_or_else(|| panic!("no code: {text}"))
}

const ITEM_COLUMNS: &str = "id UInt64, name String, price Nullable(Float64), tags Array(String)";
