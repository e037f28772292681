//! The panels: values with their units, and the metric that each comes from.

use maud::{Markup, html};

use crate::{
    failure::PageResult,
    process_metrics::{Durations, Metrics, whole},
    recent_metrics::Measured,
    view::{self, Column, Tone},
};

/// A value of a panel.
struct Line {
    label: String,
    value: Markup,
    metric: &'static str,
}

impl Line {
    fn new(label: impl Into<String>, value: Markup, metric: &'static str) -> Self {
        Self { label: label.into(), value, metric }
    }
}

fn none_yet() -> Markup {
    html! { span class="quiet" { "none yet" } }
}

/// Reads metrics into lines.
struct Reader<'m> {
    total: &'m Metrics,
    /// Histograms of the last minutes.
    recent: &'m Metrics,
}

impl Reader<'_> {
    fn with(&self, label: &str, metric: &'static str, text: impl Fn(f64) -> String) -> Line {
        let value = self.total.sum(metric).map_or_else(none_yet, |number| html! { (text(number)) });
        Line::new(label, value, metric)
    }

    fn count(&self, label: &str, metric: &'static str) -> Line {
        self.with(label, metric, |number| view::count(whole(number)))
    }

    fn bytes(&self, label: &str, metric: &'static str) -> Line {
        self.with(label, metric, |number| view::bytes(whole(number)))
    }

    fn seconds(&self, label: &str, metric: &'static str) -> Line {
        self.with(label, metric, view::duration)
    }

    /// A count that is a fault when it is not 0.
    fn faults(&self, label: &str, metric: &'static str) -> Line {
        let count = self.total.sum(metric).map_or(0, whole);
        let value = html! {
            @if count == 0 { "0" } @else { (view::badge(Tone::Bad, &view::count(count))) }
        };
        Line::new(label, value, metric)
    }

    fn durations(&self, label: &str, metric: &'static str) -> Line {
        let value = self
            .recent
            .durations(metric)
            .map_or_else(none_yet, |found| html! { (distribution(&found)) });
        Line::new(label, value, metric)
    }

    /// A line for each value of a label.
    fn counts_by(&self, metric: &'static str, label: &str) -> Vec<Line> {
        let sums = self.total.by(metric, label);
        sums.into_iter()
            .map(|(name, sum)| Line::new(name, html! { (view::count(whole(sum))) }, metric))
            .collect()
    }
}

fn distribution(durations: &Durations) -> String {
    let Durations { count, median_s, p99_s } = *durations;
    format!(
        "median ≤ {}, p99 {} ({} times)",
        view::duration(median_s),
        if p99_s.is_finite() {
            format!("≤ {}", view::duration(p99_s))
        } else {
            "beyond the scale".to_owned()
        },
        view::count(count)
    )
}

fn panel(title: &str, lines: &[Line]) -> Markup {
    let columns = [Column::text("Figure"), Column::text("Value"), Column::text("Metric")];
    let row = |line: &Line| {
        vec![html! { (line.label) }, line.value.clone(), html! { code { (line.metric) } }]
    };
    let rows: Vec<Vec<Markup>> = lines.iter().map(row).collect();
    let content = if rows.is_empty() {
        html! { p class="quiet" { "Nothing yet." } }
    } else {
        view::table(title, &columns, &rows)
    };
    view::card(title, &content)
}

/// Every panel, in the order of the page; with the number of dead letters of the workspace.
pub(super) fn all(measured: &Measured, kept: Option<&PageResult<u64>>) -> Markup {
    let metrics = &measured.total;
    let read = Reader { total: metrics, recent: &measured.recent };
    html! {
        p class="quiet" {
            "Counts are since the process started"
            @if let Some(window) = measured.window {
                ", durations of the last " (view::duration(window.as_secs_f64().round()))
            } @else {
                ", durations as well"
            }
            ". In Prometheus: " code { "histogram_quantile(0.99, rate(METRIC_bucket[5m]))" } "."
        }
        (panel("Events", &events(&read)))
        (panel("Spool", &spool(&read)))
        (panel("Landing in ClickHouse", &landing(&read)))
        (panel("Parts and merges of ClickHouse", &parts(&read)))
        (dead_letters(&read, kept))
        (panel("PostgreSQL pool", &read.counts_by("millrace_postgres_connections", "state")))
        (panel("Delivery", &delivery(&read)))
        (panel("Messages by channel", &messages(&read)))
        (panel("Providers", &providers(&read)))
        (panel("Queues behind the spool", &queues(&read)))
        (panel("HTTP", &http(&read)))
        (workers(metrics))
    }
}

