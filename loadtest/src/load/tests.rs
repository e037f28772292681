//! The load against a responder that stalls, refuses and breaks connections, as servers do.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use serde_json::{Value, json};

use super::*;
use crate::{
    journal::Ledger,
    responder,
    source::{Generator, GeneratorOptions},
};

/// What the responder does besides storing.
#[derive(Default)]
struct Behaviour {
    /// Every n-th request is answered 503, its events not stored.
    unavailable_every: usize,
    /// Every n-th connection-request is stored and then cut off without an answer.
    cut_every: usize,
    /// The first request takes this long, and everybody waits for it.
    stall: Duration,
    /// The event at this position is rejected.
    reject_index: Option<usize>,
}

#[derive(Default)]
struct Responder {
    behaviour: Behaviour,
    stored: Mutex<HashMap<String, usize>>,
    requests: AtomicUsize,
    stalled: AtomicBool,
    gate: tokio::sync::Mutex<()>,
}

impl Responder {
    async fn answer(&self, request: Request<Incoming>) -> Option<Response<Full<Bytes>>> {
        assert_eq!(request.uri().path(), "/events/track");
        assert_eq!(request.headers()["authorization"], "Bearer secret");
        let body = request.into_body().collect().await.ok()?.to_bytes();
        let number = 1 + self.requests.fetch_add(1, Ordering::SeqCst);
        if !self.behaviour.stall.is_zero() {
            let _turn = self.gate.lock().await;
            if !self.stalled.swap(true, Ordering::SeqCst) {
                tokio::time::sleep(self.behaviour.stall).await;
            }
        }
        let hits = |every: usize| number.is_multiple_of(every);
        if hits(self.behaviour.unavailable_every) {
            let refusal = Response::builder().status(503).header("retry-after", "0");
            return Some(refusal.body(Full::default()).unwrap());
        }
        let answer = self.store(&body);
        (!hits(self.behaviour.cut_every)).then(|| Response::new(Full::from(answer.to_string())))
    }

    fn store(&self, body: &[u8]) -> Value {
        let mut stored = self.stored.lock().unwrap();
        let id = |event: &Value| event["clientEventId"].as_str().unwrap().to_owned();
        match serde_json::from_slice(body).unwrap() {
            Value::Array(events) => {
                let mut rejected = Vec::new();
                for (index, event) in events.iter().enumerate() {
                    if self.behaviour.reject_index == Some(index) {
                        rejected.push(json!({"index": index, "reason": "because"}));
                    } else {
                        *stored.entry(id(event)).or_default() += 1;
                    }
                }
                let accepted = events.len() - rejected.len();
                json!({"processed": events.len(), "accepted": accepted, "rejected": rejected})
            }
            event => {
                *stored.entry(id(&event)).or_default() += 1;
                json!({"eventId": id(&event), "success": true})
            }
        }
    }
}

fn respond(behaviour: Behaviour) -> (SocketAddr, Arc<Responder>) {
    let responder = Arc::new(Responder { behaviour, ..Responder::default() });
    let served = Arc::clone(&responder);
    let address = responder::serve(move |request| {
        let responder = Arc::clone(&served);
        async move { responder.answer(request).await }
    });
    (address, responder)
}

fn options(address: SocketAddr, batch: usize, events: u64) -> LoadOptions {
    let generator = GeneratorOptions { batch, events: Some(events), ..GeneratorOptions::default() };
    let endpoint = Endpoint::parse(&format!("http://{address}"), false).unwrap();
    LoadOptions::new(endpoint, ApiKey::new("secret"), Arc::new(Generator::new(generator).unwrap()))
}

fn run(options: LoadOptions) -> Outcome {
    Load::start(options).unwrap().join()
}

#[test]
fn every_event_arrives_once_over_many_connections_and_threads() {
    let (address, responder) = respond(Behaviour::default());
    let outcome = run(LoadOptions { connections: 7, threads: 3, ..options(address, 10, 1_005) });
    assert!(outcome.aborted.is_none(), "{outcome:?}");
    assert_eq!(outcome.counts.acknowledged, 1_005);
    assert_eq!(outcome.latencies.quantiles().count, 101);
    let stored = responder.stored.lock().unwrap();
    assert_eq!(stored.len(), 1_005);
    assert!(stored.values().all(|count| *count == 1));
}

