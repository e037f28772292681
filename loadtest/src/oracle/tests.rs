//! The oracle against a store and an API that say what a test wants them to say.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use http::Response;
use http_body_util::{BodyExt, Full};
use serde_json::json;

use super::*;
use crate::{
    journal::{Journal, Mark},
    responder,
    target::{ApiKey, ClickHouseTarget, Endpoint},
};

/// What a fake store holds.
#[derive(Clone)]
struct Store {
    /// The stored ids at each look; the last stays.
    looks: Vec<Vec<&'static str>>,
    /// What the API counts more than the store.
    overcount: usize,
    /// Whether the API finds single events.
    finds: bool,
}

/// Answers ClickHouse's questions and the API's on one address.
fn serve(store: Store) -> String {
    let look = Arc::new(AtomicUsize::new(0));
    let address = responder::serve(move |request| {
        let (store, look) = (store.clone(), Arc::clone(&look));
        async move {
            let path = request.uri().to_string();
            let body = request.into_body().collect().await.ok()?.to_bytes();
            let question = String::from_utf8_lossy(&body);
            let at = look.load(Ordering::SeqCst).min(store.looks.len() - 1);
            let ids = &store.looks[at];
            let answer = if path.starts_with("/events/aggregate") {
                let count = ids.len() + store.overcount;
                json!({"data": {"total": count, "results": [{"count": count}]}}).to_string()
            } else if path.starts_with("/events/query") {
                let event = |id: &&str| json!({"event_id": id, "user_id": "u", "event_name": "X", "timestamp": "", "properties": {}});
                json!(ids.iter().filter(|_| store.finds).map(event).collect::<Vec<_>>()).to_string()
            } else if question.contains("Which event ids") {
                look.fetch_add(1, Ordering::SeqCst);
                lines(ids.iter().map(|id| json!([id])))
            } else if question.contains("of each name") {
                format!("[\"X\",\"{}\"]\n", ids.len())
            } else if question.contains("look for these ids") {
                let unique: std::collections::BTreeSet<_> = ids.iter().collect();
                lines(unique.iter().map(|id| json!([id, "u", "X", "2026-01-01T00:00:00"])))
            } else {
                "[\"100\"]\n".to_owned()
            };
            Some(Response::new(Full::from(answer)))
        }
    });
    format!("http://{address}")
}

fn lines(rows: impl Iterator<Item = serde_json::Value>) -> String {
    rows.fold(String::new(), |text, row| text + &row.to_string() + "\n")
}

/// Checks a journal of acknowledged `a`, `b "q"` and unacknowledged `c` against a store.
fn check(store: Store, folder: &Path) -> Verdict {
    let path = folder.join("journal");
    let ids = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
    let journal = Journal::open(&path).unwrap();
    journal.record_ids(Mark::Sent, &ids(&["a", "b \"q\"", "c"])).unwrap();
    journal.record_ids(Mark::Acknowledged, &ids(&["a", "b \"q\""])).unwrap();
    let address = serve(store);
    let api = Api::new(&Endpoint::parse(&address, false).unwrap(), &ApiKey::new("k")).unwrap();
    let clickhouse = ClickHouse::new(&ClickHouseTarget::parse(&address, false).unwrap()).unwrap();
    let mut ledger = Ledger::read(&path).unwrap();
    let mut oracle = Oracle::new(api, clickhouse, Uuid::nil());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(oracle.check(&mut ledger, Duration::from_millis(1_200))).unwrap()
}

fn holding(looks: &[&[&'static str]]) -> Store {
    Store { looks: looks.iter().map(|ids| ids.to_vec()).collect(), overcount: 0, finds: true }
}

#[test]
fn everything_there_once_is_clean_and_what_lands_late_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let verdict = check(holding(&[&["a"], &["a", "b \"q\"", "stranger"]]), folder.path());
    assert!(verdict.is_clean(), "{verdict:?}");
    assert_eq!((verdict.exactly_once, verdict.foreign, verdict.unacknowledged_stored), (2, 1, 0));
    assert!(verdict.sampled >= 2, "{verdict:?}");
}

#[test]
fn an_event_without_acknowledgement_may_be_there_but_not_twice() {
    let folder = tempfile::tempdir().unwrap();
    let verdict = check(holding(&[&["a", "b \"q\"", "c"]]), folder.path());
    assert!(verdict.is_clean(), "{verdict:?}");
    assert_eq!(verdict.unacknowledged_stored, 1);
    let folder = tempfile::tempdir().unwrap();
    let verdict = check(holding(&[&["a", "b \"q\"", "c", "c"]]), folder.path());
    assert!(!verdict.is_clean());
    assert_eq!(verdict.doubled_ids, ["c"]);
}

#[test]
fn a_lost_event_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let verdict = check(holding(&[&["a", "c"]]), folder.path());
    assert!(!verdict.is_clean());
    assert_eq!((verdict.missing, &verdict.missing_ids[..]), (1, &["b \"q\"".to_owned()][..]));
}

#[test]
fn an_api_that_counts_otherwise_or_does_not_find_an_event_is_not_clean() {
    let right = holding(&[&["a", "b \"q\""]]);
    let folder = tempfile::tempdir().unwrap();
    assert!(!check(Store { overcount: 1, ..right.clone() }, folder.path()).is_clean());
    let folder = tempfile::tempdir().unwrap();
    let verdict = check(Store { finds: false, ..right }, folder.path());
    assert_eq!(verdict.wrong_samples.len(), 2, "{verdict:?}");
    assert!(!verdict.is_clean());
}
