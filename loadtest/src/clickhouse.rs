//! ClickHouse's HTTP interface, as much as an oracle and a comparison need: statements, rows, inserts.

use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use http::{HeaderValue, Method, Request, header};
use http_body_util::{BodyExt, Full};
use serde::de::DeserializeOwned;
use std::time::Duration;

use crate::{
    http::{Connection, Parameter},
    target::ClickHouseTarget,
};

/// A large insert or a FINAL read of everything may take its time.
const STATEMENT_TIMEOUT: Duration = Duration::from_mins(10);
/// Longest piece of an error text that is passed on.
const ERROR_CHARS_MAX: usize = 500;
/// How ClickHouse marks a failure after the status line has been sent.
const LATE_FAILURE: &[u8] = b"DB::Exception";

/// A connection to ClickHouse.
#[derive(Debug)]
pub struct ClickHouse {
    connection: Connection,
    user: HeaderValue,
    password: HeaderValue,
    host: HeaderValue,
    database: String,
}

impl ClickHouse {
    /// A client of the given interface.
    ///
    /// # Errors
    /// Credentials that cannot stand in a header.
    pub fn new(target: &ClickHouseTarget) -> Result<Self> {
        let mut password =
            HeaderValue::from_str(&target.password).context("bad ClickHouse password")?;
        password.set_sensitive(true);
        Ok(Self {
            connection: Connection::new(target.endpoint.clone()).with_timeout(STATEMENT_TIMEOUT),
            user: HeaderValue::from_str(&target.user).context("bad ClickHouse user")?,
            password,
            host: HeaderValue::from_str(&target.endpoint.authority)?,
            database: target.database.clone(),
        })
    }

    /// Runs a statement that answers nothing of interest.
    ///
    /// # Errors
    /// ClickHouse's own text.
    pub async fn execute(&mut self, statement: &str, parameters: &[Parameter<'_>]) -> Result<()> {
        self.read(statement, parameters).await.map(drop)
    }

    /// Runs a `… FORMAT JSONCompactEachRow` query and reads every row.
    ///
    /// # Errors
    /// ClickHouse's own text, or rows of another type.
    pub async fn rows<T: DeserializeOwned>(
        &mut self,
        query: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<T>> {
        let body = self.read(query, parameters).await?;
        let lines = body.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines.map(|line| serde_json::from_slice(line).context("a row of another type")).collect()
    }

    /// As [`ClickHouse::rows`] for a single number.
    ///
    /// # Errors
    /// As [`ClickHouse::rows`].
    pub async fn number(&mut self, query: &str, parameters: &[Parameter<'_>]) -> Result<u64> {
        let rows: Vec<(Number,)> = self.rows(query, parameters).await?;
        ensure!(rows.len() == 1, "one row was expected, not {}", rows.len());
        Ok(rows[0].0.0)
    }

    /// Hands every line of the answer to `visit` as it arrives, without its newline.
    ///
    /// # Errors
    /// ClickHouse's own text, also when the failure comes after the first rows.
    pub async fn for_each_line(
        &mut self,
        query: &str,
        parameters: &[Parameter<'_>],
        mut visit: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let request = self.request(None, parameters, Bytes::copy_from_slice(query.as_bytes()));
        let response = self.connection.send(request).await?;
        let status = response.status().as_u16();
        let mut body = response.into_body();
        if status != 200 {
            let text = body.collect().await.context("the error text broke off")?.to_bytes();
            bail!("ClickHouse answered {status}: {}", excerpt(&text));
        }
        let mut rest: Vec<u8> = Vec::new();
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.context("the rows broke off")?.into_data() else { continue };
            rest.extend_from_slice(&data);
            let mut start = 0;
            while let Some(length) = rest[start..].iter().position(|byte| *byte == b'\n') {
                check_line(&rest[start..start + length])?;
                visit(&rest[start..start + length])?;
                start += length + 1;
            }
            rest.drain(..start);
        }
        ensure!(rest.is_empty(), "the rows broke off: {}", excerpt(&rest));
        Ok(())
    }

    /// Inserts finished rows: `statement` is `INSERT INTO … FORMAT …`, `rows` its data.
    ///
    /// # Errors
    /// ClickHouse's own text.
    pub async fn insert(&mut self, statement: &str, rows: Bytes) -> Result<()> {
        let request = self.request(Some(statement), &[], rows);
        self.finish(request).await.map(drop)
    }

    async fn read(&mut self, statement: &str, parameters: &[Parameter<'_>]) -> Result<Bytes> {
        let request = self.request(None, parameters, Bytes::copy_from_slice(statement.as_bytes()));
        self.finish(request).await
    }

    async fn finish(&mut self, request: Request<Full<Bytes>>) -> Result<Bytes> {
        let answer = self.connection.exchange(request).await?;
        if answer.status != 200 {
            bail!("ClickHouse answered {}: {}", answer.status, excerpt(&answer.body));
        }
        check_line(&answer.body)?;
        Ok(answer.body)
    }

    fn request(
        &self,
        query: Option<&str>,
        parameters: &[Parameter<'_>],
        body: Bytes,
    ) -> Request<Full<Bytes>> {
        let path = String::from("/?");
        let start = path.len();
        let mut path = url::form_urlencoded::Serializer::for_suffix(path, start);
        path.append_pair("database", &self.database);
        for Parameter { name, value } in parameters {
            // Values are read in ClickHouse's tab-separated form, in which a backslash escapes.
            path.append_pair(&format!("param_{name}"), &value.replace('\\', "\\\\"));
        }
        if let Some(query) = query {
            path.append_pair("query", query);
        }
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = path.finish().parse().unwrap_or_default();
        let headers = request.headers_mut();
        headers.insert(header::HOST, self.host.clone());
        headers.insert("x-clickhouse-user", self.user.clone());
        headers.insert("x-clickhouse-key", self.password.clone());
        request
    }
}

/// A 64-bit number, which ClickHouse may quote in JSON.
#[derive(serde::Deserialize)]
#[serde(from = "Quoted")]
pub(crate) struct Number(pub(crate) u64);

#[derive(serde::Deserialize)]
#[serde(untagged)]
enum Quoted {
    Plain(u64),
    Text(String),
}

impl From<Quoted> for Number {
    fn from(quoted: Quoted) -> Self {
        match quoted {
            Quoted::Plain(number) => Self(number),
            Quoted::Text(text) => Self(text.parse().unwrap_or(u64::MAX)),
        }
    }
}

/// Rows are JSON arrays, so a line with the mark of a failure outside one is a failure.
fn check_line(text: &[u8]) -> Result<()> {
    let failed = !text.starts_with(b"[")
        && text.windows(LATE_FAILURE.len()).any(|window| window == LATE_FAILURE);
    ensure!(!failed, "ClickHouse failed: {}", excerpt(text));
    Ok(())
}

fn excerpt(text: &[u8]) -> String {
    String::from_utf8_lossy(text).trim().chars().take(ERROR_CHARS_MAX).collect()
}