#[test]
fn repeats_send_acknowledged_ids_again_and_are_counted_apart() {
    let (address, responder) = respond(Behaviour::default());
    let outcome = run(LoadOptions { repeats: 0.4, ..options(address, 1, 500) });
    let counts = outcome.counts;
    assert_eq!(counts.acknowledged, 500);
    assert!((150..=550).contains(&counts.repeated), "{counts:?}");
    let stored = responder.stored.lock().unwrap();
    assert_eq!(stored.len(), 500);
    assert_eq!(stored.values().sum::<usize>() as u64, 500 + counts.repeated);
}

#[test]
fn a_503_is_waited_out_and_sent_again() {
    let (address, responder) = respond(Behaviour { unavailable_every: 3, ..Behaviour::default() });
    let outcome = run(options(address, 5, 200));
    assert_eq!(outcome.counts.acknowledged, 200);
    assert!(outcome.counts.unavailable >= 15, "{:?}", outcome.counts);
    assert!(responder.stored.lock().unwrap().values().all(|count| *count == 1));
}

#[test]
fn riding_out_sends_what_was_cut_off_again_with_the_same_ids_and_the_journal_agrees() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let (address, responder) = respond(Behaviour { cut_every: 4, ..Behaviour::default() });
    let journal = Some(Arc::new(Journal::open(&path).unwrap()));
    let ride_out = Duration::from_secs(20);
    let outcome = run(LoadOptions { journal, ride_out, ..options(address, 5, 200) });
    assert!(outcome.aborted.is_none(), "{outcome:?}");
    assert_eq!(outcome.counts.acknowledged, 200);
    assert!(outcome.counts.broken >= 10, "{:?}", outcome.counts);
    let stored = responder.stored.lock().unwrap();
    assert_eq!(stored.len(), 200);
    assert!(stored.values().any(|count| *count > 1), "nothing was sent again");

    let mut ledger = Ledger::read(&path).unwrap();
    assert_eq!(ledger.acknowledged(), 200);
    assert!(stored.keys().all(|id| ledger.count_stored(id.as_bytes())));
}

#[test]
fn without_riding_out_a_cut_batch_stays_unacknowledged_in_the_journal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let (address, _) = respond(Behaviour { cut_every: 10, ..Behaviour::default() });
    let journal = Some(Arc::new(Journal::open(&path).unwrap()));
    let outcome = run(LoadOptions { journal, connections: 1, ..options(address, 5, 100) });
    assert_eq!((outcome.counts.acknowledged, outcome.counts.unacknowledged), (90, 10));
    let ledger = Ledger::read(&path).unwrap();
    assert_eq!((ledger.acknowledged(), ledger.known().count()), (90, 100));
}

#[test]
fn a_server_that_is_not_there_ends_the_run_with_a_reason() {
    let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let outcome = run(options(address, 5, 100));
    let reason = format!("{:#}", outcome.aborted.unwrap());
    assert!(reason.contains("cannot connect"), "{reason}");
}

#[test]
fn a_refused_element_is_not_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let (address, _) = respond(Behaviour { reject_index: Some(1), ..Behaviour::default() });
    let journal = Some(Arc::new(Journal::open(&path).unwrap()));
    let outcome = run(LoadOptions { journal, ..options(address, 5, 20) });
    assert_eq!((outcome.counts.acknowledged, outcome.counts.refused), (16, 4));
    assert!(outcome.first_error.unwrap().contains("because"));
    let ledger = Ledger::read(&path).unwrap();
    assert_eq!(ledger.acknowledged(), 16);
    assert_eq!(ledger.known().filter(|known| known.refused).count(), 4);
}

#[test]
fn a_stall_counts_in_the_latency_of_every_delayed_request() {
    // One connection at 100 requests a second and a first answer after 500 ms: about 50 requests were due
    // meanwhile. Measured from the sending only one of them would look slow.
    let stall = Duration::from_millis(500);
    let (address, _) = respond(Behaviour { stall, ..Behaviour::default() });
    let paced = LoadOptions {
        connections: 1,
        requests_per_second: Some(100.0),
        ..options(address, 1, 100)
    };
    let figures = run(paced).latencies.quantiles();
    assert_eq!(figures.count, 100);
    assert!(figures.max_ms >= 490.0, "{figures:?}");
    assert!(figures.mean_ms >= 100.0, "{figures:?}");
    let (address, _) = respond(Behaviour { stall, ..Behaviour::default() });
    let free =
        run(LoadOptions { connections: 1, ..options(address, 1, 100) }).latencies.quantiles();
    assert!(free.p50_ms < figures.p50_ms, "{free:?} {figures:?}");
}
