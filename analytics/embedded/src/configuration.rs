//! The engine's configuration: files it reads at its start and the command line of its connections. Both suit a small
//! machine that other programs share.
//!
//! The files are written anew at every start. They keep the library from looking for a `config.xml` in the working
//! directory or the home of the user who started it, and they leave the one user without the sources that reach past its own
//! tables (files, URLs, other servers): a statement that was never meant to be run finds less to take.

use std::{
    fs::OpenOptions,
    io::Write as _,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use anyhow::Context as _;

/// Threads for merges and mutations, whatever the machine: two cores are shared with the rest of the program.
pub(crate) const BACKGROUND_POOL_THREADS: u32 = 4;
/// How far merges stand back for inserts and questions: a Linux nice value, where `SCHED_IDLE` is not allowed (see
/// `merges`). A merge can wait, a caller does not; while the machine is idle they run at full speed.
const MERGE_NICE: u64 = 10;
/// Threads for periodic tasks (cleanup, buffers); the default of 512 is for servers of hundreds of tables.
const BACKGROUND_SCHEDULE_THREADS: u32 = 8;
/// Threads that move, fetch and handle the rest; none of it happens here in volume.
const BACKGROUND_OTHER_THREADS: u32 = 2;
/// The largest share of the budget one statement may take: `1/n` less than all, so that inserts still fit beside it.
const STATEMENT_SHARE_NUMERATOR: u64 = 3;
const STATEMENT_SHARE_DENOMINATOR: u64 = 4;
/// The share of the budget for cached marks and primary keys, `1/n` each.
const CACHE_SHARE: u64 = 32;
/// The share of the budget that must be free for each thread of a statement, `1/n`; with less, a statement gets fewer
/// threads. The library asks for a GiB each, so that on a budget of 2 GiB all statements had one thread.
const THREAD_SHARE: u64 = 32;
/// The least free memory for each thread: with more threads than memory allows, a statement fails that fewer threads answer.
const THREAD_BYTES_MIN: u64 = 128 * MIB;
const MIB: u64 = 1024 * 1024;

const SERVER_FILE: &str = "embedded-config.xml";
const USERS_FILE: &str = "embedded-users.xml";
/// Without statistics of columns, which take a quarter of an insert: questions find their rows by the primary key.
const SERVER: &str = "\
<clickhouse>
    <merge_tree>
        <auto_statistics_types></auto_statistics_types>
    </merge_tree>
</clickhouse>
";
/// Tables of `system` of this release, without those that anyone may read.
const HIDDEN_SYSTEM_TABLES: &str = include_str!("hidden_system_tables.txt");
/// What the user may do: the grants of a role, so that a session may go without them.
const EVERYTHING: &str = "everything";
const GRANTS: [&str; 3] = [
    "GRANT SHOW, SELECT, INSERT, ALTER, CREATE, DROP, UNDROP TABLE, TRUNCATE, OPTIMIZE, CHECK, KILL QUERY, SYSTEM, dictGet, INTROSPECTION ON *.*",
    "GRANT TABLE ENGINE ON *",
    "GRANT SET DEFINER ON *",
];

/// A role with which a session reads nothing but views, and those only rows of one tenant.
///
/// The views belong to `definer`, a user that no session has. Row policies of that user limit what the views read, before
/// any condition of the statement is looked at.
#[derive(Clone)]
pub struct RowAccess {
    /// Name of the role: `role=` of a request.
    pub role: String,
    /// The definer of the views (`SQL SECURITY DEFINER`).
    pub definer: String,
    /// The database of `tables`.
    pub database: String,
    /// The tables that the views read.
    pub tables: Vec<String>,
    /// Which rows of them: a condition on each of `tables`.
    pub condition: String,
    /// Databases with views that the role may read.
    pub views: Vec<String>,
    /// Tables of `system` that the role may read; it sees no row of any other.
    pub open_system_tables: Vec<String>,
    /// Tables of `system` that the views may read.
    pub system_tables: Vec<String>,
}

/// The users file. The user is the library's own; who may ask at all is for `auth` to say.
fn users(row_access: Option<&RowAccess>) -> String {
    let (roles, granted, policies, definer) = match row_access {
        None => (String::new(), String::new(), String::new(), String::new()),
        Some(access) => (
            access.reader_role(),
            format!(", {}", access.role),
            policies("system", HIDDEN_SYSTEM_TABLES.split_whitespace(), &has_everything()),
            access.definer_user(),
        ),
    };
    let everything = queries(GRANTS);
    format!(
        "<clickhouse>
    <profiles><default></default></profiles>
    <quotas><default></default></quotas>
    <roles>
        <{EVERYTHING}><grants>{everything}</grants></{EVERYTHING}>{roles}
    </roles>
    <users>
        <default>
            <password></password>
            <networks><ip>::1</ip><ip>127.0.0.1</ip></networks>
            <profile>default</profile>
            <quota>default</quota>
            <grants><query>GRANT {EVERYTHING}{granted}</query></grants>{policies}
        </default>{definer}
    </users>
</clickhouse>
"
    )
}

/// Without the condition, which may hold a secret.
impl std::fmt::Debug for RowAccess {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("RowAccess")
            .field("role", &self.role)
            .field("definer", &self.definer)
            .field("tables", &self.tables)
            .finish_non_exhaustive()
    }
}

