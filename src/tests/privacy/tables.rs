//! Rows of a person in every table of PostgreSQL that has a column for one.

use std::collections::BTreeMap;

use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection, Row as _};

/// Tables where the rows of a person are made by calls of the API, or of which there is only one.
const MADE_BY_CALLS: [&str; 10] = [
    "channel_consent",
    "device",
    "identity",
    "list_membership",
    "message",
    "people_change",
    "people_rebuild",
    "privacy_request",
    "subscription_history",
    "user_name",
];

/// Values of columns whose rules other values would break: table, column, value.
const WORDS: [(&str, &str, &str); 5] = [
    ("in_app_recipient", "status", "sent"),
    ("pending_channel", "channel", "email"),
    ("pending_channel", "status", "subscribed"),
    ("pending_membership", "channel", "email"),
    ("retention_task", "name", "test"),
];

struct Column {
    name: String,
    sql_type: String,
}

/// The tables that name a person by an internal id, with the columns that a row needs.
async fn tables(postgres: &mut PgConnection) -> BTreeMap<String, Vec<Column>> {
    let rows = sqlx::query(
        "select c.table_name::text, c.column_name::text, c.data_type::text
         from information_schema.columns c
         join information_schema.tables t using (table_schema, table_name)
         where c.table_schema = 'public' and t.table_type = 'BASE TABLE' and c.is_generated = 'NEVER'
             and c.is_identity = 'NO' and exists (
                 select from information_schema.columns u
                 where u.table_schema = 'public' and u.table_name = c.table_name and u.column_name = 'user_id'
                     and u.data_type = 'bytea')
         order by c.table_name, c.ordinal_position",
    )
    .fetch_all(&mut *postgres)
    .await
    .unwrap();
    let mut tables = BTreeMap::<String, Vec<Column>>::new();
    for row in rows {
        let column = Column { name: row.get(1), sql_type: row.get(2) };
        tables.entry(row.get(0)).or_default().push(column);
    }
    tables
}

/// A value for a column of a row of this person.
fn value(table: &str, column: &Column, user: &str, token: &str) -> String {
    let word = WORDS.iter().find(|(of, name, _)| *of == table && *name == column.name);
    if let Some((_, _, word)) = word {
        return format!("'{word}'");
    }
    match (column.name.as_str(), column.sql_type.as_str()) {
        ("workspace_id", _) => "(select id from workspace limit 1)".to_owned(),
        ("user_id", "bytea") => format!("decode('{user}', 'hex')"),
        (_, "text") => format!("'{token}{}'", column.name),
        (_, "jsonb") => format!("jsonb_build_object('x', '{token}{}')", column.name),
        (_, "uuid") => "gen_random_uuid()".to_owned(),
        (_, "timestamp with time zone") => "now()".to_owned(),
        (_, "date") => "current_date".to_owned(),
        (_, "boolean") => "false".to_owned(),
        (_, "bytea") => "'\\x00'".to_owned(),
        (_, "ARRAY") => "'{}'".to_owned(),
        _ => "1".to_owned(),
    }
}

/// Puts a row of the person into each of these tables. Foreign keys and triggers do not look at it.
pub(super) async fn fill(postgres: &mut PgConnection, user: &str, token: &str) {
    let tables = tables(postgres).await;
    assert!(tables.len() > MADE_BY_CALLS.len(), "there are such tables");
    let mut transaction = postgres.begin().await.unwrap();
    transaction.execute("set local session_replication_role = replica").await.unwrap();
    for (table, columns) in &tables {
        if MADE_BY_CALLS.contains(&table.as_str()) {
            continue;
        }
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let values: Vec<String> =
            columns.iter().map(|column| value(table, column, user, token)).collect();
        let insert =
            format!("insert into {table} ({}) values ({})", names.join(", "), values.join(", "));
        if let Err(error) = transaction.execute(AssertSqlSafe(insert.clone())).await {
            panic!("{error}: {insert}");
        }
    }
    transaction.commit().await.unwrap();
}

/// Checks that no table names the person any more.
pub(super) async fn assert_empty(postgres: &mut PgConnection, user: &str) {
    for table in tables(postgres).await.keys() {
        let count = format!("select count(*) from {table} where user_id = decode('{user}', 'hex')");
        let rows: i64 =
            sqlx::query_scalar(AssertSqlSafe(count)).fetch_one(&mut *postgres).await.unwrap();
        assert_eq!(rows, 0, "{table}");
    }
}
