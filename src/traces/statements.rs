//! Spans of statements to PostgreSQL, of which the library writes a log line each.

use std::{fmt, time::Duration};

use opentelemetry::{
    Context, KeyValue,
    trace::{Span as _, SpanKind, Tracer as _},
};
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    subscriber::Interest,
};
use tracing_subscriber::{
    Layer,
    layer::{self, Filter},
};

use crate::span::{DRAWING, is_active};

/// The target of the library's log lines.
const TARGET: &str = "sqlx::query";

/// Makes a span of each log line about a statement, where a span is active. It is its own filter: without an active span the
/// library does not even put the line together.
#[derive(Debug, Clone, Copy)]
pub struct Statements;

impl<S: Subscriber> Filter<S> for Statements {
    fn enabled(&self, metadata: &Metadata<'_>, _: &layer::Context<'_, S>) -> bool {
        metadata.target() == TARGET && is_active()
    }

    fn callsite_enabled(&self, metadata: &'static Metadata<'static>) -> Interest {
        if metadata.target() == TARGET { Interest::sometimes() } else { Interest::never() }
    }
}

impl<S: Subscriber> Layer<S> for Statements {
    fn on_event(&self, event: &Event<'_>, _: layer::Context<'_, S>) {
        let Some(drawing) = DRAWING.get() else { return };
        let mut statement = Statement::default();
        event.record(&mut statement);
        let end = opentelemetry::time::now();
        let start = end.checked_sub(statement.took).unwrap_or(end);
        let builder = drawing
            .tracer
            .span_builder("postgresql")
            .with_kind(SpanKind::Client)
            .with_start_time(start)
            .with_attributes([
                KeyValue::new("db.system.name", "postgresql"),
                KeyValue::new("db.query.summary", statement.summary),
            ]);
        let mut span = drawing.tracer.build_with_context(builder, &Context::current());
        span.end_with_timestamp(end);
    }
}

/// What the log line says. Values are sent beside a statement, so its text has none.
#[derive(Default)]
struct Statement {
    summary: String,
    took: Duration,
}

impl Visit for Statement {
    fn record_f64(&mut self, field: &Field, value: f64) {
        if field.name() == "elapsed_secs" {
            self.took = Duration::try_from_secs_f64(value).unwrap_or_default();
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "summary" {
            value.clone_into(&mut self.summary);
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn fmt::Debug) {}
}
