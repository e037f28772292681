//! What the key of `events` costs, before and after migration 10, and what the migration itself costs.
//!
//! ```sh
//! CLICKHOUSE_URL=http://127.0.0.1:8123 CLICKHOUSE_USER=default CLICKHOUSE_PASSWORD=secret \
//!     cargo run --release -p analytics --example event_key -- 10000000
//! ```
//!
//! Works in a database `event_key` of its own, which it drops first. Prints wall seconds, and CPU seconds of the
//! engine (`system.events`), so run it on an engine that does nothing else.

#![expect(clippy::print_stdout, reason = "what it measured is all it is for")]

use std::time::Instant;

use analytics::{Analytics, ClickHouseAddress};
use clickhouse::Client;
use sha2::{Digest as _, Sha256};

const MIGRATIONS: [(&str, &str); 9] = [
    ("events", include_str!("../../migrations/clickhouse/0001_events.sql")),
    ("orders", include_str!("../../migrations/clickhouse/0002_orders.sql")),
    ("timeline", include_str!("../../migrations/clickhouse/0003_timeline.sql")),
    ("merges", include_str!("../../migrations/clickhouse/0004_merges.sql")),
    ("message_events", include_str!("../../migrations/clickhouse/0005_message_events.sql")),
    (
        "message_event_details",
        include_str!("../../migrations/clickhouse/0006_message_event_details.sql"),
    ),
    ("message_outcomes", include_str!("../../migrations/clickhouse/0007_message_outcomes.sql")),
    ("outcomes_merge", include_str!("../../migrations/clickhouse/0008_outcomes_merge.sql")),
    ("outcomes_touched", include_str!("../../migrations/clickhouse/0009_outcomes_touched.sql")),
];
const RECORD: &str = include_str!("../src/sql/migrations_table.sql");

/// Rows of one insert.
const BLOCK_ROWS: u64 = 100_000;

const SOURCE: &str = "CREATE TABLE source (chunk UInt64, workspace_id UUID, event_name String, day Date,
    timestamp DateTime64(3, 'UTC'), seq UInt64, user_id String, event_id String, session_id String,
    device_id String, received_at DateTime64(3, 'UTC'), properties String, numbers Map(String, Float64))
    ENGINE = MergeTree ORDER BY (chunk, seq)";

/// 30 days in order of time, 8 names, 200,000 people; ids are UUIDv7 as the service gives them.
const GENERATE: &str = "INSERT INTO source
    SELECT intDiv(number, {block:UInt64}), toUUID('0198c5e0-1111-7222-8333-444455556666'),
        ['Viewed', 'Product', 'Added', 'Order Completed', 'Searched', 'Login', 'Logout', 'Share']
            [1 + least(7, toUInt64(abs(randCanonical(1) * randCanonical(2) * 8)))],
        toDate(at), at, number + 1, concat('user-', toString(cityHash64(number) % 200000)),
        concat(lower(hex(toUInt32(bitShiftRight(ms, 16)))), '-', lower(leftPad(hex(toUInt16(bitAnd(ms, 65535))), 4, '0')),
            '-7', substring(h, 1, 3), '-9', substring(h, 4, 3), '-', substring(h, 7, 12)),
        lower(hex(sipHash64(number, 3))), lower(hex(sipHash64(number % 200000, 4))), at,
        concat('{\"page\":\"/p/', toString(rand() % 1000), '\",\"total\":', toString(rand() % 10000 / 100),
            ',\"ref\":\"', hex(sipHash64(number)), '\",\"agent\":\"Mozilla/5.0 (X11; Linux x86_64)\"}'),
        map('total', rand() % 10000 / 100, 'qty', rand() % 9, 'x', rand(3) % 1000)
    FROM (
        SELECT number, toUInt64(1788220800000 + intDiv(number * 2592000000, {rows:UInt64})) AS ms,
            fromUnixTimestamp64Milli(toInt64(ms), 'UTC') AS at, lower(hex(MD5(toString(number)))) AS h
        FROM numbers({rows:UInt64})
    )";

const COLUMNS: &str =
    "workspace_id, event_name, day, timestamp, seq, user_id, event_id, session_id, device_id,
    received_at, properties, numbers";

const READS: [(&str, &str); 3] = [
    (
        "count by day, FINAL",
        "SELECT toDate(timestamp) AS d, count() FROM events FINAL WHERE event_name = 'Viewed' GROUP BY d FORMAT Null",
    ),
    (
        "count by day, plain",
        "SELECT toDate(timestamp) AS d, count() FROM events WHERE event_name = 'Viewed' GROUP BY d FORMAT Null",
    ),
    (
        "sum by day, FINAL",
        "SELECT toDate(timestamp) AS d, sum(numbers['total']) FROM events FINAL WHERE event_name = 'Viewed' GROUP BY d FORMAT Null",
    ),
];

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let rows: u64 = std::env::args().nth(1).map_or(Ok(3_000_000), |rows| rows.parse())?;
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let address = ClickHouseAddress {
        url: variable("CLICKHOUSE_URL"),
        user: variable("CLICKHOUSE_USER"),
        password: variable("CLICKHOUSE_PASSWORD"),
        database: "event_key".to_owned(),
        cluster: None,
    };
    let outside = Client::default()
        .with_url(&address.url)
        .with_user(&address.user)
        .with_password(&address.password);
    run(&outside, "DROP DATABASE IF EXISTS event_key; CREATE DATABASE event_key").await?;
    let analytics = Analytics::connect(&address)?;
    let client = analytics.client();
    run(client, SOURCE).await?;
    client.query_raw(GENERATE).param("rows", rows).param("block", BLOCK_ROWS).execute().await?;

    run(client, RECORD).await?;
    for (version, (name, text)) in (1..).zip(MIGRATIONS) {
        run(client, text).await?;
        let sum = format!("{:x}", Sha256::digest(text));
        let record = format!(
            "INSERT INTO schema_migrations (version, name, checksum) SELECT {version}, '{name}', '{sum}'"
        );
        run(client, &record).await?;
    }
    measure(client, "key with a hash", rows).await?;
    let start = Clocks::read(client).await?;
    analytics.migrate().await?;
    println!("migration of {rows} rows: {}", start.elapsed(client).await?);
    run(client, "TRUNCATE TABLE events; TRUNCATE TABLE timeline; TRUNCATE TABLE orders").await?;
    measure(client, "key with the id", rows).await
}

