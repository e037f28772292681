//! The body of a request, piece by piece: uncompressed when the client said it is compressed, with a limit on silence.

use std::{future::poll_fn, pin::Pin, time::Duration};

use bytes::{Bytes, BytesMut};
use http_body::Body as _;
use hyper::body::Incoming;

use crate::{
    compression,
    fault::{Fault, code},
};

/// A body may fall silent this long (ClickHouse's `http_receive_timeout` is 30 s).
const SILENCE_MAX: Duration = Duration::from_mins(1);
/// Blocks larger than this are uncompressed away from the runtime's threads, in bytes.
const INLINE_BLOCK_BYTES: usize = 256 * 1024;
/// After a refusal this much of the body is read away, in bytes, so that the client gets to read the answer.
const DRAIN_BYTES_MAX: usize = 64 * 1024 * 1024;
/// And for at most this long.
const DRAIN_TIME_MAX: Duration = Duration::from_secs(10);

/// A body being read.
pub(crate) struct Upload {
    /// None when all of it was read elsewhere.
    body: Option<Incoming>,
    /// Bytes put back, or read too far.
    ahead: Bytes,
    /// Compressed bytes not yet a whole block; none when the body is plain.
    compressed: Option<BytesMut>,
}

impl Upload {
    pub(crate) fn new(body: Incoming, decompress: bool) -> Self {
        Self { body: Some(body), ahead: Bytes::new(), compressed: decompress.then(BytesMut::new) }
    }

    /// A body that was read elsewhere: what is put back is all there is.
    pub(crate) fn empty() -> Self {
        Self { body: None, ahead: Bytes::new(), compressed: None }
    }

    /// The next piece; none at the end of a body that came whole.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, Fault> {
        if !self.ahead.is_empty() {
            return Ok(Some(std::mem::take(&mut self.ahead)));
        }
        loop {
            if let Some(compressed) = &mut self.compressed
                && let Some(block) = compression::take_block(compressed)?
            {
                let plain = if block.plain_bytes() > INLINE_BLOCK_BYTES {
                    tokio::task::spawn_blocking(move || block.open()).await.map_err(|_| {
                        Fault::new(
                            code::UNKNOWN_EXCEPTION,
                            "UNKNOWN_EXCEPTION",
                            "A block could not be opened",
                        )
                    })??
                } else {
                    block.open()?
                };
                if plain.is_empty() {
                    continue;
                }
                return Ok(Some(plain));
            }
            match (self.frame().await?, &mut self.compressed) {
                (Some(data), Some(compressed)) => compressed.extend_from_slice(&data),
                (Some(data), None) => return Ok(Some(data)),
                (None, Some(compressed)) if !compressed.is_empty() => {
                    return Err(Fault::new(
                        code::CANNOT_DECOMPRESS,
                        "CANNOT_DECOMPRESS",
                        "Cannot decompress the request: the last block is cut off",
                    ));
                }
                (None, _) => return Ok(None),
            }
        }
    }

    /// Reads until the end or until more than `limit` bytes are there. False when more may follow.
    pub(crate) async fn gather(&mut self, limit: usize) -> Result<(Bytes, bool), Fault> {
        let mut gathered = BytesMut::new();
        while gathered.len() <= limit {
            match self.next().await? {
                Some(piece) => gathered.extend_from_slice(&piece),
                None => return Ok((gathered.freeze(), true)),
            }
        }
        Ok((gathered.freeze(), false))
    }

    /// Puts bytes back, to be read next.
    pub(crate) fn put_back(&mut self, bytes: Bytes) {
        debug_assert!(self.ahead.is_empty(), "bytes are put back once");
        self.ahead = bytes;
    }

    /// Reads a refused body away, within limits.
    pub(crate) async fn drain(mut self) {
        let away = async {
            let mut drained = 0;
            while let Ok(Some(data)) = self.frame().await {
                drained += data.len();
                if drained > DRAIN_BYTES_MAX {
                    return;
                }
            }
        };
        // When the time is over, the connection is closed behind the answer.
        let _ = tokio::time::timeout(DRAIN_TIME_MAX, away).await;
    }

    async fn frame(&mut self) -> Result<Option<Bytes>, Fault> {
        loop {
            let Some(body) = &mut self.body else {
                return Ok(None);
            };
            let frame = poll_fn(|context| Pin::new(&mut *body).poll_frame(context));
            match tokio::time::timeout(SILENCE_MAX, frame).await {
                Err(_) => {
                    return Err(Fault::new(
                        code::SOCKET_TIMEOUT,
                        "SOCKET_TIMEOUT",
                        format_args!(
                            "Timeout exceeded: the request's body was silent for {} s",
                            SILENCE_MAX.as_secs()
                        ),
                    ));
                }
                Ok(None) => return Ok(None),
                Ok(Some(Err(error))) => {
                    return Err(Fault::new(
                        code::NETWORK_ERROR,
                        "NETWORK_ERROR",
                        format_args!("The request's body broke off: {error}"),
                    ));
                }
                Ok(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) if data.is_empty() => {}
                    Ok(data) => return Ok(Some(data)),
                    Err(_trailers) => {}
                },
            }
        }
    }
}
