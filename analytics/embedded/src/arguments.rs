//! The engine's settings: what a ClickHouse on a small machine, next to another program, is told at its start.

use std::path::Path;

/// Threads for merges and mutations, whatever the machine: two cores are shared with the rest of the program.
const BACKGROUND_POOL_THREADS: u32 = 4;
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

/// The command line of a connection. Server settings count on the first one only; the others hold for each connection.
pub(crate) fn of_connection(data_dir: &Path, memory_bytes: u64) -> Vec<String> {
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
    set("background_schedule_pool_size", u64::from(BACKGROUND_SCHEDULE_THREADS));
    for pool in [
        "move",
        "fetches",
        "common",
        "message_broker_schedule",
        "distributed_schedule",
        "buffer_flush_schedule",
    ] {
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
    fn the_budget_reaches_the_engine_and_one_statement_gets_less_than_all_of_it() {
        let arguments = of_connection(Path::new("/data"), 1024 * MIB);
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
