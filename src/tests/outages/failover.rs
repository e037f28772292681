//! PostgreSQL fails over: its address leads to another server, which is promoted.

use std::{
    io::Write as _,
    os::unix::{fs::MetadataExt as _, fs::chown, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU16, Ordering},
    },
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::json;
use sqlx::{Connection as _, Executor as _, PgConnection};
use tokio::net::{TcpListener, TcpStream};

use super::{readiness, until_readiness};
use crate::kit::{Client, data_dir, eventually, run, server, settings};

/// The programs of the shared server's PostgreSQL, and whose files they work on.
struct Programs {
    folder: PathBuf,
    uid: u32,
    gid: u32,
}

impl Programs {
    fn of_shared_server() -> Self {
        let postgres = server().data_dir.join("postgres");
        let owner = std::fs::metadata(&postgres).unwrap();
        let lock = std::fs::read_to_string(postgres.join("18/postmaster.pid")).unwrap();
        let pid = lock.lines().next().unwrap();
        let program = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap();
        Self { folder: program.parent().unwrap().to_owned(), uid: owner.uid(), gid: owner.gid() }
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.folder.join(program));
        if nix::unistd::Uid::effective().is_root() {
            command.uid(self.uid).gid(self.gid);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).current_dir("/");
        command
    }

    fn give(&self, path: &Path) {
        if nix::unistd::Uid::effective().is_root() {
            chown(path, Some(self.uid), Some(self.gid)).unwrap();
        }
    }

    fn make_cluster(&self, folder: &Path) {
        std::fs::create_dir_all(folder.parent().unwrap()).unwrap();
        self.give(folder.parent().unwrap());
        let made = self
            .command("initdb")
            .arg("--pgdata")
            .arg(folder)
            .args(["--username=millrace", "--auth=trust", "--encoding=UTF8", "--locale=C"])
            .status()
            .unwrap();
        assert!(made.success());
    }

    /// A copy of a cluster that does not run, file by file.
    fn copy(&self, from: &Path, to: &Path) {
        std::fs::create_dir(to).unwrap();
        std::fs::set_permissions(to, std::fs::metadata(from).unwrap().permissions()).unwrap();
        self.give(to);
        for entry in std::fs::read_dir(from).unwrap().flatten() {
            let target = to.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                self.copy(&entry.path(), &target);
            } else {
                std::fs::copy(entry.path(), &target).unwrap();
                self.give(&target);
            }
        }
    }
}

fn configure(folder: &Path, more: &str) {
    let mut file =
        std::fs::File::options().append(true).open(folder.join("postgresql.conf")).unwrap();
    write!(file, "\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = ''\n{more}\n")
        .unwrap();
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A PostgreSQL of the test's own; ended when it is dropped, or when this process is gone.
struct Postgres {
    child: Child,
    /// Ends the server when our end of its pipe is closed.
    reaper: Child,
    port: u16,
}

impl Postgres {
    fn start(programs: &Programs, folder: &Path, port: u16) -> Self {
        let child = programs
            .command("postgres")
            .arg("-D")
            .arg(folder)
            .args(["-p", &port.to_string()])
            .spawn()
            .unwrap();
        let reaper = Command::new("sh")
            .args(["-c", "read -r _; kill -QUIT \"$0\"", &child.id().to_string()])
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self { child, reaper, port }
    }

    /// A connection, once it takes some.
    async fn connect(&self) -> PgConnection {
        let url = format!("postgres://millrace@127.0.0.1:{}/postgres", self.port);
        eventually("PostgreSQL takes connections", || async {
            PgConnection::connect(&url).await.ok()
        })
        .await
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.reaper.kill().unwrap();
        self.reaper.wait().unwrap();
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap());
        let _ = kill(pid, Signal::SIGQUIT);
        self.child.wait().unwrap();
    }
}

/// An address that leads to whichever server is the one to use; connections made before stay where they are.
struct Address {
    port: u16,
    target: Arc<AtomicU16>,
}

