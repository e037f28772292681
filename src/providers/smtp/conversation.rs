//! One conversation with a mail server: RFC 5321, one message after the other.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use lettre::transport::smtp::{
    Error,
    authentication::{Credentials, Mechanism},
    client::{AsyncSmtpConnection, TlsParameters},
    commands::{Data, Mail as MailFrom, Rcpt, Rset},
    extension::{ClientId, Extension, MailBodyParameter, MailParameter},
    response::Response,
};
use tokio::{net::TcpStream, time::timeout};

use super::{
    mail::Mail,
    reply::{Reply, Step},
};
use crate::model::{Outcome, cut_to_line};

/// The server is about to hang up: RFC 5321 3.8.
const HANGING_UP: u16 = 421;
/// The password is wrong: RFC 4954 6.
const NOT_AUTHENTICATED: u16 = 535;
/// How long a goodbye may take.
const END_MAX: Duration = Duration::from_secs(5);
/// How the password is shown to the server: RFC 4616, and what older servers know.
const MECHANISMS: &[Mechanism] = &[Mechanism::Plain, Mechanism::Login];

/// How a server is reached.
pub(super) struct Server {
    /// Its name or address.
    pub(super) host: String,
    pub(super) port: u16,
    /// When the conversation is encrypted.
    pub(super) encryption: Encryption,
    pub(super) tls: TlsParameters,
    /// Who this side is to the server.
    pub(super) credentials: Option<Credentials>,
    /// The name this side gives itself.
    pub(super) hello: ClientId,
    /// How long a connection may take to stand.
    pub(super) connect_max: Duration,
}

/// When a conversation is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encryption {
    /// From its first byte.
    Always,
    /// Before anything is said; a server that does not offer it is not spoken to.
    Required,
    /// Where the server offers it.
    Offered,
}

/// A conversation that can go on no more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cut {
    /// `connection`, `timeout`, `tls`, `auth`, or the server's code.
    pub(super) code: String,
    pub(super) reason: String,
    /// Whether the whole message had been written: then the server may have taken it.
    pub(super) was_handed_over: bool,
}

impl Cut {
    fn new(code: impl Into<String>, reason: impl AsRef<str>) -> Self {
        Self { code: code.into(), reason: cut_to_line(reason.as_ref()), was_handed_over: false }
    }

    /// What becomes of the message.
    pub(super) fn outcome(self) -> Outcome {
        if self.was_handed_over {
            Outcome::Unknown { reason: self.reason }
        } else {
            Outcome::Retry { code: self.code, reason: self.reason, after: None }
        }
    }
}

/// Why a step did not end well.
enum Stop {
    /// The server answered with a refusal.
    Refused(Reply),
    /// The connection broke off.
    Cut(Cut),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        let text = std::error::Error::source(&error)
            .map_or_else(|| error.to_string(), ToString::to_string);
        match error.status().map(u16::from) {
            Some(HANGING_UP) => Self::Cut(Cut::new(HANGING_UP.to_string(), text)),
            Some(code) => Self::Refused(Reply { code, text }),
            None if is_tls(&error) => Self::Cut(Cut::new("tls", text)),
            None => Self::Cut(Cut::new("connection", text)),
        }
    }
}

/// Whether the encryption is what failed: a certificate, most often.
fn is_tls(error: &Error) -> bool {
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        let inner = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        if inner.and_then(|inner| inner.downcast_ref::<rustls::Error>()).is_some() {
            return true;
        }
        cause = error.source();
    }
    error.is_tls()
}

/// A conversation that is open.
pub(super) struct Conversation {
    connection: AsyncSmtpConnection,
    /// Messages that were sent in it.
    pub(super) messages: u32,
}

impl Server {
    /// Greets the server.
    ///
    /// # Errors
    /// When it cannot be talked to; nothing was said of a message.
    pub(super) async fn greet(&self) -> Result<Conversation, Cut> {
        match self.connected().await {
            Ok(connection) => Ok(Conversation { connection, messages: 0 }),
            Err(Stop::Cut(cut)) => Err(cut),
            Err(Stop::Refused(reply)) => {
                let code = if reply.code == NOT_AUTHENTICATED {
                    "auth".to_owned()
                } else {
                    reply.code.to_string()
                };
                Err(Cut::new(code, reply.text))
            }
        }
    }

    /// Connects without Nagle's algorithm, which lettre leaves on: it writes the end of a message apart, and that
    /// would wait 40 ms for an acknowledgement that the other side puts off. (Below encryption from the first byte
    /// lettre connects by itself.)
    async fn reached(&self) -> Result<TcpStream, Stop> {
        let cut = |reason: String| Stop::Cut(Cut::new("connection", reason));
        let connecting = TcpStream::connect((self.host.as_str(), self.port));
        let stream = match timeout(self.connect_max, connecting).await {
            Ok(connected) => connected.map_err(|error| cut(error.to_string()))?,
            Err(_) => return Err(cut("the server could not be reached in time".to_owned())),
        };
        stream.set_nodelay(true).map_err(|error| cut(error.to_string()))?;
        Ok(stream)
    }

