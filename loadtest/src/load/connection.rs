//! One connection's life: take a ticket, wait until it is due, send, check the answer, journal it.

use std::{
    cell::RefCell,
    collections::VecDeque,
    rc::Rc,
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use anyhow::{Result, bail};
use tokio::time;

use super::{
    Run,
    pace::Ticket,
    tally::{Latencies, Tally},
};
use crate::{
    api::{LoadRequests, TrackAnswer},
    http::{Answer, Connection},
    journal::Mark,
    source::{Batch, mix},
};

/// Batches a connection remembers to send again as repeats.
const REMEMBERED_BATCHES: usize = 8;
/// Pause before a broken connection is tried again.
const RECONNECT_PAUSE: Duration = Duration::from_millis(50);
/// Longest `Retry-After` that is waited for.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(30);
/// Pause after a 503 that names none.
const RETRY_AFTER_DEFAULT: Duration = Duration::from_secs(1);

/// How the sending of one batch ended.
#[derive(Debug, PartialEq, Eq)]
enum Delivery {
    /// Answered by the server.
    Done,
    /// Given up; what became of its events is not known.
    Unknown,
}

/// Sends until the run is over.
///
/// # Errors
/// What ends the whole run: a refused key, a journal that cannot be written, a server that is gone for good.
pub(super) async fn drive(run: &Run, latencies: Rc<RefCell<Latencies>>) -> Result<()> {
    let mut sender = Sender {
        run,
        connection: Connection::new(run.endpoint.clone()),
        latencies,
        remembered: VecDeque::with_capacity(REMEMBERED_BATCHES),
    };
    while let Some(ticket) = run.pace.take(Instant::now()) {
        let Some((batch, fresh)) = sender.choose(ticket) else { break };
        if let Some(due) = ticket.due {
            time::sleep_until(due.into()).await;
        }
        if fresh && let Some(journal) = &run.journal {
            journal.record(Mark::Sent, &batch)?;
        }
        let delivery = sender.deliver(ticket, &batch, fresh).await?;
        if delivery == Delivery::Unknown && fresh {
            Tally::add(&run.tally.unacknowledged, batch.events);
        }
        if delivery == Delivery::Done && fresh && run.repeats > 0.0 {
            sender.remembered.truncate(REMEMBERED_BATCHES - 1);
            sender.remembered.push_front(batch);
        }
    }
    Ok(())
}

struct Sender<'a> {
    run: &'a Run,
    connection: Connection,
    latencies: Rc<RefCell<Latencies>>,
    remembered: VecDeque<Batch>,
}

impl Sender<'_> {
    /// A fresh batch, or by the seeded share one that was acknowledged before; `None` when the source is at its end.
    fn choose(&self, ticket: Ticket) -> Option<(Batch, bool)> {
        let roll = mix(self.run.seed ^ mix(ticket.number));
        if is_below(roll, self.run.repeats) && !self.remembered.is_empty() {
            let index = usize::try_from(mix(roll) % self.remembered.len() as u64).unwrap_or(0);
            return Some((self.remembered[index].clone(), false));
        }
        let number = self.run.next_batch.fetch_add(1, Ordering::Relaxed);
        self.run.source.batch(number).map(|batch| (batch, true))
    }

    async fn deliver(&mut self, ticket: Ticket, batch: &Batch, fresh: bool) -> Result<Delivery> {
        let run = self.run;
        let mut sent = None;
        let mut unreachable_since = None;
        loop {
            let started = Instant::now();
            let first_sent = *sent.get_or_insert(started);
            let outcome = self.connection.exchange(run.requests.post(batch.body.clone())).await;
            match outcome {
                Ok(answer) if (200..300).contains(&answer.status) => {
                    let latency = ticket.latency(first_sent, Instant::now());
                    self.latencies.borrow_mut().record(latency);
                    acknowledge(run, batch, fresh, &answer)?;
                    return Ok(Delivery::Done);
                }
                Ok(answer) if answer.status == 503 => {
                    Tally::add(&run.tally.unavailable, 1);
                    let pause =
                        answer.retry_after.unwrap_or(RETRY_AFTER_DEFAULT).min(RETRY_AFTER_MAX);
                    if !self.pause(pause).await {
                        return Ok(Delivery::Unknown);
                    }
                }
                Ok(answer) => return refused(run, batch, &answer),
                Err(error) => {
                    Tally::add(&run.tally.broken, 1);
                    run.tally.note(|| format!("{error:#}"));
                    if !run.ride_out.is_zero() {
                        let since = *unreachable_since.get_or_insert(started);
                        if since.elapsed() > run.ride_out {
                            bail!("no answer for {} s: {error:#}", run.ride_out.as_secs());
                        }
                        if self.pause(RECONNECT_PAUSE).await {
                            continue;
                        }
                    } else if let Err(gone) = self.connection.open().await {
                        Tally::add(&run.tally.unacknowledged, batch.events);
                        bail!("the server is gone ({gone:#}); --ride-out waits for it");
                    }
                    return Ok(Delivery::Unknown);
                }
            }
        }
    }

    /// Waits, unless the run is stopped meanwhile; true when the time has passed.
    async fn pause(&self, length: Duration) -> bool {
        let until = Instant::now() + length;
        while Instant::now() < until {
            if self.run.pace.stopped() {
                return false;
            }
            let step = until.saturating_duration_since(Instant::now());
            time::sleep(step.min(RECONNECT_PAUSE)).await;
        }
        !self.run.pace.stopped()
    }
}

