//! What a deployment must agree on: the public URL and the master key.

use std::net::IpAddr;

use config::Settings;
use engines::{DataDir, vault::Vault};
use kernel::Clock;
use providers::channel_reports;
use sqlx::PgPool;
use url::{Host, Url};
use web::db::master_key::{self, MasterKey};

use super::finding::Finding;

const PUBLIC_URL: &str = "public URL";
const MASTER_KEY: &str = "master key";

/// Whether recipients can follow the links in messages.
pub(super) fn public_url(settings: &Settings, clock: &Clock) -> Finding {
    let reports = channel_reports(settings, clock.clone()).unwrap_or_default();
    let hosts = reports.iter().flat_map(|report| &report.hosts);
    let mails_leave = hosts.map(|host| &host.name).any(|name| !is_loopback_name(name));
    let reach = match (reports.is_empty(), mails_leave) {
        (true, _) => Reach::NoChannel,
        (false, false) => Reach::ThisMachine,
        (false, true) => Reach::Recipients,
    };
    of_public_url(&settings.public_url(), reach)
}

/// How far messages go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    NoChannel,
    /// All providers are on this machine: a test.
    ThisMachine,
    Recipients,
}

fn of_public_url(url: &Url, reach: Reach) -> Finding {
    let action = "set public_url (MILLRACE_PUBLIC_URL) to the https:// address of this server on the internet";
    if reach == Reach::NoChannel {
        return Finding::ok(PUBLIC_URL, format!("{url}; no channel sends links"));
    }
    if is_loopback(url) {
        let what = format!("{url} leads recipients to their own machines");
        return match reach {
            Reach::Recipients => Finding::wrong(PUBLIC_URL, what, action),
            Reach::NoChannel | Reach::ThisMachine => Finding::warning(PUBLIC_URL, what, action),
        };
    }
    if url.scheme() != "https" {
        let what = format!("{url} is not encrypted: mail programs warn of such links");
        return Finding::warning(PUBLIC_URL, what, action);
    }
    Finding::ok(PUBLIC_URL, url.as_str())
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => is_loopback_name(name),
        Some(Host::Ipv4(ip)) => ip.is_loopback() || ip.is_unspecified(),
        Some(Host::Ipv6(ip)) => ip.is_loopback() || ip.is_unspecified(),
        None => false,
    }
}

fn is_loopback_name(name: &str) -> bool {
    let ip = name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    ip || name == "localhost" || name.ends_with(".localhost")
}

/// Whether this node's master key is that of the others.
pub(super) async fn master_key(
    settings: &Settings,
    data: Option<&DataDir>,
    pool: &PgPool,
) -> Finding {
    let vault = match Vault::existing(settings, data) {
        Ok(Some(vault)) => vault,
        Ok(None) => return Finding::ok(MASTER_KEY, "none yet; a start creates one"),
        Err(error) => {
            let action = "give the data directory to the user that runs Millrace";
            return Finding::wrong(MASTER_KEY, error.to_string(), action);
        }
    };
    match master_key::compare(pool, &vault.check_value()).await {
        Ok(found) => of_master_key(found),
        Err(error) => Finding::warning(
            MASTER_KEY,
            format!("not compared: {error}"),
            "bring PostgreSQL to the newest schema by a start or millrace migrate",
        ),
    }
}

fn of_master_key(found: MasterKey) -> Finding {
    match found {
        MasterKey::Same => Finding::ok(MASTER_KEY, "the same as on the other nodes"),
        MasterKey::Unrecorded => {
            Finding::ok(MASTER_KEY, "no node has recorded it yet; a start does")
        }
        MasterKey::Foreign => Finding::wrong(
            MASTER_KEY,
            "differs from that of the node that started first: secrets sealed there cannot be opened here",
            "set security.master_key to that node's key (secrets/master.key in its data directory). If that key \
             is lost, enter the secrets anew and delete the row of master_key_check in PostgreSQL",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::finding::Status, *};

    #[test]
    fn links_must_lead_recipients_to_this_server() {
        use Reach::{NoChannel, Recipients, ThisMachine};
        for (url, reach, status) in [
            ("https://m.example.test", Recipients, Status::Ok),
            ("http://m.example.test", Recipients, Status::Warning),
            ("http://127.0.0.1:8080", Recipients, Status::Wrong),
            ("http://0.0.0.0:8080", Recipients, Status::Wrong),
            ("https://[::1]", Recipients, Status::Wrong),
            ("https://localhost", Recipients, Status::Wrong),
            ("http://127.0.0.1:8080", ThisMachine, Status::Warning),
            ("http://127.0.0.1:8080", NoChannel, Status::Ok),
        ] {
            let found = of_public_url(&url.parse().unwrap(), reach);
            assert_eq!(found.status, status, "{url} {reach:?}");
        }
    }

    #[test]
    fn a_foreign_master_key_is_wrong() {
        assert_eq!(of_master_key(MasterKey::Same).status, Status::Ok);
        assert_eq!(of_master_key(MasterKey::Unrecorded).status, Status::Ok);
        assert_eq!(of_master_key(MasterKey::Foreign).status, Status::Wrong);
    }
}
