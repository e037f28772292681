//! Mail that comes back, taken in by a mail server of our own: nothing but what goes to the return paths of
//! messages, by SMTP or LMTP, behind a firewall or a mail server of one's own.
//!
//! A mail is answered once it was acted on; where that fails, its sender is asked to try again.

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
    session::{Next, Session, Verdict},
    wire::{Line, Mail},
};
use super::{model::returned, ops};
use crate::CallbackState;

/// Conversations at one time.
const CONVERSATIONS_MAX: usize = 64;
/// Time for one command.
const COMMAND_MAX: Duration = Duration::from_mins(1);
/// Time for one mail to come.
const MAIL_MAX: Duration = Duration::from_mins(5);
/// Time for a whole conversation.
const CONVERSATION_MAX: Duration = Duration::from_mins(30);
/// Pause after a connection could not be taken, as when there are no more descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Said to who comes while there are too many.
const BUSY: &[u8] = b"421 4.3.2 too many connections\r\n";
const GREETING: &[u8] = b"220 millrace ESMTP for bounces\r\n";

/// Takes mail until it is dropped.
pub async fn serve(app: CallbackState, listener: Arc<TcpListener>, heartbeat: Heartbeat) {
    let room = Arc::new(Semaphore::new(CONVERSATIONS_MAX));
    let mut conversations = tokio::task::JoinSet::new();
    loop {
        while conversations.try_join_next().is_some() {}
        let stream = match heartbeat.waiting(listener.accept()).await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "cannot take a connection for mail");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let Ok(place) = Arc::clone(&room).try_acquire_owned() else {
            // Nobody waits for those who do not even read that there is no room.
            drop(stream.try_write(BUSY));
            continue;
        };
        let app = app.clone();
        conversations.spawn(async move {
            let talk = timeout(CONVERSATION_MAX, converse(&app, stream));
            if let Ok(Err(error)) = talk.await {
                tracing::debug!(%error, "a conversation about mail broke off");
            }
            drop(place);
        });
    }
}

async fn converse(app: &CallbackState, stream: TcpStream) -> std::io::Result<()> {
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    let mut session = Session::default();
    writer.write_all(GREETING).await?;
    loop {
        let answer = match timeout(COMMAND_MAX, wire::line(&mut reader)).await {
            Ok(line) => match line? {
                Line::Whole(line) => session.command(&line),
                Line::TooLong => Next::Say("500 5.5.6 line too long".to_owned()),
                Line::End => return Ok(()),
            },
            Err(_) => Next::Close("421 4.4.2 waited long enough"),
        };
        match answer {
            Next::Say(text) => writer.write_all(format!("{text}\r\n").as_bytes()).await?,
            Next::Close(text) => {
                writer.write_all(format!("{text}\r\n").as_bytes()).await?;
                return writer.shutdown().await;
            }
            Next::Data(text) => {
                writer.write_all(format!("{text}\r\n").as_bytes()).await?;
                let Ok(mail) = timeout(MAIL_MAX, wire::mail(&mut reader)).await else {
                    return Ok(());
                };
                let verdict = match mail? {
                    Mail::Whole(bytes) => judge(app, bytes, session.recipients().to_vec()).await,
                    Mail::TooLarge => Verdict::TooLarge,
                    Mail::End => return Ok(()),
                };
                writer.write_all(session.answer(verdict).as_bytes()).await?;
            }
        }
    }
}

async fn judge(app: &CallbackState, bytes: Vec<u8>, recipients: Vec<String>) -> Verdict {
    let read = tokio::task::spawn_blocking(move || returned(&bytes, &recipients));
    let mail = match read.await {
        Ok(Ok(mail)) => mail,
        Ok(Err(_)) => return Verdict::NoMail,
        Err(error) => {
            tracing::error!(%error, "mail that came back could not be read");
            return Verdict::NoMail;
        }
    };
    match ops::take(app, "mail", "email", mail.reports).await {
        Ok(_) => Verdict::Taken,
        Err(error) => {
            tracing::warn!(%error, "mail that came back could not be acted on");
            Verdict::NotNow
        }
    }
}