fn events(read: &Reader<'_>) -> Vec<Line> {
    vec![
        read.count("Acknowledged", "millrace_ingest_events_accepted_total"),
        read.count("Refused by a rule", "millrace_ingest_events_rejected_total"),
        read.faults("Requests without room", "millrace_ingest_requests_refused_total"),
        read.durations("Until queries see an event", "millrace_ingest_visible_lag_seconds"),
    ]
}

fn spool(read: &Reader<'_>) -> Vec<Line> {
    let used = read.total.sum("millrace_spool_used_bytes").unwrap_or(0.0);
    let limit = read.total.sum("millrace_spool_limit_bytes").unwrap_or(0.0);
    let mut lines = Vec::new();
    if limit > 0.0 {
        let fraction = used / limit;
        let tone = if fraction > 0.5 { Tone::Warning } else { Tone::Good };
        let value = view::badge(tone, &view::percent(fraction));
        lines.push(Line::new("Full", value, "millrace_spool_used_bytes"));
    }
    lines.extend([
        read.bytes("On disk", "millrace_spool_used_bytes"),
        read.bytes("Limit", "millrace_spool_limit_bytes"),
        read.bytes("Waiting for the disk", "millrace_spool_queued_bytes"),
        read.durations("fsync of a group", "millrace_spool_fsync_duration_seconds"),
        read.faults("Damaged frames", "millrace_spool_frames_corrupt_total"),
        read.faults("Bytes that could not be read", "millrace_spool_unreadable_bytes_total"),
    ]);
    lines
}

fn landing(read: &Reader<'_>) -> Vec<Line> {
    let enqueued = read.total.sum("millrace_ingest_events_enqueued_total").unwrap_or(0.0);
    let drained = read.total.sum("millrace_ingest_events_drained_total").unwrap_or(0.0);
    let behind = html! { (view::count(whole((enqueued - drained).max(0.0)))) };
    let mut lines = vec![
        Line::new("Events on their way", behind, "millrace_ingest_events_enqueued_total"),
        read.count("Rows inserted", "millrace_clickhouse_insert_rows_total"),
        read.durations("One insert", "millrace_clickhouse_insert_duration_seconds"),
        read.faults("Failed calls", "millrace_clickhouse_errors_total"),
        read.count("Months read with FINAL", "millrace_clickhouse_months_not_unique"),
        read.faults("Restarts of engines", "millrace_engine_restarts_total"),
    ];
    for mut line in read.counts_by("millrace_clickhouse_queries", "state") {
        line.label = format!("Queries {}", line.label.replace('_', " "));
        lines.push(line);
    }
    lines
}

fn parts(read: &Reader<'_>) -> Vec<Line> {
    let mut lines = vec![read.count("Merges that run", "millrace_clickhouse_merges")];
    for mut line in read.counts_by("millrace_clickhouse_parts", "table") {
        line.label = format!("Parts of {}", line.label);
        lines.push(line);
    }
    lines
}

fn dead_letters(read: &Reader<'_>, kept: Option<&PageResult<u64>>) -> Markup {
    let metric = "millrace_ingest_dead_letters_total";
    let columns = [Column::text("Figure"), Column::text("Value"), Column::text("Metric")];
    let line = read.count("Rows that ClickHouse refused since the start", metric);
    let rows = [vec![html! { (line.label) }, line.value, html! { code { (line.metric) } }]];
    let content = html! {
        (view::table("Dead letters", &columns, &rows))
        @match kept {
            Some(Ok(count)) => p {
                @let tone = if *count > 0 { Tone::Bad } else { Tone::Good };
                (view::badge(tone, &view::count(*count))) " of this workspace are kept on disk with their reasons: "
                a href=(super::dead_letters::PATH) { "look at them" }
            },
            Some(Err(failure)) => (view::alert(&failure.text())),
            None => "",
        }
        p class="quiet" { "On the machine of the server this lists those of all workspaces, and frames that cannot be read:" }
        (view::copyable("millrace dead-letters list"))
    };
    view::card("Dead letters", &content)
}

