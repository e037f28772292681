//! What callers do with sender domains, and whether a workspace may send from one.

use futures_util::future::join_all;
use kernel::{EmailAddress, Error, Result, SenderDomainId, WorkspaceId};
use sqlx::PgExecutor;

use crate::{
    SenderDomainState,
    dns::{Dns, Texts},
    model::{
        DomainStatus, Findings, Found, Purpose, Record, Sender, SenderDomain, SenderSetup, records,
        with_parents,
    },
    store,
};

/// The answer for a domain that is not there, or not the workspace's.
pub const NOT_FOUND: Error = Error::NotFound("Sender domain");
/// Bytes of a token.
const TOKEN_BYTES: usize = 20;

/// Adds a domain, to be verified.
///
/// # Errors
/// A conflict where the workspace has it; a bad request where it has as many as it may.
pub async fn add(
    app: &SenderDomainState,
    workspace: WorkspaceId,
    domain: String,
) -> Result<SenderDomain> {
    let now = app.clock().now();
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
    store::insert(app.db(), workspace, &new).await?;
    Ok(new)
}

/// The domains of a workspace, by name.
///
/// # Errors
/// When the store fails.
pub async fn list(app: &SenderDomainState, workspace: WorkspaceId) -> Result<Vec<SenderDomain>> {
    store::list(app.db(), workspace).await
}

/// A domain.
///
/// # Errors
/// Not found.
pub async fn find(
    app: &SenderDomainState,
    workspace: WorkspaceId,
    id: SenderDomainId,
) -> Result<SenderDomain> {
    store::find(app.db(), workspace, id).await?.ok_or(NOT_FOUND)
}

/// Removes a domain: nothing leaves from it any more.
///
/// # Errors
/// Not found.
pub async fn delete(
    app: &SenderDomainState,
    workspace: WorkspaceId,
    id: SenderDomainId,
) -> Result<()> {
    if store::delete(app.db(), workspace, id).await? { Ok(()) } else { Err(NOT_FOUND) }
}

/// Looks for the records of a domain in DNS, now.
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
    let looked = wanted.iter().map(|record| look(app.dns(), record, &domain.domain));
    let looked = join_all(looked).await;
    let mut findings = Findings::new();
    let (mut ownership, mut problem) = (Found::NoAnswer, None);
    for (record, (found, why)) in wanted.iter().zip(looked) {
        findings.insert(record.purpose, found);
        if record.purpose == Purpose::Ownership {
            (ownership, problem) = (found, why);
        }
    }
    let found = (&findings, ownership, problem.as_deref());
    let now = app.clock().now();
    let checked = store::checked(app.db(), workspace, id, found, now).await?;
    let checked = checked.ok_or(NOT_FOUND)?;
    if checked.status != domain.status {
        let status = checked.status.as_str();
        tracing::info!(%workspace, domain = checked.domain, status, "sender domain checked");
    }
    Ok(checked)
}

/// Whether a record is in DNS, and what to say where it is not.
async fn look(dns: &Dns, record: &Record, domain: &str) -> (Found, Option<String>) {
    for name in record.names(domain) {
        match dns.texts(&name).await {
            Texts::Are(texts) if texts.iter().any(|text| record.is_met_by(text)) => {
                return (Found::Found, None);
            }
            Texts::Are(_) => {}
            Texts::NoAnswer(problem) => {
                return (
                    Found::NoAnswer,
                    Some(format!("DNS gave no answer for {name}: {problem}")),
                );
            }
        }
    }
    let problem = format!("there is no TXT record \"{}\" at {}", record.value, record.name);
    (Found::Missing, Some(problem))
}

/// Whether a workspace may send from a domain.
///
/// # Errors
/// When the store fails.
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
        .filter(|record| matches!(record.status, Found::Missing | Found::Unchecked))
        .map(|record| record.purpose)
        .collect();
    Ok(Sender::Verified { domain: found.domain, missing })
}

/// Why a workspace may not send from an address; nothing where it may.
///
/// # Errors
/// When the store fails.
pub async fn refusal(
    app: &SenderDomainState,
    workspace: WorkspaceId,
    from: &EmailAddress,
) -> Result<Option<String>> {
    let found = sender(app.db(), app.sender_setup(), workspace, from.domain()).await?;
    Ok((found == Sender::Unknown).then(|| not_verified(from.domain())))
}

/// What is said of a sender in a domain that is not the workspace's.
pub fn not_verified(domain: &str) -> String {
    format!(
        "must be in the domain of the email channel, or in one that the workspace verified \
         (POST /sender-domains): {domain} is neither"
    )
}
