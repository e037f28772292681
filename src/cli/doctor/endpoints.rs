//! Services that the settings name by a URL: the collector of traces, the OpenID provider.

use config::Settings;
use providers::Host;
use url::Url;

use super::{
    connection::{Unreachable, connect, shown},
    finding::Finding,
};

/// A service of the settings, and what is lost without it.
#[derive(Debug, Clone, Copy)]
struct Service {
    check: &'static str,
    lost: &'static str,
    remedy: &'static str,
}

const TRACES: Service = Service {
    check: "traces",
    lost: "spans are lost",
    remedy: "start the collector, or correct telemetry.otlp_endpoint",
};
const OPENID: Service = Service {
    check: "openid",
    lost: "members cannot sign in by it",
    remedy: "start the provider, or correct openid.issuer",
};

/// Whether the collector of traces takes connections. Nothing is sent.
pub(super) async fn collector(settings: &Settings) -> Finding {
    match &settings.telemetry.otlp_endpoint {
        None => Finding::ok(TRACES.check, "no collector is set"),
        Some(endpoint) => examine(TRACES, endpoint).await,
    }
}

/// Whether the OpenID provider takes connections. Nothing is sent.
pub(super) async fn openid(settings: &Settings) -> Finding {
    match settings.openid.issuer.as_deref().map(Url::parse) {
        Some(Ok(issuer)) => examine(OPENID, &issuer).await,
        _ => Finding::ok(OPENID.check, "no provider is set"),
    }
}

async fn examine(service: Service, endpoint: &Url) -> Finding {
    let name = endpoint.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    let host = Host { name, port: endpoint.port_or_known_default().unwrap_or_default() };
    let reason = match connect(&host).await {
        Ok(()) => {
            return Finding::ok(service.check, format!("{} accepts connections", shown(&host)));
        }
        Err(Unreachable::Unresolved(reason)) => format!("has no address: {reason}"),
        Err(Unreachable::Unconnected(reason)) => format!("cannot be connected to: {reason}"),
    };
    let what = format!("{} {reason}: {}", shown(&host), service.lost);
    Finding::warning(service.check, what, service.remedy)
}

#[cfg(test)]
mod tests {
    use super::{super::finding::Status, *};

    #[tokio::test]
    async fn a_service_that_is_away_is_a_warning() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url: Url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
        assert_eq!(examine(TRACES, &url).await.status, Status::Ok);
        drop(listener);
        for service in [TRACES, OPENID] {
            let found = examine(service, &url).await;
            assert_eq!(found.status, Status::Warning, "{found:?}");
            assert!(found.what.contains("connected") && found.what.contains(service.lost));
        }
        let found = examine(OPENID, &"http://no-such-host.invalid".parse().unwrap()).await;
        assert!(found.status == Status::Warning && found.what.contains("no address"), "{found:?}");
    }
}