impl RowAccess {
    fn reader_role(&self) -> String {
        let views = self.views.iter().map(|database| format!("GRANT SELECT ON {database}.*"));
        let open = &self.open_system_tables;
        let open = open.iter().map(|table| format!("GRANT SELECT ON system.{table}"));
        let grants = queries(views.chain(open));
        format!("\n        <{role}><grants>{grants}</grants></{role}>", role = self.role)
    }

    fn definer_user(&self) -> String {
        let Self { definer, database, .. } = self;
        let tables = self.tables.iter().map(|table| format!("GRANT SELECT ON {database}.{table}"));
        let system = &self.system_tables;
        let system = system.iter().map(|table| format!("GRANT SELECT ON system.{table}"));
        let views = self.views.iter().map(|views| format!("GRANT SHOW ON {views}.*"));
        let grants = queries(tables.chain(system).chain(views));
        let policies = policies(database, self.tables.iter().map(String::as_str), &self.condition);
        format!(
            "
        <{definer}>
            <no_password/>
            <networks><ip>::1</ip></networks>
            <profile>default</profile>
            <quota>default</quota>
            <grants>{grants}</grants>{policies}
        </{definer}>"
        )
    }
}

/// Whether a session has the role of all rights. A statement can change settings of its subqueries, but no roles.
fn has_everything() -> String {
    format!("has(enabledRoles(), '{EVERYTHING}')")
}

/// Which rows of some tables of a database a user sees.
fn policies<'a>(database: &str, tables: impl Iterator<Item = &'a str>, condition: &str) -> String {
    let condition = escaped(condition);
    let filters: Vec<String> =
        tables.map(|table| format!("<{table}><filter>{condition}</filter></{table}>")).collect();
    let tables = filters.concat();
    format!("\n            <databases><{database}>{tables}</{database}></databases>")
}

