//! The previous release's stores, restored into databases of the test.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;
use sqlx::{
    AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _, PgConnection,
    postgres::PgConnectOptions,
};

use crate::kit::{
    engines::{ClickHouseAddress, clickhouse},
    server, unique,
};

/// Numbers that the database gives go on behind those of the rows.
const ADVANCE_SEQUENCES: &str = "do $$ declare it record; begin
    for it in select table_name, column_name from information_schema.columns
        where table_schema = 'public' and is_identity = 'YES' loop
      execute format('select setval(pg_get_serial_sequence(%L, %L), (select coalesce(max(%I), 1) from %I))',
        it.table_name, it.column_name, it.column_name, it.table_name);
    end loop; end $$";

/// Databases with the tables and rows of the previous release.
pub(crate) struct Previous {
    database: String,
    clickhouse: ClickHouseAddress,
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tests/upgrade/previous").join(name)
}

/// The lines of a file of JSON.
pub(super) fn lines(name: &str) -> Vec<Value> {
    let text = fs::read_to_string(file(name)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A line's table and row.
fn row(line: &Value) -> (&str, &Value) {
    (line["table"].as_str().unwrap(), &line["row"])
}

/// The key of the workspace.
pub(super) fn api_key() -> String {
    fs::read_to_string(file("api_key")).unwrap().trim().to_owned()
}

/// Puts the spool into the data directory of a server.
pub(super) fn copy_spool(data_dir: &Path) {
    let folder = data_dir.join("spool");
    fs::create_dir_all(&folder).unwrap();
    for entry in fs::read_dir(file("spool")).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), folder.join(entry.file_name())).unwrap();
    }
}

impl Previous {
    pub(super) async fn restore() -> Self {
        let restored = Self::empty().await;
        restored.restore_postgres().await;
        restored.restore_clickhouse().await;
        restored
    }

    /// Two databases that have no tables yet.
    pub(crate) async fn empty() -> Self {
        let database = unique("previous").replace('-', "_");
        let create = format!("create database {database}");
        let mut outside = server().db().connect_options().connect().await.unwrap();
        outside.execute(AssertSqlSafe(create)).await.unwrap();
        outside.close().await.unwrap();
        Self { database, clickhouse: clickhouse().await }
    }

    /// Where a server finds the stores.
    pub(crate) fn environment(&self) -> Vec<(&'static str, String)> {
        let socket = server().data_dir.join("postgres").display().to_string();
        let (address, database) = (&self.clickhouse, &self.database);
        let clickhouse =
            address.url.replacen("://", &format!("://{}:{}@", address.user, address.password), 1);
        vec![
            (
                "DATABASE_URL",
                format!("postgres://millrace@localhost:5432/{database}?host={socket}"),
            ),
            ("CLICKHOUSE_URL", format!("{clickhouse}/{}", address.database)),
        ]
    }

    fn options(&self) -> PgConnectOptions {
        PgConnectOptions::clone(&server().db().connect_options()).database(&self.database)
    }

    /// The database in ClickHouse.
    pub(crate) fn clickhouse(&self) -> &ClickHouseAddress {
        &self.clickhouse
    }

    /// A connection to its PostgreSQL.
    pub(crate) async fn connect(&self) -> PgConnection {
        self.options().connect().await.unwrap()
    }

    /// A pool as a server has one.
    pub(super) fn pool(&self) -> sqlx::PgPool {
        web::db::connect(self.options(), 2, std::time::Duration::from_mins(1))
    }

    /// Brings its PostgreSQL to this release's schema.
    pub(super) async fn migrate(&self) {
        let pool = self.pool();
        web::db::migrate(&pool).await.unwrap();
        pool.close().await;
    }

