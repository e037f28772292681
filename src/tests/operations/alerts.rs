//! The alerts, and the rules that they are computed by. `operations/prometheus/millrace.rules.yml` is written from here.

/// Calls that bring events. Their acknowledgement has an objective.
const TRACKING: &str =
    r#"route=~"/events/track|/v1/(batch|track|page|screen|b|t|p|s)|/(batch|capture|e|i/v0/e)/?""#;
/// Windows of the error budgets.
const WINDOWS: [&str; 7] = ["5m", "30m", "1h", "2h", "6h", "1d", "3d"];
/// Share of answers and events that may be slower than the objective.
const BUDGET: f64 = 0.01;
/// Fewer in the long window are too few to compute a share of.
const COUNT_MIN: u32 = 100;

/// How soon a person must act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Severity {
    Page,
    Ticket,
}

impl Severity {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Ticket => "ticket",
        }
    }
}

/// A series that is computed and kept.
#[derive(Debug)]
pub(super) struct Recording {
    pub(super) record: String,
    pub(super) expr: String,
}

#[derive(Debug)]
pub(super) struct Alert {
    pub(super) name: String,
    pub(super) expr: String,
    /// How long it must hold.
    pub(super) hold: &'static str,
    pub(super) severity: Severity,
    pub(super) summary: String,
}

/// A latency that 99 in 100 must keep.
struct Objective {
    /// Name of the recorded series.
    stem: &'static str,
    alert: &'static str,
    metric: &'static str,
    labels: &'static str,
    /// The bucket at the objective, as Prometheus writes it.
    bucket: &'static str,
    summary: &'static str,
}

const OBJECTIVES: [Objective; 2] = [
    Objective {
        stem: "millrace:acknowledged_late",
        alert: "MillraceAcknowledgedLate",
        metric: "millrace_http_request_duration_seconds",
        labels: TRACKING,
        bucket: "0.025",
        summary: "events are acknowledged later than 25 ms",
    },
    Objective {
        stem: "millrace:visible_late",
        alert: "MillraceVisibleLate",
        metric: "millrace_ingest_visible_lag_seconds",
        labels: "",
        bucket: "1",
        summary: "events are visible later than 1 s after they arrived",
    },
];

/// Histograms and the buckets that objectives are computed by.
pub(super) fn objective_buckets() -> impl Iterator<Item = (&'static str, &'static str)> {
    OBJECTIVES.iter().map(|it| (it.metric, it.bucket))
}

fn selector(labels: &[&str]) -> String {
    let given: Vec<&str> = labels.iter().copied().filter(|label| !label.is_empty()).collect();
    if given.is_empty() { String::new() } else { format!("{{{}}}", given.join(",")) }
}

impl Objective {
    fn of_all(&self) -> String {
        selector(&[self.labels])
    }

    fn of_quick(&self) -> String {
        selector(&[self.labels, &format!("le=\"{}\"", self.bucket)])
    }

    fn recordings(&self) -> impl Iterator<Item = Recording> {
        WINDOWS.into_iter().map(|window| Recording {
            record: format!("{}:ratio_rate{window}", self.stem),
            expr: format!(
                "1 - sum by (job) (rate({metric}_bucket{quick}[{window}])) / sum by (job) (rate({metric}_count{all}[{window}]))",
                metric = self.metric,
                quick = self.of_quick(),
                all = self.of_all(),
            ),
        })
    }

    /// The budget is spent `factor` times as fast as it may be, in a long window and still in a short one.
    fn burns(&self, factor: f64, long: &str, short: &str) -> String {
        let (stem, share) = (self.stem, format!("{:.3}", BUDGET * factor));
        format!(
            "{stem}:ratio_rate{long} > {share} and on (job) {stem}:ratio_rate{short} > {share} \
             and on (job) sum by (job) (increase({}_count{}[{long}])) >= {COUNT_MIN}",
            self.metric,
            self.of_all(),
        )
    }

    fn alerts(&self) -> [Alert; 2] {
        let of = |suffix: &str, expr: String, severity, summary: &str| Alert {
            name: format!("{}{suffix}", self.alert),
            expr,
            hold: "2m",
            severity,
            summary: summary.to_owned(),
        };
        let fast =
            format!("({}) or ({})", self.burns(14.4, "1h", "5m"), self.burns(6.0, "6h", "30m"));
        let slow =
            format!("({}) or ({})", self.burns(3.0, "1d", "2h"), self.burns(1.0, "3d", "6h"));
        [
            of("Fast", fast, Severity::Page, &format!("Many {}", self.summary)),
            of("Slow", slow, Severity::Ticket, &format!("For days too many {}", self.summary)),
        ]
    }
}

