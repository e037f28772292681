//! OpenTelemetry traces.
//!
//! A request or a piece of work is drawn by the configured ratio. What is drawn has a [`Span`], and each step inside it one of
//! its own ([`step`]). What is not drawn costs a random number, and its steps a look at a thread-local. Spans leave in batches
//! by OTLP over HTTP ([`Traces::start`]), sent by a thread of their own: a collector that is slow or away costs spans, which are
//! counted, and nothing else.
//!
//! Spans name routes, tables, channels and providers, and never anything that a caller or a person chose.

mod export;
mod span;
mod statements;

pub use self::{
    export::{TraceOptions, Traces},
    span::{Span, describe_active, request, step, work},
    statements::Statements,
};
pub use opentelemetry::{KeyValue, trace::SpanKind};
