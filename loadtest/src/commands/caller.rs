//! Calls of one workspace, made one after the other.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use tokio::time;

use super::TargetArguments;
use crate::{api::Requests, http::Connection};

/// Pause after a 429 or 503 that names none.
const RETRY_AFTER_DEFAULT: Duration = Duration::from_secs(1);

/// Makes calls, and waits where the server asks for it.
pub(super) struct Caller {
    connection: Connection,
    requests: Requests,
}

impl Caller {
    /// Calls with the key that was given.
    pub(super) fn new(target: &TargetArguments) -> Result<Self> {
        let requests = Requests::new(&target.endpoint()?, &target.key()?)?;
        Ok(Self { connection: Connection::new(target.endpoint()?), requests })
    }

    /// Opens the connection, so that the first call does not pay for it.
    pub(super) async fn open(&mut self) -> Result<()> {
        self.connection.open().await
    }

    /// Makes a call, and waits where the server asks for it.
    pub(super) async fn call(
        &mut self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value> {
        loop {
            let request = self.requests.call(method.parse()?, path, body);
            let answer = self.connection.exchange(request).await?;
            match answer.status {
                200..300 => {
                    return serde_json::from_slice(&answer.body)
                        .with_context(|| format!("{path} answers no JSON"));
                }
                429 | 503 => {
                    time::sleep(answer.retry_after.unwrap_or(RETRY_AFTER_DEFAULT)).await;
                }
                status => {
                    let text = String::from_utf8_lossy(&answer.body);
                    bail!("{method} {path} was answered {status}: {text}");
                }
            }
        }
    }

    /// The total that a list names.
    pub(super) async fn total(&mut self, path: &str) -> Result<u64> {
        let page = self.call("GET", path, None).await?;
        page["pagination"]["total"].as_u64().with_context(|| format!("{path} names no total"))
    }
}
