//! The listeners' addresses: free, or held by the server of this data directory.

use std::{
    fs,
    io::ErrorKind,
    net::{SocketAddr, TcpListener},
};

use config::{Role, Settings, SqlListen};

use super::finding::Finding;

const PORTS: &str = "ports";
/// The state of a listening socket in `/proc/net/tcp`.
const LISTENING: &str = "0A";

/// An address that the settings name.
#[derive(Debug, Clone, Copy)]
struct Listener {
    key: &'static str,
    address: SocketAddr,
}

/// Whether an address can be listened on.
#[derive(Debug, PartialEq, Eq)]
enum Bindable {
    Yes,
    InUse,
    No(String),
}

/// A finding for each listener of these settings.
pub(super) fn check(settings: &Settings, server_pid: Option<u32>) -> Vec<Finding> {
    let sql = match settings.sql_listen {
        SqlListen::At(address) if settings.has_role(Role::Api) => Some(address),
        SqlListen::At(_) | SqlListen::Off => None,
    };
    let listeners = [
        ("listen", Some(settings.listen)),
        ("admin_listen", Some(settings.admin_listen)),
        ("sql_listen", sql),
        ("inbound.listen", settings.inbound.listen),
    ];
    listeners
        .into_iter()
        .filter_map(|(key, address)| Some(Listener { key, address: address? }))
        .map(|listener| examine(listener, server_pid))
        .collect()
}

fn examine(listener: Listener, server_pid: Option<u32>) -> Finding {
    let Listener { key, address } = listener;
    if address.port() == 0 {
        return Finding::ok(PORTS, format!("{key} takes any free port of {}", address.ip()));
    }
    match (bindable(address), server_pid) {
        (Bindable::Yes, None) => Finding::ok(PORTS, format!("{key} {address} is free")),
        (Bindable::Yes, Some(pid)) => Finding::warning(
            PORTS,
            format!(
                "the server of this data directory (pid {pid}) does not listen on {key} {address}"
            ),
            "run this command with the settings of the server",
        ),
        (Bindable::InUse, pid) => in_use(listener, pid, holder(address.port())),
        (Bindable::No(reason), _) => Finding::wrong(
            PORTS,
            format!("{key} {address} cannot be listened on: {reason}"),
            format!("set {key} to an address of this machine and a port that the user may open"),
        ),
    }
}

fn in_use(listener: Listener, server_pid: Option<u32>, holder: Option<u32>) -> Finding {
    let Listener { key, address } = listener;
    match (server_pid, holder) {
        (Some(server), Some(holder)) if server == holder => Finding::ok(
            PORTS,
            format!("{key} {address} is held by the server of this data directory (pid {server})"),
        ),
        (Some(server), None) => Finding::ok(
            PORTS,
            format!("{key} {address} is in use, probably by the running server (pid {server})"),
        ),
        (_, holder) => {
            let by = holder.map_or("another program".to_owned(), |pid| format!("pid {pid}"));
            Finding::wrong(
                PORTS,
                format!("{key} {address} is in use by {by}"),
                format!("stop what uses the port, or set {key} to another one"),
            )
        }
    }
}

/// Binds for a moment; nothing is accepted.
fn bindable(address: SocketAddr) -> Bindable {
    match TcpListener::bind(address) {
        Ok(_) => Bindable::Yes,
        Err(error) if error.kind() == ErrorKind::AddrInUse => Bindable::InUse,
        Err(error) => Bindable::No(error.to_string()),
    }
}

/// The process that listens on a port. Only root sees those of other users.
fn holder(port: u16) -> Option<u32> {
    let sockets: Vec<String> = ["/proc/net/tcp", "/proc/net/tcp6"]
        .into_iter()
        .filter_map(|path| fs::read_to_string(path).ok())
        .flat_map(|table| listening(&table, port))
        .map(|inode| format!("socket:[{inode}]"))
        .collect();
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let mut pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.find(|pid| {
        let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        files
            .filter_map(|file| fs::read_link(file.path()).ok())
            .any(|target| sockets.iter().any(|socket| target.as_os_str() == socket.as_str()))
    })
}

/// Inodes of the sockets that listen on a port, of a table as `/proc/net/tcp`.
fn listening(table: &str, port: u16) -> Vec<String> {
    let inode = |line: &str| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let (_, found) = columns.get(1)?.rsplit_once(':')?;
        let is_wanted =
            u16::from_str_radix(found, 16) == Ok(port) && columns.get(3) == Some(&LISTENING);
        is_wanted.then(|| columns.get(9).map(|inode| (*inode).to_owned())).flatten()
    };
    table.lines().skip(1).filter_map(inode).collect()
}

#[cfg(test)]
mod tests {
    use super::{super::finding::Status, *};

    #[test]
    fn a_port_is_free_or_in_use_by_a_process() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap();
        let listener = Listener { key: "listen", address };
        let ours = std::process::id();
        assert_eq!(holder(address.port()), Some(ours));
        assert_eq!(examine(listener, Some(ours)).status, Status::Ok);
        let found = examine(listener, None);
        assert_eq!(found.status, Status::Wrong);
        assert!(found.what.contains(&format!("pid {ours}")), "{found:?}");
        assert_eq!(in_use(listener, Some(1), Some(2)).status, Status::Wrong);
        assert_eq!(in_use(listener, Some(1), None).status, Status::Ok, "of another user");
        drop(taken);
        assert_eq!(examine(listener, None).status, Status::Ok);
        assert_eq!(examine(listener, Some(1)).status, Status::Warning, "the server is elsewhere");
    }

    #[test]
    fn an_address_of_another_machine_cannot_be_listened_on() {
        let address = "192.0.2.1:8080".parse().unwrap();
        assert_eq!(examine(Listener { key: "listen", address }, None).status, Status::Wrong);
    }

    #[test]
    fn tables_of_sockets_are_parsed() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
             0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4242 1\n\
             1: 0100007F:1F90 0100007F:9999 01 00000000:00000000 00:00000000 00000000     0        0 4343 1\n";
        assert_eq!(listening(table, 8080), ["4242"]);
        assert_eq!(listening(table, 9090), [""; 0]);
    }
}
