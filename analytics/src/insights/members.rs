//! People that a question is limited to.

use uuid::Uuid;

use crate::{Analytics, error::AnalyticsError};

const STORE: &str = include_str!("../sql/insight_members_store.sql");
/// Most people of one insert.
pub const MEMBERS_PER_INSERT: usize = 20_000;

/// Some people of a question.
#[derive(Debug, Clone)]
pub struct Members {
    /// Names the question; no other has it.
    pub question: Uuid,
    /// Internal ids, 24 hexadecimal digits each; at most [`MEMBERS_PER_INSERT`].
    pub users: Vec<String>,
}

/// Stores people of a question, beside those stored before. They are gone an hour later.
///
/// # Errors
/// When ClickHouse is away.
pub async fn store(analytics: &Analytics, members: &Members) -> Result<(), AnalyticsError> {
    analytics
        .client()
        .query_raw(STORE)
        .with_setting("async_insert", "0")
        .param("question", members.question.to_string())
        .param("users", &members.users)
        .execute()
        .await?;
    Ok(())
}
