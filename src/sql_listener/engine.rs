//! The way to ClickHouse: its HTTP interface, in a session with one role and without rights to change anything.

use std::{sync::Arc, time::Duration};

use analytics::{
    ClickHouseAddress,
    sql_access::{self, MarkKey, READER_ROLE},
};
use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper_rustls::HttpsConnector;
use hyper_util::{
    client::legacy::{self, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use kernel::WorkspaceId;
use uuid::Uuid;

use crate::{
    fault::{Code, Fault},
    statement::{Param, Setting},
};

/// Time for a connection to stand.
const CONNECT_MAX: Duration = Duration::from_secs(5);
/// Time after which an idle connection is closed: before the engine closes it.
const IDLE_MAX: Duration = Duration::from_secs(10);
/// Longest text that is read whole: a syntax tree, a failure.
const TEXT_BYTES_MAX: usize = 64 << 20;

/// Asks ClickHouse. Clones share connections.
#[derive(Debug, Clone)]
pub(crate) struct Engine {
    client: legacy::Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    address: ClickHouseAddress,
    key: MarkKey,
}

/// Who asks: what row policies go by, and what a statement is killed by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Session {
    pub(crate) workspace: WorkspaceId,
    pub(crate) statement: Uuid,
}

impl Session {
    pub(crate) fn new(workspace: WorkspaceId) -> Self {
        Self { workspace, statement: Uuid::new_v4() }
    }

    /// The beginning of the `log_comment` of the session.
    pub(crate) fn mark(self) -> String {
        sql_access::mark(self.workspace.uuid(), self.statement)
    }

    /// The id in the engine of what is asked for it.
    fn query_id(self, step: Step) -> String {
        let Self { statement, .. } = self;
        match step {
            Step::Tree => format!("{statement}-tree"),
            Step::Answer => statement.to_string(),
        }
    }

    /// The ids of all that is asked for it.
    pub(crate) fn query_ids(self) -> [String; 2] {
        [Step::Tree, Step::Answer].map(|step| self.query_id(step))
    }
}

/// What is asked of the engine for a statement, one after the other.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step {
    /// The syntax tree of the statement.
    Tree,
    /// The answer to the statement.
    Answer,
}

/// What is asked of the engine in one request.
#[derive(Debug)]
pub(crate) struct Question<'a> {
    pub(crate) session: Session,
    pub(crate) step: Step,
    pub(crate) database: &'a str,
    pub(crate) text: String,
    pub(crate) format: &'a str,
    pub(crate) params: &'a [Param],
    pub(crate) settings: &'a [Setting],
    /// The answer in compressed blocks.
    pub(crate) blocks: bool,
}

impl Engine {
    pub(crate) fn new(address: &ClickHouseAddress) -> Self {
        let mut tcp = HttpConnector::new();
        tcp.set_connect_timeout(Some(CONNECT_MAX));
        tcp.set_nodelay(true);
        tcp.enforce_http(false);
        let roots = rustls::RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("aws-lc speaks TLS 1.2 and 1.3")
            .with_root_certificates(roots)
            .with_no_client_auth();
        let https = hyper_rustls::HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .wrap_connector(tcp);
        let client = legacy::Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_MAX)
            .build(https);
        Self { client, key: MarkKey::of(&address.password), address: address.clone() }
    }

    /// Asks; the answer follows its head. Dropping it ends the statement.
    pub(crate) async fn ask(&self, question: Question<'_>) -> Result<Response<Incoming>, Fault> {
        let request = self.request(question)?;
        self.client.request(request).await.map_err(|error| {
            tracing::warn!(%error, "ClickHouse cannot be asked in SQL");
            Fault::new(Code::NetworkError, "The analytics store is unavailable")
        })
    }

    fn request(&self, question: Question<'_>) -> Result<Request<Full<Bytes>>, Fault> {
        let Session { workspace, statement } = question.session;
        let query_id = question.session.query_id(question.step);
        let comment = self.key.signed(workspace.uuid(), statement);
        let mut url = url::form_urlencoded::Serializer::new(String::new());
        url.append_pair("database", question.database)
            .append_pair("role", READER_ROLE)
            .append_pair("readonly", "1")
            .append_pair("log_comment", &comment)
            .append_pair("query_id", &query_id)
            .append_pair("default_format", question.format);
        for Setting { name, value } in question.settings {
            url.append_pair(name, value);
        }
        for Param { name, value } in question.params {
            url.append_pair(&format!("param_{name}"), value);
        }
        if question.blocks {
            url.append_pair("compress", "1");
        }
        let uri = format!("{}/?{}", self.address.url.trim_end_matches('/'), url.finish());
        Request::builder()
            .method(Method::POST)
            .uri(uri)
            .header("x-clickhouse-user", &self.address.user)
            .header("x-clickhouse-key", &self.address.password)
            .body(Full::new(Bytes::from(question.text)))
            .map_err(|_| Fault::bad("The parameters are too long"))
    }
}

/// The whole text of an answer.
pub(crate) async fn text_of(answer: Response<Incoming>) -> Result<String, Fault> {
    let bytes = bytes_of(answer).await?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The bytes of an answer.
pub(crate) async fn bytes_of(answer: Response<Incoming>) -> Result<Bytes, Fault> {
    let whole = Limited::new(answer.into_body(), TEXT_BYTES_MAX).collect().await;
    let broken = |_| Fault::new(Code::NetworkError, "The analytics store broke off its answer");
    Ok(whole.map_err(broken)?.to_bytes())
}
