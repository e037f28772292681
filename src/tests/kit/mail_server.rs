//! A mail server that accepts and discards mail, unless the recipient's name asks for an error.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use parking_lot::Mutex;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
};
use tokio_rustls::TlsAcceptor;

/// A mail that was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) from: String,
    pub(crate) to: String,
    /// The mail, its dots unstuffed.
    pub(crate) mail: String,
    /// Whether the conversation was encrypted.
    pub(crate) is_encrypted: bool,
    /// Who the client said it is.
    pub(crate) login: Option<String>,
}

/// A mail server on a free port, for as long as its runtime lives.
#[derive(Debug, Clone)]
pub(crate) struct MailServer {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    taken: Mutex<Vec<Taken>>,
    conversations: AtomicUsize,
    tls: Option<TlsAcceptor>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Shared")
    }
}

impl MailServer {
    /// A server that speaks in the open.
    pub(crate) async fn start() -> Self {
        Self::with(None).await
    }

    /// A server that offers STARTTLS, and after it AUTH, with this certificate and key.
    pub(crate) async fn with_tls(tls: TlsAcceptor) -> Self {
        Self::with(Some(tls)).await
    }

    async fn with(tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared { tls, ..Shared::default() });
        let server = Self { address, shared: Arc::clone(&shared) };
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                shared.conversations.fetch_add(1, Ordering::Relaxed);
                // Who hangs up ends the conversation, and nothing else.
                tokio::spawn(converse(stream, Arc::clone(&shared)));
            }
        });
        server
    }

    /// What it took so far.
    pub(crate) fn taken(&self) -> Vec<Taken> {
        self.shared.taken.lock().clone()
    }

    /// How many conversations were begun.
    pub(crate) fn conversations(&self) -> usize {
        self.shared.conversations.load(Ordering::Relaxed)
    }
}

async fn converse(stream: TcpStream, shared: Arc<Shared>) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = BufReader::new(stream);
    stream.write_all(b"220 sink ESMTP\r\n").await?;
    let offers = shared.tls.is_some();
    if talk(&mut stream, &shared, offers, false).await? == Next::Encrypt
        && let Some(tls) = &shared.tls
    {
        let mut encrypted = BufReader::new(tls.accept(stream.into_inner()).await?);
        talk(&mut encrypted, &shared, false, true).await?;
    }
    Ok(())
}

#[derive(PartialEq, Eq)]
enum Next {
    Encrypt,
    End,
}

/// What a recipient's name says, before a plus.
fn verdict(to: &str) -> &str {
    to.split(['@', '+']).next().unwrap_or_default()
}

async fn talk<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut BufReader<S>,
    shared: &Shared,
    offers_tls: bool,
    is_encrypted: bool,
) -> std::io::Result<Next> {
    let (mut from, mut to, mut login) = (String::new(), String::new(), None);
    let mut line = String::new();
    loop {
        line.clear();
        if stream.read_line(&mut line).await? == 0 {
            return Ok(Next::End);
        }
        let command = line.trim_end();
        let path = || {
            let inner = command.split_once('<').and_then(|(_, rest)| rest.split_once('>'));
            inner.map_or_else(String::new, |(path, _)| path.to_owned())
        };
        let word = command.split([' ', ':']).next().unwrap_or_default().to_ascii_uppercase();
        let answer = match word.as_str() {
            "EHLO" if offers_tls => "250-sink\r\n250-STARTTLS\r\n250 8BITMIME",
            "EHLO" if is_encrypted => "250-sink\r\n250-AUTH PLAIN\r\n250 8BITMIME",
            "EHLO" => "250-sink\r\n250 8BITMIME",
            "STARTTLS" => {
                stream.write_all(b"220 go on\r\n").await?;
                return Ok(Next::Encrypt);
            }
            "AUTH" if command.ends_with("AGFubgB3cm9uZw==") => "535 5.7.8 no",
            "AUTH" => {
                login = Some(command.to_owned());
                "235 yes"
            }
            "MAIL" => {
                from = path();
                "250 2.1.0 yes"
            }
            "RCPT" => {
                to = path();
                match verdict(&to) {
                    "later" => "450 4.2.0 Greylisted",
                    "unknown" => "550-5.1.1 No such\r\n550 5.1.1 user",
                    "full" => "552 5.2.2 Mailbox full",
                    "brimming" => "452 4.2.2 Mailbox full",
                    "hangup" => return Ok(Next::End),
                    "busy" => {
                        stream.write_all(b"421 4.3.2 Shutting down\r\n").await?;
                        return Ok(Next::End);
                    }
                    _ => "250 2.1.5 yes",
                }
            }
            "DATA" => {
                stream.write_all(b"354 go on\r\n").await?;
                let Some(mail) = body(stream, &to).await? else { return Ok(Next::End) };
                match verdict(&to) {
                    "vanish" => return Ok(Next::End),
                    "silent" => std::future::pending().await,
                    "spam" => "554 5.7.1 No spam",
                    _ => {
                        let (from, to, login) = (from.clone(), to.clone(), login.clone());
                        shared.taken.lock().push(Taken { from, to, mail, is_encrypted, login });
                        "250 2.0.0 taken"
                    }
                }
            }
            "QUIT" => {
                stream.write_all(b"221 bye\r\n").await?;
                return Ok(Next::End);
            }
            _ => "250 2.0.0 yes",
        };
        stream.write_all(format!("{answer}\r\n").as_bytes()).await?;
    }
}

/// The mail up to its final dot; none when the server hangs up in the middle of it.
async fn body<S: AsyncRead + Unpin>(
    stream: &mut BufReader<S>,
    to: &str,
) -> std::io::Result<Option<String>> {
    let (mut mail, mut line) = (String::new(), String::new());
    loop {
        line.clear();
        if verdict(to) == "cut" || stream.read_line(&mut line).await? == 0 {
            return Ok(None);
        }
        if line == ".\r\n" {
            return Ok(Some(mail));
        }
        mail.push_str(line.strip_prefix('.').unwrap_or(&line));
    }
}
