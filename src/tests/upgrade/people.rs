//! Profiles that the previous release stored are copied to ClickHouse.

use std::collections::BTreeMap;

use sqlx::Connection as _;

use super::Previous;
use crate::kit::{Process, data_dir, eventually};

/// Key, address and state of each profile, or name and state of each campaign.
type Rows = BTreeMap<String, String>;

const STORED: &str = "
    select encode(id, 'hex'), case when deleted_at is null then concat('0 ', email, ' ', external_id) else '1  ' end
    from users
    union all
    select id::text, concat('0 ', definition->>'name', ' ', status) from campaign";

const COPIED: &str = "
    SELECT concat(key, '\t', row) FROM (
        SELECT lower(hex(user_id)) AS key, concat(toString(is_deleted), ' ', email, ' ', external_id) AS row FROM people FINAL
        UNION ALL
        SELECT toString(campaign_id), concat(toString(is_deleted), ' ', name, ' ', status) FROM campaigns FINAL)
    FORMAT TabSeparatedRaw";

#[tokio::test]
async fn profiles_and_campaigns_of_the_previous_release_are_copied() {
    let previous = Previous::restore().await;
    let mut connection = previous.connect().await;
    let stored: Rows =
        sqlx::query_as(STORED).fetch_all(&mut connection).await.unwrap().into_iter().collect();
    connection.close().await.unwrap();
    assert!(stored.values().any(|row| row.contains("ann@example.test")), "{stored:?}");
    assert!(stored.values().any(|row| row.starts_with('1')), "one is deleted: {stored:?}");
    let (server, _) = Process::start(&data_dir("upgrade-people"), &previous.environment()).await;
    eventually("all are copied", async || {
        let copied = previous.run_statement(COPIED, "").await;
        let rows = copied.lines().map(|line| line.split_once('\t').unwrap());
        let copied: Rows = rows.map(|(key, row)| (key.to_owned(), row.to_owned())).collect();
        (copied == stored).then_some(())
    })
    .await;
    assert!(server.stop().await.success());
}
