//! Operations on sender domains, and the check whether a workspace may send from one.

use futures_util::future::join_all;
use kernel::{EmailAddress, Error, Result, SenderDomainId, WorkspaceId};
use sqlx::{PgExecutor, PgPool};
use web::audit_log::{self, Author, Change, Entry};

use crate::{
    SenderDomainState,
    dns::{Dns, Texts},
    model::{
        DomainStatus, Findings, Purpose, Record, RecordStatus, Sender, SenderDomain, SenderSetup,
        records, with_parents,
    },
    store,
};

/// The answer for a domain that does not exist or belongs to another workspace.
pub const NOT_FOUND: Error = Error::NotFound("Sender domain");
const TOKEN_BYTES: usize = 20;

/// Adds a domain, unverified.
///
/// # Errors
/// A conflict if the workspace has it; a bad request if the workspace has the maximum number.
pub async fn add(
    app: &SenderDomainState,
    workspace: WorkspaceId,
    author: &Author,
    domain: String,
) -> Result<SenderDomain> {
    let now = author.now;
    let new = SenderDomain {
        id: SenderDomainId::mint(now),
        domain,
        token: hex::encode(rand::random::<[u8; TOKEN_BYTES]>()),
        status: DomainStatus::Pending,
        findings: Findings::new(),
        problem: None,
        checked_at: None,
        verified_at: None,
        created_at: now,
    };
    let mut tx = app.db().begin().await?;
    store::insert(&mut tx, workspace, &new).await?;
    let id = new.id.to_string();
    let entry = Entry::named(Change::SenderDomainAdded, &id, &new.domain);
    audit_log::append(&mut tx, workspace, author, entry).await?;
    tx.commit().await?;
    Ok(new)
}

/// The domains of a workspace, by name.
///
/// # Errors
/// If the store fails.
pub async fn list(app: &SenderDomainState, workspace: WorkspaceId) -> Result<Vec<SenderDomain>> {
    store::list(app.db(), workspace).await
}

/// # Errors
/// Not found.
pub async fn find(
    app: &SenderDomainState,
    workspace: WorkspaceId,
    id: SenderDomainId,
) -> Result<SenderDomain> {
    store::find(app.db(), workspace, id).await?.ok_or(NOT_FOUND)
}

/// Removes a domain: no more email is sent from it.
///
/// # Errors
/// Not found.
pub async fn delete(
    app: &SenderDomainState,
    workspace: WorkspaceId,
    author: &Author,
    id: SenderDomainId,
) -> Result<()> {
    let mut tx = app.db().begin().await?;
    let domain = store::delete(&mut *tx, workspace, id).await?.ok_or(NOT_FOUND)?;
    let id = id.to_string();
    let entry = Entry::named(Change::SenderDomainDeleted, &id, &domain);
    audit_log::append(&mut tx, workspace, author, entry).await?;
    tx.commit().await?;
    Ok(())
}

/// Checks the DNS records of a domain now.
///
/// # Errors
/// Not found.
pub async fn verify(
    app: &SenderDomainState,
    workspace: WorkspaceId,
    id: SenderDomainId,
) -> Result<SenderDomain> {
    let domain = find(app, workspace, id).await?;
    let wanted = records(&domain, app.sender_setup());
    let lookups = wanted.iter().map(|record| look_up(app.dns(), record, &domain.domain));
    let results = join_all(lookups).await;
    let mut findings = Findings::new();
    let (mut ownership, mut problem) = (RecordStatus::NoAnswer, None);
    for (record, (status, reason)) in wanted.iter().zip(results) {
        findings.insert(record.purpose, status);
        if record.purpose == Purpose::Ownership {
            (ownership, problem) = (status, reason);
        }
    }
    let check = store::Check {
        findings: &findings,
        ownership,
        problem: problem.as_deref(),
        at: app.clock().now(),
    };
    let checked = store::record_check(app.db(), workspace, id, check).await?;
    let checked = checked.ok_or(NOT_FOUND)?;
    if checked.status != domain.status {
        let status = checked.status.as_str();
        tracing::info!(%workspace, domain = checked.domain, status, "sender domain checked");
    }
    Ok(checked)
}

