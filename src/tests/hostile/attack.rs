//! Hostile connections of every kind, each from an address of this machine that is not the good caller's.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use kernel::Clock;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpSocket, TcpStream},
    task::JoinSet,
    time::sleep,
};

use crate::kit::eventually;

/// What a hostile connection does.
#[derive(Debug, Clone)]
pub(super) enum Kind {
    /// Promises a large body, and sends none of it.
    Promise,
    /// Sends some of a large body, and stops.
    HalfBody,
    /// Sends a body byte by byte.
    Dribble,
    Silent,
    /// Begins HTTP/2, and asks for nothing.
    Preface,
    /// Sends a request head byte by byte.
    SlowHead,
    /// Asks with keys that do not exist.
    BadKeys,
    /// Posts to links with forged signatures.
    BadTokens,
    /// Fetches the pixel of a message.
    Pixel(String),
}

/// Body that is promised, in bytes.
const PROMISED_BYTES: usize = 8 << 20;
/// Body that is sent before the sender stops, in bytes.
const HALF_BODY_BYTES: usize = 256 << 10;
/// Pause between two bytes of the slow ones.
const DRIP: Duration = Duration::from_millis(500);
/// Pause between two requests on a connection, and before a closed connection is opened again.
const PAUSE: Duration = Duration::from_millis(250);

/// Connections that go on until this is dropped.
#[derive(Debug)]
pub(super) struct Attack {
    _connections: JoinSet<()>,
}

impl Attack {
    /// Opens as many connections, spread over the sources, each opened again when it is closed. Returns once
    /// all were opened.
    pub(super) async fn begin(
        kind: &Kind,
        target: SocketAddr,
        connections: usize,
        sources: &[&str],
    ) -> Self {
        let opened = Arc::new(AtomicUsize::new(0));
        let mut tasks = JoinSet::new();
        for source in sources.iter().cycle().take(connections) {
            let source = SocketAddr::new(source.parse().unwrap(), 0);
            let (kind, opened) = (kind.clone(), Arc::clone(&opened));
            tasks.spawn(async move {
                let mut first = true;
                loop {
                    let stream = connect(source, target).await;
                    if std::mem::take(&mut first) {
                        opened.fetch_add(1, Ordering::AcqRel);
                    }
                    if let Ok(stream) = stream {
                        // However the server ends it.
                        let _ = kind.act(stream).await;
                    }
                    sleep(PAUSE).await;
                }
            });
        }
        eventually("every hostile connection was opened", async || {
            (opened.load(Ordering::Acquire) == connections).then_some(())
        })
        .await;
        Self { _connections: tasks }
    }
}

async fn connect(source: SocketAddr, target: SocketAddr) -> std::io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(source)?;
    socket.connect(target).await
}

impl Kind {
    async fn act(&self, mut stream: TcpStream) -> std::io::Result<()> {
        match self {
            Self::Promise => {
                stream.write_all(large_call().as_bytes()).await?;
            }
            Self::HalfBody => {
                stream.write_all(large_call().as_bytes()).await?;
                stream.write_all(&vec![b'x'; HALF_BODY_BYTES]).await?;
            }
            Self::Dribble => {
                stream.write_all(large_call().as_bytes()).await?;
                drip(&mut stream).await?;
            }
            Self::Silent => {}
            Self::Preface => {
                stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await?;
                // Settings, all as they are by default.
                stream.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0]).await?;
            }
            Self::SlowHead => {
                stream.write_all(b"POST /events/track HTTP/1.1\r\nhost: x\r\nslow: ").await?;
                drip(&mut stream).await?;
            }
            Self::BadKeys => {
                let key = || uuid::Uuid::new_v4().simple().to_string();
                let request = || {
                    format!(
                        "GET /users/search HTTP/1.1\r\nhost: x\r\nauthorization: Bearer mr_{}_{:A<43}\r\n\r\n",
                        &key()[..12],
                        key()
                    )
                };
                return ask_again(&mut stream, request).await;
            }
            Self::BadTokens => {
                let token = uuid::Uuid::new_v4().simple();
                let head = format!(
                    "POST /u/{token} HTTP/1.1\r\nhost: x\r\ncontent-length: {PROMISED_BYTES}\r\n\r\n"
                );
                stream.write_all(head.as_bytes()).await?;
            }
            Self::Pixel(path) => {
                let request = || format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n");
                return ask_again(&mut stream, request).await;
            }
        }
        until_closed(&mut stream).await
    }
}

/// The head of a call that has to be read before it can be refused: its signature is over the body.
fn large_call() -> String {
    let (signature, now_s) = ("A".repeat(43), Clock::system().now().millis() / 1000);
    format!(
        "POST /callbacks/email/raw HTTP/1.1\r\nhost: x\r\nwebhook-id: 1\r\nwebhook-timestamp: {now_s}\r\n\
         webhook-signature: v1,{signature}=\r\ncontent-length: {PROMISED_BYTES}\r\n\r\n"
    )
}

async fn until_closed(stream: &mut TcpStream) -> std::io::Result<()> {
    let mut bytes = [0; 1024];
    while stream.read(&mut bytes).await? > 0 {}
    Ok(())
}

async fn drip(stream: &mut TcpStream) -> std::io::Result<()> {
    loop {
        stream.write_all(b"x").await?;
        sleep(DRIP).await;
    }
}

/// Asks and reads, again and again.
async fn ask_again(stream: &mut TcpStream, request: impl Fn() -> String) -> std::io::Result<()> {
    let mut bytes = [0; 4096];
    loop {
        stream.write_all(request().as_bytes()).await?;
        if stream.read(&mut bytes).await? == 0 {
            return Ok(());
        }
        sleep(PAUSE).await;
    }
}
