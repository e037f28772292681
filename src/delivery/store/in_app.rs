//! Test messages for apps.

use std::time::Duration;

use campaigns::model::in_app::InAppContent;
use kernel::{CampaignId, MessageId, Result, Timestamp, UserId, WorkspaceId};
use serde_json::Value;
use sqlx::{PgConnection, PgExecutor};

/// How long a test can be displayed.
const TEST_LIFE: Duration = Duration::from_hours(24);
/// Tests stored for one profile; the oldest are deleted first.
const TESTS_PER_USER_MAX: i64 = 10;

/// A test for the app of one profile.
#[derive(Debug, Clone, PartialEq)]
pub struct InAppTest {
    pub id: MessageId,
    /// The profile whose app displays it.
    pub user: UserId,
    pub campaign: CampaignId,
    pub variant: String,
    pub content: InAppContent,
}

/// Stores a test. `GET /v1/in-app/messages` returns it first for this profile, until it is displayed or 24 hours have
/// passed.
///
/// # Errors
/// When the store fails.
pub async fn put_test(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    now: Timestamp,
    test: &InAppTest,
) -> Result<()> {
    let content: Value = serde_json::to_value(&test.content).map_err(anyhow::Error::from)?;
    let user = test.user.bytes().to_vec();
    sqlx::query!(
        "insert into in_app_test
             (workspace_id, message_id, user_id, campaign_id, variant_id, content, created_at, expires_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8)",
        workspace.uuid(),
        test.id.uuid(),
        &user,
        test.campaign.uuid(),
        test.variant,
        content,
        now.utc(),
        now.after(TEST_LIFE).utc(),
    )
    .execute(&mut *connection)
    .await?;
    sqlx::query!(
        "delete from in_app_test
         where workspace_id = $1 and message_id in (
             select message_id
             from in_app_test
             where workspace_id = $1 and user_id = $2
             order by expires_at > $3 desc, created_at desc, message_id
             offset $4)",
        workspace.uuid(),
        &user,
        now.utc(),
        TESTS_PER_USER_MAX,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// The tests that a profile has not seen yet, the newest first.
///
/// # Errors
/// When the store fails.
pub async fn tests_of(
    db: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    now: Timestamp,
    user: UserId,
) -> Result<Vec<InAppTest>> {
    let rows = sqlx::query!(
        "select message_id, campaign_id, variant_id, content
         from in_app_test
         where workspace_id = $1 and user_id = $2 and expires_at > $3 and displayed_at is null
         order by created_at desc, message_id
         limit $4",
        workspace.uuid(),
        &user.bytes()[..],
        now.utc(),
        TESTS_PER_USER_MAX,
    )
    .fetch_all(db)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(InAppTest {
                id: MessageId::new(row.message_id),
                user,
                campaign: CampaignId::new(row.campaign_id),
                variant: row.variant_id,
                content: serde_json::from_value(row.content).map_err(anyhow::Error::from)?,
            })
        })
        .collect()
}

/// The campaign and variant of a test, by the message id that an app reported.
///
/// # Errors
/// When the store fails.
pub async fn find_test(
    db: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    user: UserId,
    message: MessageId,
) -> Result<Option<(CampaignId, String)>> {
    let row = sqlx::query!(
        "select campaign_id, variant_id
         from in_app_test
         where workspace_id = $1 and message_id = $2 and user_id = $3",
        workspace.uuid(),
        message.uuid(),
        &user.bytes()[..],
    )
    .fetch_optional(db)
    .await?;
    Ok(row.map(|row| (CampaignId::new(row.campaign_id), row.variant_id)))
}

/// Records that a test was displayed.
///
/// # Errors
/// When the store fails.
pub async fn see_test(
    db: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    message: MessageId,
    at: Timestamp,
) -> Result<()> {
    sqlx::query!(
        "update in_app_test
         set displayed_at = coalesce(displayed_at, $3)
         where workspace_id = $1 and message_id = $2",
        workspace.uuid(),
        message.uuid(),
        at.utc(),
    )
    .execute(db)
    .await?;
    Ok(())
}
