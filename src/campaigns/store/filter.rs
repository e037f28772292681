//! The list of campaigns with optional filters.

use kernel::{Error, Result, WorkspaceId};
use sqlx::{PgPool, Postgres, QueryBuilder};
use uuid::Uuid;

use super::campaigns::find_newest;
use crate::model::{Campaign, Filter};

/// JSON bytes of the campaigns of one page, which is held in memory.
const PAGE_BYTES_MAX: i64 = 64 << 20;

/// A page of campaigns, newest first, and the total.
///
/// # Errors
/// A bad request if the page is too large.
pub(crate) async fn list(
    db: &PgPool,
    workspace: WorkspaceId,
    filter: &Filter,
) -> Result<(Vec<Campaign>, i64)> {
    let mut count = QueryBuilder::new("select count(*) from campaign where workspace_id = ");
    narrow(&mut count, workspace, filter);
    let total: i64 = count.build_query_scalar().fetch_one(db).await?;
    let offset = i64::try_from(filter.offset).unwrap_or(i64::MAX);
    if offset >= total {
        return Ok((Vec::new(), total));
    }
    // Ids first, without definitions: their total size decides whether the page can be read.
    let mut page = QueryBuilder::new("select id, bytes from campaign where workspace_id = ");
    narrow(&mut page, workspace, filter);
    page.push(" order by created_at desc, id desc limit ").push_bind(i64::from(filter.limit));
    page.push(" offset ").push_bind(offset);
    let found: Vec<(Uuid, i32)> = page.build_query_as().fetch_all(db).await?;
    let bytes: i64 = found.iter().map(|(_, bytes)| i64::from(*bytes)).sum();
    if bytes > PAGE_BYTES_MAX && found.len() > 1 {
        return Err(Error::bad_request(format!(
            "the page is larger than {PAGE_BYTES_MAX} bytes ({bytes}): ask for fewer by limit"
        )));
    }
    let ids: Vec<Uuid> = found.into_iter().map(|(id, _)| id).collect();
    Ok((find_newest(db, workspace, &ids).await?, total))
}

fn narrow(query: &mut QueryBuilder<Postgres>, workspace: WorkspaceId, filter: &Filter) {
    query.push_bind(workspace.uuid());
    if !filter.statuses.is_empty() {
        let names: Vec<&str> = filter.statuses.iter().map(|status| status.as_str()).collect();
        query.push(" and status = any(").push_bind(owned(&names)).push(")");
    }
    if !filter.channels.is_empty() {
        let names: Vec<&str> = filter.channels.iter().map(|channel| channel.as_str()).collect();
        query.push(" and channel = any(").push_bind(owned(&names)).push(")");
    }
    if !filter.tags.is_empty() {
        query.push(" and tags ?| ").push_bind(filter.tags.clone());
    }
    if let Some(text) = &filter.text {
        query.push(" and words like lower(").push_bind(containing(text)).push(")");
    }
    if !filter.created_by.is_empty() {
        query.push(" and created_by = any(").push_bind(filter.created_by.clone()).push(")");
    }
    if !filter.edited_by.is_empty() {
        query.push(" and updated_by = any(").push_bind(filter.edited_by.clone()).push(")");
    }
    if let Some(from) = filter.created_from {
        query.push(" and created_at >= ").push_bind(from.utc());
    }
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// A `like` pattern that matches texts containing this one.
fn containing(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len() + 2);
    pattern.push('%');
    for character in text.chars() {
        if matches!(character, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern.push('%');
    pattern
}