impl Address {
    async fn forwarding_to(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let target = Arc::new(AtomicU16::new(port));
        let leads = Arc::clone(&target);
        tokio::spawn(async move {
            loop {
                let (mut incoming, _) = listener.accept().await.unwrap();
                let port = leads.load(Ordering::Relaxed);
                tokio::spawn(async move {
                    if let Ok(mut outgoing) = TcpStream::connect(("127.0.0.1", port)).await {
                        drop(tokio::io::copy_bidirectional(&mut incoming, &mut outgoing).await);
                    }
                });
            }
        });
        Self { port: address.port(), target }
    }

    fn forward_to(&self, port: u16) {
        self.target.store(port, Ordering::Relaxed);
    }
}

/// Saves a profile; answers whether it was saved. Where it was not, the store is said to be away, never that this
/// program failed.
async fn is_saved(client: &Client, name: &str) -> bool {
    let body = json!({"externalId": name});
    let answer = client.request(reqwest::Method::POST, "/users").json(&body).send().await.unwrap();
    let status = answer.status().as_u16();
    assert!([200, 201, 503].contains(&status), "{status}: {}", answer.text().await.unwrap());
    status != 503
}

async fn until_saved(client: &Client, name: &str) {
    eventually(&format!("{name} is saved"), || async {
        is_saved(client, name).await.then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_are_refused_until_the_standby_is_promoted_and_then_succeed() {
    let programs = Programs::of_shared_server();
    let folder = data_dir("failover");
    let (first_folder, second_folder) = (folder.join("pg/first"), folder.join("pg/second"));
    let (first_port, second_port) = (free_port(), free_port());
    programs.make_cluster(&first_folder);
    programs.copy(&first_folder, &second_folder);
    configure(&first_folder, "");
    let conninfo = format!("primary_conninfo = 'host=127.0.0.1 port={first_port} user=millrace'");
    configure(&second_folder, &conninfo);
    std::fs::write(second_folder.join("standby.signal"), "").unwrap();
    programs.give(&second_folder.join("standby.signal"));
    let first = Postgres::start(&programs, &first_folder, first_port);
    let mut in_first = first.connect().await;
    let second = Postgres::start(&programs, &second_folder, second_port);
    let address = Address::forwarding_to(first_port).await;

    let mut settings = settings(&folder.join("server"), &[]);
    let url = format!("postgres://millrace@127.0.0.1:{}/postgres", address.port);
    settings.database_url = Some(url.into());
    let server =
        tokio::task::spawn_blocking(|| run(settings, kernel::Clock::system())).await.unwrap();
    let (key, _) = server.key("failover", "*").await;
    let client = Client::new(&server.url, Some(&key));
    until_saved(&client, "ann").await;
    let mut in_second = second.connect().await;
    eventually("the standby has caught up", || {
        let asked = url_of(second_port);
        async move {
            let mut connection = PgConnection::connect(&asked).await.ok()?;
            let found = sqlx::query("select 1 from users where external_id = 'ann'")
                .fetch_optional(&mut connection)
                .await;
            found.ok()?.map(drop)
        }
    })
    .await;

    // The first takes no writes any more; the address leads to the second, which takes none yet.
    in_first.execute("alter system set default_transaction_read_only = on").await.unwrap();
    in_first.execute("select pg_reload_conf()").await.unwrap();
    address.forward_to(second_port);
    eventually("writes are refused", || async {
        (!is_saved(&client, "before the failover").await).then_some(())
    })
    .await;
    until_readiness(&server.admin_url, "?for=control", 503).await;
    assert_eq!(readiness(&server.admin_url, "?for=ingest").await, 200);
    for _ in 0..20 {
        assert!(!is_saved(&client, "bob").await);
    }
    client.post("/events/track", &json!({"userId": "ann", "eventName": "Meanwhile"}), 200).await;

    // Connections that lead to the first would be refused for ever: it goes on, and takes no writes.
    in_second.execute("select pg_promote()").await.unwrap();
    until_saved(&client, "bob").await;
    for number in 0..40 {
        assert!(is_saved(&client, &format!("after-{number}")).await);
    }
    until_readiness(&server.admin_url, "", 200).await;
    client.get("/users/by-user-id/ann", 200).await;
}

fn url_of(port: u16) -> String {
    format!("postgres://millrace@127.0.0.1:{port}/postgres")
}
