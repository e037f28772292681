//! The server's own figures, read from the Prometheus text of its admin listener.

use std::time::Duration;

use anyhow::{Result, bail};
use bytes::Bytes;
use http::{HeaderValue, Request, header};
use http_body_util::Full;
use serde::Serialize;

use crate::{http::Connection, target::Endpoint};

const SCRAPE_TIMEOUT: Duration = Duration::from_secs(5);

/// The figures of one scrape; `None` where the server has no such metric.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    pub resident_bytes: Option<f64>,
    pub cpu_seconds: Option<f64>,
    pub enqueued: Option<f64>,
    pub drained: Option<f64>,
    pub queued: Option<f64>,
}

impl Sample {
    /// Reads the Prometheus text format; a metric with labels counts as the sum of its series.
    pub fn parse(text: &str) -> Self {
        Self {
            resident_bytes: sum(text, "process_resident_memory_bytes"),
            cpu_seconds: sum(text, "process_cpu_seconds_total"),
            enqueued: sum(text, "millrace_ingest_events_enqueued_total"),
            drained: sum(text, "millrace_ingest_events_drained_total"),
            queued: sum(text, "millrace_delivery_queued_total"),
        }
    }

    /// Events taken in and not yet in ClickHouse.
    pub fn backlog(&self) -> Option<f64> {
        Some((self.enqueued? - self.drained?).max(0.0))
    }
}

fn sum(text: &str, name: &str) -> Option<f64> {
    let series = text.lines().filter_map(|line| {
        let rest = line.strip_prefix(name)?;
        // The next character distinguishes this metric from one whose name goes on.
        let value = match rest.strip_prefix('{') {
            Some(labels) => labels.rsplit_once('}')?.1,
            None => rest.strip_prefix(' ')?,
        };
        value.split_whitespace().next()?.parse::<f64>().ok()
    });
    series.fold(None, |total, value| Some(total.unwrap_or(0.0) + value))
}

/// A connection to the admin listener.
#[derive(Debug)]
pub struct Scraper {
    connection: Connection,
}

impl Scraper {
    pub fn new(endpoint: Endpoint) -> Self {
        Self { connection: Connection::new(endpoint).with_timeout(SCRAPE_TIMEOUT) }
    }

    /// One `GET /metrics`.
    ///
    /// # Errors
    /// No answer, or one that is not 200.
    pub async fn scrape(&mut self) -> Result<Sample> {
        let mut request = Request::new(Full::new(Bytes::new()));
        *request.uri_mut() = "/metrics".parse()?;
        let host = HeaderValue::from_str(self.connection.authority())?;
        request.headers_mut().insert(header::HOST, host);
        let answer = self.connection.exchange(request).await?;
        if answer.status != 200 {
            bail!("/metrics answered {}", answer.status);
        }
        Ok(Sample::parse(&String::from_utf8_lossy(&answer.body)))
    }
}

/// The server's figures over a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerFigures {
    /// Resident memory at the start, bytes.
    pub resident_bytes_start: f64,
    /// At the last scrape, in bytes.
    pub resident_bytes_end: f64,
    /// The most of any scrape.
    pub resident_bytes_max: f64,
    /// CPU seconds used between the first and the last scrape.
    pub cpu_seconds: f64,
    /// Events waiting for ClickHouse: the most of any scrape.
    pub backlog_max: f64,
    /// When the last request was answered.
    pub backlog_at_end_of_load: f64,
    pub scrapes: u64,
    first_cpu_seconds: f64,
}

impl ServerFigures {
    /// Takes in one scrape.
    pub fn add(&mut self, sample: Sample) {
        let resident = sample.resident_bytes.unwrap_or(0.0);
        let cpu = sample.cpu_seconds.unwrap_or(0.0);
        if self.scrapes == 0 {
            self.resident_bytes_start = resident;
            self.first_cpu_seconds = cpu;
        }
        self.scrapes += 1;
        self.resident_bytes_end = resident;
        self.resident_bytes_max = self.resident_bytes_max.max(resident);
        // A restarted server counts from zero again; what it used before is lost to us.
        if cpu < self.first_cpu_seconds {
            self.first_cpu_seconds = 0.0;
        }
        self.cpu_seconds = cpu - self.first_cpu_seconds;
        self.backlog_max = self.backlog_max.max(sample.backlog().unwrap_or(0.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# HELP millrace_ingest_events_enqueued_total events\n# TYPE millrace_ingest_events_enqueued_total counter\n\
        millrace_ingest_events_enqueued_total 1500\nmillrace_ingest_events_enqueued_totals 9\n\
        millrace_ingest_events_drained_total{consumer=\"a\"} 400\nmillrace_ingest_events_drained_total{consumer=\"b\"} 600 1700000000\n\
        process_resident_memory_bytes 1.5e8\nprocess_cpu_seconds_total 2.5\n";

    #[test]
    fn metrics_are_read_by_their_whole_name_and_summed_over_labels() {
        let sample = Sample::parse(TEXT);
        assert_eq!(sample.backlog(), Some(500.0));
        assert_eq!(sample.resident_bytes, Some(1.5e8));
        assert_eq!(Sample::parse("").backlog(), None);
    }

    #[test]
    fn a_run_keeps_first_last_and_most() {
        let mut figures = ServerFigures::default();
        for (resident, cpu) in [(10.0, 5.0), (30.0, 6.0), (20.0, 9.0)] {
            let (resident_bytes, cpu_seconds) = (Some(resident), Some(cpu));
            figures.add(Sample { resident_bytes, cpu_seconds, ..Sample::default() });
        }
        let seen =
            (figures.resident_bytes_start, figures.resident_bytes_end, figures.resident_bytes_max);
        assert_eq!(seen, (10.0, 20.0, 30.0));
        assert!((figures.cpu_seconds - 4.0).abs() < 1e-9);
    }
}
