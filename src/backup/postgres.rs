//! The rows of PostgreSQL: read in one transaction, written in one.

use std::collections::BTreeMap;

use anyhow::{Context as _, ensure};
use futures_util::TryStreamExt as _;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

use crate::{
    files::{Input, Output},
    manifest::Table,
};

/// Texts of values are the same whatever a server is set to, and a copy may take long.
const SESSION: &str = "
set statement_timeout = 0;
set lock_timeout = 0;
set idle_in_transaction_session_timeout = 0;
set client_encoding = 'UTF8';
set datestyle = 'ISO';
set intervalstyle = 'postgres';
set timezone = 'UTC';
set bytea_output = 'hex';
set extra_float_digits = 1;
";

/// Tables with their columns that are not computed, those that others refer to first.
const TABLES: &str = "
with recursive tables as (
    select c.oid, c.relname::text as name from pg_class c
    where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r'
        and c.relname <> '_sqlx_migrations'),
level as (
    select oid, 0 as depth from tables
    union
    select k.conrelid, l.depth + 1 from level l
    join pg_constraint k on k.contype = 'f' and k.confrelid = l.oid and k.conrelid <> l.oid
    where l.depth < 100)
select t.name,
    (select array_agg(a.attname::text order by a.attnum) from pg_attribute a
     where a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '') as columns,
    max(l.depth) as depth
from tables t join level l on l.oid = t.oid
group by t.oid, t.name
order by depth, t.name
";

const SEQUENCES: &str = "
select sequencename::text, last_value from pg_sequences
where schemaname = current_schema() and last_value is not null
order by sequencename
";

/// What the transaction saw.
#[derive(Debug)]
pub(crate) struct Rows {
    pub(crate) tables: Vec<Table>,
    pub(crate) sequences: BTreeMap<String, i64>,
}

/// A table of the database.
#[derive(Debug, sqlx::FromRow)]
struct OwnTable {
    name: String,
    columns: Vec<String>,
}

/// Writes the rows of all tables below `dir`, as they were at one moment.
pub(crate) async fn back_up(
    connection: &mut PgConnection,
    output: &mut Output<'_>,
) -> anyhow::Result<Rows> {
    sqlx::raw_sql(SESSION).execute(&mut *connection).await?;
    sqlx::raw_sql("begin isolation level repeatable read read only")
        .execute(&mut *connection)
        .await?;
    let mut tables = Vec::new();
    for OwnTable { name, columns } in own_tables(connection).await? {
        output.progress.begin(&format!("PostgreSQL: {name}"));
        let file = format!("postgres/{name}.tsv.zst");
        let writer = output.create(&file)?;
        let failed = || format!("cannot read the table {name} of PostgreSQL");
        let statement = format!("copy {} ({}) to stdout", quoted(&name), list(&columns));
        let mut pieces = connection.copy_out_raw(&statement).await.with_context(failed)?;
        let mut rows = 0;
        while let Some(piece) = pieces.try_next().await.with_context(failed)? {
            rows += rows_in(&piece);
            output.progress.advance(piece.len() as u64);
            if !writer.write(piece).await {
                break;
            }
        }
        drop(pieces);
        output.files.insert(file.clone(), writer.finish().await?);
        tables.push(Table { name, columns, rows, file });
    }
    // Sequences belong to no transaction: they are at or behind what the rows have.
    let sequences: Vec<(String, i64)> =
        sqlx::query_as(SEQUENCES).fetch_all(&mut *connection).await?;
    sqlx::raw_sql("commit").execute(connection).await?;
    Ok(Rows { tables, sequences: sequences.into_iter().collect() })
}

/// Whether there is no table.
pub(crate) async fn is_empty(connection: &mut PgConnection) -> anyhow::Result<bool> {
    const TABLES_COUNT: &str = "\
        select count(*) from pg_class where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p')";
    let count: i64 = sqlx::query_scalar(TABLES_COUNT).fetch_one(connection).await?;
    Ok(count == 0)
}

