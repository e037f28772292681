//! Limits of statements: what takes too long in PostgreSQL is refused as an outage, not waited for.

use serde_json::json;

use crate::kit::{Client, data_dir, run, settings};

#[tokio::test(flavor = "multi_thread")]
async fn statements_and_lock_waits_time_out() {
    let mut settings = settings(&data_dir("statement-limits"), &[]);
    settings.engines.postgres_statement_seconds = 4;
    settings.engines.postgres_lock_seconds = 1;
    let server =
        tokio::task::spawn_blocking(|| run(settings, kernel::Clock::system())).await.unwrap();
    let (key, _) = server.key("limits", "*").await;
    let client = Client::new(&server.url, Some(&key));
    client.post("/users", &json!({"externalId": "ann"}), 201).await;

    let db = server.db();
    let (locked, release) = (tokio::sync::oneshot::channel(), tokio::sync::oneshot::channel());
    let holder = server.on(async move {
        let mut tx = db.begin().await.unwrap();
        sqlx::query("select from users where external_id = 'ann' for update")
            .execute(&mut *tx)
            .await
            .unwrap();
        locked.0.send(()).unwrap();
        drop(release.1.await);
    });
    let asked = async {
        locked.1.await.unwrap();
        let waiting = sqlx::query("select from users where external_id = 'ann' for update");
        let db = server.db();
        let refused = server.on(async move { waiting.execute(&db).await }).await;
        assert_eq!(state(refused).as_deref(), Some("55P03"));
        let change = json!({"externalId": "ann", "attributes": {"plan": "pro"}});
        let answer = client.post("/users", &change, 503).await;
        assert!(answer.text.contains("\"statusCode\":503"), "{}", answer.text);
        release.0.send(()).unwrap();
    };
    tokio::join!(holder, asked);
    client.post("/users", &json!({"externalId": "ann", "attributes": {"plan": "pro"}}), 200).await;

    let db = server.db();
    let slow = server.on(async move { sqlx::query("select pg_sleep(600)").execute(&db).await });
    assert_eq!(state(slow.await).as_deref(), Some("57014"));
}

/// The SQLSTATE of a statement that was refused.
fn state(outcome: Result<sqlx::postgres::PgQueryResult, sqlx::Error>) -> Option<String> {
    let refused = outcome.unwrap_err().into_database_error()?;
    refused.code().map(std::borrow::Cow::into_owned)
}