/// Whether 64 random bits fall into a share of all.
fn is_below(bits: u64, share: f64) -> bool {
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit exactly")]
    let [part, whole] = [bits >> 11, 1 << 53].map(|bits: u64| bits as f64);
    part < share * whole
}

/// Reads a 2xx answer: journals and counts what it acknowledges.
fn acknowledge(run: &Run, batch: &Batch, fresh: bool, answer: &Answer) -> Result<()> {
    let tally = &run.tally;
    Tally::add(&tally.requests, 1);
    Tally::add(&tally.bytes, batch.body.len());
    if matches!(run.requests, LoadRequests::Peer { .. } | LoadRequests::Segment { .. }) {
        Tally::add(if fresh { &tally.acknowledged } else { &tally.repeated }, batch.events);
        return Ok(());
    }
    let verdict = match serde_json::from_slice(&answer.body) {
        Ok(verdict) => verdict,
        Err(error) => bail!("the server's acknowledgement cannot be read: {error}"),
    };
    let refused: Vec<usize> = match verdict {
        TrackAnswer::Single { event_id, success } => {
            if batch.events != 1 || !success || batch.id(0).as_ref() != Some(&event_id) {
                bail!(
                    "event {:?} was acknowledged as {event_id:?}, success {success}",
                    batch.id(0)
                );
            }
            Vec::new()
        }
        TrackAnswer::Array { accepted, rejected } => {
            if accepted + rejected.len() != batch.events {
                bail!(
                    "of {} events {accepted} were accepted and {} rejected",
                    batch.events,
                    rejected.len()
                );
            }
            if let Some(first) = rejected.first() {
                tally.note(|| {
                    format!("event {:?} was rejected: {}", batch.id(first.index), first.reason)
                });
            }
            rejected.into_iter().map(|rejection| rejection.index).collect()
        }
    };
    let accepted = batch.events - refused.len();
    Tally::add(if fresh { &tally.acknowledged } else { &tally.repeated }, accepted);
    if fresh {
        Tally::add(&tally.refused, refused.len());
    }
    match &run.journal {
        Some(journal) if fresh && refused.is_empty() => journal.record(Mark::Acknowledged, batch),
        Some(journal) if fresh => {
            let ids = |wanted: bool| -> Vec<String> {
                let chosen = (0..batch.events).filter(|index| refused.contains(index) == wanted);
                chosen.filter_map(|index| batch.id(index)).collect()
            };
            journal.record_ids(Mark::Acknowledged, &ids(false))?;
            journal.record_ids(Mark::Refused, &ids(true))
        }
        _ => Ok(()),
    }
}

/// Counts an answer outside 2xx; one that will be the same for every request ends the run.
fn refused(run: &Run, batch: &Batch, answer: &Answer) -> Result<Delivery> {
    let text = String::from_utf8_lossy(&answer.body).chars().take(300).collect::<String>();
    if matches!(answer.status, 401 | 403 | 404 | 405) {
        bail!("the server answered {}: {text}", answer.status);
    }
    Tally::add(&run.tally.failed, 1);
    run.tally.note(|| {
        format!("the server answered {} to {} events: {text}", answer.status, batch.events)
    });
    Ok(Delivery::Unknown)
}
