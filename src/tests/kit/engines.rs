//! The shared server's embedded ClickHouse, queried directly, in a database per test.

use std::path::Path;

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

impl ClickHouseAddress {
    /// The embedded ClickHouse of a server that runs in this folder.
    pub(crate) fn of_server(folder: &Path) -> std::io::Result<Self> {
        let text = std::fs::read_to_string(folder.join("clickhouse.url"))?;
        let url: url::Url = text.trim().parse().unwrap();
        Ok(Self {
            url: format!("http://{}:{}", url.host_str().unwrap(), url.port().unwrap()),
            user: url.username().to_owned(),
            password: url.password().unwrap().to_owned(),
            database: "millrace".to_owned(),
        })
    }

    /// The answer to a statement, or what ClickHouse has against it.
    pub(crate) async fn try_query(&self, sql: &str) -> Result<String, String> {
        let text = |error: reqwest::Error| error.to_string();
        let answer = reqwest::Client::new()
            .post(&self.url)
            .query(&[
                ("database", self.database.as_str()),
                ("output_format_json_quote_64bit_integers", "0"),
            ])
            .basic_auth(&self.user, Some(&self.password))
            .body(sql.to_owned())
            .send()
            .await
            .map_err(text)?;
        let (status, answer) = (answer.status(), answer.text().await.map_err(text)?);
        if status.is_success() { Ok(answer.trim().to_owned()) } else { Err(answer) }
    }

    /// The answer to a statement.
    pub(crate) async fn query(&self, sql: &str) -> String {
        self.try_query(sql).await.unwrap()
    }
}

/// The embedded ClickHouse, with an empty database of the caller's own.
pub(crate) async fn clickhouse() -> ClickHouseAddress {
    let outside = ClickHouseAddress::of_server(&server().data_dir).unwrap();
    let outside = ClickHouseAddress { database: "default".to_owned(), ..outside };
    let database = unique("test").replace('-', "_");
    outside.query(&format!("CREATE DATABASE {database}")).await;
    ClickHouseAddress { database, ..outside }
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
