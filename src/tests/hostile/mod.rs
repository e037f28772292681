//! A thousand hostile connections of each kind against a server, beside a good caller who tracks events: none of
//! its events is refused, and they take no more than twice as long as in quiet.
//!
//! What a machine under load needs for an event may be more than twice what it needed a second ago for reasons
//! of its own. So quiet is measured before and after each attack, and the slower counts; times below [`FLOOR`] pass
//! whatever quiet was; and a measurement that fails is taken again, up to [`TRIES`] times. A refusal fails at once.

mod attack;
mod good;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tokio::sync::{Mutex, MutexGuard};

use self::attack::{Attack, Kind};
use crate::{
    callbacks::{early_refusals::answered_by, fixture::SECRET},
    kit::{Client, WhileUsed, eventually, unique},
    single::{
        fixture::{Sender, start},
        links::{address, arrived},
    },
};

/// Hostile connections at a time.
const CONNECTIONS: usize = 1_000;
/// Connections the server lets in, and of one peer.
const CONNECTIONS_MAX: usize = 1_500;
const PEER_CONNECTIONS_MAX: usize = 600;
/// A 99th percentile that passes however quiet it was before.
const FLOOR: Duration = Duration::from_millis(750);
const TRIES: usize = 6;
/// Files this process needs besides hostile connections.
const OTHER_FILES: u64 = 300;

/// Two peers, each with fewer connections than it may have.
const TWO: &[&str] = &["127.0.0.2", "127.0.0.3"];
const ONE: &[&str] = &["127.0.0.2"];
const FOUR: &[&str] = &["127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5"];

/// The server under attack, and the turn to attack it: one kind at a time.
async fn server() -> (Arc<Sender>, MutexGuard<'static, ()>) {
    static SERVER: WhileUsed<Sender> = WhileUsed::new();
    static TURN: Mutex<()> = Mutex::const_new(());
    let turn = TURN.lock().await;
    let settings = [
        ("MILLRACE_HTTP__CONNECTIONS_MAX", CONNECTIONS_MAX.to_string()),
        ("MILLRACE_HTTP__PEER_CONNECTIONS_MAX", PEER_CONNECTIONS_MAX.to_string()),
        ("MILLRACE_CALLBACKS__GENERIC__SECRET", SECRET.to_owned()),
        // Less than the attackers manage on a machine that does other work besides.
        ("MILLRACE_RATE_LIMITS__LINKS__PER_SECOND", "5".to_owned()),
        ("MILLRACE_RATE_LIMITS__LINKS__BURST", "50".to_owned()),
    ];
    let server = SERVER.get(async || start(&unique("hostile"), &settings).await).await;
    (server, turn)
}

/// Whether this process may open as many files; says so where it may not.
fn may_open(connections: usize) -> bool {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    let wanted = connections as u64 + OTHER_FILES;
    if soft < wanted {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, wanted.min(hard), hard);
    }
    let may = hard >= wanted;
    if !may {
        eprintln!("SKIPPED: {wanted} open files are needed, ulimit -n allows {hard}");
    }
    may
}

/// Attacks, and holds what the good caller measures then against what it measured before.
async fn good_caller_is_served(server: &Sender, kind: &Kind, connections: usize, sources: &[&str]) {
    let target: SocketAddr = server.url.strip_prefix("http://").unwrap().parse().unwrap();
    let mut measured = Vec::new();
    let mut before = good::p99(server).await;
    for _ in 0..TRIES {
        let attack = Attack::begin(kind, target, connections, sources).await;
        let attacked = good::p99(server).await;
        drop(attack);
        if attacked <= FLOOR.max(2 * before) {
            return;
        }
        let after = good::p99(server).await;
        let quiet = before.max(after);
        if attacked <= 2 * quiet {
            return;
        }
        measured.push((quiet, attacked));
        before = after;
    }
    panic!("{kind:?}: quiet and attacked p99: {measured:?}");
}

/// Holds idle connections until the server has closed some of them for a reason. While the good caller was measured it
/// may not have accepted enough of them yet.
async fn some_are_closed(connections: usize, sources: &[&str], reason: &str) {
    let (server, _turn) = server().await;
    let server = &*server;
    if !may_open(connections) {
        return;
    }
    let target: SocketAddr = server.url.strip_prefix("http://").unwrap().parse().unwrap();
    let _attack = Attack::begin(&Kind::Silent, target, connections, sources).await;
    eventually("idle connections are closed", async || {
        let closed = metric(server, "millrace_http_connections_closed_total", reason).await;
        (closed > 0.0).then_some(())
    })
    .await;
}

