//! Stand-ins for those who carry messages: they take whatever comes and write down what it was, on a thread
//! of their own.

mod gateway;
mod mail;

#[cfg(test)]
mod tests;

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use anyhow::{Context, Result};
use tokio::net::TcpListener;

/// What a sink understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// SMTP, as far as sending goes (RFC 5321), with pipelining.
    Smtp,
    /// The generic gateway: JSON by POST, named by `Idempotency-Key`.
    Http,
}

/// A sink that is running.
#[derive(Clone, Debug)]
pub struct Sink {
    log: Arc<Log>,
    address: SocketAddr,
}

#[derive(Debug, Default)]
pub struct Log(Mutex<Taken>);

/// What came in so far.
#[derive(Clone, Debug, Default)]
pub struct Taken {
    /// How often each message came, by its id.
    pub times: HashMap<String, u32>,
    /// When the first came.
    pub first: Option<Instant>,
    /// When the last came.
    pub last: Option<Instant>,
    /// Bytes of all of them.
    pub bytes: u64,
}

impl Taken {
    /// Messages received; repeats of an id count once.
    pub fn messages(&self) -> u64 {
        self.times.len() as u64
    }

    /// Messages that came more than once.
    pub fn doubled(&self) -> u64 {
        self.times.values().filter(|times| **times > 1).count() as u64
    }
}

impl Log {
    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, id: String, bytes: usize) {
        let now = Instant::now();
        let mut taken = self.lock();
        *taken.times.entry(id).or_default() += 1;
        taken.first.get_or_insert(now);
        taken.last = Some(now);
        taken.bytes += bytes as u64;
    }
}

impl Sink {
    /// Listens until the process ends.
    ///
    /// # Errors
    /// An address that cannot be listened on.
    pub fn listen(protocol: Protocol, address: SocketAddr) -> Result<Self> {
        let listener = std::net::TcpListener::bind(address)
            .with_context(|| format!("cannot listen on {address}"))?;
        listener.set_nonblocking(true)?;
        let sink = Self { log: Arc::default(), address: listener.local_addr()? };
        let log = Arc::clone(&sink.log);
        std::thread::Builder::new().name("sink".to_owned()).spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async { serve(protocol, TcpListener::from_std(listener)?, log).await })
        })?;
        Ok(sink)
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Messages so far, each once.
    pub fn count(&self) -> u64 {
        self.log.lock().messages()
    }

    /// All that came in so far.
    pub fn taken(&self) -> Taken {
        self.log.lock().clone()
    }
}

async fn serve(protocol: Protocol, listener: TcpListener, log: Arc<Log>) -> std::io::Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let log = Arc::clone(&log);
        // A peer that breaks off costs nothing but its connection.
        tokio::spawn(async move {
            match protocol {
                Protocol::Smtp => drop(mail::talk(stream, &log).await),
                Protocol::Http => gateway::answer(stream, log).await,
            }
        });
    }
}
