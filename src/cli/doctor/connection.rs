//! Connections to other machines, to see whether they can be made.

use std::{net::SocketAddr, time::Duration};

use providers::Host;
use tokio::{net::TcpStream, time::timeout};

const CONNECT_MAX: Duration = Duration::from_secs(3);

/// Why a host cannot be reached.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unreachable {
    /// Its name has no address, or DNS does not answer.
    Unresolved(String),
    Unconnected(String),
}

pub(super) fn shown(host: &Host) -> String {
    format!("{}:{}", host.name, host.port)
}

/// Connects and closes at once.
pub(super) async fn connect(host: &Host) -> Result<(), Unreachable> {
    let addresses = timeout(CONNECT_MAX, tokio::net::lookup_host((host.name.as_str(), host.port)));
    let addresses: Vec<SocketAddr> = match addresses.await {
        Ok(Ok(found)) => found.collect(),
        Ok(Err(error)) => return Err(Unreachable::Unresolved(error.to_string())),
        Err(_) => return Err(Unreachable::Unresolved("no answer within 3 s".to_owned())),
    };
    match timeout(CONNECT_MAX, TcpStream::connect(addresses.as_slice())).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(Unreachable::Unconnected(error.to_string())),
        Err(_) => Err(Unreachable::Unconnected("no answer within 3 s".to_owned())),
    }
}
