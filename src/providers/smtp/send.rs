//! Mail through a server, by a bounded pool of connections that stay open.

use std::{
    fmt,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use futures_util::future::join_all;
use kernel::Clock;
use lettre::transport::smtp::{
    authentication::Credentials,
    client::{Certificate, CertificateStore, TlsParameters},
    extension::ClientId,
};
use parking_lot::Mutex;
use secrecy::ExposeSecret as _;
use sender_domains::model::DkimKey;
use tokio::{sync::Semaphore, time::timeout};
use url::Url;

use super::{
    config::SmtpSettings,
    conversation::{Conversation, Cut, Encryption, Server, is_loopback},
    dkim,
    mail::{Mail, Writer},
};
use crate::{
    Provider, Sending,
    each::{each, refused},
    model::{Content, Outcome, Outgoing},
    settings::Host,
};

/// How long an open conversation waits for another message; servers hang up after some minutes.
const IDLE_MAX: Duration = Duration::from_secs(20);
/// How long a connection may take to stand.
const CONNECT_MAX: Duration = Duration::from_secs(10);
/// Messages of one conversation, so that servers behind one name share the work.
const MESSAGES_MAX: u32 = 500;
/// Ports of mail: RFC 6409, RFC 8314, RFC 5321.
const PORT_OF_SUBMISSION: u16 = 587;
const PORT_OF_TLS: u16 = 465;
const PORT_OF_RELAYS: u16 = 25;

pub(super) struct Smtp {
    pool: Arc<Pool>,
    writer: Writer,
    clock: Clock,
    connections: usize,
}

impl fmt::Debug for Smtp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Smtp").field("host", &self.pool.server.host).finish_non_exhaustive()
    }
}

impl Smtp {
    /// # Errors
    /// When the settings do not say how to reach the server, or what to write.
    pub(super) fn from_settings(
        settings: &SmtpSettings,
        own_authorities: Option<&[u8]>,
        clock: Clock,
    ) -> anyhow::Result<Self> {
        let writer = Writer::from_settings(settings)?;
        let hello = settings.hello.clone().or_else(|| writer.domain());
        let server = Server {
            hello: hello.map_or_else(ClientId::default, ClientId::Domain),
            ..server(settings.url.expose_secret(), own_authorities)?
        };
        let pool = Arc::new(Pool {
            server,
            message_max: Duration::from_secs(settings.timeout_seconds as u64),
            open: Mutex::default(),
            slots: Semaphore::new(settings.connections.min(Semaphore::MAX_PERMITS)),
            is_swept: AtomicBool::new(false),
        });
        Ok(Self { pool, writer, clock, connections: settings.connections })
    }

    /// The public side of the key that mail is signed with; none where it is not signed.
    ///
    /// # Errors
    /// When the settings name no key that signs.
    pub(super) fn dkim_key(settings: &SmtpSettings) -> anyhow::Result<Option<DkimKey>> {
        let signer = settings.dkim.as_ref().map(dkim::Signer::from_settings).transpose()?;
        Ok(signer.map(|signer| signer.public()))
    }

    /// The mail server; none if the settings do not name one.
    pub(super) fn host(settings: &SmtpSettings) -> Option<Host> {
        let server = server(settings.url.expose_secret(), None).ok()?;
        Some(Host { name: server.host, port: server.port })
    }

    async fn send_one(&self, message: &Outgoing) -> Outcome {
        let Content::Email(email) = &message.content else {
            return refused("channel", "not an email");
        };
        match self.writer.write(message, email, self.clock.now()) {
            Ok(mail) => self.pool.send(&mail).await,
            Err(fault) => refused(fault.code, &fault.reason),
        }
    }
}

impl Provider for Smtp {
    fn send<'a>(&'a self, batch: &'a [Outgoing]) -> Sending<'a> {
        each(batch, move |message| async move { self.send_one(message).await.into() })
    }

    fn batch_max(&self) -> usize {
        self.connections
    }
}