/// A verified domain whose records were looked up again.
#[derive(Debug)]
pub struct Recheck {
    pub workspace: String,
    pub domain: String,
    /// Records that are not there any more, in words.
    pub problems: Vec<String>,
    /// Whether DNS answered for all records.
    pub is_answered: bool,
}

/// Looks up the records of at most `limit` verified domains, of all workspaces. Stores nothing. A policy (DMARC) is
/// left out: mail leaves without it.
///
/// # Errors
/// If the store fails.
pub async fn recheck_verified(
    db: &PgPool,
    setup: &SenderSetup,
    dns: &Dns,
    limit: i64,
) -> Result<Vec<Recheck>> {
    let verified = store::all_verified(db, limit).await?;
    let checks = verified.into_iter().map(|found| recheck(found, setup, dns));
    Ok(join_all(checks).await)
}

async fn recheck(verified: store::VerifiedDomain, setup: &SenderSetup, dns: &Dns) -> Recheck {
    let store::VerifiedDomain { workspace, domain } = verified;
    let wanted = records(&domain, setup);
    let needed = wanted.iter().filter(|record| record.purpose != Purpose::Dmarc);
    let lookups = needed.map(|record| look_up(dns, record, &domain.domain));
    let (mut problems, mut is_answered) = (Vec::new(), true);
    for (status, problem) in join_all(lookups).await {
        is_answered &= status != RecordStatus::NoAnswer;
        problems.extend(problem.filter(|_| status == RecordStatus::Missing));
    }
    Recheck { workspace, domain: domain.domain, problems, is_answered }
}

/// Looks a record up in DNS; with a description of the problem unless it was found.
async fn look_up(dns: &Dns, record: &Record, domain: &str) -> (RecordStatus, Option<String>) {
    for name in record.names(domain) {
        match dns.texts(&name).await {
            Texts::Are(texts) if texts.iter().any(|text| record.is_met_by(text)) => {
                return (RecordStatus::Found, None);
            }
            Texts::Are(_) => {}
            Texts::NoAnswer(problem) => {
                return (
                    RecordStatus::NoAnswer,
                    Some(format!("DNS gave no answer for {name}: {problem}")),
                );
            }
        }
    }
    let problem = format!("there is no TXT record \"{}\" at {}", record.value, record.name);
    (RecordStatus::Missing, Some(problem))
}

/// Whether a workspace may send from a domain.
///
/// # Errors
/// If the store fails.
pub async fn sender(
    db: impl PgExecutor<'_>,
    setup: &SenderSetup,
    workspace: WorkspaceId,
    domain: &str,
) -> Result<Sender> {
    if setup.has(domain) {
        return Ok(Sender::OfChannel);
    }
    let Some(found) = store::verified(db, workspace, &with_parents(domain)).await? else {
        return Ok(Sender::Unknown);
    };
    let missing = records(&found, setup)
        .into_iter()
        .filter(|record| matches!(record.status, RecordStatus::Missing | RecordStatus::Unchecked))
        .map(|record| record.purpose)
        .collect();
    Ok(Sender::Verified { domain: found.domain, missing })
}

/// Why a workspace may not send from an address; none if it may.
///
/// # Errors
/// If the store fails.
pub async fn refusal(
    app: &SenderDomainState,
    workspace: WorkspaceId,
    from: &EmailAddress,
) -> Result<Option<String>> {
    let found = sender(app.db(), app.sender_setup(), workspace, from.domain()).await?;
    Ok((found == Sender::Unknown).then(|| not_verified(from.domain())))
}

pub fn not_verified(domain: &str) -> String {
    format!(
        "must be in the domain of the email channel, or in one that the workspace verified \
         (POST /sender-domains): {domain} is neither"
    )
}
