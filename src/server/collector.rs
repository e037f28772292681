//! Traces of this process, and the client that sends them.

use std::{fmt, pin::Pin, sync::Arc, time::Duration};

use anyhow::Context as _;
use bytes::Bytes;
use config::Settings;
use opentelemetry_http::{HttpClient, HttpError, Request, Response};
use providers::client::{Client, ClientOptions, roots};
use tokio::runtime::Handle;
use traces::{TraceOptions, Traces};

/// How long the collector may take for one call.
const CALL_MAX: Duration = Duration::from_secs(5);
/// How long the last spans may take at the end of the process.
pub(super) const STOP_MAX: Duration = Duration::from_secs(2);

/// Starts the export of traces, if the settings name a collector.
///
/// # Errors
/// When the settings cannot be used.
pub(super) fn start(settings: &Settings) -> anyhow::Result<Option<Traces>> {
    let telemetry = &settings.telemetry;
    let Some(endpoint) = telemetry.otlp_endpoint.clone() else { return Ok(None) };
    let host = nix::unistd::gethostname().context("this machine has no name")?;
    let options = TraceOptions {
        endpoint,
        headers: telemetry.headers().map_err(anyhow::Error::msg)?,
        ratio: telemetry.traces_ratio,
        instance: format!("{}:{}", host.to_string_lossy(), std::process::id()),
        version: env!("CARGO_PKG_VERSION"),
    };
    let client = ClientOptions { roots: Arc::new(roots(None)?), http2_only: false };
    let client = Collector { client: Client::new(&client), runtime: Handle::current() };
    let traces = Traces::start(options, client).map_err(anyhow::Error::msg);
    let what = "traces cannot be exported as telemetry.* and OTEL_EXPORTER_OTLP_* say";
    Ok(Some(traces.context(what)?))
}

/// Calls the collector. Batches come from a thread of their own, so calls are made on the runtime.
struct Collector {
    client: Client,
    runtime: Handle,
}

impl fmt::Debug for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Collector")
    }
}

impl HttpClient for Collector {
    // As the macro `async_trait` writes it.
    fn send_bytes<'client, 'call>(
        &'client self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'call>>
    where
        'client: 'call,
        Self: 'call,
    {
        let client = self.client.clone();
        let call = self.runtime.spawn(async move { client.call(request, CALL_MAX).await });
        Box::pin(async move {
            let answer = call.await?.map_err(|fault| fault.reason)?;
            let mut response = Response::new(answer.body);
            *response.status_mut() = answer.status;
            *response.headers_mut() = answer.headers;
            Ok(response)
        })
    }
}
