//! The table of all metrics.
//!
//! Names follow `millrace_<area>_<name>_<unit>[_total]` in base units (Prometheus' naming rules). A queue is two counters, pushed
//! and drained, since a gauge misses bursts. Label values are closed sets: never a workspace, an id or a text of a caller.

use metrics::Unit::{Bytes, Count, Seconds};

use crate::{Counter, Gauge, Histogram, Kind, Metric};

/// Declares each metric as a constant, and [`METRICS`] as the list of them all.
macro_rules! catalogue {
    ($($constant:ident: $kind:ident[$($label:literal),*] = $name:literal, $unit:ident, $help:literal;)*) => {
        $(
            #[doc = $help]
            pub const $constant: $kind<{ <[&str]>::len(&[$($label),*]) }> = $kind::new($name, [$($label),*]);
        )*

        /// Every metric of the service, in the order of the operator's document. Those of the process come from `metrics-process`.
        pub const METRICS: &[Metric] = &[
            $(Metric { name: $name, kind: Kind::$kind, unit: $unit, labels: &[$($label),*], help: $help },)*
        ];
    };
}

catalogue! {
    HTTP_REQUESTS: Counter["route", "method", "status"] = "millrace_http_requests_total", Count,
        "requests answered, by route, method and status";
    HTTP_REQUEST_DURATION_SECONDS: Histogram["route"] = "millrace_http_request_duration_seconds", Seconds,
        "time from request head to response head, by route";
    HTTP_REQUESTS_ABORTED: Counter[] = "millrace_http_requests_aborted_total", Count,
        "requests whose client disconnected before the response";
    TRACE_SPANS: Counter["outcome"] = "millrace_trace_spans_total", Count,
        "spans of traces, by what became of them: sent, failed (the collector did not take them), dropped (too many waited)";
    HTTP_BODY_USED_BYTES: Gauge["budget"] = "millrace_http_body_used_bytes", Bytes,
        "memory held by request bodies, by budget: verified credentials, public";
    HTTP_BODY_LIMIT_BYTES: Gauge["budget"] = "millrace_http_body_limit_bytes", Bytes,
        "memory request bodies may hold, by budget";
    HTTP_BODIES_REFUSED: Counter["limit"] = "millrace_http_bodies_refused_total", Count,
        "request bodies refused for lack of memory, by limit: verified, public, workspace, peer";
    HTTP_BODIES_TIMED_OUT: Counter["limit"] = "millrace_http_bodies_timed_out_total", Count,
        "request bodies that took too long, by limit: rate, silence, total";
    HTTP_CONNECTIONS: Gauge[] = "millrace_http_connections", Count,
        "open connections of both listeners";
    HTTP_CONNECTIONS_LIMIT: Gauge[] = "millrace_http_connections_limit", Count,
        "connections one listener may have open";
    HTTP_CONNECTIONS_CLOSED: Counter["reason"] = "millrace_http_connections_closed_total", Count,
        "connections closed by the server, by reason: cap, peer_cap, head_timeout, idle_timeout, answer_timeout";
    HTTP_CONNECTIONS_REFUSED: Counter[] = "millrace_http_connections_refused_total", Count,
        "new connections refused because all of that peer's connections were busy";
    HTTP_REQUESTS_IN_FLIGHT: Gauge[] = "millrace_http_requests_in_flight", Count,
        "requests being answered now";
    HTTP_REQUESTS_THROTTLED: Counter["class"] = "millrace_http_requests_throttled_total", Count,
        "requests over the rate of their credential or peer, by limit; for `links`, opens and clicks answered and not stored";
    INGEST_EVENTS_ACCEPTED: Counter[] = "millrace_ingest_events_accepted_total", Count,
        "events acknowledged as durable";
    INGEST_EVENTS_REJECTED: Counter["reason"] = "millrace_ingest_events_rejected_total", Count,
        "events that failed validation, by reason";
    INGEST_EVENTS_REJECTED_UNLISTED: Counter[] = "millrace_ingest_events_rejected_unlisted_total", Count,
        "events that failed validation and are counted, but not listed, because too many came at once";
    INGEST_CALLS_ADJUSTED: Counter["how"] = "millrace_ingest_calls_adjusted_total", Count,
        "names and values of event SDKs' calls that were changed, by how: renamed, cut (what a context has beyond the limits), dropped (traits)";
    INGEST_PROFILE_CALLS: Counter[] = "millrace_ingest_profile_calls_total", Count,
        "changes of profiles by event SDKs recorded as durable";
    INGEST_LIVE_LISTENERS: Gauge[] = "millrace_ingest_live_listeners", Count,
        "listeners to events as they arrive";
    INGEST_MESSAGE_EVENTS: Counter[] = "millrace_ingest_message_events_total", Count,
        "message lifecycle events recorded as durable";
    INGEST_REQUESTS_REFUSED: Counter["reason"] = "millrace_ingest_requests_refused_total", Count,
        "whole requests refused for lack of room, by reason";
    INGEST_STAGE_DURATION_SECONDS: Histogram["stage"] = "millrace_ingest_stage_duration_seconds", Seconds,
        "time of a stage before the acknowledgement: per request validate and resume, per group commit queue (the longest wait) and write";
    INGEST_EVENTS_ENQUEUED: Counter[] = "millrace_ingest_events_enqueued_total", Count,
        "events appended to the spool";
    INGEST_EVENTS_DRAINED: Counter[] = "millrace_ingest_events_drained_total", Count,
        "events read from the spool and stored in ClickHouse or as dead letters";
    INGEST_VISIBLE_LAG_SECONDS: Histogram[] = "millrace_ingest_visible_lag_seconds", Seconds,
        "time from an event's arrival until queries see it";
    INGEST_DEAD_LETTERS: Counter[] = "millrace_ingest_dead_letters_total", Count,
        "rows that ClickHouse refused for their content";
    INGEST_REPEATS_LEFT_OUT: Counter[] = "millrace_ingest_repeats_left_out_total", Count,
        "events not stored because an event of their key was stored before";
    INGEST_KEYS_LOOKED_UP: Counter[] = "millrace_ingest_keys_looked_up_total", Count,
        "keys of events and orders looked up in ClickHouse before they were stored";
    INGEST_CHUNKS_BYTES: Gauge[] = "millrace_ingest_chunks_bytes", Bytes,
        "memory of events on their way from the spool into ClickHouse";
    INGEST_LANDED_KEYS_BYTES: Gauge[] = "millrace_ingest_landed_keys_bytes", Bytes,
        "memory of the filters that distinguish new events from stored ones";
    INGEST_LANDED_KEYS_WITHOUT_FILTER: Gauge[] = "millrace_ingest_landed_keys_without_filter", Count,
        "months of events whose keys are all looked up because their filter is not in memory";
    SPOOL_QUEUED_BYTES: Gauge[] = "millrace_spool_queued_bytes", Bytes,
        "memory of events waiting for the disk; at most `ingest.queue_bytes`";
    SPOOL_FRAMES_APPENDED: Counter[] = "millrace_spool_frames_appended_total", Count,
        "frames written to the spool";
    SPOOL_APPENDED_BYTES: Counter[] = "millrace_spool_appended_bytes_total", Bytes,
        "bytes written to the spool";
    SPOOL_FSYNC_DURATION_SECONDS: Histogram[] = "millrace_spool_fsync_duration_seconds", Seconds,
        "time of the fsync of one group commit";
    SPOOL_USED_BYTES: Gauge[] = "millrace_spool_used_bytes", Bytes,
        "spool bytes on disk";
    SPOOL_LIMIT_BYTES: Gauge[] = "millrace_spool_limit_bytes", Bytes,
        "spool bytes allowed on disk";
    SPOOL_FRAMES_CORRUPT: Counter[] = "millrace_spool_frames_corrupt_total", Count,
        "damaged frames found while reading the spool";
    SPOOL_UNREADABLE_BYTES: Counter[] = "millrace_spool_unreadable_bytes_total", Bytes,
        "bytes of the spool that the disk could not read and that were skipped";
    CLICKHOUSE_INSERT_DURATION_SECONDS: Histogram[] = "millrace_clickhouse_insert_duration_seconds", Seconds,
        "time of one insert";
    CLICKHOUSE_INSERT_ROWS: Counter[] = "millrace_clickhouse_insert_rows_total", Count,
        "rows inserted";
    CLICKHOUSE_PARTS: Gauge["table"] = "millrace_clickhouse_parts", Count,
        "active parts on the server that answers, by table; inserts are delayed above a thousand in a partition";
    CLICKHOUSE_MERGES: Gauge[] = "millrace_clickhouse_merges", Count,
        "merges and mutations of parts that run on the server that answers";
    CLICKHOUSE_MONTHS_NOT_UNIQUE: Gauge[] = "millrace_clickhouse_months_not_unique", Count,
        "months of events, and the orders, that are read with FINAL because rows may repeat others";
    CLICKHOUSE_ERRORS: Counter["kind"] = "millrace_clickhouse_errors_total", Count,
        "failed calls to ClickHouse, by kind";
    SQL_STATEMENTS: Counter["outcome"] = "millrace_sql_statements_total", Count,
        "statements of callers who ask in SQL, by outcome: answered, failed, cancelled (their client had gone)";
    SQL_STATEMENT_SECONDS: Histogram[] = "millrace_sql_statement_seconds", Seconds,
        "time of such a statement, from its place to the end of its answer";
    SQL_STATEMENTS_RUNNING: Gauge[] = "millrace_sql_statements_running", Count,
        "such statements that run now";
    SQL_STATEMENTS_STOPPED: Counter[] = "millrace_sql_statements_stopped_total", Count,
        "such statements stopped because all together held too much memory";
    SQL_REFUSED: Counter["reason"] = "millrace_sql_refused_total", Count,
        "such requests refused, by reason: credential, access, statement, setting, size, busy, unavailable";
    ENGINE_RESTARTS: Counter["engine"] = "millrace_engine_restarts_total", Count,
        "restarts of embedded engines after they died, by engine";
    CALLBACKS_REPORTS: Counter["source", "outcome"] = "millrace_callbacks_reports_total", Count,
        "reports of providers about sent messages, by source and outcome";
    CONSENT_CHANGES: Counter["channel", "action"] = "millrace_consent_changes_total", Count,
        "consent changes, by channel and by action as in the history";
    SUPPRESSION_ROWS: Gauge["channel", "reason"] = "millrace_suppression_rows", Count,
        "suppressed identifiers, by channel and reason";
    USERS_UPSERTED: Counter["outcome"] = "millrace_users_upserted_total", Count,
        "profiles created or updated by POST /users, by outcome";
    USERS_UPSERT_CONFLICTS: Counter[] = "millrace_users_upsert_conflicts_total", Count,
        "transactions of POST /users retried after a conflict";
    PROFILE_CALLS_APPLIED: Counter["outcome"] = "millrace_profile_calls_applied_total", Count,
        "changes of profiles by event SDKs, by outcome: applied, repeated, refused, no_profile, failed";
    PROFILE_CALLS_BEHIND_BYTES: Gauge[] = "millrace_profile_calls_behind_bytes", Bytes,
        "bytes of the spool behind the first profile call that is not applied yet";
    IDENTITY_LINKS: Counter["outcome"] = "millrace_identity_links_total", Count,
        "anonymous ids to be linked to profiles, by outcome";
    IDENTITY_MERGES: Counter[] = "millrace_identity_merges_total", Count,
        "profiles merged into others";
    IDENTITY_MIRROR_LAG_SECONDS: Gauge[] = "millrace_identity_mirror_lag_seconds", Seconds,
        "how long the oldest link or merge waits to be copied to ClickHouse";
    PEOPLE_MIRROR_LAG_SECONDS: Gauge[] = "millrace_people_mirror_lag_seconds", Seconds,
        "how long the oldest change of a profile or campaign waits to be copied to ClickHouse";
    PRIVACY_REQUESTS: Gauge["state"] = "millrace_privacy_requests", Count,
        "requests to erase or export a person that are not done, by state: pending, running";
    PRIVACY_OLDEST_SECONDS: Gauge[] = "millrace_privacy_oldest_seconds", Seconds,
        "how long the oldest request to erase or export a person waits or runs";
    CAMPAIGN_TRANSITIONS: Counter["call"] = "millrace_campaign_transitions_total", Count,
        "campaign state transitions, by call";
    CAMPAIGN_DUE_LAG_SECONDS: Histogram[] = "millrace_campaign_due_lag_seconds", Seconds,
        "time from a campaign's scheduled time until its processing starts";
    DELIVERY_QUEUED: Counter[] = "millrace_delivery_queued_total", Count,
        "messages queued for campaigns";
    DELIVERY_MESSAGES: Counter["channel", "outcome"] = "millrace_delivery_messages_total", Count,
        "messages sent or not, by channel and outcome";
    CONFIRMATIONS_WITHHELD: Counter["reason"] = "millrace_confirmations_withheld_total", Count,
        "confirmations of opt-ins that were not sent, by reason: limit, suppressed, no_address";
    DELIVERY_REFUSALS: Counter["rule"] = "millrace_delivery_refusals_total", Count,
        "messages that were deferred or skipped, by rule";
    DELIVERY_PROVIDER_DURATION_SECONDS: Histogram["channel"] = "millrace_delivery_provider_duration_seconds", Seconds,
        "time a provider took for a batch, by channel";
    DELIVERY_DUE_MESSAGES: Gauge[] = "millrace_delivery_due_messages", Count,
        "messages due and not sent yet, counted up to 100,000";
    DELIVERY_OLDEST_DUE_SECONDS: Gauge[] = "millrace_delivery_oldest_due_seconds", Seconds,
        "how long the oldest due message has waited";
    RETENTION_DELETED: Counter["table"] = "millrace_retention_deleted_total", Count,
        "rows deleted at the end of their retention, by table";
    RETENTION_HELD: Gauge[] = "millrace_retention_held", Count,
        "1 while old data is not deleted because the clock jumped ahead, else 0";
    SPAM_CHECKS: Counter["engine"] = "millrace_spam_checks_total", Count,
        "spam checks of emails, by engine";
    SPAM_ENGINE_FAULTS: Counter["reason"] = "millrace_spam_engine_faults_total", Count,
        "spam checks that fell back to the built-in rules because SpamAssassin failed, by reason";
    AUDIENCE_IDENTIFIERS: Counter[] = "millrace_audience_identifiers_total", Count,
        "identifiers that ClickHouse returned for event filters of audiences";
    TRACKING_UNRECORDED: Counter[] = "millrace_tracking_unrecorded_total", Count,
        "opens and clicks that could not be recorded; the recipient was answered or redirected all the same";
    TRACKING_REPEATS: Counter[] = "millrace_tracking_repeats_total", Count,
        "opens and clicks not stored because their message reached its limit per minute";
    TRIGGER_ENTRIES: Counter[] = "millrace_trigger_entries_total", Count,
        "messages of triggered campaigns queued by events";
    TRIGGER_LAG_SECONDS: Histogram[] = "millrace_trigger_lag_seconds", Seconds,
        "time from an event's arrival until its message is queued";
    TRIGGER_BACKLOG_EVENTS: Gauge[] = "millrace_trigger_backlog_events", Count,
        "events not yet evaluated by triggers";
    TRIGGER_FAULTS: Counter["kind"] = "millrace_trigger_faults_total", Count,
        "failures to evaluate or enter triggers, by kind; `store` is retried";
    TRIGGER_SHED_EVENTS: Counter[] = "millrace_trigger_shed_events_total", Count,
        "events skipped by triggers because their backlog exceeded its share of the spool";
    POSTGRES_CONNECTIONS: Gauge["state"] = "millrace_postgres_connections", Count,
        "pooled connections, by state";
    CLICKHOUSE_QUERIES: Gauge["state"] = "millrace_clickhouse_queries", Count,
        "queries to ClickHouse, by state: in flight, or waiting";
    WORKER_ALIVE: Gauge["name"] = "millrace_worker_alive", Count,
        "1 while every thread or task of that name runs and sends heartbeats, 0 while one does not";
    WORKER_RESTARTS: Counter["name"] = "millrace_worker_restarts_total", Count,
        "threads and tasks that panicked and were restarted, by name";
}
