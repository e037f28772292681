//! A connection that counts what it has written: only so can a failure's text be known to have left before the end.

use std::{
    io::{IoSlice, Result},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

/// How often the count is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A stream and the count of the bytes it has handed to the system.
#[derive(Debug)]
pub(crate) struct Wire {
    stream: TcpStream,
    written: Written,
}

/// The count, shared with the task that answers on the connection.
#[derive(Debug, Clone, Default)]
pub(crate) struct Written(Arc<AtomicU64>);

impl Wire {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self { stream, written: Written::default() }
    }

    pub(crate) fn written(&self) -> Written {
        self.written.clone()
    }

    fn count(&self, wrote: Poll<Result<usize>>) -> Poll<Result<usize>> {
        if let Poll::Ready(Ok(bytes)) = &wrote {
            self.written.0.fetch_add(*bytes as u64, Ordering::Release);
        }
        wrote
    }
}

impl Written {
    /// Bytes written so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    /// Waits until `bytes` are written and nothing more follows, as long as the client takes some within `patience`.
    pub(crate) async fn reach(&self, bytes: u64, patience: Duration) {
        let (mut before, mut silent) = (self.bytes(), Duration::ZERO);
        while silent < patience {
            tokio::time::sleep(LOOK_EVERY).await;
            let now = self.bytes();
            if now != before {
                (before, silent) = (now, Duration::ZERO);
            } else if now >= bytes {
                return;
            } else {
                silent += LOOK_EVERY;
            }
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize>> {
        let wire = self.get_mut();
        let wrote = Pin::new(&mut wire.stream).poll_write(context, bytes);
        wire.count(wrote)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let wire = self.get_mut();
        let wrote = Pin::new(&mut wire.stream).poll_write_vectored(context, slices);
        wire.count(wrote)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}
