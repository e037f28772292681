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
/// The user is the library's own; who may ask at all is for `auth` to say.
const USERS: &str = "\
<clickhouse>
    <profiles><default></default></profiles>
    <quotas><default></default></quotas>
    <users>
        <default>
            <password></password>
            <networks><ip>::1</ip><ip>127.0.0.1</ip></networks>
            <profile>default</profile>
            <quota>default</quota>
            <grants>
                <query>GRANT SHOW, SELECT, INSERT, ALTER, CREATE, DROP, UNDROP TABLE, TRUNCATE, OPTIMIZE, CHECK, KILL QUERY, SYSTEM, dictGet, INTROSPECTION ON *.*</query>
                <query>GRANT TABLE ENGINE ON *</query>
                <query>GRANT SET DEFINER ON *</query>
            </grants>
        </default>
    </users>
</clickhouse>
";

/// Writes the files and gives the command line of a connection.
pub(crate) fn prepare(data_dir: &Path, memory_bytes: u64) -> anyhow::Result<Vec<String>> {
    let write = |name: &str, text: &str| -> anyhow::Result<PathBuf> {
        let path = data_dir.join(name);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let written = options.open(&path).and_then(|mut file| file.write_all(text.as_bytes()));
        written.with_context(|| format!("write {}", path.display()))?;
        Ok(path)
    };
    let (server, users) = (write(SERVER_FILE, SERVER)?, write(USERS_FILE, USERS)?);
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
            let arguments = prepare(folder.path(), 1024 * MIB).unwrap();
            let users = folder.path().join(USERS_FILE);
            assert!(arguments.contains(&format!("--users_config={}", users.display())));
            assert_eq!(std::fs::metadata(&users).unwrap().permissions().mode() & 0o777, 0o600);
            assert_eq!(std::fs::read_to_string(&users).unwrap(), USERS);
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
            "--async_insert=0",
        ] {
            assert!(arguments.iter().any(|argument| argument == expected), "{expected}");
        }
    }
}