/// Reads where the server is.
fn server(url: &str, own_authorities: Option<&[u8]>) -> anyhow::Result<Server> {
    let url = Url::parse(url).ok().context("url is no URL")?;
    let host = url.host_str().context("url names no host")?.to_owned();
    let text = |part: &str| {
        percent_encoding::percent_decode_str(part).decode_utf8().map(std::borrow::Cow::into_owned)
    };
    let credentials = match (url.username(), url.password()) {
        ("", None) => None,
        (user, Some(password)) if !user.is_empty() => {
            Some(Credentials::new(text(user)?, text(password)?))
        }
        _ => bail!("url needs both a user and a password, or none"),
    };
    let encryption = match (url.scheme(), url.query()) {
        ("smtps", _) => Encryption::Always,
        (_, Some(_)) => Encryption::Required,
        _ => Encryption::Offered,
    };
    let port = match encryption {
        Encryption::Always => PORT_OF_TLS,
        _ if credentials.is_some() => PORT_OF_SUBMISSION,
        _ => PORT_OF_RELAYS,
    };
    // Who only takes encryption where it is offered is no worse off with a certificate that proves
    // nothing than without any; a password is another matter.
    let is_lax = encryption == Encryption::Offered && (credentials.is_none() || is_loopback(&host));
    let mut tls = TlsParameters::builder(host.trim_matches(['[', ']']).to_owned())
        .certificate_store(CertificateStore::WebpkiRoots)
        .dangerous_accept_invalid_certs(is_lax);
    if let Some(pem) = own_authorities {
        tls = tls.add_root_certificate(Certificate::from_pem(pem)?);
    }
    Ok(Server {
        port: url.port().unwrap_or(port),
        host: host.trim_matches(['[', ']']).to_owned(),
        encryption,
        tls: tls.build()?,
        credentials,
        hello: ClientId::default(),
        connect_max: CONNECT_MAX,
    })
}

/// The conversations that are open.
struct Pool {
    server: Server,
    /// How long one message may take, from waiting for a conversation to the server's answer.
    message_max: Duration,
    open: Mutex<Vec<(Conversation, Instant)>>,
    slots: Semaphore,
    /// Whether a task closes conversations that are idle.
    is_swept: AtomicBool,
}

impl Pool {
    async fn send(self: &Arc<Self>, mail: &Mail) -> Outcome {
        let was_handed_over = AtomicBool::new(false);
        let late = "the server did not answer in time";
        match timeout(self.message_max, self.send_at_leisure(mail, &was_handed_over)).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(cut)) => cut.outcome(),
            Err(_) if was_handed_over.load(Ordering::Relaxed) => {
                Outcome::Unknown { reason: late.to_owned() }
            }
            Err(_) => {
                Outcome::Retry { code: "timeout".to_owned(), reason: late.to_owned(), after: None }
            }
        }
    }

    async fn send_at_leisure(
        self: &Arc<Self>,
        mail: &Mail,
        was_handed_over: &AtomicBool,
    ) -> Result<Outcome, Cut> {
        let _slot = self.slots.acquire().await;
        if let Some(mut conversation) = self.idle() {
            match conversation.send(mail, was_handed_over).await {
                Ok(outcome) => {
                    self.keep(conversation);
                    return Ok(outcome);
                }
                // It was over before this message: servers hang up on those who are silent.
                Err(cut) if !cut.was_handed_over => {
                    was_handed_over.store(false, Ordering::Relaxed);
                }
                Err(cut) => return Err(cut),
            }
        }
        let mut conversation = self.server.greet().await?;
        let outcome = conversation.send(mail, was_handed_over).await?;
        self.keep(conversation);
        Ok(outcome)
    }

    fn idle(&self) -> Option<Conversation> {
        let mut open = self.open.lock();
        // The one that was used last is the one least likely to have been hung up on.
        let (conversation, since) = open.pop()?;
        (since.elapsed() < IDLE_MAX).then_some(conversation)
    }

    fn keep(self: &Arc<Self>, conversation: Conversation) {
        if conversation.messages >= MESSAGES_MAX {
            tokio::spawn(conversation.end());
            return;
        }
        self.open.lock().push((conversation, Instant::now()));
        if !self.is_swept.swap(true, Ordering::Relaxed) {
            tokio::spawn(sweep(Arc::downgrade(self)));
        }
    }
}

/// Closes conversations that were not used for a while, until none is left.
async fn sweep(pool: Weak<Pool>) {
    loop {
        tokio::time::sleep(IDLE_MAX).await;
        let Some(pool) = pool.upgrade() else { return };
        let (idle, is_done) = {
            let mut open = pool.open.lock();
            let idle: Vec<_> =
                open.extract_if(.., |(_, since)| since.elapsed() >= IDLE_MAX).collect();
            if open.is_empty() {
                pool.is_swept.store(false, Ordering::Relaxed);
            }
            (idle, open.is_empty())
        };
        join_all(idle.into_iter().map(|(conversation, _)| conversation.end())).await;
        if is_done {
            return;
        }
    }
}
