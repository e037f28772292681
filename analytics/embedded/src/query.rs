//! A statement that answers: run so that the engine writes its answer into a pipe, from which the client is served.
//!
//! The library's own streaming hands out every block as a document of its own: its JSON has as many heads as blocks, and
//! `RowBinaryWithNamesAndTypes` repeats the names. So the statement writes `INTO OUTFILE` a pipe instead. The engine
//! formats once, for every format it has; a full pipe holds it back; a closed pipe stops it.

use std::{
    io::PipeWriter,
    os::fd::{AsRawFd as _, OwnedFd},
    sync::Arc,
};

use bytes::Bytes;
use tokio::{net::unix::pipe, sync::oneshot};

use crate::{
    confirmed_reads::{ConfirmedReads, Read},
    engine::{Engine, Ticket, Waiting},
    fault::{Fault, code},
    ffi::{Class, Connection, Figures},
    request::not_implemented,
    session::Session,
    statement::Other,
};

/// Formats of answers when a client names none, as in ClickHouse.
pub(crate) const FORMAT_DEFAULT: &str = "TabSeparated";
/// Bytes a pipe holds between the engine and the client.
#[cfg(target_os = "linux")]
const PIPE_BYTES: i32 = 1024 * 1024;
/// The largest answer that is not streamed, in bytes: of the few statements that cannot write to a pipe.
const UNSTREAMED_BYTES_MAX: &str = "67108864";

/// A statement, ready to run.
pub(crate) struct Query {
    pub(crate) session: Session,
    pub(crate) text: Bytes,
    pub(crate) cut: Other,
    pub(crate) format: String,
    pub(crate) read_only: bool,
}

/// What is left to say when the pipe has run dry.
pub(crate) type Outcome = Result<Done, Fault>;

/// A statement that has ended well.
#[derive(Debug, Default)]
pub(crate) struct Done {
    pub(crate) figures: Figures,
    /// What it answered besides the pipe.
    pub(crate) bytes: Vec<u8>,
}

/// A statement under way.
pub(crate) struct Running {
    pub(crate) answer: pipe::Receiver,
    pub(crate) outcome: oneshot::Receiver<Outcome>,
    pub(crate) waiting: Waiting,
}

impl Query {
    /// Hands the statement to the engine.
    pub(crate) fn start(mut self, engine: &Arc<Engine>, id: &str) -> Result<Running, Fault> {
        if self.cut.into_outfile {
            return Err(not_implemented(format_args!(
                "INTO OUTFILE: it would be written on the engine's machine"
            )));
        }
        let mark = self.session.mark(id);
        let (answer, writer) = open_pipe()?;
        let (ticket, waiting) = engine.admit(id.to_owned(), mark)?;
        let (reply, outcome) = oneshot::channel();
        let (job_ticket, reads) = (Arc::clone(&ticket), engine.confirmed_reads.clone());
        engine.run(&ticket, move |connection| {
            let outcome = connection
                .and_then(|mut connection| self.run(&mut connection, &writer, &job_ticket, &reads));
            // The connection is closed by now, so nothing but this holds the pipe open.
            drop(writer);
            // Fails only when the client has gone.
            let _ = reply.send(outcome);
        })?;
        Ok(Running { answer, outcome, waiting })
    }

    fn run(
        self,
        connection: &mut Connection,
        pipe: &PipeWriter,
        ticket: &Ticket,
        reads: &ConfirmedReads,
    ) -> Outcome {
        self.session.apply(connection)?;
        let params = &self.session.params;
        let streamed = self.cut.writing_to(&self.text, &path_of(pipe), &self.format);
        let read = Read::new(&self.text, &self.format, &self.session);
        if reads.contains(&read) {
            ticket.mark_reading();
            return done(connection.query(&streamed, &self.format, params));
        }
        match connection.classify(&self.text) {
            Class::Read => ticket.mark_reading(),
            Class::Write if self.read_only => return Err(read_only()),
            Class::Write => return done(connection.query(&self.text, &self.format, params)),
            Class::Several => {
                return Err(Fault::new(
                    code::SYNTAX_ERROR,
                    "SYNTAX_ERROR",
                    "Syntax error (Multi-statements are not allowed)",
                ));
            }
            Class::Unparsed => return Err(connection.refusal(&self.text, params)),
        }
        // The engine's parser confirms the cut before anything runs.
        if matches!(connection.classify(&streamed), Class::Read | Class::Write) {
            reads.insert(read);
            return done(connection.query(&streamed, &self.format, params));
        }
        let limit = format!(
            "SET max_result_bytes = {UNSTREAMED_BYTES_MAX}, result_overflow_mode = 'throw'"
        );
        connection.query(limit.as_bytes(), "Null", &[])?;
        done(connection.query(&self.text, &self.format, params))
    }
}

/// The path of an open pipe.
fn path_of(pipe: &PipeWriter) -> String {
    let folder = if cfg!(target_os = "linux") { "/proc/self/fd" } else { "/dev/fd" };
    format!("{folder}/{}", pipe.as_raw_fd())
}

fn done(answer: Result<(Vec<u8>, Figures), Fault>) -> Outcome {
    answer.map(|(bytes, figures)| Done { figures, bytes })
}

/// The refusal of anything that changes something under GET.
pub(crate) fn read_only() -> Fault {
    Fault::new(
        code::READONLY,
        "READONLY",
        "Cannot execute query in readonly mode. For queries over HTTP, method GET implies readonly. \
         You should use method POST for modifying queries",
    )
}

fn open_pipe() -> Result<(pipe::Receiver, PipeWriter), Fault> {
    let open = || {
        let (reader, writer) = std::io::pipe()?;
        #[cfg(target_os = "linux")]
        if let Err(error) =
            nix::fcntl::fcntl(&writer, nix::fcntl::FcntlArg::F_SETPIPE_SZ(PIPE_BYTES))
        {
            // A user may hold only so much in pipes; the usual 64 KiB serve as well, slower.
            tracing::debug!(%error, "the pipe stays at its usual size");
        }
        Ok((pipe::Receiver::from_owned_fd(OwnedFd::from(reader))?, writer))
    };
    open().map_err(|error: std::io::Error| {
        Fault::new(
            code::UNKNOWN_EXCEPTION,
            "UNKNOWN_EXCEPTION",
            format_args!("No pipe for the answer: {error}"),
        )
    })
}