    async fn restore_postgres(&self) {
        let rows = lines("rows.jsonl");
        let applied: Vec<i64> = rows
            .iter()
            .map(row)
            .filter(|(table, _)| *table == "_sqlx_migrations")
            .map(|(_, row)| row["version"].as_i64().unwrap())
            .collect();
        let mut connection = self.connect().await;
        for text in migrations_up_to(*applied.iter().max().unwrap()) {
            connection.execute(AssertSqlSafe(text)).await.unwrap();
        }
        // Foreign keys and triggers have done their work on these rows.
        let record =
            "create table _sqlx_migrations (version bigint primary key, description text not null,
            installed_on timestamptz not null default now(), success boolean not null,
            checksum bytea not null, execution_time bigint not null);
            set session_replication_role = replica";
        connection.execute(record).await.unwrap();
        for (table, values) in rows.iter().map(row) {
            let names: Vec<String> =
                values.as_object().unwrap().keys().map(|name| format!("\"{name}\"")).collect();
            let names = names.join(", ");
            // What migrations put there themselves stays.
            let insert = format!(
                "insert into \"{table}\" ({names}) overriding system value
                 select {names} from json_populate_record(null::\"{table}\", $1::json)
                 on conflict do nothing"
            );
            sqlx::query(AssertSqlSafe(insert))
                .bind(values.to_string())
                .execute(&mut connection)
                .await
                .unwrap();
        }
        connection.execute(ADVANCE_SEQUENCES).await.unwrap();
        connection.close().await.unwrap();
    }

    async fn restore_clickhouse(&self) {
        let text = fs::read_to_string(file("clickhouse.sql")).unwrap();
        for statement in text.split(";\n").filter(|statement| !statement.trim().is_empty()) {
            self.run_statement(statement, "").await;
        }
        for line in lines("clickhouse_rows.jsonl") {
            let (table, row) = row(&line);
            self.insert(table, row).await;
        }
    }

    /// Inserts the first event as the previous release does, under another id.
    pub(super) async fn insert_as_the_previous(&self, event_id: &str) {
        let mut line = lines("clickhouse_rows.jsonl").remove(0);
        line["row"]["event_id"] = event_id.into();
        // Later than the first by the arrival number, as a retry is.
        let seq: u64 = line["row"]["seq"].as_str().unwrap().parse().unwrap();
        line["row"]["seq"] = (seq + 1000).to_string().into();
        let (table, row) = row(&line);
        self.insert(table, row).await;
    }

    async fn insert(&self, table: &str, row: &Value) {
        let names: Vec<&str> = row.as_object().unwrap().keys().map(String::as_str).collect();
        let insert = format!("INSERT INTO {table} ({}) FORMAT JSONEachRow", names.join(", "));
        self.run_statement(&insert, &row.to_string()).await;
    }

    /// Name and type of every column of its ClickHouse.
    pub(super) async fn clickhouse_columns(&self) -> BTreeSet<String> {
        let ask = "SELECT concat(table, '.', name, ' ', type) FROM system.columns
                   WHERE database = currentDatabase() FORMAT TabSeparatedRaw";
        self.run_statement(ask, "").await.lines().map(str::to_owned).collect()
    }

    pub(super) async fn run_statement(&self, statement: &str, rows: &str) -> String {
        let address = &self.clickhouse;
        let answer = reqwest::Client::new()
            .post(&address.url)
            .basic_auth(&address.user, Some(&address.password))
            .query(&[("database", address.database.as_str())])
            .body(format!("{statement}\n{rows}"))
            .send()
            .await
            .unwrap();
        let (status, text) = (answer.status(), answer.text().await.unwrap());
        assert!(status.is_success(), "{text}: {statement}");
        text
    }
}

/// The texts of the migrations up to this one, in order.
fn migrations_up_to(newest: i64) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations/postgres");
    let mut files: Vec<(i64, PathBuf)> = fs::read_dir(folder)
        .unwrap()
        .filter_map(|entry| {
            let path = entry.unwrap().path();
            let number = path.file_name()?.to_str()?.split_once('_')?.0.parse().ok()?;
            (path.extension()? == "sql" && number <= newest).then_some((number, path))
        })
        .collect();
    files.sort_unstable();
    files.into_iter().map(|(_, path)| fs::read_to_string(path).unwrap()).collect()
}