/// The sum of a metric's lines that contain a text.
async fn metric(server: &Sender, name: &str, containing: &str) -> f64 {
    let text = Client::new(&server.admin_url, None).get("/metrics", 200).await.text;
    let of_name = |line: &&str| {
        let rest = line.strip_prefix(name);
        rest.is_some_and(|rest| rest.starts_with(['{', ' '])) && line.contains(containing)
    };
    text.lines()
        .filter(of_name)
        .map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap())
        .sum()
}

async fn good_caller_is_unaffected(kind: Kind, connections: usize, sources: &[&str]) {
    let (server, _turn) = server().await;
    let server = &*server;
    if may_open(connections) {
        good_caller_is_served(server, &kind, connections, sources).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn promised_bodies_that_never_arrive() {
    good_caller_is_unaffected(Kind::Promise, CONNECTIONS, TWO).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_stop_halfway() {
    good_caller_is_unaffected(Kind::HalfBody, CONNECTIONS, TWO).await;
    let (server, _turn) = server().await;
    let server = &*server;
    eventually("the memory was given back", async || {
        let used = metric(server, "millrace_http_body_used_bytes", "public").await;
        (used < 1.0).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_sent_byte_by_byte() {
    good_caller_is_unaffected(Kind::Dribble, CONNECTIONS, TWO).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_connections_up_to_the_cap_of_one_peer() {
    good_caller_is_unaffected(Kind::Silent, CONNECTIONS, ONE).await;
    some_are_closed(CONNECTIONS, ONE, "\"peer_cap\"").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_connections_up_to_the_cap_of_the_server() {
    good_caller_is_unaffected(Kind::Silent, 2 * CONNECTIONS, FOUR).await;
    some_are_closed(2 * CONNECTIONS, FOUR, "\"cap\"").await;
    let (server, _turn) = server().await;
    let server = &*server;
    if may_open(2 * CONNECTIONS) {
        assert!(
            metric(server, "millrace_http_connections", "").await <= (CONNECTIONS_MAX + 10) as f64
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn http2_connections_without_requests() {
    good_caller_is_unaffected(Kind::Preface, 2 * CONNECTIONS, FOUR).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn request_heads_sent_byte_by_byte() {
    good_caller_is_unaffected(Kind::SlowHead, 2 * CONNECTIONS, FOUR).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_with_unknown_keys() {
    good_caller_is_unaffected(Kind::BadKeys, CONNECTIONS, TWO).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn links_with_forged_signatures() {
    good_caller_is_unaffected(Kind::BadTokens, CONNECTIONS, TWO).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pixel_fetched_in_a_loop_is_stored_at_a_limited_rate() {
    let (server, _turn) = server().await;
    let server = &*server;
    if !may_open(CONNECTIONS) {
        return;
    }
    let (_, html) = arrived(server).await;
    let pixel = address(&html, &format!("{}/o/", server.url));
    let path = pixel.strip_prefix(&server.url).unwrap().to_owned();
    // The message's own events are recorded first.
    let stored = async || metric(server, "millrace_ingest_message_events_total", "").await;
    let before = eventually("the sending was recorded", async || {
        let first = stored().await;
        tokio::time::sleep(Duration::from_millis(500)).await;
        (first > 0.0 && (stored().await - first).abs() < 0.5).then_some(first)
    })
    .await;
    let begun = std::time::Instant::now();
    good_caller_is_served(server, &Kind::Pixel(path), CONNECTIONS, TWO).await;
    let minutes = begun.elapsed().as_secs() / 60 + 2;
    let opens = stored().await - before;
    assert!((1.0..=(20 * minutes) as f64).contains(&opens), "{opens} opens in {minutes} minutes");
    assert!(metric(server, "millrace_tracking_repeats_total", "").await > 0.0);
    assert!(metric(server, "millrace_http_requests_throttled_total", "links").await > 0.0);
}

#[tokio::test]
async fn a_callback_of_an_unconfigured_provider_is_404() {
    let (server, _turn) = server().await;
    let server = &*server;
    let client = Client::new(&server.url, None);
    for path in [
        "/callbacks/sms/twilio",
        "/callbacks/whatsapp",
        "/callbacks/viber/infobip",
        "/callbacks/email/ses",
        "/callbacks/email/sendgrid",
        "/callbacks/email/postmark",
        "/callbacks/email/mailgun",
        "/callbacks/email/resend",
    ] {
        assert_eq!(answered_by(&server.url, path, &[]).await, 404, "{path}");
    }
    client
        .get("/callbacks/whatsapp?hub.mode=subscribe&hub.verify_token=&hub.challenge=x", 404)
        .await;
}
