//! `millrace doctor`: what it finds, how it ends, and that it changes nothing.

use std::{
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use crate::kit::{DnsServer, MILLRACE, Workspace, data_dir, eventually, server, unique};

/// What the command left.
#[derive(Debug)]
struct Outcome {
    status: i32,
    stdout: String,
    stderr: String,
}

/// An environment variable of the command.
type Variable<'a> = (&'a str, String);

/// Runs the command on a data directory, with these variables besides.
async fn doctor(data_dir: &Path, variables: &[Variable<'_>], arguments: &[&str]) -> Outcome {
    let mut command = Command::new(MILLRACE);
    let inherited = std::env::vars().filter(|(name, _)| {
        name.starts_with("MILLRACE_") || name == "DATABASE_URL" || name == "CLICKHOUSE_URL"
    });
    for (name, _) in inherited.filter(|(name, _)| !KEPT.contains(&name.as_str())) {
        command.env_remove(name);
    }
    command
        .arg("doctor")
        .args(arguments)
        .env("MILLRACE_DATA_DIR", data_dir)
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null());
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    Outcome {
        status: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Where engines are, on machines of developers.
const KEPT: [&str; 2] = ["MILLRACE_LIBCHDB", "MILLRACE_POSTGRES_BIN"];

/// Addresses that no server has.
fn free_ports() -> Vec<Variable<'static>> {
    let any = || "127.0.0.1:0".to_owned();
    vec![
        ("MILLRACE_LISTEN", any()),
        ("MILLRACE_ADMIN_LISTEN", any()),
        ("MILLRACE_SQL_LISTEN", any()),
    ]
}

/// The settings of the server that all tests share.
fn of_shared_server() -> Vec<Variable<'static>> {
    let address = |url: &str| url.trim_start_matches("http://").to_owned();
    vec![
        ("MILLRACE_LISTEN", address(&server().url)),
        ("MILLRACE_ADMIN_LISTEN", address(&server().admin_url)),
        ("MILLRACE_SQL_LISTEN", address(&server().sql_url)),
    ]
}

/// The findings of a check, of a report in JSON.
fn findings<'a>(report: &'a Value, check: &str) -> Vec<&'a Value> {
    let all = report["findings"].as_array().unwrap().iter();
    let found: Vec<&Value> = all.filter(|finding| finding["check"] == check).collect();
    assert!(!found.is_empty(), "{check} was not checked: {report:#}");
    found
}

fn report(outcome: &Outcome) -> Value {
    serde_json::from_str(&outcome.stdout).unwrap_or_else(|error| panic!("{error}: {outcome:?}"))
}

#[tokio::test]
async fn without_a_server_nothing_is_created_or_changed() {
    let data_dir = data_dir("doctor");
    let outcome = doctor(&data_dir, &free_ports(), &[]).await;
    assert_eq!(outcome.status, 0, "{outcome:?}");
    assert!(!data_dir.exists(), "it was created");
    for line in outcome.stdout.lines() {
        let status = line.split("  ").next().unwrap().trim_end();
        assert!(["ok", "warning", "wrong"].contains(&status), "{line}");
        let columns = line.split("  ").filter(|column| !column.trim().is_empty()).count();
        assert_eq!(columns, if status == "ok" { 2 } else { 3 }, "what to do: {line}");
    }
    assert!(outcome.stdout.contains("PostgreSQL: not checked"), "{}", outcome.stdout);

    std::fs::create_dir(&data_dir).unwrap();
    let set = |mode| std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(&data_dir, set(0o755)).unwrap();
    let outcome = doctor(&data_dir, &free_ports(), &["--json"]).await;
    assert_eq!(outcome.status, 0, "warnings alone are no failure: {outcome:?}");
    let report = report(&outcome);
    assert_eq!(findings(&report, "data directory")[0]["status"], "warning");
    assert!(report["warnings"].as_u64().unwrap() > 0 && report["wrong"] == 0);
    let mode = std::fs::metadata(&data_dir).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode, std::fs::read_dir(&data_dir).unwrap().count()), (0o755, 0));
}

