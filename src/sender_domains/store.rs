//! Sender domains in PostgreSQL.

use chrono::{DateTime, Utc};
use kernel::{Error, Result, SenderDomainId, Timestamp, WorkspaceId};
use sqlx::{PgConnection, PgExecutor, types::Json};
use uuid::Uuid;
use web::db::ResultExt as _;

use crate::model::{DOMAINS_MAX, DomainStatus, Findings, RecordStatus, SenderDomain, status_of};

/// The constraint that makes domains unique in a workspace.
const DOMAIN_UNIQUE: &str = "sender_domain_unique";

struct Row {
    id: Uuid,
    domain: String,
    token: String,
    status: String,
    findings: Json<Findings>,
    problem: Option<String>,
    checked_at: Option<DateTime<Utc>>,
    verified_at: Option<DateTime<Utc>>,
    created_at: DateTime<Utc>,
}

impl TryFrom<Row> for SenderDomain {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self> {
        let status = DomainStatus::NAMED.iter().find(|(name, _)| *name == row.status);
        let (_, status) =
            status.ok_or_else(|| Error::internal("a sender domain with an unknown status"))?;
        Ok(Self {
            id: SenderDomainId::new(row.id),
            domain: row.domain,
            token: row.token,
            status: *status,
            findings: row.findings.0,
            problem: row.problem,
            checked_at: row.checked_at.map(Timestamp::from),
            verified_at: row.verified_at.map(Timestamp::from),
            created_at: row.created_at.into(),
        })
    }
}

/// # Errors
/// A conflict if the workspace has it; a bad request if the workspace has the maximum number.
pub(super) async fn insert(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    new: &SenderDomain,
) -> Result<()> {
    // Serialised in a workspace, so that the limit holds.
    sqlx::query!("select id from workspace where id = $1 for no key update", workspace.uuid())
        .fetch_one(&mut *tx)
        .await?;
    let count = sqlx::query_scalar!(
        r#"select count(*) as "count!" from sender_domain where workspace_id = $1"#,
        workspace.uuid(),
    )
    .fetch_one(&mut *tx)
    .await?;
    let taken = sqlx::query_scalar!(
        r#"select exists (select 1 from sender_domain where workspace_id = $1 and domain = $2) as "taken!""#,
        workspace.uuid(),
        new.domain,
    )
    .fetch_one(&mut *tx)
    .await?;
    let conflict = || Error::Conflict(format!("The domain {} was added before", new.domain));
    if taken {
        return Err(conflict());
    }
    if count >= DOMAINS_MAX {
        let problem = format!("must be one of at most {DOMAINS_MAX} of a workspace");
        return Err(Error::invalid("domain", problem));
    }
    sqlx::query!(
        "insert into sender_domain (workspace_id, id, domain, token, status, findings, created_at)
         values ($1, $2, $3, $4, $5, $6, $7)",
        workspace.uuid(),
        new.id.uuid(),
        new.domain,
        new.token,
        new.status.as_str(),
        Json(&new.findings) as _,
        new.created_at.utc(),
    )
    .execute(tx)
    .await
    .on_constraint(DOMAIN_UNIQUE, conflict)?;
    Ok(())
}

pub(super) async fn list(
    db: impl PgExecutor<'_>,
    workspace: WorkspaceId,
) -> Result<Vec<SenderDomain>> {
    let rows = sqlx::query_as!(
        Row,
        r#"select id, domain, token, status, findings as "findings: _", problem, checked_at, verified_at,
               created_at
           from sender_domain
           where workspace_id = $1
           order by domain"#,
        workspace.uuid(),
    )
    .fetch_all(db)
    .await?;
    rows.into_iter().map(SenderDomain::try_from).collect()
}

