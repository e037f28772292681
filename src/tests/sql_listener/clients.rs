//! Official clients, unmodified. Where their registries are out of reach, these tests are skipped.

use std::{fs, path::PathBuf, time::Duration};

use serde_json::{Value, json};
use tokio::{process::Command, sync::OnceCell};

use super::fixture::{Sql, track};
use crate::kit::{self, RUN_MAX, Workspace, npm, run_program};

const PYTHON: &str = "clickhouse-connect==1.12.0";
const DBT: &[&str] = &["dbt-core==1.9.11", "dbt-clickhouse==1.9.8"];
/// Longest run of dbt, which reads all of its packages at each start.
const DBT_MAX: Duration = Duration::from_mins(4);
const NODE: &str = "@clickhouse/client@1.23.1";
/// Without the last three Superset does not start, or connects to nothing.
const SUPERSET: &[&str] = &[
    "apache-superset==6.1.0",
    "clickhouse-connect==1.12.0",
    "cachetools==8.0.2",
    "flask-caching==2.3.1",
    "rich==15.0.0",
];

/// The Python that has the package.
async fn python() -> Result<PathBuf, String> {
    static INSTALLED: OnceCell<Result<PathBuf, String>> = OnceCell::const_new();
    INSTALLED.get_or_init(|| kit::python("sql-python", &[PYTHON])).await.clone()
}

/// Where the package of Node is.
async fn node() -> Result<PathBuf, String> {
    static INSTALLED: OnceCell<Result<PathBuf, String>> = OnceCell::const_new();
    INSTALLED.get_or_init(|| npm("sql-node", &[NODE])).await.clone()
}

async fn caller() -> Sql {
    let workspace = Workspace::new().await;
    let sql = Sql::of(&workspace).await;
    let event = |number: usize| json!({"userId": "ann", "eventName": "Seen", "clientEventId": format!("{number}"), "properties": {"n": number}});
    track(&workspace, &sql, (0..10).map(event).collect()).await;
    sql
}

fn host_and_port(sql: &Sql) -> (String, String) {
    let (host, port) = sql.url.strip_prefix("http://").unwrap().split_once(':').unwrap();
    (host.to_owned(), port.to_owned())
}

const WITH_PYTHON: &str = r#"
import sys, clickhouse_connect
host, port, key = sys.argv[1:4]
client = clickhouse_connect.get_client(host=host, port=int(port), username='analyst', password=key, database='millrace')
assert client.command('SELECT currentDatabase()') == 'millrace'
rows = client.query('SELECT event_id, numbers, timestamp FROM events WHERE event_name = {name:String} ORDER BY toUInt8(event_id)', parameters={'name': 'Seen'})
assert rows.row_count == 10 and rows.column_names == ('event_id', 'numbers', 'timestamp'), rows.column_names
assert rows.result_rows[3][1] == {'n': 3.0}, rows.result_rows[3]
many = client.query('SELECT number, toString(number) FROM numbers(200000)')
assert many.row_count == 200000 and many.result_rows[-1] == (199999, '199999')
assert client.query('SELECT 1', settings={'max_execution_time': 5}).result_rows == [(1,)]
tables = client.query('SHOW TABLES').result_rows
assert ('events',) in tables, tables
with client.query_row_block_stream('SELECT number FROM numbers(100000)') as stream:
    assert sum(len(block) for block in stream) == 100000
for statement in ['SELECT * FROM system.processes', "SELECT file('/etc/passwd')"]:
    try:
        client.query(statement)
    except clickhouse_connect.driver.exceptions.DatabaseError as error:
        continue
    raise AssertionError(statement)
print('done')
"#;

#[tokio::test]
async fn clickhouse_connect_just_connects() {
    let python = match python().await {
        Ok(python) => python,
        Err(reason) => return eprintln!("SKIPPED {PYTHON}: {reason}"),
    };
    let sql = caller().await;
    let (host, port) = host_and_port(&sql);
    let printed = run_program(
        Command::new(python).arg("-c").arg(WITH_PYTHON).args([&host, &port, &sql.key]),
        RUN_MAX,
    )
    .await;
    assert_eq!(printed.as_deref().map(str::trim), Ok("done"));
}