    async fn connected(&self) -> Result<AsyncSmtpConnection, Stop> {
        let mut connection = if self.encryption == Encryption::Always {
            let (to, tls) = ((self.host.as_str(), self.port), Some(self.tls.clone()));
            let max = Some(self.connect_max);
            AsyncSmtpConnection::connect_tokio1(to, max, &self.hello, tls, None).await?
        } else {
            let stream = Box::new(self.reached().await?);
            AsyncSmtpConnection::connect_with_transport(stream, &self.hello).await?
        };
        if connection.can_starttls() {
            connection.starttls(self.tls.clone(), &self.hello).await?;
        } else if self.encryption == Encryption::Required {
            return Err(Stop::Cut(Cut::new("tls", "the server does not offer STARTTLS")));
        }
        if let Some(credentials) = &self.credentials {
            if !connection.is_encrypted() && !is_loopback(&self.host) {
                let reason =
                    "the server offers no encryption, and the password is not sent without";
                return Err(Stop::Cut(Cut::new("tls", reason)));
            }
            connection.auth(MECHANISMS, credentials).await?;
        }
        Ok(connection)
    }
}

/// Whether a host is this one.
pub(super) fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || bare.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

impl Conversation {
    /// Sends a message, and says what the server made of it. The conversation can go on.
    /// `was_handed_over` is set once all of the message has been written.
    ///
    /// # Errors
    /// When the conversation is over.
    pub(super) async fn send(
        &mut self,
        mail: &Mail,
        was_handed_over: &AtomicBool,
    ) -> Result<Outcome, Cut> {
        self.messages = self.messages.saturating_add(1);
        let options = match self.options(mail) {
            Ok(options) => options,
            Err(outcome) => return Ok(outcome),
        };
        let steps = [
            (Step::Sender, MailFrom::new(Some(mail.from.clone()), options).to_string()),
            (Step::Recipient, Rcpt::new(mail.to.clone(), Vec::new()).to_string()),
            (Step::Message, Data.to_string()),
        ];
        for (step, command) in steps {
            match self.command(&command).await {
                Ok(_) => {}
                Err(Stop::Cut(cut)) => return Err(cut),
                Err(Stop::Refused(reply)) => {
                    // The server drops this message before the next one begins.
                    return match self.command(&Rset.to_string()).await {
                        Ok(_) => Ok(reply.outcome(step)),
                        // The refusal counts, even if the connection broke off after it.
                        Err(_) => Ok(self.over(reply.outcome(step))),
                    };
                }
            }
        }
        self.send_data(mail, was_handed_over).await
    }

    async fn send_data(
        &mut self,
        mail: &Mail,
        was_handed_over: &AtomicBool,
    ) -> Result<Outcome, Cut> {
        // The second part is polled once the first has been written, before the end is marked.
        let body = [Some(&mail.bytes), None].into_iter().map_while(|part| {
            if part.is_none() {
                was_handed_over.store(true, Ordering::Relaxed);
            }
            part
        });
        match self.connection.message_iter(body).await.map_err(Stop::from) {
            Ok(_) => Ok(Outcome::Accepted { provider_id: None, is_delivered: true }),
            Err(Stop::Refused(reply)) => Ok(reply.outcome(Step::Message)),
            // A server that closes the connection with this code did not accept the message.
            Err(Stop::Cut(cut)) if cut.code == HANGING_UP.to_string() => Err(cut),
            Err(Stop::Cut(cut)) => {
                Err(Cut { was_handed_over: was_handed_over.load(Ordering::Relaxed), ..cut })
            }
        }
    }

    /// The SMTP extensions that the message needs, or the reason why the server cannot take it.
    fn options(&self, mail: &Mail) -> Result<Vec<MailParameter>, Outcome> {
        let server = self.connection.server_info();
        let lacks = |code: &str, reason: &str| Outcome::Rejected {
            code: code.to_owned(),
            reason: reason.to_owned(),
            effect: None,
        };
        let mut options = Vec::new();
        let is_plain = |address: &lettre::Address| AsRef::<str>::as_ref(address).is_ascii();
        if !is_plain(&mail.from) || !is_plain(&mail.to) {
            if !server.supports_feature(Extension::SmtpUtfEight) {
                return Err(lacks("smtputf8", "the server does not take addresses beyond ASCII"));
            }
            options.push(MailParameter::SmtpUtfEight);
        }
        if !mail.bytes.is_ascii() {
            if !server.supports_feature(Extension::EightBitMime) {
                return Err(lacks("8bitmime", "the server does not take mail beyond ASCII"));
            }
            options.push(MailParameter::Body(MailBodyParameter::EightBitMime));
        }
        Ok(options)
    }

    async fn command(&mut self, command: &str) -> Result<Response, Stop> {
        Ok(self.connection.command(command).await?)
    }

    /// Marks the conversation so that it is not used again.
    fn over(&mut self, outcome: Outcome) -> Outcome {
        self.messages = u32::MAX;
        outcome
    }

    pub(super) async fn end(mut self) {
        // Whatever the server says to that, the connection closes.
        drop(timeout(END_MAX, self.connection.quit()).await);
    }
}
