//! Every metric of the service: name, kind, unit and help, in one table.
//!
//! Names follow `<area>_<name>_<unit>[_total]` in base units. A queue is two counters, pushed and
//! drained, since a gauge misses bursts. Labels are closed sets: never a workspace, an id or a text.

use metrics::Unit;

/// How a metric moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Counter,
    /// Goes up and down.
    Gauge,
    Histogram,
}

impl Kind {
    /// The kind as Prometheus names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Metric {
    /// Its name as scraped, labels excluded.
    pub name: &'static str,
    pub kind: Kind,
    pub unit: Unit,
    /// One line for a reader of `/metrics`.
    pub help: &'static str,
}

const fn metric(name: &'static str, kind: Kind, unit: Unit, help: &'static str) -> Metric {
    Metric { name, kind, unit, help }
}

use Kind::{Counter, Gauge, Histogram};
use Unit::{Bytes, Count, Seconds};

/// All metrics, in the order of the list in `src/server/README.md`. The process figures come from `metrics-process`.
pub const METRICS: &[Metric] = &[
    metric("http_requests_total", Counter, Count, "requests answered, by route, method and status"),
    metric(
        "http_request_duration_seconds",
        Histogram,
        Seconds,
        "time from request head to response head, by route",
    ),
    metric(
        "http_requests_aborted_total",
        Counter,
        Count,
        "requests whose caller went away before the answer",
    ),
    metric(
        "http_body_used_bytes",
        Gauge,
        Bytes,
        "memory held by request bodies, by budget: verified credentials, public",
    ),
    metric("http_body_limit_bytes", Gauge, Bytes, "memory request bodies may hold, by budget"),
    metric(
        "http_bodies_refused_total",
        Counter,
        Count,
        "request bodies without room, by limit: verified, public, workspace, peer",
    ),
    metric(
        "http_bodies_timed_out_total",
        Counter,
        Count,
        "request bodies that took too long, by limit: rate, silence, total",
    ),
    metric("http_connections", Gauge, Count, "open connections of both listeners"),
    metric("http_connections_limit", Gauge, Count, "connections one listener may have open"),
    metric(
        "http_connections_closed_total",
        Counter,
        Count,
        "connections closed by the server, by reason: cap, peer_cap, head_timeout, idle_timeout, answer_timeout",
    ),
    metric(
        "http_connections_refused_total",
        Counter,
        Count,
        "new connections of peers whose connections were all busy",
    ),
    metric("http_requests_in_flight", Gauge, Count, "requests being answered now"),
    metric(
        "http_requests_throttled_total",
        Counter,
        Count,
        "requests over the rate of their credential or peer, by limit; of `links`, opens and clicks answered and not stored",
    ),
    metric("ingest_events_accepted_total", Counter, Count, "events acknowledged as durable"),
    metric("ingest_events_rejected_total", Counter, Count, "events refused by a rule, by reason"),
    metric(
        "ingest_message_events_total",
        Counter,
        Count,
        "things that happened to messages, recorded as durable",
    ),
    metric(
        "ingest_requests_refused_total",
        Counter,
        Count,
        "whole requests refused for lack of room, by reason",
    ),
    metric("ingest_events_enqueued_total", Counter, Count, "events appended to the spool"),
    metric(
        "ingest_events_drained_total",
        Counter,
        Count,
        "events taken from the spool and settled in ClickHouse or dead letters",
    ),
    metric(
        "ingest_visible_lag_seconds",
        Histogram,
        Seconds,
        "from an event's arrival to its being queryable",
    ),
    metric(
        "ingest_dead_letters_total",
        Counter,
        Count,
        "rows ClickHouse refused for their content",
    ),
    metric("wal_frames_appended_total", Counter, Count, "frames written to the spool"),
    metric("wal_appended_bytes_total", Counter, Bytes, "bytes written to the spool"),
    metric("wal_fsync_duration_seconds", Histogram, Seconds, "time of one group commit's fsync"),
    metric("wal_used_bytes", Gauge, Bytes, "spool bytes on disk"),
    metric("wal_limit_bytes", Gauge, Bytes, "spool bytes allowed on disk"),
    metric(
        "wal_frames_corrupt_total",
        Counter,
        Count,
        "damaged frames found while reading the spool",
    ),
    metric(
        "wal_unreadable_bytes_total",
        Counter,
        Bytes,
        "bytes of the spool that the disk could not read and that were passed over",
    ),
    metric("clickhouse_insert_duration_seconds", Histogram, Seconds, "time of one insert"),
    metric("clickhouse_insert_rows_total", Counter, Count, "rows inserted"),
    metric("clickhouse_errors_total", Counter, Count, "failed calls to ClickHouse, by kind"),
    metric(
        "engine_restarts_total",
        Counter,
        Count,
        "embedded engines that died and were started again",
    ),
    metric(
        "callbacks_signals_total",
        Counter,
        Count,
        "reports about messages after they left, by who told and what became of them",
    ),
    metric(
        "consent_changes_total",
        Counter,
        Count,
        "writes of consent, by channel and by action as in the history",
    ),
    metric("suppression_rows", Gauge, Count, "rows of the ledgers, by channel and reason"),
    metric(
        "users_upserted_total",
        Counter,
        Count,
        "profiles created or updated by POST /users, by outcome",
    ),
    metric(
        "users_upsert_conflicts_total",
        Counter,
        Count,
        "transactions of POST /users that lost a race and began again",
    ),
    metric(
        "campaign_transitions_total",
        Counter,
        Count,
        "campaigns that went from one state to another, by call",
    ),
    metric(
        "campaign_due_lag_seconds",
        Histogram,
        Seconds,
        "from a campaign's time to its being taken up",
    ),
    metric("delivery_queued_total", Counter, Count, "recipients written down for campaigns"),
    metric(
        "delivery_messages_total",
        Counter,
        Count,
        "messages handed over, by channel and outcome",
    ),
    metric(
        "confirmations_withheld_total",
        Counter,
        Count,
        "confirmations of opt-ins that were not sent, by reason: limit, suppressed, no_address",
    ),
    metric(
        "delivery_gate_refusals_total",
        Counter,
        Count,
        "messages the gate held or dropped, by rule",
    ),
    metric(
        "delivery_provider_duration_seconds",
        Histogram,
        Seconds,
        "time a provider took for a batch, by channel",
    ),
    metric(
        "delivery_due_messages",
        Gauge,
        Count,
        "messages due and not sent yet, counted up to 100,000",
    ),
    metric("delivery_oldest_due_seconds", Gauge, Seconds, "how long the oldest of them waits"),
    metric(
        "retention_deleted_total",
        Counter,
        Count,
        "rows deleted in PostgreSQL because they were kept long enough, by table",
    ),
    metric(
        "spam_checks_total",
        Counter,
        Count,
        "emails judged by how they look to spam filters, by engine",
    ),
    metric(
        "spam_engine_faults_total",
        Counter,
        Count,
        "times SpamAssassin gave no judgement and the built-in rules did, by reason",
    ),
    metric(
        "audience_identifiers_total",
        Counter,
        Count,
        "identifiers of people that ClickHouse named for event filters of audiences",
    ),
    metric(
        "tracking_untold_total",
        Counter,
        Count,
        "opens and clicks that could not be told; their askers were led on all the same",
    ),
    metric(
        "tracking_repeats_total",
        Counter,
        Count,
        "opens and clicks not stored because their message had enough of them that minute",
    ),
    metric(
        "trigger_entries_total",
        Counter,
        Count,
        "messages of triggered campaigns that events made",
    ),
    metric(
        "trigger_lag_seconds",
        Histogram,
        Seconds,
        "from an event's arrival to its message being queued",
    ),
    metric("trigger_backlog_events", Gauge, Count, "events not yet judged by triggers"),
    metric(
        "trigger_faults_total",
        Counter,
        Count,
        "times events could not set a campaign off, by kind: store is tried again",
    ),
    metric(
        "trigger_shed_events_total",
        Counter,
        Count,
        "events that set nothing off because triggers held more of the spool than they may",
    ),
    metric("postgres_connections", Gauge, Count, "pooled connections, by state"),
    metric(
        "clickhouse_queries",
        Gauge,
        Count,
        "questions to ClickHouse, by state: in flight, or waiting for their turn",
    ),
    metric(
        "worker_alive",
        Gauge,
        Count,
        "1 while every thread or task of that name runs and beats, 0 while one does not",
    ),
    metric(
        "worker_restarts_total",
        Counter,
        Count,
        "threads and tasks that panicked and were run again, by name",
    ),
];

/// Tells the recorder the unit and help of every metric.
pub fn describe() {
    for metric in METRICS {
        match metric.kind {
            Counter => metrics::describe_counter!(metric.name, metric.unit, metric.help),
            Gauge => metrics::describe_gauge!(metric.name, metric.unit, metric.help),
            Histogram => metrics::describe_histogram!(metric.name, metric.unit, metric.help),
        }
    }
}
