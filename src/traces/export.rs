//! Sends spans to a collector.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use opentelemetry::{Context, InstrumentationScope, KeyValue, trace::TracerProvider as _};
use opentelemetry_http::HttpClient;
use opentelemetry_otlp::{WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    trace::{
        BatchConfigBuilder, BatchSpanProcessor, Sampler, SdkTracerProvider, Span, SpanData,
        SpanExporter, SpanProcessor,
    },
};
use secrecy::{ExposeSecret as _, SecretString};
use url::Url;

use crate::span::{DRAWING, Drawing};

/// Spans that wait to be sent; further ones are dropped.
const WAITING_MAX: usize = 8_192;
/// Spans in one call of the collector.
const BATCH_MAX: usize = 512;
/// How long a span waits for others to leave with.
const BATCH_WAIT: Duration = Duration::from_secs(2);
/// How long the collector may take for a batch.
const SEND_MAX: Duration = Duration::from_secs(5);

/// Where spans go, and how many there are.
#[derive(Debug)]
pub struct TraceOptions {
    /// Base URL of the collector; `/v1/traces` is added.
    pub endpoint: Url,
    /// Headers of each call, such as credentials.
    pub headers: Vec<(String, SecretString)>,
    /// The share of requests and pieces of work that have spans, from 0 to 1.
    pub ratio: f64,
    /// Distinguishes this process from others.
    pub instance: String,
    /// The version of this program.
    pub version: &'static str,
}

/// The export of spans while the program runs.
#[derive(Debug)]
pub struct Traces(SdkTracerProvider);

impl Traces {
    /// Starts the export by this client, for the whole process: a second call changes nothing and is an error.
    ///
    /// # Errors
    /// When traces were started before, or the options cannot be used.
    pub fn start(options: TraceOptions, client: impl HttpClient + 'static) -> Result<Self, String> {
        let headers: HashMap<String, String> = options
            .headers
            .into_iter()
            .map(|(name, value)| (name, value.expose_secret().to_owned()))
            .collect();
        let base = options.endpoint.as_str().trim_end_matches('/');
        let exporter = opentelemetry_otlp::SpanExporter::builder()
            .with_http()
            .with_http_client(client)
            .with_endpoint(format!("{base}/v1/traces"))
            .with_headers(headers)
            .with_timeout(SEND_MAX)
            .build()
            .map_err(|error| error.to_string())?;
        let waiting = Arc::new(AtomicUsize::new(0));
        let batches = BatchConfigBuilder::default()
            .with_max_queue_size(WAITING_MAX)
            .with_max_export_batch_size(BATCH_MAX)
            .with_scheduled_delay(BATCH_WAIT)
            .build();
        let exporter = CountingExporter { inner: exporter, waiting: Arc::clone(&waiting) };
        let inner = BatchSpanProcessor::builder(exporter).with_batch_config(batches).build();
        let provider = SdkTracerProvider::builder()
            .with_span_processor(BoundedProcessor { inner, waiting })
            .with_sampler(Sampler::AlwaysOn)
            .with_resource(resource(options.instance, options.version))
            .build();
        let scope = InstrumentationScope::builder("millrace").with_version(options.version).build();
        let drawing = Drawing { tracer: provider.tracer_with_scope(scope), ratio: options.ratio };
        DRAWING.set(drawing).map_err(|_| "traces were started before".to_owned())?;
        Ok(Self(provider))
    }

    /// Sends what waits, for at most `timeout`. Blocks the thread.
    pub fn stop(self, timeout: Duration) {
        if let Err(error) = self.0.shutdown_with_timeout(timeout) {
            tracing::warn!(%error, "the last spans were not sent");
        }
    }
}

fn resource(instance: String, version: &'static str) -> Resource {
    Resource::builder_empty()
        .with_service_name("millrace")
        .with_attribute(KeyValue::new("service.version", version))
        .with_attribute(KeyValue::new("service.instance.id", instance))
        .build()
}

/// Spans by what became of them.
fn count(outcome: &'static str, spans: usize) {
    metrics_catalogue::TRACE_SPANS.with([outcome]).increment(spans as u64);
}

/// Takes spans while there is room. The inner processor would drop the others, too, but does not say how many.
#[derive(Debug)]
struct BoundedProcessor {
    inner: BatchSpanProcessor,
    waiting: Arc<AtomicUsize>,
}

impl SpanProcessor for BoundedProcessor {
    fn on_start(&self, span: &mut Span, context: &Context) {
        self.inner.on_start(span, context);
    }

    fn on_end(&self, span: SpanData) {
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= WAITING_MAX {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            count("dropped", 1);
            return;
        }
        self.inner.on_end(span);
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.inner.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.inner.set_resource(resource);
    }
}

/// Counts what the collector took.
#[derive(Debug)]
struct CountingExporter {
    inner: opentelemetry_otlp::SpanExporter,
    waiting: Arc<AtomicUsize>,
}

impl SpanExporter for CountingExporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len();
        let outcome = self.inner.export(batch).await;
        self.waiting.fetch_sub(spans, Ordering::Relaxed);
        match &outcome {
            Ok(()) => count("sent", spans),
            Err(error) => {
                count("failed", spans);
                tracing::warn!(%error, spans, "the collector of traces did not take spans");
            }
        }
        outcome
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.inner.set_resource(resource);
    }
}