#[tokio::test]
async fn beside_a_server_all_is_checked() {
    let workspace = Workspace::new().await;
    let event = json!({"userId": "ann", "eventName": "A"});
    workspace.api.post("/events/track", &event, 200).await;
    let report = eventually("nothing is wrong", || async {
        // A store that is slow to answer beside other tests is not ready for a moment.
        let outcome = doctor(&server().data_dir, &of_shared_server(), &["--json"]).await;
        (outcome.status == 0).then(|| report(&outcome))
    })
    .await;
    let pid = std::process::id();
    for (check, text) in [
        ("server", format!("pid {pid} is ready")),
        ("PostgreSQL", "version 18".to_owned()),
        ("PostgreSQL schema", "the newest".to_owned()),
        ("PostgreSQL durability", "synchronous_commit = on".to_owned()),
        ("PostgreSQL connections", "at most".to_owned()),
        ("ClickHouse", "version 26".to_owned()),
        ("ClickHouse schema", "the newest".to_owned()),
        ("ClickHouse durability", "rows are synced".to_owned()),
        ("ClickHouse disks", "free".to_owned()),
        ("master key", "the same".to_owned()),
        ("spool", "used".to_owned()),
        ("channels", "none has a provider".to_owned()),
        ("public URL", "no channel".to_owned()),
    ] {
        let found = findings(&report, check)[0];
        assert_eq!(found["status"], "ok", "{found}");
        assert!(found["what"].as_str().unwrap().contains(&text), "{found}");
    }
    for found in findings(&report, "ports") {
        assert!(found["what"].as_str().unwrap().contains(&format!("pid {pid}")), "{found}");
    }
    assert_eq!(findings(&report, "clock").len(), 2, "both stores: {report:#}");
    for found in findings(&report, "clock") {
        assert_eq!(found["status"], "ok", "{found}");
    }
    for check in [
        "fsync",
        "file system",
        "disk room",
        "open files",
        "memory",
        "spool backlog",
        "dead letters",
    ] {
        findings(&report, check);
    }
}

/// A broken setting: variables, the check that finds it, its status, and a part of what it says.
struct Broken<'a>(Vec<Variable<'a>>, &'a str, &'a str, &'a str);

fn text(value: &str) -> String {
    value.to_owned()
}

/// What is wrong with the machine or the channels; `taken` is an address at which something listens.
fn broken_settings<'a>(taken: String) -> Vec<Broken<'a>> {
    let sms = || ("MILLRACE_CHANNELS__SMS__URL", text("http://no-such-host.invalid/sms"));
    vec![
        Broken(vec![("MILLRACE_NO_SUCH", text("1"))], "settings", "warning", "is no setting"),
        Broken(vec![("MILLRACE_LISTEN", text("nowhere"))], "settings", "wrong", "MILLRACE_LISTEN"),
        Broken(
            vec![("MILLRACE_LISTEN", text("192.0.2.1:8080"))],
            "ports",
            "wrong",
            "cannot be listened on",
        ),
        Broken(vec![("MILLRACE_LISTEN", taken)], "ports", "ok", "pid"),
        Broken(
            vec![("MILLRACE_SPOOL__DURABILITY", text("os"))],
            "fsync",
            "warning",
            "power failure",
        ),
        Broken(
            vec![("MILLRACE_SPOOL__LIMIT_BYTES", text("9000000000000000"))],
            "disk room",
            "warning",
            "free",
        ),
        Broken(
            vec![("MILLRACE_HTTP__CONNECTIONS_MAX", text("1000000000"))],
            "open files",
            "warning",
            "may be open",
        ),
        Broken(
            vec![("MILLRACE_ENGINES__CLICKHOUSE_MEMORY_BYTES", text("9000000000000000"))],
            "memory",
            "wrong",
            "the settings allow",
        ),
        Broken(vec![sms()], "channels", "wrong", "has no address"),
        Broken(vec![sms()], "public URL", "wrong", "own machines"),
        Broken(
            vec![("MILLRACE_CHANNELS__SMS__URL", text("http://127.0.0.1:1/"))],
            "channels",
            "wrong",
            "connected",
        ),
    ]
}

