//! Counts, times and logs requests. Labels come from closed sets: the matched route, the known methods, the
//! status. Paths, queries and bodies are never logged, because they contain personal data.

use std::{collections::HashMap, sync::Arc, time::Instant};

use axum::{extract::MatchedPath, response::Response};
use http::Method;
use kernel::Severity;
use metrics_catalogue::handle::{Counter, Gauge, Histogram};
use parking_lot::RwLock;
use traces::{KeyValue, Span};

use super::{envelope::Refusal, request_id::RequestId};

/// The route of a request that matched none.
const UNKNOWN_ROUTE: &str = "<unknown>";
/// The target of access logs: at debug level, or error level when the answer is 500.
const ACCESS: &str = "millrace::access";

/// Measures every request. Clones share the figures.
#[derive(Debug, Clone)]
pub(super) struct Observer(Arc<Figures>);

#[derive(Debug)]
struct Figures {
    in_flight: Gauge,
    aborted: Counter,
    /// Has an entry for each route of the router.
    routes: RwLock<HashMap<String, Arc<Route>>>,
}

#[derive(Debug)]
struct Route {
    seconds: Histogram,
    requests: RwLock<HashMap<(&'static str, u16), Counter>>,
}

impl Observer {
    pub(super) fn new() -> Self {
        Self(Arc::new(Figures {
            in_flight: metrics_catalogue::HTTP_REQUESTS_IN_FLIGHT.handle(),
            aborted: metrics_catalogue::HTTP_REQUESTS_ABORTED.handle(),
            routes: RwLock::default(),
        }))
    }

    pub(super) fn begin(&self, method: &Method) -> Observed {
        self.0.in_flight.increment(1.0);
        Observed {
            figures: Arc::clone(&self.0),
            method: known(method),
            started: Instant::now(),
            answered: false,
        }
    }
}

impl Figures {
    fn route(&self, name: &str) -> Arc<Route> {
        if let Some(route) = self.routes.read().get(name) {
            return Arc::clone(route);
        }
        let seconds = metrics_catalogue::HTTP_REQUEST_DURATION_SECONDS.with([name.to_owned()]);
        let fresh = Arc::new(Route { seconds, requests: RwLock::default() });
        Arc::clone(self.routes.write().entry(name.to_owned()).or_insert(fresh))
    }
}

impl Route {
    fn count(&self, name: &str, method: &'static str, status: u16) {
        if let Some(counter) = self.requests.read().get(&(method, status)) {
            counter.increment(1);
            return;
        }
        let counter = metrics_catalogue::HTTP_REQUESTS.with([
            name.to_owned(),
            method.to_owned(),
            status.to_string(),
        ]);
        counter.increment(1);
        self.requests.write().insert((method, status), counter);
    }
}

/// A request being answered; counted as aborted when dropped before its end.
#[derive(Debug)]
pub(super) struct Observed {
    figures: Arc<Figures>,
    method: &'static str,
    started: Instant,
    answered: bool,
}

impl Observed {
    pub(super) fn end(mut self, response: &Response, id: &RequestId, span: &Span) {
        self.answered = true;
        let elapsed = self.started.elapsed();
        let status = response.status().as_u16();
        let name =
            response.extensions().get::<MatchedPath>().map_or(UNKNOWN_ROUTE, MatchedPath::as_str);
        let route = self.figures.route(name);
        describe(span, self.method, name, status);
        let trace_id = span.trace_id();
        let trace_id = trace_id.as_deref();
        route.seconds.record(elapsed.as_secs_f64());
        route.count(name, self.method, status);
        let logged =
            response.extensions().get::<Refusal>().and_then(|refusal| refusal.logged.as_deref());
        let (method, request_id, duration_us) = (self.method, id.as_str(), elapsed.as_micros());
        let (severity, error) =
            logged.map_or((Severity::Refusal, ""), |it| (it.severity, it.text.as_str()));
        match severity {
            Severity::Fault => tracing::error!(
                target: ACCESS,
                method, route = name, status, duration_us, request_id, trace_id, error, "request failed"
            ),
            Severity::Outage => tracing::warn!(
                target: ACCESS,
                method, route = name, status, duration_us, request_id, trace_id, error, "request refused: unavailable"
            ),
            Severity::Refusal => tracing::debug!(
                target: ACCESS,
                method, route = name, status, duration_us, request_id, trace_id, "request answered"
            ),
        }
    }
}

impl Drop for Observed {
    fn drop(&mut self) {
        self.figures.in_flight.decrement(1.0);
        if !self.answered {
            self.figures.aborted.increment(1);
        }
    }
}

/// Attributes of HTTP servers in OpenTelemetry's semantic conventions.
fn describe(span: &Span, method: &'static str, route: &str, status: u16) {
    span.rename(|| format!("{method} {route}"));
    span.describe(|| {
        [
            KeyValue::new("http.request.method", method),
            KeyValue::new("http.route", route.to_owned()),
            KeyValue::new("http.response.status_code", i64::from(status)),
        ]
    });
    if status >= 500 {
        span.fail("the server failed");
    }
}

/// Callers may invent methods, so unknown ones share a label.
fn known(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        Method::PATCH => "PATCH",
        Method::HEAD => "HEAD",
        Method::OPTIONS => "OPTIONS",
        _ => "OTHER",
    }
}
