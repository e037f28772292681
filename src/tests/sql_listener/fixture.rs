//! A caller who asks in SQL, and rows to ask for.

use kernel::WorkspaceId;
use reqwest::{Method, RequestBuilder, header::HeaderMap};
use serde_json::{Value, json};

use crate::kit::{TestServer, Workspace, eventually, server};

/// A caller with a key.
#[derive(Debug, Clone)]
pub(crate) struct Sql {
    http: reqwest::Client,
    pub(super) url: String,
    pub(super) key: String,
}

/// An answer of the listener.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) text: String,
}

impl Answered {
    /// ClickHouse's code of a refusal; 0 where there is none.
    pub(super) fn code(&self) -> u32 {
        let header = self.headers.get("x-clickhouse-exception-code");
        header.map_or(0, |code| code.to_str().unwrap().parse().unwrap())
    }

    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

impl Sql {
    /// A caller of a workspace on the shared server, once it answers.
    pub(crate) async fn of(workspace: &Workspace) -> Self {
        let (key, _) = server().key(&workspace.name, "analytics:sql").await;
        Self::on(server(), key).await
    }

    /// A caller with this key on a server, once it answers.
    pub(super) async fn on(server: &TestServer, key: String) -> Self {
        let http = reqwest::Client::builder().pool_max_idle_per_host(0).build().unwrap();
        let caller = Self { http, url: server.sql_url.clone(), key };
        eventually("SQL is ready", async || {
            let answer = caller.ask("SELECT 1").await;
            (answer.status == 200).then_some(())
        })
        .await;
        caller
    }

    /// A request with the credential, to a path with a query.
    pub(super) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.url));
        request.basic_auth("anyone", Some(&self.key))
    }

    /// A request without a credential.
    pub(super) fn anonymous(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.url))
    }

    /// Asks with a statement in the body.
    pub(super) async fn ask(&self, statement: &str) -> Answered {
        self.ask_with(statement, &[]).await
    }

    /// Likewise, with fields of the URL.
    pub(super) async fn ask_with(&self, statement: &str, fields: &[(&str, &str)]) -> Answered {
        let request = self.request(Method::POST, "/").query(fields).body(statement.to_owned());
        sent(request).await
    }

    /// The rows of an answer, which must be one.
    pub(crate) async fn rows(&self, statement: &str) -> Vec<Vec<String>> {
        let answer = self.ask(statement).await;
        assert_eq!(answer.status, 200, "{statement}: {}", answer.text);
        let row = |line: &str| line.split('\t').map(str::to_owned).collect();
        answer.text.lines().map(row).collect()
    }

    /// The only value of an answer.
    pub(super) async fn value(&self, statement: &str) -> String {
        let rows = self.rows(statement).await;
        assert!(rows.len() == 1 && rows[0].len() == 1, "{statement}: {rows:?}");
        rows[0][0].clone()
    }

    /// The code of a refusal, which there must be.
    pub(super) async fn refused(&self, statement: &str) -> u32 {
        let answer = self.ask(statement).await;
        assert_ne!(answer.status, 200, "{statement}: {}", answer.text);
        assert!(answer.text.starts_with("Code: "), "{statement}: {}", answer.text);
        answer.code()
    }
}

/// Sends a request, and reads all of its answer.
pub(super) async fn sent(request: RequestBuilder) -> Answered {
    let answer = request.send().await.unwrap();
    let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
    let bytes = answer.bytes().await.unwrap_or_default();
    Answered { status, headers, text: String::from_utf8_lossy(&bytes).into_owned() }
}

/// Tracks events, and waits until SQL sees so many.
pub(super) async fn track(workspace: &Workspace, sql: &Sql, events: Vec<Value>) {
    let before: usize = sql.value("SELECT count() FROM events").await.parse().unwrap();
    let expected = before + events.len();
    workspace.api.post("/events/track", &json!(events), 200).await;
    eventually("events are seen in SQL", async || {
        let seen: usize = sql.value("SELECT count() FROM events").await.parse().unwrap();
        (seen >= expected).then_some(())
    })
    .await;
}

/// Stores rows in ClickHouse as the copies of PostgreSQL do. What stands for the workspace is `{workspace:UUID}`.
pub(super) async fn store(workspace: WorkspaceId, statement: &'static str) {
    let id = workspace.uuid().to_string();
    server()
        .with(move |app| async move {
            let client = app.analytics().client();
            client.query_raw(statement).param("workspace", id).execute().await.unwrap();
        })
        .await;
}