const WITH_NODE: &str = r"
const { createClient } = require('@clickhouse/client');
const assert = require('node:assert');
(async () => {
  const [url, password] = process.argv.slice(1);
  const client = createClient({ url, username: 'analyst', password, database: 'millrace', compression: { response: true } });
  assert.ok((await client.ping()).success);
  const result = await client.query({
    query: 'SELECT event_id, numbers FROM events WHERE event_name = {name:String} ORDER BY toUInt8(event_id)',
    query_params: { name: 'Seen' }, format: 'JSONEachRow', clickhouse_settings: { max_execution_time: 5 },
  });
  const rows = await result.json();
  assert.strictEqual(rows.length, 10);
  assert.deepStrictEqual(rows[3], { event_id: '3', numbers: { n: 3 } });
  let count = 0;
  const many = await client.query({ query: 'SELECT number FROM numbers(100000)', format: 'JSONCompactEachRow' });
  for await (const part of many.stream()) count += part.length;
  assert.strictEqual(count, 100000);
  await assert.rejects(client.query({ query: 'SELECT * FROM system.processes' }), { code: '60' });
  await assert.rejects(client.command({ query: 'DROP TABLE events' }), { code: '164' });
  await client.close();
  console.log('done');
})().catch((error) => { console.error(error); process.exit(1); });
";

#[tokio::test]
async fn the_client_of_node_just_connects() {
    let folder = match node().await {
        Ok(folder) => folder,
        Err(reason) => return eprintln!("SKIPPED {NODE}: {reason}"),
    };
    let sql = caller().await;
    let mut command = Command::new("node");
    let printed = run_program(
        command.arg("-e").arg(WITH_NODE).arg("--").args([&sql.url, &sql.key]).current_dir(folder),
        RUN_MAX,
    )
    .await;
    assert_eq!(printed.as_deref().map(str::trim), Ok("done"));
}

const DBT_PROJECT: &str = "
name: shop
version: '1.0'
profile: shop
";
const DBT_SOURCES: &str = "
version: 2
sources:
  - name: millrace
    tables: [{name: events}, {name: people}]
";
const DBT_MODEL: &str = "
SELECT event_name, count() AS events
FROM {{ source('millrace', 'events') }}
GROUP BY event_name
";

/// A project of dbt with one model over the views.
fn dbt_project(sql: &Sql) -> tempfile::TempDir {
    let (host, port) = host_and_port(sql);
    let profile = json!({"shop": {"target": "dev", "outputs": {"dev": {
        "type": "clickhouse", "driver": "http", "schema": "millrace", "host": host,
        "port": port.parse::<u16>().unwrap(), "user": "analyst", "password": sql.key,
    }}}});
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| fs::write(folder.path().join(path), text).unwrap();
    fs::create_dir(folder.path().join("models")).unwrap();
    // JSON is YAML.
    write("profiles.yml", &profile.to_string());
    write("dbt_project.yml", DBT_PROJECT);
    write("models/sources.yml", DBT_SOURCES);
    write("models/events_by_name.sql", DBT_MODEL);
    folder
}

#[tokio::test]
async fn dbt_reads_the_views() {
    let python = match kit::python("sql-dbt", DBT).await {
        Ok(python) => python,
        Err(reason) => return eprintln!("SKIPPED dbt: {reason}"),
    };
    let sql = caller().await;
    let project = dbt_project(&sql);
    let dbt = async |arguments: &[&str]| {
        let mut command = Command::new(python.with_file_name("dbt"));
        command.args(arguments).args(["--profiles-dir", "."]).current_dir(project.path());
        command.env("DBT_SEND_ANONYMOUS_USAGE_STATS", "false");
        run_program(&mut command, DBT_MAX).await
    };
    let connected = dbt(&["debug"]).await.unwrap();
    assert!(connected.contains("All checks passed"), "{connected}");
    let shown = dbt(&["--quiet", "show", "--select", "events_by_name", "--output", "json"]).await;
    let shown: Value = serde_json::from_str(&shown.unwrap()).unwrap();
    assert_eq!(shown["show"], json!([{"event_name": "Seen", "events": 10}]));
    dbt(&["docs", "generate"]).await.unwrap();
    let catalog = fs::read_to_string(project.path().join("target/catalog.json")).unwrap();
    let catalog: Value = serde_json::from_str(&catalog).unwrap();
    let columns = &catalog["sources"]["source.shop.millrace.events"]["columns"];
    assert_eq!(columns["person_id"]["type"], "String", "{catalog}");
}