fn queries<T: AsRef<str>>(grants: impl IntoIterator<Item = T>) -> String {
    let query = |grant: T| format!("<query>{}</query>", escaped(grant.as_ref()));
    grants.into_iter().map(query).collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Writes the files and gives the command line of a connection.
pub(crate) fn prepare(
    data_dir: &Path,
    memory_bytes: u64,
    row_access: Option<&RowAccess>,
) -> anyhow::Result<Vec<String>> {
    let write = |name: &str, text: &str| -> anyhow::Result<PathBuf> {
        let path = data_dir.join(name);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let written = options.open(&path).and_then(|mut file| file.write_all(text.as_bytes()));
        written.with_context(|| format!("write {}", path.display()))?;
        Ok(path)
    };
    let (server, users) = (write(SERVER_FILE, SERVER)?, write(USERS_FILE, &users(row_access))?);
    let mut arguments = arguments(data_dir, memory_bytes);
    arguments.push(format!("--config-file={}", server.display()));
    arguments.push(format!("--users_config={}", users.display()));
    Ok(arguments)
}

/// Server settings count on the first connection only; the others hold for each.
fn arguments(data_dir: &Path, memory_bytes: u64) -> Vec<String> {
    let cache = (memory_bytes / CACHE_SHARE).clamp(8 * MIB, 256 * MIB);
    let statement = memory_bytes / STATEMENT_SHARE_DENOMINATOR * STATEMENT_SHARE_NUMERATOR;
    let mut arguments = vec!["clickhouse".to_owned(), format!("--path={}", data_dir.display())];
    let mut set = |name: &str, value: u64| arguments.push(format!("--{name}={value}"));
    // Memory.
    set("max_server_memory_usage", memory_bytes);
    set("max_memory_usage", statement);
    set("mark_cache_size", cache);
    set("primary_index_cache_size", cache);
    set("index_mark_cache_size", cache / 4);
    set("index_uncompressed_cache_size", cache / 4);
    set("query_condition_cache_size", cache / 4);
    set("uncompressed_cache_size", cache);
    set("compiled_expression_cache_size", 32 * MIB);
    set("mmap_cache_size", 256);
    // Threads.
    let thread = (memory_bytes / THREAD_SHARE).max(THREAD_BYTES_MIN);
    set("max_threads_min_free_memory_per_thread", thread);
    set("background_pool_size", u64::from(BACKGROUND_POOL_THREADS));
    set("os_threads_nice_value_merge_mutate", MERGE_NICE);
    set("background_schedule_pool_size", u64::from(BACKGROUND_SCHEDULE_THREADS));
    for pool in ["move", "fetches", "common"] {
        set(&format!("background_{pool}_pool_size"), u64::from(BACKGROUND_OTHER_THREADS));
    }
    // An insert is answered when its rows are in the table, not when they are in a buffer.
    set("async_insert", 0);
    // The library allows `1 + 1` for `SELECT 1 + 1`; the server does not.
    set("implicit_select", 0);
    // Nothing reads these logs; they would only grow.
    set("log_queries", 0);
    set("log_query_threads", 0);
    set("log_processors_profiles", 0);
    arguments.push("--session_timezone=UTC".to_owned());
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_are_for_their_owner_only_and_written_anew() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        for _ in 0..2 {
            let arguments = prepare(folder.path(), 1024 * MIB, None).unwrap();
            let users = folder.path().join(USERS_FILE);
            assert!(arguments.contains(&format!("--users_config={}", users.display())));
            assert_eq!(std::fs::metadata(&users).unwrap().permissions().mode() & 0o777, 0o600);
            assert_eq!(std::fs::read_to_string(&users).unwrap(), self::users(None));
        }
    }

    #[test]
    fn the_budget_reaches_the_engine_and_one_statement_gets_less_than_all_of_it() {
        let arguments = arguments(Path::new("/data"), 1024 * MIB);
        for expected in [
            "--path=/data",
            "--max_server_memory_usage=1073741824",
            "--max_memory_usage=805306368",
            "--mark_cache_size=33554432",
            "--max_threads_min_free_memory_per_thread=134217728",
            "--async_insert=0",
        ] {
            assert!(arguments.iter().any(|argument| argument == expected), "{expected}");
        }
    }

    #[test]
    fn a_thread_of_a_statement_has_a_share_of_a_large_budget() {
        let arguments = arguments(Path::new("/data"), 16 * 1024 * MIB);
        let expected = "--max_threads_min_free_memory_per_thread=536870912".to_owned();
        assert!(arguments.contains(&expected), "{arguments:?}");
    }

    #[test]
    fn a_role_of_one_tenant_reads_views_alone_and_their_owner_rows_of_it() {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let users = users(Some(&RowAccess {
            role: "reader".to_owned(),
            definer: "owner".to_owned(),
            database: "d".to_owned(),
            tables: texts(&["t"]),
            condition: "tenant < 2".to_owned(),
            views: texts(&["v"]),
            open_system_tables: texts(&["one"]),
            system_tables: texts(&["settings"]),
        }));
        for expected in [
            "<reader><grants><query>GRANT SELECT ON v.*</query><query>GRANT SELECT ON system.one</query></grants></reader>",
            "<query>GRANT everything, reader</query>",
            "<query>GRANT SELECT ON d.t</query><query>GRANT SELECT ON system.settings</query>",
            "<databases><d><t><filter>tenant &lt; 2</filter></t></d></databases>",
            "<processes><filter>has(enabledRoles(), 'everything')</filter></processes>",
        ] {
            assert!(users.contains(expected), "{expected}: {users}");
        }
    }
}