fn delivery(read: &Reader<'_>) -> Vec<Line> {
    let mut lines = vec![
        read.count("Messages that are due", "millrace_delivery_due_messages"),
        read.seconds("The oldest of them waits for", "millrace_delivery_oldest_due_seconds"),
        read.durations("From its time to a campaign's start", "millrace_campaign_due_lag_seconds"),
    ];
    for mut line in read.counts_by("millrace_delivery_messages_total", "outcome") {
        line.label = format!("Messages {}", line.label);
        lines.push(line);
    }
    lines
}

/// What became of messages on each channel.
fn messages(read: &Reader<'_>) -> Vec<Line> {
    let metric = "millrace_delivery_messages_total";
    let sums = read.total.by_two(metric, ["channel", "outcome"]);
    let line = |([channel, outcome], sum): ([&str; 2], f64)| {
        let label = format!("{}: {}", view::channel_label(channel), outcome.replace('_', " "));
        let count = view::count(whole(sum));
        let value = html! {
            @if outcome == "failed" { (view::badge(Tone::Bad, &count)) } @else { (count) }
        };
        Line::new(label, value, metric)
    };
    sums.into_iter().map(line).collect()
}

fn providers(read: &Reader<'_>) -> Vec<Line> {
    let metric = "millrace_delivery_provider_duration_seconds";
    let by_channel = read.recent.durations_by(metric, "channel");
    let line = |(channel, found): (&str, Durations)| {
        Line::new(format!("A batch on {channel}"), html! { (distribution(&found)) }, metric)
    };
    let mut lines: Vec<Line> = by_channel.into_iter().map(line).collect();
    lines.extend(
        read.counts_by("millrace_callbacks_reports_total", "source")
            .into_iter()
            .map(|line| Line { label: format!("Reports from {}", line.label), ..line }),
    );
    lines
}

fn queues(read: &Reader<'_>) -> Vec<Line> {
    vec![
        read.count("Events that triggers have not seen", "millrace_trigger_backlog_events"),
        read.durations("From an event to its message", "millrace_trigger_lag_seconds"),
        read.bytes("Profile calls not applied", "millrace_profile_calls_behind_bytes"),
        read.seconds("Links not in ClickHouse for", "millrace_identity_mirror_lag_seconds"),
        read.seconds("Profiles not in ClickHouse for", "millrace_people_mirror_lag_seconds"),
        read.faults("Faults of triggers", "millrace_trigger_faults_total"),
        read.seconds("The oldest erasure or export waits for", "millrace_privacy_oldest_seconds"),
    ]
}

fn http(read: &Reader<'_>) -> Vec<Line> {
    vec![
        read.count("Open connections", "millrace_http_connections"),
        read.count("Requests being answered", "millrace_http_requests_in_flight"),
        read.durations("A request", "millrace_http_request_duration_seconds"),
        read.count("Requests over their rate", "millrace_http_requests_throttled_total"),
    ]
}

/// Threads and tasks that should run all the time.
fn workers(metrics: &Metrics) -> Markup {
    let metric = "millrace_worker_alive";
    let restarts = metrics.by("millrace_worker_restarts_total", "name");
    let columns = [Column::text("Worker"), Column::text("State"), Column::number("Restarts")];
    let row = |(name, alive): (&str, f64)| {
        let is_alive = alive >= 1.0;
        let tone = if is_alive { Tone::Good } else { Tone::Bad };
        vec![
            html! { (name) },
            view::badge(tone, if is_alive { "alive" } else { "silent" }),
            html! { (view::count(restarts.get(name).copied().map_or(0, whole))) },
        ]
    };
    let rows: Vec<Vec<Markup>> = metrics.by(metric, "name").into_iter().map(row).collect();
    let content = html! {
        (view::table("Workers", &columns, &rows))
        p class="quiet" { "Metrics: " code { (metric) } ", " code { "millrace_worker_restarts_total" } }
    };
    view::card("Workers", &content)
}