pub(super) async fn find(
    db: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    id: SenderDomainId,
) -> Result<Option<SenderDomain>> {
    let row = sqlx::query_as!(
        Row,
        r#"select id, domain, token, status, findings as "findings: _", problem, checked_at, verified_at,
               created_at
           from sender_domain
           where workspace_id = $1 and id = $2"#,
        workspace.uuid(),
        id.uuid(),
    )
    .fetch_optional(db)
    .await?;
    row.map(SenderDomain::try_from).transpose()
}

/// The result of a check of a domain's records.
#[derive(Debug, Clone, Copy)]
pub(super) struct Check<'a> {
    pub(super) findings: &'a Findings,
    pub(super) ownership: RecordStatus,
    pub(super) problem: Option<&'a str>,
    pub(super) at: Timestamp,
}

/// Stores the result of a check. Without an answer for the ownership record the row's status stays. None if
/// the domain was deleted meanwhile.
pub(super) async fn record_check(
    db: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    id: SenderDomainId,
    check: Check<'_>,
) -> Result<Option<SenderDomain>> {
    let Check { findings, ownership, problem, at } = check;
    let status = status_of(ownership);
    let row = sqlx::query_as!(
        Row,
        r#"update sender_domain
           set status = coalesce($3, status), findings = $4, problem = $5, checked_at = $6,
               verified_at = case when $3 = 'verified' then coalesce(verified_at, $6)
                                  when $3 = 'failed' then null else verified_at end
           where workspace_id = $1 and id = $2
           returning id, domain, token, status, findings as "findings: _", problem, checked_at, verified_at,
               created_at"#,
        workspace.uuid(),
        id.uuid(),
        status.map(DomainStatus::as_str),
        Json(findings) as _,
        problem,
        at.utc(),
    )
    .fetch_optional(db)
    .await?;
    row.map(SenderDomain::try_from).transpose()
}

/// Deletes a domain and returns its name; none if it does not exist.
pub(super) async fn delete(
    db: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    id: SenderDomainId,
) -> Result<Option<String>> {
    let deleted = sqlx::query_scalar!(
        "delete from sender_domain where workspace_id = $1 and id = $2 returning domain",
        workspace.uuid(),
        id.uuid(),
    );
    Ok(deleted.fetch_optional(db).await?)
}

/// A verified domain, with the name of its workspace.
#[derive(Debug)]
pub(super) struct VerifiedDomain {
    pub(super) workspace: String,
    pub(super) domain: SenderDomain,
}

/// The verified domains of all workspaces, by name.
pub(super) async fn all_verified(
    db: impl PgExecutor<'_>,
    limit: i64,
) -> Result<Vec<VerifiedDomain>> {
    let rows = sqlx::query!(
        r#"select w.name as workspace, d.id, d.domain, d.token, d.status, d.findings as "findings: Json<Findings>",
               d.problem, d.checked_at, d.verified_at, d.created_at
           from sender_domain d
           join workspace w on w.id = d.workspace_id
           where d.status = 'verified'
           order by d.domain, w.name
           limit $1"#,
        limit,
    )
    .fetch_all(db)
    .await?;
    let verified = rows.into_iter().map(|row| {
        let domain = Row {
            id: row.id,
            domain: row.domain,
            token: row.token,
            status: row.status,
            findings: row.findings,
            problem: row.problem,
            checked_at: row.checked_at,
            verified_at: row.verified_at,
            created_at: row.created_at,
        };
        Ok(VerifiedDomain { workspace: row.workspace, domain: domain.try_into()? })
    });
    verified.collect()
}

/// The verified domain with the longest of these names.
pub(super) async fn verified(
    db: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    names: &[String],
) -> Result<Option<SenderDomain>> {
    let row = sqlx::query_as!(
        Row,
        r#"select id, domain, token, status, findings as "findings: _", problem, checked_at, verified_at,
               created_at
           from sender_domain
           where workspace_id = $1 and domain = any($2) and status = 'verified'
           order by length(domain) desc
           limit 1"#,
        workspace.uuid(),
        names,
    )
    .fetch_optional(db)
    .await?;
    row.map(SenderDomain::try_from).transpose()
}
