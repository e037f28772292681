//! Channels and their hosts. No message is sent, and no credential leaves.

use config::Settings;
use futures_util::future::join_all;
use kernel::Clock;
use providers::{ChannelReport, Host, channel_reports};

use super::{
    connection::{Unreachable, connect, shown},
    finding::Finding,
};

const CHANNELS: &str = "channels";

/// A finding for each channel with a provider.
pub(super) async fn check(settings: &Settings, clock: &Clock) -> Vec<Finding> {
    let reports = match channel_reports(settings, clock.clone()) {
        Ok(reports) => reports,
        Err(error) => {
            let action = "set security.ca_file to a file with certificates in PEM";
            return vec![Finding::wrong(CHANNELS, format!("{error:#}"), action)];
        }
    };
    if reports.is_empty() {
        return vec![Finding::ok(CHANNELS, "none has a provider: nothing is sent by them")];
    }
    join_all(reports.iter().map(examine)).await
}

async fn examine(report: &ChannelReport) -> Finding {
    let channel = report.channel;
    if let Some(fault) = &report.fault {
        let action = format!("correct the settings of channels.{channel}");
        return Finding::wrong(CHANNELS, format!("{channel}: {fault}"), action);
    }
    let tries = report.hosts.iter().map(|host| async move { (host, connect(host).await) });
    let results = join_all(tries).await;
    let failed = results.iter().find_map(|(host, result)| Some((host, result.as_ref().err()?)));
    if let Some((host, fault)) = failed {
        return unreachable(channel.as_str(), host, fault);
    }
    let hosts: Vec<String> = report.hosts.iter().map(shown).collect();
    let reached = match hosts.as_slice() {
        [] => "hosts not checked: each subscription names its own".to_owned(),
        hosts => format!("{} accepts connections", hosts.join(", ")),
    };
    Finding::ok(
        CHANNELS,
        format!("{channel}: settings are valid; {reached}; credentials not checked"),
    )
}

fn unreachable(channel: &str, host: &Host, fault: &Unreachable) -> Finding {
    let host = shown(host);
    match fault {
        Unreachable::Unresolved(reason) => Finding::wrong(
            CHANNELS,
            format!("{channel}: {host} has no address: {reason}"),
            format!("correct the url of channels.{channel}, or the resolver of this machine"),
        ),
        Unreachable::Unconnected(reason) => Finding::wrong(
            CHANNELS,
            format!("{channel}: {host} cannot be connected to: {reason}"),
            "start the service, or let this machine's connections to it through",
        ),
    }
}

#[cfg(test)]
mod tests {
    use kernel::Channel;

    use super::{super::finding::Status, *};

    fn host(name: &str, port: u16) -> Host {
        Host { name: name.to_owned(), port }
    }

    async fn status(hosts: Vec<Host>, fault: Option<&str>) -> Finding {
        let report =
            ChannelReport { channel: Channel::Sms, fault: fault.map(str::to_owned), hosts };
        examine(&report).await
    }

    #[tokio::test]
    async fn hosts_are_connected_to_and_nothing_is_sent() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let found = status(vec![host("127.0.0.1", port)], None).await;
        assert_eq!(found.status, Status::Ok, "{found:?}");
        assert!(found.what.contains("credentials not checked"), "{found:?}");
        let (mut met, _) = listener.accept().await.unwrap();
        let mut read = Vec::new();
        tokio::io::AsyncReadExt::read_to_end(&mut met, &mut read).await.unwrap();
        assert_eq!(read, b"");
        drop(listener);
        let found = status(vec![host("127.0.0.1", port)], None).await;
        assert!(found.status == Status::Wrong && found.what.contains("connected"), "{found:?}");
    }

    #[tokio::test]
    async fn names_without_an_address_and_faults_of_settings_are_wrong() {
        let found = status(vec![host("no-such-host.invalid", 80)], None).await;
        assert!(found.status == Status::Wrong && found.what.contains("no address"), "{found:?}");
        let found = status(Vec::new(), Some("cannot read `key_file` x")).await;
        assert!(found.status == Status::Wrong && found.what.contains("key_file"), "{found:?}");
        let found = status(Vec::new(), None).await;
        assert!(
            found.status == Status::Ok && found.what.contains("hosts not checked"),
            "{found:?}"
        );
    }
}
