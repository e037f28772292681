//! Asks DNS for texts, and tells a name without any from an answer that did not come.

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

/// Time for one try.
const TRY_MAX: Duration = Duration::from_secs(2);
/// Tries of one question.
const TRIES: usize = 2;
/// Time for one question, tries, several resolvers and a repeat by TCP included.
const ANSWER_MAX: Duration = Duration::from_secs(6);
/// Questions that are asked at the same time.
const QUESTIONS_MAX: usize = 128;
/// Texts of one name that are read.
const TEXTS_MAX: usize = 100;
/// Bytes of one text that are read.
const TEXT_BYTES_MAX: usize = 4 << 10;

/// The texts at a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Texts {
    /// These; none where DNS says that there are none.
    Are(Vec<String>),
    /// DNS did not say, and why.
    NoAnswer(String),
}

#[derive(Debug)]
pub struct Dns {
    resolver: Result<TokioResolver, String>,
    questions: Semaphore,
}

impl Dns {
    /// The resolver at an address, or those that the system names.
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
            // Who has just set a record wants to see it.
            options.cache_size = 0;
            options.use_hosts_file = ResolveHosts::Never;
            builder.build()
        });
        let resolver = resolver.map_err(|fault| format!("no resolver is set up: {fault}"));
        Self { resolver, questions: Semaphore::new(QUESTIONS_MAX) }
    }

    /// The TXT records at a name, each as one text.
    pub async fn texts(&self, name: &str) -> Texts {
        let asked = timeout(ANSWER_MAX, async {
            let _permit = self.questions.acquire().await;
            let resolver = self.resolver.as_ref().map_err(Clone::clone)?;
            // The dot keeps the system's search list out of it.
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
