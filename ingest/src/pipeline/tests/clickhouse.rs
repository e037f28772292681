//! A server that plays ClickHouse: takes inserts, answers as the test says, keeps what it took.

use std::{
    collections::{BTreeMap, BTreeSet},
    convert::Infallible,
    net::SocketAddr,
    sync::Arc,
};

use http_body_util::{BodyExt, Full};
use hyper::{
    Request, Response, StatusCode,
    body::{Bytes, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::{net::TcpListener, task::JoinHandle};

/// What precedes an event's number in its id; found in a body whatever its format.
pub(super) const EVENT_MARK: &str = "evt-";
const NUMBER_DIGITS: usize = 8;

/// One insert as it arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Insert {
    pub token: Option<String>,
    pub settings: BTreeMap<String, String>,
    pub events: Vec<u64>,
}

/// What the server does with an insert: take it, or answer a status and an error text.
pub(super) type Answerer = Arc<dyn Fn(&Insert) -> Result<(), (u16, String)> + Send + Sync>;

#[derive(Default)]
struct Kept {
    /// Every insert, in order of arrival, with what became of it.
    seen: Vec<(Insert, bool)>,
    tokens: BTreeSet<String>,
    /// How often each event was taken, repeats of a token left out.
    taken: BTreeMap<u64, usize>,
}

/// The server. Stops when dropped.
pub(super) struct FakeClickHouse {
    pub address: SocketAddr,
    kept: Arc<Mutex<Kept>>,
    validate: Arc<Mutex<Answerer>>,
    serving: JoinHandle<()>,
}

impl FakeClickHouse {
    pub(super) async fn start(
        validate: impl Fn(&Insert) -> Result<(), (u16, String)> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let kept = Arc::<Mutex<Kept>>::default();
        let validate = Arc::new(Mutex::new(Arc::new(validate) as Answerer));
        let serving = tokio::spawn(serve(listener, Arc::clone(&kept), Arc::clone(&validate)));
        Self { address, kept, validate, serving }
    }

    pub(super) fn client(&self) -> clickhouse::Client {
        clickhouse::Client::default()
            .with_url(format!("http://{}", self.address))
            .with_compression(clickhouse::Compression::None)
    }

    /// Answers later inserts by another rule.
    pub(super) fn answer_by(
        &self,
        validate: impl Fn(&Insert) -> Result<(), (u16, String)> + Send + Sync + 'static,
    ) {
        *self.validate.lock() = Arc::new(validate);
    }

    /// The events taken, ascending, and how often each.
    pub(super) fn taken(&self) -> BTreeMap<u64, usize> {
        self.kept.lock().taken.clone()
    }

    pub(super) fn seen(&self) -> Vec<(Insert, bool)> {
        self.kept.lock().seen.clone()
    }
}

impl Drop for FakeClickHouse {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(listener: TcpListener, kept: Arc<Mutex<Kept>>, validate: Arc<Mutex<Answerer>>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else { return };
        let (kept, validate) = (Arc::clone(&kept), Arc::clone(&validate));
        tokio::spawn(async move {
            let service = service_fn(move |request| {
                let (kept, validate) = (Arc::clone(&kept), Arc::clone(&validate.lock()));
                answer(request, kept, validate)
            });
            http1::Builder::new().serve_connection(TokioIo::new(stream), service).await.ok();
        });
    }
}

async fn answer(
    request: Request<Incoming>,
    kept: Arc<Mutex<Kept>>,
    validate: Answerer,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let url = format!("http://x{}", request.uri());
    let settings: BTreeMap<String, String> =
        url::Url::parse(&url).unwrap().query_pairs().into_owned().collect();
    let body = request.into_body().collect().await.map(http_body_util::Collected::to_bytes);
    let Ok(body) = body else {
        return Ok(Response::new(Full::default()));
    };
    if String::from_utf8_lossy(&body).contains("erased_events") || url.contains("erased_events") {
        return Ok(Response::new(Full::new(Bytes::from_static(b"0\n"))));
    }
    let token = settings.get("insert_deduplication_token").cloned();
    let insert = Insert { token, settings, events: events(&body) };
    let verdict = validate(&insert);
    let mut kept = kept.lock();
    kept.seen.push((insert.clone(), verdict.is_ok()));
    let response = match verdict {
        Ok(()) => {
            if insert.token.is_none_or(|token| kept.tokens.insert(token)) {
                for event in insert.events {
                    *kept.taken.entry(event).or_default() += 1;
                }
            }
            Response::new(Full::default())
        }
        Err((status, text)) => {
            let mut response = Response::new(Full::new(Bytes::from(text)));
            *response.status_mut() = StatusCode::from_u16(status).unwrap();
            response
        }
    };
    Ok(response)
}

/// The numbers of the events in a body, by the marks in it, ascending: a block has an order of its own.
fn events(body: &[u8]) -> Vec<u64> {
    let mark = EVENT_MARK.as_bytes();
    let mut numbers = Vec::new();
    let mut at = 0;
    while let Some(found) = body[at..].windows(mark.len()).position(|window| window == mark) {
        at += found + mark.len();
        let digits = std::str::from_utf8(&body[at..at + NUMBER_DIGITS]).unwrap();
        numbers.push(digits.parse().unwrap());
    }
    numbers.sort_unstable();
    numbers
}

/// The refusal ClickHouse gives for rows it cannot take.
pub(super) fn content_refusal() -> (u16, String) {
    (500, "Code: 407. DB::Exception: Decimal value is too big. (DECIMAL_OVERFLOW)".to_owned())
}