/// Superset's own classes, with a store of its own in a folder: what it asks of a database, and a chart by each grain.
/// The axis has another name than the column of the range. ClickHouse reads a name in WHERE as that of the answer's column.
const WITH_SUPERSET: &str = r#"
import json, os, sys
from datetime import datetime
folder, host, port, key = sys.argv[1:5]
with open(f'{folder}/superset_config.py', 'w') as config:
    config.write(f"SECRET_KEY = '{key}'\nSQLALCHEMY_DATABASE_URI = 'sqlite:///{folder}/superset.db'\n")
os.environ['SUPERSET_CONFIG_PATH'] = f'{folder}/superset_config.py'
os.environ['SUPERSET_HOME'] = folder
import pandas
from superset.app import create_app
with create_app().app_context():
    from flask_appbuilder import Model
    from superset import db
    from superset.connectors.sqla.models import SqlaTable
    from superset.models.core import Database
    Model.metadata.create_all(db.engine)
    database = Database(database_name='shop')
    database.set_sqlalchemy_uri(f'clickhousedb://any:{key}@{host}:{port}/millrace')
    db.session.add(database)
    assert database.get_all_schema_names() == {'millrace'}, database.get_all_schema_names()
    names = {name for name, *_ in database.get_all_table_names_in_schema(catalog=None, schema='millrace')}
    assert names == {'campaigns', 'events', 'message_events', 'messages', 'orders', 'people'}, names
    completed = set(database.db_engine_spec.get_function_names(database))
    assert {'numbers', 'toStartOfMonth', 'uniqExact'} <= completed, len(completed)
    tables = {name: SqlaTable(table_name=name, schema='millrace', database=database) for name in names}
    for name, table in tables.items():
        db.session.add(table)
        table.fetch_metadata()
        assert table.columns and table.main_dttm_col, name
        assert database.get_df(f'SELECT * FROM {name} LIMIT 100') is not None
    kinds = {column.column_name: column.type_generic.name for column in tables['orders'].columns}
    assert kinds['timestamp'] == 'TEMPORAL' and kinds['revenue'] == 'NUMERIC' and kinds['person_id'] == 'STRING', kinds
    def rows(**question):
        nothing = {'columns': [], 'metrics': [], 'filter': [], 'orderby': [], 'extras': {}, 'is_timeseries': False, 'row_limit': 1000,
                   'granularity': None, 'from_dttm': None, 'to_dttm': None}
        answer = tables['orders'].query({**nothing, **question})
        assert answer.status == 'success', (answer.error_message, answer.query)
        return answer.df.to_dict('records')
    def metric(column, aggregate):
        return {'expressionType': 'SIMPLE', 'column': {'column_name': column}, 'aggregate': aggregate, 'label': column}
    def chart(grain):
        axis = {'timeGrain': grain, 'columnType': 'BASE_AXIS', 'sqlExpression': 'timestamp', 'label': 'period', 'expressionType': 'SQL'}
        answer = rows(columns=[axis], metrics=[metric('revenue', 'SUM'), metric('person_id', 'COUNT_DISTINCT'), 'count'],
                      granularity='timestamp', from_dttm=datetime(2011, 1, 13, 10, 30), to_dttm=datetime(2011, 3, 15))
        at = lambda row: pandas.to_datetime(row['period'], utc=True).strftime('%Y-%m-%dT%H:%M:%SZ')
        return sorted([at(row), float(row['revenue']), row['person_id'], row['count']] for row in answer)
    euros = rows(columns=['currency'], metrics=['count'], filter=[{'col': 'currency', 'op': 'IN', 'val': ['EUR', "it's 5%"]}])
    assert euros == [{'currency': 'EUR', 'count': 7}], euros
    print(json.dumps({'hour': chart('PT1H'), 'day': chart('P1D'), 'week': chart('P1W'), 'month': chart('P1M')}))
