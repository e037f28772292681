//! The copies of profiles and campaigns in ClickHouse are what PostgreSQL has, whatever changes, runs twice or is killed.

mod killed;
mod races;
mod rebuild;
mod sources;
mod waiting;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use serde_json::Value;
use sqlx::{ConnectOptions as _, Connection as _, postgres::PgConnectOptions};
use uuid::Uuid;

use crate::{
    kit::{Workspace, engines::ClickHouseAddress, server},
    sending::fixture::beside,
};

/// How long a change may take to be copied before a test fails. Two tests of the shared server stop the copying for a while.
const COPIED_MAX: Duration = Duration::from_mins(2);
/// How long all changes may take after engines or servers were killed.
const RECOVERED_MAX: Duration = Duration::from_mins(2);

/// Profiles as copies should have them, as text: key, and columns. A deleted one has its key alone.
const PEOPLE_STORED: &str = "
    select u.workspace_id || ' ' || encode(u.id, 'hex'),
        (case when u.deleted_at is not null then jsonb_build_object('is_deleted', 1) else jsonb_build_object(
            'is_deleted', 0,
            'external_id', coalesce(u.external_id, ''),
            'email', coalesce(u.email, ''),
            'phone', coalesce(u.phone, ''),
            'attributes', u.attributes,
            'numbers', (select coalesce(jsonb_object_agg(key, value), '{}') from jsonb_each(u.attributes)
                where jsonb_typeof(value) = 'number'),
            'texts', (select coalesce(jsonb_object_agg(key, value), '{}') from jsonb_each(u.attributes)
                where jsonb_typeof(value) = 'string'),
            'created_at', floor(extract(epoch from u.created_at) * 1000)::bigint,
            'updated_at', floor(extract(epoch from u.updated_at) * 1000)::bigint,
            'consent', (select coalesce(jsonb_object_agg(channel, status), '{}') from channel_consent c
                where c.workspace_id = u.workspace_id and c.user_id = u.id and c.status is not null),
            'lists', (select coalesce(jsonb_agg(list order by list collate \"C\"), '[]') from (
                select distinct list_id::text as list from list_membership m
                where m.workspace_id = u.workspace_id and m.user_id = u.id and m.status = 'subscribed') l),
            'anonymous_ids', (select coalesce(jsonb_agg(i.id order by i.id collate \"C\"), '[]') from identity i
                where i.workspace_id = u.workspace_id and i.user_id = u.id and i.type = 'anonymous')
        ) end)::text
    from users u
    where $1::uuid is null or u.workspace_id = $1";

const CAMPAIGNS_STORED: &str = "
    select workspace_id || ' ' || id, jsonb_build_object(
        'is_deleted', 0, 'name', definition->>'name', 'channel', definition->>'channel',
        'send_type', definition->>'sendType', 'status', status,
        'created_at', floor(extract(epoch from created_at) * 1000)::bigint)::text
    from campaign
    where $1::uuid is null or workspace_id = $1";

const PEOPLE_COPIED: &str = "
    SELECT concat(toString(workspace_id), ' ', lower(hex(user_id))) AS key, is_deleted, external_id, email, phone,
        attributes, numbers, texts, toUnixTimestamp64Milli(created_at) AS created, toUnixTimestamp64Milli(updated_at) AS updated,
        consent, arraySort(arrayMap(list -> toString(list), lists)) AS list_texts, arraySort(anonymous_ids) AS anonymous
    FROM people FINAL";

const CAMPAIGNS_COPIED: &str = "
    SELECT concat(toString(workspace_id), ' ', toString(campaign_id)) AS key, is_deleted, name, channel, send_type, status,
        toUnixTimestamp64Milli(created_at) AS created
    FROM campaigns FINAL";

type Rows = BTreeMap<String, Value>;

/// The stores of a data directory, asked directly.
#[derive(Debug, Clone)]
struct Stores {
    folder: PathBuf,
}

impl Stores {
    fn of(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// Those of the shared server.
    fn shared() -> Self {
        Self::of(&server().data_dir)
    }

    async fn clickhouse(&self, sql: &str) -> Result<String, String> {
        let address =
            ClickHouseAddress::of_server(&self.folder).map_err(|error| error.to_string())?;
        address.try_query(sql).await
    }

    /// The rows of PostgreSQL as copies should have them; of one workspace or all.
    async fn stored(
        &self,
        sql: &'static str,
        workspace: Option<Uuid>,
    ) -> Result<Rows, sqlx::Error> {
        let [(_, url), _] = beside(&self.folder);
        let mut connection = url.parse::<PgConnectOptions>()?.connect().await?;
        let rows: Vec<(String, String)> =
            sqlx::query_as(sql).bind(workspace).fetch_all(&mut connection).await?;
        connection.close().await?;
        Ok(rows.into_iter().map(|(key, row)| (key, serde_json::from_str(&row).unwrap())).collect())
    }

    async fn copied(&self, sql: &str, workspace: Option<Uuid>) -> Result<Rows, String> {
        let of = workspace.map_or(String::new(), |id| format!("WHERE workspace_id = '{id}'"));
        let lines = self.clickhouse(&format!("{sql} {of} FORMAT JSONEachRow")).await?;
        Ok(lines.lines().map(|line| copy(serde_json::from_str(line).unwrap())).collect())
    }

    /// What differs between the stores; nothing when copies are complete and exact.
    async fn differences(&self, workspace: Option<Uuid>) -> Result<Vec<String>, String> {
        let mut found = Vec::new();
        for (stored, copied, is_campaign) in
            [(PEOPLE_STORED, PEOPLE_COPIED, false), (CAMPAIGNS_STORED, CAMPAIGNS_COPIED, true)]
        {
            let stored = self.stored(stored, workspace).await.map_err(|error| error.to_string())?;
            let mut copied = self.copied(copied, workspace).await?;
            for (key, row) in stored {
                let copy = copied.remove(&key);
                if copy.as_ref() != Some(&row) {
                    found.push(format!("{key} is {row}, its copy {copy:?}"));
                }
            }
            // A campaign that is deleted has no row in PostgreSQL.
            let surplus = copied.iter().filter(|(_, copy)| !is_campaign || copy["is_deleted"] == 0);
            found
                .extend(surplus.map(|(key, copy)| format!("{key} is not stored, its copy {copy}")));
        }
        Ok(found)
    }

    /// Waits until the copies are those of PostgreSQL.
    async fn until_equal(&self, workspace: Option<Uuid>, max: Duration) {
        let began = Instant::now();
        loop {
            let differences = self.differences(workspace).await;
            if differences.as_ref().is_ok_and(Vec::is_empty) {
                return;
            }
            let first = differences.map(|all| all.into_iter().take(5).collect::<Vec<_>>());
            assert!(began.elapsed() < max, "{first:#?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    async fn number(&self, sql: &str) -> u64 {
        self.clickhouse(sql).await.unwrap().parse().unwrap()
    }
}

/// A row of ClickHouse under the names of [`PEOPLE_STORED`].
fn copy(mut row: Value) -> (String, Value) {
    let fields = row.as_object_mut().unwrap();
    let key = fields.remove("key").unwrap().as_str().unwrap().to_owned();
    let is_empty = |value: &Value| match value {
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::Array(all) => all.is_empty(),
        Value::Object(all) => all.is_empty(),
        _ => false,
    };
    if fields["is_deleted"] == 1 {
        // Nothing of a deleted one is left.
        fields.retain(|name, value| name == "is_deleted" || !is_empty(value));
        return (key, row);
    }
    for (column, name) in [
        ("created", "created_at"),
        ("updated", "updated_at"),
        ("list_texts", "lists"),
        ("anonymous", "anonymous_ids"),
    ] {
        if let Some(value) = fields.remove(column) {
            fields.insert(name.to_owned(), value);
        }
    }
    if let Some(attributes) = fields.get_mut("attributes") {
        *attributes = serde_json::from_str(attributes.as_str().unwrap()).unwrap();
    }
    (key, row)
}

/// Waits as questions do until the changes of a workspace are copied.
async fn wait(workspace: &Workspace, max: Duration) -> bool {
    let id = workspace.id;
    server()
        .with(move |app| async move {
            people_mirror::ops::wait_for_mirror(app.db(), id, max).await.unwrap()
        })
        .await
}

/// Once the changes are said to be copied, they are. Gives the copy of this profile or campaign.
async fn copied(workspace: &Workspace, id: &str) -> Value {
    assert!(wait(workspace, COPIED_MAX).await, "copied in time");
    let (stores, of) = (Stores::shared(), Some(workspace.id.uuid()));
    assert_eq!(stores.differences(of).await.unwrap(), [""; 0]);
    for sql in [PEOPLE_COPIED, CAMPAIGNS_COPIED] {
        let mut rows = stores.copied(sql, of).await.unwrap();
        if let Some(row) = rows.remove(&format!("{} {id}", workspace.id)) {
            return row;
        }
    }
    panic!("{id} has no copy");
}
