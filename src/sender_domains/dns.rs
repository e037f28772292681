//! Looks up TXT records, and distinguishes a name without any from a lookup without an answer.

use std::{net::SocketAddr, time::Duration};

use hickory_resolver::{
    TokioResolver,
    config::{ConnectionConfig, NameServerConfig, ResolveHosts, ResolverConfig},
    net::{DnsError, NetError, runtime::TokioRuntimeProvider},
    proto::{
        op::ResponseCode,
        rr::{RData, RecordType},
    },
};
use tokio::{sync::Semaphore, time::timeout};

/// Timeout of one try.
const TRY_MAX: Duration = Duration::from_secs(2);
/// Tries of one lookup.
const TRIES: usize = 2;
/// Timeout of a lookup, including tries, several resolvers and a retry over TCP.
const ANSWER_MAX: Duration = Duration::from_secs(6);
/// Lookups at the same time.
const LOOKUPS_MAX: usize = 128;
/// TXT records of one name that are read.
const TEXTS_MAX: usize = 100;
/// Bytes of one record that are read.
const TEXT_BYTES_MAX: usize = 4 << 10;

/// The result of a lookup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Texts {
    /// The texts; empty if DNS answers that there are none.
    Are(Vec<String>),
    /// There was no answer, with the reason.
    NoAnswer(String),
}

#[derive(Debug)]
pub struct Dns {
    resolver: Result<TokioResolver, String>,
    questions: Semaphore,
}

impl Dns {
    /// The resolver at an address, or the system's resolvers.
    pub fn at(address: Option<SocketAddr>) -> Self {
        let builder = match address {
            None => TokioResolver::builder_tokio(),
            Some(address) => {
                let at_port = |mut connection: ConnectionConfig| {
                    connection.port = address.port();
                    connection
                };
                let connections =
                    [ConnectionConfig::udp(), ConnectionConfig::tcp()].map(at_port).to_vec();
                let server = NameServerConfig::new(address.ip(), true, connections);
                let config = ResolverConfig::from_name_servers(vec![server]);
                Ok(TokioResolver::builder_with_config(config, TokioRuntimeProvider::default()))
            }
        };
        let resolver = builder.and_then(|mut builder| {
            let options = builder.options_mut();
            (options.timeout, options.attempts) = (TRY_MAX, TRIES);
            // A user who has just set a record expects the next check to find it.
            options.cache_size = 0;
            options.use_hosts_file = ResolveHosts::Never;
            builder.build()
        });
        let resolver = resolver.map_err(|fault| format!("no resolver is set up: {fault}"));
        Self { resolver, questions: Semaphore::new(LOOKUPS_MAX) }
    }

    /// The TXT records at a name, each as one text.
    pub async fn texts(&self, name: &str) -> Texts {
        let asked = timeout(ANSWER_MAX, async {
            let _permit = self.questions.acquire().await;
            let resolver = self.resolver.as_ref().map_err(Clone::clone)?;
            // The trailing dot disables the system's search list.
            let answer = resolver.lookup(format!("{name}."), RecordType::TXT).await;
            match answer {
                Ok(found) => Ok(found
                    .answers()
                    .iter()
                    .filter_map(|record| text_of(&record.data))
                    .take(TEXTS_MAX)
                    .collect()),
                Err(fault) if says_none(&fault) => Ok(Vec::new()),
                Err(fault) => Err(fault.to_string()),
            }
        });
        match asked.await {
            Ok(Ok(texts)) => Texts::Are(texts),
            Ok(Err(problem)) => Texts::NoAnswer(problem),
            Err(_) => Texts::NoAnswer(format!("no answer within {} s", ANSWER_MAX.as_secs())),
        }
    }
}

fn says_none(fault: &NetError) -> bool {
    matches!(
        fault,
        NetError::Dns(DnsError::NoRecordsFound(none))
            if matches!(none.response_code, ResponseCode::NXDomain | ResponseCode::NoError)
    )
}

fn text_of(data: &RData) -> Option<String> {
    let RData::TXT(text) = data else { return None };
    let bytes = text.txt_data.concat();
    (bytes.len() <= TEXT_BYTES_MAX).then(|| String::from_utf8_lossy(&bytes).into_owned())
}
