//! Calls whose profiles are changed by two transactions, of which one fails.

use sqlx::{Connection as _, PgConnection};

use super::*;
use crate::{
    kit::{Process, data_dir},
    sending::fixture::beside,
};

/// Enough calls that two transactions share them.
const CALLS: usize = 400;
/// A database that refuses one of the profiles.
const REFUSE_ONE: &str = "
    create function refuse_one() returns trigger language plpgsql as $$
    begin
        raise exception 'this profile is refused';
    end
    $$;
    create trigger refuse_one before insert on users for each row when (new.external_id = 'u7')
    execute function refuse_one();";

/// How many calls had an outcome.
async fn outcomes(process: &Process, outcome: &str) -> usize {
    let metrics = Client::new(&process.admin_url, None).get("/metrics", 200).await.text;
    let name = format!("millrace_profile_calls_applied_total{{outcome=\"{outcome}\"}} ");
    let line = metrics.lines().find_map(|line| line.strip_prefix(&name));
    line.map_or(0, |count| count.parse().unwrap())
}

#[tokio::test]
async fn calls_beside_a_failing_transaction_are_applied_and_counted_once() {
    let dir = data_dir("event-sdks-half-failed");
    let (process, key) = Process::start(&dir, &[]).await;
    let key = key.unwrap();
    let [(_, database), _] = beside(&dir);
    let mut connection = PgConnection::connect(&database).await.unwrap();
    sqlx::raw_sql(REFUSE_ONE).execute(&mut connection).await.unwrap();
    let calls: Vec<Value> = (0..CALLS)
        .map(|number| json!({"type": "identify", "userId": format!("u{number}"), "messageId": number.to_string()}))
        .collect();
    let request = Client::new(&process.url, None).request(Method::POST, "/v1/batch");
    let client = process.client(&key);
    client.send(request.basic_auth(&key, Some("")).json(&json!({"batch": calls})), 200).await;
    eventually("every call has an outcome", || async {
        let (applied, failed) =
            (outcomes(&process, "applied").await, outcomes(&process, "failed").await);
        (applied + failed >= CALLS).then_some(())
    })
    .await;
    let (applied, failed) =
        (outcomes(&process, "applied").await, outcomes(&process, "failed").await);
    assert_eq!((applied, failed), (CALLS - 1, 1), "the refused one takes no other with it");
    let profiles = client.get("/users?limit=1", 200).await.json();
    assert_eq!(profiles["pagination"]["total"], CALLS - 1);
    let refused = eventually("the one that failed is listed", || async {
        let list = client.get("/events/rejected", 200).await.json();
        list["data"].as_array().unwrap().first().cloned()
    })
    .await;
    let reason = "it could not be applied because of a fault of the server: send it again";
    assert_eq!((&refused["reason"], &refused["messageId"]), (&json!(reason), &json!("7")));
    assert_eq!(refused["userId"], "u7");
}