pub(super) fn recordings() -> Vec<Recording> {
    OBJECTIVES.iter().flat_map(Objective::recordings).collect()
}

/// A counter that grew within `window`, also from nothing: its first value is no increase for Prometheus.
fn grew(series: &str, window: &str) -> String {
    format!("increase({series}[{window}]) > 0 or ({series} > 0 unless {series} offset {window})")
}

/// A line of the table of alerts: a name, an expression, how long it holds, and a summary.
struct Line(&'static str, String, &'static str, Severity, &'static str);

pub(super) fn alerts() -> Vec<Alert> {
    let lines = of_the_process()
        .into_iter()
        .chain(of_the_write_path())
        .chain(of_the_rest())
        .chain(of_upkeep())
        .map(|Line(name, expr, hold, severity, summary)| Alert {
            name: name.to_owned(),
            expr,
            hold,
            severity,
            summary: summary.to_owned(),
        });
    OBJECTIVES.iter().flat_map(Objective::alerts).chain(lines).collect()
}

fn of_the_process() -> Vec<Line> {
    use Severity::{Page, Ticket};
    let text = str::to_owned;
    vec![
        Line(
            "MillraceDown",
            text("up{job=\"millrace\"} == 0"),
            "1m",
            Page,
            "{{ $labels.instance }} does not answer",
        ),
        Line(
            "MillraceRestarts",
            text("changes(process_start_time_seconds{job=\"millrace\"}[30m]) > 2"),
            "0m",
            Page,
            "{{ $labels.instance }} was restarted several times within half an hour",
        ),
        Line(
            "MillraceWorkerNotAlive",
            text("millrace_worker_alive == 0"),
            "1m",
            Page,
            "The worker {{ $labels.name }} of {{ $labels.instance }} hangs or is restarted",
        ),
        Line(
            "MillraceWorkerRestarts",
            grew("millrace_worker_restarts_total", "15m"),
            "0m",
            Ticket,
            "The worker {{ $labels.name }} of {{ $labels.instance }} panicked",
        ),
        Line(
            "MillraceEngineRestarts",
            grew("millrace_engine_restarts_total", "15m"),
            "0m",
            Ticket,
            "The embedded {{ $labels.engine }} of {{ $labels.instance }} died and was restarted",
        ),
        Line(
            "MillraceFewFilesLeft",
            text("process_open_fds{job=\"millrace\"} / process_max_fds{job=\"millrace\"} > 0.85"),
            "5m",
            Ticket,
            "{{ $labels.instance }} has used most of its open files",
        ),
        Line(
            "MillraceServerErrors",
            text(
                "sum by (job) (rate(millrace_http_requests_total{status=~\"5..\"}[5m])) \
                 / sum by (job) (rate(millrace_http_requests_total[5m])) > 0.01",
            ),
            "5m",
            Page,
            "More than 1 in 100 requests are answered with a 5xx",
        ),
    ]
}

fn of_the_write_path() -> Vec<Line> {
    use Severity::{Page, Ticket};
    let text = str::to_owned;
    vec![
        Line(
            "MillraceSpoolFilling",
            text(
                "millrace_spool_used_bytes / millrace_spool_limit_bytes > 0.2 and \
                 predict_linear(millrace_spool_used_bytes[30m], 4 * 3600) > millrace_spool_limit_bytes",
            ),
            "10m",
            Page,
            "The spool of {{ $labels.instance }} is full within four hours",
        ),
        Line(
            "MillraceSpoolAlmostFull",
            text("millrace_spool_used_bytes / millrace_spool_limit_bytes > 0.8"),
            "1m",
            Page,
            "The spool of {{ $labels.instance }} is about to refuse events",
        ),
        Line(
            "MillraceEventsNotStored",
            text(
                "millrace_ingest_events_enqueued_total - millrace_ingest_events_drained_total > 0 and \
                 increase(millrace_ingest_events_enqueued_total[10m]) > 0 and \
                 increase(millrace_ingest_events_drained_total[10m]) == 0",
            ),
            "1m",
            Page,
            "{{ $labels.instance }} takes events and stores none",
        ),
        Line(
            "MillraceEventsRefused",
            text("sum by (job, reason) (increase(millrace_ingest_requests_refused_total[5m])) > 0"),
            "2m",
            Page,
            "Events are refused for lack of room: {{ $labels.reason }}",
        ),
        Line(
            "MillraceDeadLetters",
            grew("millrace_ingest_dead_letters_total", "15m"),
            "0m",
            Ticket,
            "ClickHouse refused rows of {{ $labels.instance }}",
        ),
        Line(
            "MillraceSpoolDamaged",
            format!(
                "{} or {}",
                grew("millrace_spool_frames_corrupt_total", "15m"),
                grew("millrace_spool_unreadable_bytes_total", "15m")
            ),
            "0m",
            Page,
            "The disk of {{ $labels.instance }} returned damaged parts of the spool",
        ),
        Line(
            "MillraceFsyncSlow",
            text(
                "histogram_quantile(0.99, sum by (job, instance, le) \
                 (rate(millrace_spool_fsync_duration_seconds_bucket[10m]))) > 0.025",
            ),
            "10m",
            Ticket,
            "fsync on {{ $labels.instance }} takes longer than 25 ms",
        ),
    ]
}

fn of_the_rest() -> Vec<Line> {
    use Severity::{Page, Ticket};
    let text = str::to_owned;
    vec![
        Line(
            "MillraceDeliveryLate",
            text("max by (job) (millrace_delivery_oldest_due_seconds) > 300"),
            "5m",
            Page,
            "The oldest due message has waited for more than five minutes",
        ),
        Line(
            "MillraceDeliveryFailing",
            text(
                "sum by (job, channel) (rate(millrace_delivery_messages_total{outcome=~\"failed|unknown\"}[15m])) \
                 / sum by (job, channel) (rate(millrace_delivery_messages_total{outcome!=\"deferred\"}[15m])) > 0.2 and \
                 sum by (job, channel) (increase(millrace_delivery_messages_total{outcome!=\"deferred\"}[15m])) >= 20",
            ),
            "5m",
            Page,
            "More than a fifth of the messages of {{ $labels.channel }} fail",
        ),
        Line(
            "MillraceTriggersShed",
            grew("millrace_trigger_shed_events_total", "15m"),
            "0m",
            Page,
            "Events of {{ $labels.instance }} did not set off their campaigns",
        ),
        Line(
            "MillraceTriggersBehind",
            text(
                "histogram_quantile(0.95, sum by (job, le) (rate(millrace_trigger_lag_seconds_bucket[10m]))) > 10",
            ),
            "10m",
            Ticket,
            "Triggered messages are queued more than 10 s after their events",
        ),
        Line(
            "MillracePeopleMirrorBehind",
            text("max by (job) (millrace_people_mirror_lag_seconds) > 10"),
            "5m",
            Ticket,
            "Changes of profiles reach ClickHouse more than 10 s late",
        ),
        Line(
            "MillraceIdentityMirrorBehind",
            text("max by (job) (millrace_identity_mirror_lag_seconds) > 10"),
            "5m",
            Ticket,
            "Links and merges of profiles reach ClickHouse more than 10 s late",
        ),
        Line(
            "MillraceProfileCallsFailing",
            text(
                "sum by (job) (increase(millrace_profile_calls_applied_total{outcome=\"failed\"}[15m])) > 0",
            ),
            "15m",
            Ticket,
            "Changes of profiles by event SDKs cannot be applied",
        ),
    ]
}

fn of_upkeep() -> Vec<Line> {
    use Severity::Ticket;
    let text = str::to_owned;
    vec![
        Line(
            "MillraceErasureLate",
            text("max by (job) (millrace_privacy_oldest_seconds) > 600"),
            "5m",
            Ticket,
            "A request to erase or export a person takes longer than ten minutes",
        ),
        Line(
            "MillraceRetentionHeld",
            text("max by (job) (millrace_retention_held) > 0"),
            "5m",
            Ticket,
            "Old data is not deleted, because the clock jumped ahead",
        ),
        Line(
            "MillraceClickHouseErrors",
            text("sum by (job, kind) (rate(millrace_clickhouse_errors_total[5m])) > 0.1"),
            "10m",
            Ticket,
            "Calls to ClickHouse fail: {{ $labels.kind }}",
        ),
        Line(
            "MillraceTraceSpansLost",
            text(
                "sum by (job, outcome) (increase(millrace_trace_spans_total{outcome=~\"failed|dropped\"}[15m])) > 0",
            ),
            "15m",
            Ticket,
            "Spans of traces are lost: {{ $labels.outcome }}",
        ),
    ]
}
