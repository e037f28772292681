//! The server that runs on the data directory, and the engines that a start would use.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use config::Settings;
use engines::{Installation, installations};
use http::Request;
use providers::client::{Client, ClientOptions, roots};
use serde::Deserialize;

use super::finding::Finding;

const SERVER: &str = "server";
const ENGINES: &str = "engines";
const ANSWER_MAX: Duration = Duration::from_secs(5);

/// The body of `/readyz` that is not ready.
#[derive(Debug, Deserialize)]
struct NotReady {
    message: String,
}

/// Whether a server runs, and whether it is ready.
pub(super) async fn server(settings: &Settings, pid: Option<u32>) -> Finding {
    let Some(pid) = pid else {
        return Finding::ok(SERVER, "none runs on this data directory");
    };
    let url = format!("http://{}/readyz", reachable(settings.admin_listen));
    let what = format!("pid {pid}");
    match ready(&url).await {
        Ok(None) => Finding::ok(SERVER, format!("{what} is ready")),
        Ok(Some(reason)) => Finding::wrong(
            SERVER,
            format!("{what} is not ready: {reason}"),
            "see the other findings, and its log",
        ),
        Err(error) => Finding::warning(
            SERVER,
            format!("{what} does not answer at {url}: {error:#}"),
            "run this command with the settings of the server",
        ),
    }
}

/// Why a server is not ready; none if it is.
async fn ready(url: &str) -> anyhow::Result<Option<String>> {
    let client = Client::new(&ClientOptions { roots: Arc::new(roots(None)?), http2_only: false });
    let request = Request::get(url).body(Bytes::new())?;
    let answer = client.call(request, ANSWER_MAX).await;
    let answer = answer.map_err(|fault| anyhow::anyhow!(fault.reason))?;
    if answer.status.is_success() {
        return Ok(None);
    }
    let body = answer.json::<NotReady>().map(|body| body.message);
    Ok(Some(body.unwrap_or_else(|| answer.status.to_string())))
}

/// An address that connections to this machine can use.
fn reachable(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}

/// Whether a start finds the embedded engines, or has to install them.
pub(super) fn engines(settings: &Settings) -> Vec<Finding> {
    let can_install = is_on_path("npm");
    installations(settings).iter().map(|found| installation(found, can_install)).collect()
}

fn installation(installation: &Installation, can_install: bool) -> Finding {
    let Installation { engine, found } = installation;
    match found {
        Some(found) => Finding::ok(ENGINES, format!("{engine} {found}")),
        None if can_install => Finding::warning(
            ENGINES,
            format!("{engine} is not installed; the first start downloads it by npm"),
            "start once while the machine reaches an npm registry",
        ),
        None => {
            let url = if *engine == "ClickHouse" { "CLICKHOUSE_URL" } else { "DATABASE_URL" };
            Finding::wrong(
                ENGINES,
                format!("{engine} is not installed, and there is no npm to install it"),
                format!("install Node.js with npm, or set {url} to a running {engine}"),
            )
        }
    }
}

fn is_on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::{super::finding::Status, *};

    #[test]
    fn an_engine_that_cannot_be_had_is_wrong() {
        let of = |found: Option<&str>, npm| {
            let found = found.map(str::to_owned);
            installation(&Installation { engine: "ClickHouse", found }, npm)
        };
        assert_eq!(of(Some("/cache/libchdb.so"), false).status, Status::Ok);
        assert_eq!(of(None, true).status, Status::Warning);
        let lacking = of(None, false);
        assert_eq!(lacking.status, Status::Wrong);
        assert!(lacking.action.unwrap().contains("CLICKHOUSE_URL"));
    }
}
