//! The shared server's embedded ClickHouse, queried directly, in a database per test.

use analytics::Analytics;

use super::{server, unique};

/// Where a ClickHouse answers, and what it wants to hear.
#[derive(Debug, Clone)]
pub(crate) struct ClickHouseAddress {
    pub(crate) url: String,
    pub(crate) user: String,
    pub(crate) password: String,
    pub(crate) database: String,
}

/// The embedded ClickHouse, with an empty database of the caller's own.
pub(crate) async fn clickhouse() -> ClickHouseAddress {
    let file = server().data_dir.join("clickhouse.url");
    let url: url::Url = std::fs::read_to_string(file).unwrap().trim().parse().unwrap();
    let address = ClickHouseAddress {
        url: format!("http://{}:{}", url.host_str().unwrap(), url.port().unwrap()),
        user: url.username().to_owned(),
        password: url.password().unwrap().to_owned(),
        database: unique("test").replace('-', "_"),
    };
    let answer = reqwest::Client::new()
        .post(&address.url)
        .basic_auth(&address.user, Some(&address.password))
        .body(format!("CREATE DATABASE {}", address.database))
        .send()
        .await
        .unwrap();
    assert!(answer.status().is_success(), "{}", answer.text().await.unwrap());
    address
}

/// The event store on a database of its own, migrated.
pub(crate) async fn clickhouse_database() -> Analytics {
    let address = clickhouse().await;
    let analytics = Analytics::connect(&analytics::ClickHouseAddress {
        url: address.url,
        user: address.user,
        password: address.password,
        database: address.database,
        cluster: None,
    })
    .unwrap();
    analytics.migrate().await.unwrap();
    analytics
}
