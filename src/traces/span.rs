//! Spans, and which of them is active.

use std::{future::poll_fn, pin::pin, sync::OnceLock};

use http::HeaderMap;
use opentelemetry::{
    Context, KeyValue,
    propagation::{Extractor, TextMapPropagator as _},
    trace::{SpanKind, Status, TraceContextExt as _, Tracer as _},
};
use opentelemetry_sdk::{propagation::TraceContextPropagator, trace::SdkTracer};

/// What makes spans; absent where traces are off.
pub(crate) struct Drawing {
    pub(crate) tracer: SdkTracer,
    /// The share of requests and pieces of work that have spans, from 0 to 1.
    pub(crate) ratio: f64,
}

pub(crate) static DRAWING: OnceLock<Drawing> = OnceLock::new();

/// A span that was drawn, or nothing. It ends when it is dropped.
#[derive(Debug)]
#[must_use]
pub struct Span(Option<Context>);

impl Span {
    /// No span at all.
    pub const fn none() -> Self {
        Self(None)
    }

    /// Runs `future` with this span as the active one.
    pub async fn around<T>(&self, future: impl Future<Output = T>) -> T {
        let mut future = pin!(future);
        poll_fn(|waker| {
            let _active = self.0.clone().map(Context::attach);
            future.as_mut().poll(waker)
        })
        .await
    }

    /// Adds attributes; they are made only where the span was drawn.
    pub fn describe<const N: usize>(&self, attributes: impl FnOnce() -> [KeyValue; N]) {
        if let Some(context) = &self.0 {
            context.span().set_attributes(attributes());
        }
    }

    /// Renames the span, once it is known what it is.
    pub fn rename(&self, name: impl FnOnce() -> String) {
        if let Some(context) = &self.0 {
            context.span().update_name(name());
        }
    }

    /// Marks the span as failed, for a reason without data of callers.
    pub fn fail(&self, reason: &'static str) {
        if let Some(context) = &self.0 {
            context.span().set_status(Status::error(reason));
        }
    }

    /// The trace's id in hex, for log lines.
    pub fn trace_id(&self) -> Option<String> {
        self.0.as_ref().map(|context| context.span().span_context().trace_id().to_string())
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        if let Some(context) = &self.0 {
            context.span().end();
        }
    }
}

/// Adds attributes to the active span; they are made only where there is one.
pub fn describe_active<const N: usize>(attributes: impl FnOnce() -> [KeyValue; N]) {
    if is_active() {
        Context::map_current(|context| context.span().set_attributes(attributes()));
    }
}

/// The span of a request. It continues the caller's trace (`traceparent`), but whether it is drawn is decided here: callers
/// could otherwise have all of theirs drawn.
pub fn request(headers: &HeaderMap) -> Span {
    drawn(|drawing| {
        let parent = TraceContextPropagator::new()
            .extract_with_context(&Context::new(), &TraceParent(headers));
        let builder = drawing.tracer.span_builder("request").with_kind(SpanKind::Server);
        Span(Some(parent.with_span(drawing.tracer.build_with_context(builder, &parent))))
    })
}

/// The header `traceparent` alone: `tracestate` has texts that callers choose, and would be exported with every span.
struct TraceParent<'h>(&'h HeaderMap);

impl Extractor for TraceParent<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        if key != "traceparent" {
            return None;
        }
        self.0.get(key)?.to_str().ok()
    }

    fn keys(&self) -> Vec<&str> {
        vec!["traceparent"]
    }
}

/// The span of work that no request waits for.
pub fn work(name: &'static str) -> Span {
    drawn(|drawing| {
        let builder = drawing.tracer.span_builder(name).with_kind(SpanKind::Internal);
        let nothing = Context::new();
        Span(Some(nothing.with_span(drawing.tracer.build_with_context(builder, &nothing))))
    })
}

fn drawn(make: impl FnOnce(&Drawing) -> Span) -> Span {
    match DRAWING.get() {
        Some(drawing) if rand::random::<f64>() < drawing.ratio => make(drawing),
        _ => Span::none(),
    }
}

/// The span of a step inside the active one; none where none is active.
pub fn step(name: &'static str, kind: SpanKind) -> Span {
    let Some(drawing) = DRAWING.get() else { return Span::none() };
    if !is_active() {
        return Span::none();
    }
    let parent = Context::current();
    let builder = drawing.tracer.span_builder(name).with_kind(kind);
    Span(Some(parent.with_span(drawing.tracer.build_with_context(builder, &parent))))
}

/// Whether a span that was drawn is active.
pub(crate) fn is_active() -> bool {
    DRAWING.get().is_some()
        && Context::map_current(|context| context.span().span_context().is_sampled())
}
