//! An insert: the rows go from the client's body to the engine piece by piece.
//!
//! What holds when a client goes in the middle of its body: the insert is cancelled, and rows the engine has not yet
//! made a part of are gone. The engine makes parts of about a million rows (`min_insert_block_size_rows`) per
//! partition; parts already made stay, as in ClickHouse. A body that came whole is always finished.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};

use crate::{
    body::Upload,
    engine::Engine,
    fault::{Fault, code},
    ffi::{Connection, Figures},
    session::Session,
};

/// The format of rows when a statement names none, as in ClickHouse.
pub(crate) const FORMAT_DEFAULT: &str = "Values";
/// Pieces of a body waiting for the engine.
const PIECES_WAITING: usize = 4;

/// An insert, ready to run.
pub(crate) struct Insert {
    pub(crate) session: Session,
    /// The statement without its `FORMAT`.
    pub(crate) statement: Bytes,
    pub(crate) format: String,
}

enum Piece {
    Rows(Bytes),
    End,
}

impl Insert {
    /// Runs the insert with the rows of `upload`, and answers when they are in the table.
    pub(crate) async fn run(
        mut self,
        engine: &Arc<Engine>,
        id: &str,
        mut upload: Upload,
    ) -> Result<Figures, Fault> {
        let mark = self.session.mark(id);
        let (ticket, _waiting) = engine.admit(id.to_owned(), mark)?;
        let (send, pieces) = mpsc::channel(PIECES_WAITING);
        let (reply, outcome) = oneshot::channel();
        engine.run(&ticket, move |connection| {
            let outcome = connection.and_then(|mut connection| self.feed(&mut connection, pieces));
            // Fails only when the client has gone.
            let _ = reply.send(outcome);
        })?;
        let upload_result = send_rows(&mut upload, send).await;
        let outcome = outcome.await.unwrap_or_else(|_| {
            Err(Fault::new(
                code::UNKNOWN_EXCEPTION,
                "UNKNOWN_EXCEPTION",
                "The insert's thread panicked",
            ))
        });
        if outcome.is_err() {
            upload.drain().await;
        }
        // A body that broke off is the reason for what the engine says then.
        upload_result.and(outcome)
    }

    fn feed(
        self,
        connection: &mut Connection,
        mut pieces: mpsc::Receiver<Piece>,
    ) -> Result<Figures, Fault> {
        self.session.apply(connection)?;
        let mut insert = connection.insert(&self.statement, &self.format, &self.session.params)?;
        loop {
            match pieces.blocking_recv() {
                Some(Piece::Rows(rows)) => {
                    if !insert.append(&rows) {
                        // It has failed; the end says why.
                        return insert.finish();
                    }
                }
                Some(Piece::End) => return insert.finish(),
                None => {
                    insert.cancel();
                    return Err(Fault::new(
                        code::NETWORK_ERROR,
                        "NETWORK_ERROR",
                        "The insert was cancelled: its body broke off",
                    ));
                }
            }
        }
    }
}

/// Sends the body to the engine. Well when it came whole, or when the engine wants no more of it.
async fn send_rows(upload: &mut Upload, send: mpsc::Sender<Piece>) -> Result<(), Fault> {
    while let Some(rows) = upload.next().await? {
        if send.send(Piece::Rows(rows)).await.is_err() {
            return Ok(());
        }
    }
    // A closed channel means the engine has already answered.
    let _ = send.send(Piece::End).await;
    Ok(())
}