/// Inserts everything with merges stopped, asks, merges, asks again.
async fn measure(client: &Client, what: &str, rows: u64) -> anyhow::Result<()> {
    println!("{what}");
    run(
        client,
        "SYSTEM STOP MERGES events; SYSTEM STOP MERGES timeline; SYSTEM STOP MERGES orders",
    )
    .await?;
    let start = Clocks::read(client).await?;
    for chunk in 0..rows.div_ceil(BLOCK_ROWS) {
        let key = if what.ends_with("hash") { "cityHash64(event_id)" } else { "event_id" };
        let insert = format!(
            "INSERT INTO events ({COLUMNS}) SELECT {COLUMNS} FROM source WHERE chunk = {chunk} \
             ORDER BY workspace_id, event_name, day, {key} SETTINGS optimize_on_insert = 0, max_threads = 1"
        );
        client.query_raw(&insert).execute().await?;
    }
    println!("  insert, sorted by the engine: {}", start.elapsed(client).await?);
    sizes(client).await?;
    ask(client, "fresh").await?;
    run(
        client,
        "SYSTEM START MERGES events; SYSTEM START MERGES timeline; SYSTEM START MERGES orders",
    )
    .await?;
    let start = Clocks::read(client).await?;
    run(client, "OPTIMIZE TABLE events FINAL; OPTIMIZE TABLE timeline FINAL").await?;
    println!("  merge into one part a month: {}", start.elapsed(client).await?);
    sizes(client).await?;
    ask(client, "merged").await
}

async fn ask(client: &Client, when: &str) -> anyhow::Result<()> {
    for (name, sql) in READS {
        let mut best = f64::MAX;
        let start = Clocks::read(client).await?;
        for _ in 0..5 {
            let began = Instant::now();
            let asked = client
                .query_raw(sql)
                .with_setting("do_not_merge_across_partitions_select_final", "1");
            asked.execute().await?;
            best = best.min(began.elapsed().as_secs_f64());
        }
        let cpu = start.cpu_since(client).await? / 5.0;
        println!(
            "  {when}: {name}: {:.0} ms at best, {:.0} ms of CPU on average",
            best * 1e3,
            cpu * 1e3
        );
    }
    Ok(())
}

async fn sizes(client: &Client) -> anyhow::Result<()> {
    let sizes: Vec<(String, u64, u64)> = client
        .query_raw(
            "SELECT table, count(), sum(bytes_on_disk) FROM system.parts
             WHERE active AND database = currentDatabase() AND table IN ('events', 'timeline') GROUP BY table ORDER BY table",
        )
        .fetch_all()
        .await?;
    for (table, parts, bytes) in sizes {
        println!("  {table}: {parts} parts, {} MiB", bytes >> 20);
    }
    Ok(())
}

/// Wall clock, and the engine's CPU so far.
struct Clocks {
    wall: Instant,
    cpu_seconds: f64,
}

impl Clocks {
    async fn read(client: &Client) -> anyhow::Result<Self> {
        let micros: u64 = client
            .query_raw("SELECT toUInt64(sum(value)) FROM system.events WHERE event IN ('UserTimeMicroseconds', 'SystemTimeMicroseconds')")
            .fetch_one()
            .await?;
        let cpu_seconds = std::time::Duration::from_micros(micros).as_secs_f64();
        Ok(Self { wall: Instant::now(), cpu_seconds })
    }

    async fn cpu_since(&self, client: &Client) -> anyhow::Result<f64> {
        Ok(Self::read(client).await?.cpu_seconds - self.cpu_seconds)
    }

    async fn elapsed(&self, client: &Client) -> anyhow::Result<String> {
        let wall = self.wall.elapsed().as_secs_f64();
        Ok(format!("{wall:.1} s, {:.1} s of CPU", self.cpu_since(client).await?))
    }
}

/// Runs statements, comments and placeholders taken out.
async fn run(client: &Client, text: &str) -> anyhow::Result<()> {
    let code: Vec<&str> =
        text.lines().filter(|line| !line.trim_start().starts_with("--")).collect();
    let code = code
        .join("\n")
        .replace("{on_cluster}", "")
        .replace("{engine:", "")
        .replace("MergeTree}", "MergeTree");
    for statement in code.split(';').filter(|statement| !statement.trim().is_empty()) {
        client.query_raw(statement).execute().await?;
    }
    Ok(())
}