/// What is wrong with the stores; `weak` is a connection whose commits do not wait for the disk.
fn broken_stores<'a>(weak: String) -> Vec<Broken<'a>> {
    let own_key = text("a master key that no other node has");
    vec![
        Broken(vec![("MILLRACE_SECURITY__MASTER_KEY", own_key)], "master key", "wrong", "differs"),
        Broken(
            vec![("DATABASE_URL", text("postgres://127.0.0.1:1/x"))],
            "PostgreSQL",
            "wrong",
            "does not answer",
        ),
        Broken(
            vec![("CLICKHOUSE_URL", text("http://127.0.0.1:1/x"))],
            "ClickHouse",
            "wrong",
            "does not answer",
        ),
        Broken(
            vec![("DATABASE_URL", weak)],
            "PostgreSQL durability",
            "wrong",
            "synchronous_commit",
        ),
    ]
}

#[tokio::test]
async fn each_broken_setting_is_found_with_what_to_do() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let socket = server().data_dir.join("postgres");
    let weak = format!(
        "postgres:///millrace?host={}&user=millrace&options[synchronous_commit]=off",
        socket.display()
    );
    let cases = broken_settings(taken.local_addr().unwrap().to_string());
    for Broken(variables, check, status, text) in cases.into_iter().chain(broken_stores(weak)) {
        let variables = [of_shared_server(), variables].concat();
        let outcome = doctor(&server().data_dir, &variables, &["--json"]).await;
        let report = report(&outcome);
        let found = findings(&report, check).into_iter().find(|finding| {
            finding["status"] == status && finding["what"].as_str().unwrap().contains(text)
        });
        let found = found.unwrap_or_else(|| panic!("{variables:?}: {report:#}"));
        assert_eq!(found["action"].is_string(), status != "ok", "{found}");
        assert_eq!(outcome.status == 1, report["wrong"].as_u64() > Some(0), "{outcome:?}");
        if status == "wrong" {
            assert_eq!(outcome.status, 1, "{check}");
            let line = outcome.stderr.lines().collect::<Vec<_>>();
            assert!(line.len() == 1 && line[0].starts_with("millrace: "), "{line:?}");
        }
    }
}

#[tokio::test]
async fn sender_domains_that_lost_their_record_are_named() {
    let workspace = Workspace::new().await;
    let domain = format!("{}.test", unique("lost"));
    let made = workspace.api.post("/sender-domains", &json!({"domain": domain}), 201).await;
    let id: uuid::Uuid = made.json()["id"].as_str().unwrap().parse().unwrap();
    let db = server().db();
    let verified =
        "update sender_domain set status = 'verified', verified_at = now() where id = $1";
    server().on(async move { sqlx::query(verified).bind(id).execute(&db).await.unwrap() }).await;
    let dns = DnsServer::start();
    let resolver = ("MILLRACE_SECURITY__RESOLVER", dns.address.to_string());
    let variables = [of_shared_server(), vec![resolver]].concat();
    let outcome = doctor(&server().data_dir, &variables, &["--json"]).await;
    let report = report(&outcome);
    let named = findings(&report, "sender domains")
        .into_iter()
        .find(|finding| finding["what"].as_str().unwrap().contains(&domain));
    let named = named.unwrap_or_else(|| panic!("{report:#}"));
    assert_eq!(named["status"], "warning", "{named}");
    assert!(named["what"].as_str().unwrap().contains("there is no TXT record"), "{named}");
    let stays = workspace
        .api
        .get(&format!("/sender-domains/{}", made.json()["id"].as_str().unwrap()), 200)
        .await;
    assert_eq!(stays.json()["status"], "verified", "nothing was stored");
}