"#;

/// Orders within the range of the charts and right beside it, one of them named by two events.
async fn shop() -> (Workspace, Sql) {
    let workspace = Workspace::new().await;
    let sql = Sql::of(&workspace).await;
    let order = |id: &str, whose: &str, who: &str, at: &str, total: f64| {
        json!({
            whose: who, "eventName": "Order Completed", "clientEventId": id, "timestamp": at,
            "properties": {"orderId": id, "total": total, "currency": "EUR"},
        })
    };
    let mut again = order("2", "userId", "ann", "2011-01-14T09:00:00Z", 500.0);
    again["clientEventId"] = json!("2-again");
    let orders = vec![
        order("1", "userId", "ann", "2011-01-13T10:29:59.999Z", 1000.0),
        order("2", "userId", "ann", "2011-01-13T10:30:00Z", 49.9),
        order("3", "userId", "ann", "2011-01-13T10:59:59.999Z", 0.1),
        order("4", "userId", "bob", "2011-01-31T23:59:59.999Z", 7.25),
        order("5", "userId", "bob", "2011-02-01T00:00:00Z", 8.0),
        order("6", "anonymousId", "web", "2011-03-14T23:59:59.999Z", 9.5),
        order("7", "userId", "ann", "2011-03-15T00:00:00Z", 2000.0),
    ];
    track(&workspace, &sql, orders).await;
    track(&workspace, &sql, vec![again]).await;
    (workspace, sql)
}

#[tokio::test]
async fn charts_of_superset_are_those_of_the_api() {
    let python = match kit::python("sql-superset", SUPERSET).await {
        Ok(python) => python,
        Err(reason) => return eprintln!("SKIPPED superset: {reason}"),
    };
    let (workspace, sql) = shop().await;
    let (host, port) = host_and_port(&sql);
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(python);
    command.arg("-c").arg(WITH_SUPERSET).arg(folder.path()).args([&host, &port, &sql.key]);
    let printed = run_program(command.current_dir(folder.path()), RUN_MAX).await.unwrap();
    let charts: Value = serde_json::from_str(printed.lines().last().unwrap()).unwrap();
    for interval in ["hour", "day", "week", "month"] {
        let series = |metric: &str| match metric {
            "sum" => json!({"eventName": "Order Completed", "metric": metric, "field": "total"}),
            _ => json!({"eventName": "Order Completed", "metric": metric}),
        };
        let series = ["sum", "unique", "count"].map(series);
        let question = json!({
            "series": series, "interval": interval,
            "from": "2011-01-13T10:30:00Z", "to": "2011-03-14T23:59:59.999Z",
        });
        let trend = workspace.api.post("/insights/trends", &question, 200).await.json();
        let charted = charts[interval].as_array().unwrap().iter().map(|row| {
            (row[0].as_str().unwrap(), [1_usize, 2, 3].map(|at| row[at].as_f64().unwrap()))
        });
        assert_eq!(charted.collect::<Vec<_>>(), counted(&trend), "{interval}");
    }
}

/// The intervals of a trend of three series in which the last one is not zero.
fn counted(trend: &Value) -> Vec<(&str, [f64; 3])> {
    let intervals = trend["intervals"].as_array().unwrap().iter().enumerate();
    let rows = intervals.map(|(at, interval)| {
        let values = [0_usize, 1, 2].map(|of| trend["series"][of]["values"][at].as_f64().unwrap());
        (interval.as_str().unwrap(), values)
    });
    rows.filter(|(_, values)| values[2] > 0.0).collect()
}
