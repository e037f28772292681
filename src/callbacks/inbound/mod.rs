//! A mail server for returned mail: it accepts only mail to the return paths of messages, by SMTP or LMTP. It is meant
//! to run behind a firewall or the operator's mail server.
//!
//! A mail is answered after its reports were applied; if that fails, the sender is asked to try again.

mod session;
mod wire;

use std::{sync::Arc, time::Duration};

use supervisor::Heartbeat;
use tokio::{
    io::{AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    time::timeout,
};

use self::{
    session::{MailResult, Reply, Session},
    wire::{Line, Mail},
};
use crate::{CallbackState, model::read_reports, ops};

/// Sessions at the same time.
const SESSIONS_MAX: usize = 64;
/// Time to wait for one command.
const COMMAND_MAX: Duration = Duration::from_mins(1);
/// Time in which one mail must arrive.
const MAIL_MAX: Duration = Duration::from_mins(5);
/// Time for a whole session.
const SESSION_MAX: Duration = Duration::from_mins(30);
/// Pause after a connection could not be accepted, for example because there are no descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// The reply to a connection above the limit.
const BUSY: &[u8] = b"421 4.3.2 too many connections\r\n";
const GREETING: &[u8] = b"220 millrace ESMTP for bounces\r\n";

/// Accepts mail until it is dropped.
pub async fn serve(app: CallbackState, listener: Arc<TcpListener>, heartbeat: Heartbeat) {
    let room = Arc::new(Semaphore::new(SESSIONS_MAX));
    let mut sessions = tokio::task::JoinSet::new();
    loop {
        while sessions.try_join_next().is_some() {}
        let stream = match heartbeat.waiting(listener.accept()).await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection for mail");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let Ok(permit) = Arc::clone(&room).try_acquire_owned() else {
            // Only what fits into the socket's buffer: a client that does not read must not hold up others.
            drop(stream.try_write(BUSY));
            continue;
        };
        let app = app.clone();
        sessions.spawn(async move {
            let session = timeout(SESSION_MAX, run_session(&app, stream));
            if let Ok(Err(error)) = session.await {
                tracing::debug!(%error, "a mail session broke off");
            }
            drop(permit);
        });
    }
}

async fn run_session(app: &CallbackState, stream: TcpStream) -> std::io::Result<()> {
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    let mut session = Session::default();
    writer.write_all(GREETING).await?;
    loop {
        let reply = match timeout(COMMAND_MAX, wire::line(&mut reader)).await {
            Ok(line) => match line? {
                Line::Whole(line) => session.command(&line),
                Line::TooLong => Reply::Continue("500 5.5.6 line too long".to_owned()),
                Line::End => return Ok(()),
            },
            Err(_) => Reply::Close("421 4.4.2 waited long enough"),
        };
        match reply {
            Reply::Continue(text) => writer.write_all(format!("{text}\r\n").as_bytes()).await?,
            Reply::Close(text) => {
                writer.write_all(format!("{text}\r\n").as_bytes()).await?;
                return writer.shutdown().await;
            }
            Reply::Data(text) => {
                writer.write_all(format!("{text}\r\n").as_bytes()).await?;
                let Ok(mail) = timeout(MAIL_MAX, wire::mail(&mut reader)).await else {
                    return Ok(());
                };
                let result = match mail? {
                    Mail::Whole(bytes) => apply(app, bytes, session.recipients().to_vec()).await,
                    Mail::TooLarge => MailResult::TooLarge,
                    Mail::End => return Ok(()),
                };
                writer.write_all(session.answer(result).as_bytes()).await?;
            }
        }
    }
}

/// Applies the reports in a mail.
async fn apply(app: &CallbackState, bytes: Vec<u8>, recipients: Vec<String>) -> MailResult {
    let reading = tokio::task::spawn_blocking(move || read_reports(&bytes, &recipients));
    let reports = match reading.await {
        Ok(Ok(reports)) => reports,
        Ok(Err(_)) => return MailResult::NotMail,
        Err(error) => {
            tracing::error!(%error, "a returned mail could not be read");
            return MailResult::NotMail;
        }
    };
    match ops::apply(app, "mail", "email", reports).await {
        Ok(()) => MailResult::Accepted,
        Err(error) => {
            tracing::warn!(%error, "the reports of a returned mail were not applied, its sender will retry");
            MailResult::TryAgain
        }
    }
}