/// Puts the rows back into a migrated database, and does `settle` in the same transaction.
pub(crate) async fn restore<T>(
    connection: &mut PgConnection,
    input: &Input<'_>,
    rows: &Rows,
    settle: impl AsyncFnOnce(&mut PgConnection) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    sqlx::raw_sql(SESSION).execute(&mut *connection).await?;
    let own = own_tables(connection).await?;
    check(&own, &rows.tables)?;
    let mut tx = connection.begin().await?;
    let names: Vec<String> = own.iter().map(|table| quoted(&table.name)).collect();
    // What migrations put in is in the backup, too.
    let truncate = format!("truncate {}", names.join(", "));
    sqlx::raw_sql(AssertSqlSafe(truncate)).execute(&mut *tx).await?;
    let triggers = Triggers::silence(&mut tx, &own).await?;
    // In the order of this database: rows that others refer to come first.
    for own in &own {
        let Some(table) = rows.tables.iter().find(|table| table.name == own.name) else { continue };
        input.progress.begin(&format!("PostgreSQL: {}", table.name));
        copy_in(&mut tx, input, table).await?;
    }
    let sequences: Vec<(String, Option<i64>)> = sqlx::query_as(
        "select sequencename::text, last_value from pg_sequences where schemaname = current_schema()",
    )
    .fetch_all(&mut *tx)
    .await?;
    for (name, _) in sequences {
        if let Some(value) = rows.sequences.get(&name) {
            sqlx::query("select setval($1::regclass, $2)")
                .bind(quoted(&name))
                .bind(value)
                .execute(&mut *tx)
                .await?;
        }
    }
    triggers.restore(&mut tx, &own).await?;
    let settled = settle(&mut tx).await?;
    tx.commit().await?;
    input.progress.begin("PostgreSQL: statistics");
    sqlx::raw_sql("analyze").execute(connection).await?;
    Ok(settled)
}

async fn copy_in(
    connection: &mut PgConnection,
    input: &Input<'_>,
    table: &Table,
) -> anyhow::Result<()> {
    let failed = || format!("cannot write the table {} of PostgreSQL", table.name);
    let mut file = input.open(&table.file)?;
    let (name, columns) = (quoted(&table.name), list(&table.columns));
    let statement = format!("copy {name} ({columns}) from stdin");
    let mut copy = connection.copy_in_raw(&statement).await.with_context(failed)?;
    loop {
        let piece = match file.next().await {
            Ok(Some(piece)) => piece,
            Ok(None) => break,
            Err(error) => {
                copy.abort("the backup cannot be read").await.with_context(failed)?;
                return Err(error);
            }
        };
        input.progress.advance(piece.len() as u64);
        copy.send(&piece[..]).await.with_context(failed)?;
    }
    let written = copy.finish().await.with_context(failed)?;
    ensure!(
        written == table.rows,
        "the table {} has {written} rows, and {} in the manifest",
        table.name,
        table.rows
    );
    Ok(())
}

/// How triggers are kept from running for restored rows: the backup has what they wrote.
enum Triggers {
    /// None runs, and nothing is checked: for superusers, quicker.
    ByRole,
    /// Those of tables are disabled, and foreign keys are checked.
    ByTable,
}

impl Triggers {
    async fn silence(connection: &mut PgConnection, own: &[OwnTable]) -> anyhow::Result<Self> {
        let is_superuser: bool =
            sqlx::query_scalar("select current_setting('is_superuser')::boolean")
                .fetch_one(&mut *connection)
                .await?;
        if is_superuser {
            sqlx::raw_sql("set local session_replication_role = replica")
                .execute(connection)
                .await?;
            return Ok(Self::ByRole);
        }
        Self::alter(connection, own, "disable").await?;
        Ok(Self::ByTable)
    }

    async fn restore(self, connection: &mut PgConnection, own: &[OwnTable]) -> anyhow::Result<()> {
        match self {
            Self::ByRole => {
                sqlx::raw_sql("set local session_replication_role = origin")
                    .execute(connection)
                    .await?;
                Ok(())
            }
            Self::ByTable => Self::alter(connection, own, "enable").await,
        }
    }

    async fn alter(
        connection: &mut PgConnection,
        own: &[OwnTable],
        verb: &str,
    ) -> anyhow::Result<()> {
        for table in own {
            let statement = format!("alter table {} {verb} trigger user", quoted(&table.name));
            sqlx::raw_sql(AssertSqlSafe(statement))
                .execute(&mut *connection)
                .await
                .context("the user of DATABASE_URL must own the tables")?;
        }
        Ok(())
    }
}

async fn own_tables(connection: &mut PgConnection) -> anyhow::Result<Vec<OwnTable>> {
    Ok(sqlx::query_as(TABLES).fetch_all(connection).await?)
}

/// Refuses a manifest whose tables are not those of the schema.
fn check(own: &[OwnTable], tables: &[Table]) -> anyhow::Result<()> {
    for table in tables {
        let own = own.iter().find(|own| own.name == table.name);
        let is_known =
            own.is_some_and(|own| table.columns.iter().all(|column| own.columns.contains(column)));
        ensure!(is_known, "the manifest names columns of {:?} that do not exist", table.name);
    }
    for own in own {
        let is_there = tables.iter().any(|table| table.name == own.name);
        ensure!(is_there, "the manifest lacks the table {:?}", own.name);
    }
    Ok(())
}

/// Rows of a piece of text: in both stores a line break within a value is escaped.
pub(crate) fn rows_in(piece: &[u8]) -> u64 {
    piece.split(|byte| *byte == b'\n').count() as u64 - 1
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn list(columns: &[String]) -> String {
    columns.iter().map(|column| quoted(column)).collect::<Vec<_>>().join(", ")
}
