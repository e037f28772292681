//! The recipients of a campaign, and the history of one of them.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, HashMap},
};

use analytics::messages::{self, Happening, Recipient, RecipientFilter};
use kernel::{Error, Result, UserId};
use web::Services;

use super::{
    ReportScope,
    conversion_scan::{credits, reporting_currency},
    event_credits::CreditFilter,
};
use crate::{model::outcome::Credit, store};

/// A recipient with identifiers and addresses.
#[derive(Debug, Clone)]
pub struct NamedRecipient {
    /// The latest message to them.
    pub recipient: Recipient,
    pub external_id: Option<String>,
    pub email: Option<String>,
    pub phone: Option<String>,
}

/// A page of a campaign's recipients, in the order of their ids, and the total.
///
/// # Errors
/// If a store fails.
pub async fn recipients(
    app: &Services,
    scope: &ReportScope,
    filter: RecipientFilter,
) -> Result<(Vec<NamedRecipient>, u64)> {
    let cohort = scope.cohort();
    let (page, total) = messages::recipients(app.analytics(), &cohort, &filter).await?;
    let ids: Vec<UserId> =
        page.iter().filter_map(|recipient| recipient.user.parse().ok()).collect();
    let contacts = store::people::contact_info(app.db(), scope.workspace, &ids).await?;
    let mut contacts: HashMap<String, store::people::ContactInfo> =
        contacts.into_iter().map(|(id, info)| (id.to_string(), info)).collect();
    let person = |recipient: Recipient| {
        let info = contacts.remove(&recipient.user).unwrap_or_default();
        NamedRecipient {
            recipient,
            external_id: info.external_id,
            email: info.email,
            phone: info.phone,
        }
    };
    Ok((page.into_iter().map(person).collect(), total))
}

/// The history of one person's messages, and their credits.
#[derive(Debug, Clone)]
pub struct Timeline {
    pub user: UserId,
    /// The messages to them, newest first.
    pub messages: Vec<Recipient>,
    pub happenings: Vec<Happening>,
    pub credits: Vec<Credit>,
}

/// The history of a campaign's messages to one person, identified by any id, with those to profiles that were merged.
///
/// # Errors
/// Not found if the campaign has no message for them.
pub async fn timeline(app: &Services, scope: &ReportScope, named: &str) -> Result<Timeline> {
    const NOT_FOUND: Error = Error::NotFound("Recipient");
    let mut users: Vec<UserId> = named.parse().into_iter().collect();
    if named.contains('\0') {
        // PostgreSQL cannot store such a text, so no profile has this id.
        return Err(NOT_FOUND);
    }
    let by_name = [named.to_owned()];
    let external = store::people::of_external_ids(app.db(), scope.workspace, &by_name).await?;
    users.extend(external.into_iter().map(|(_, user)| user));
    let (db, workspace) = (app.db(), scope.workspace);
    let same = store::people::merged(db, workspace, &users).await?;
    let others: Vec<UserId> =
        users.iter().filter_map(|user| same.get(user)).flatten().copied().collect();
    users.extend(others);
    let mut found: Option<UserId> = None;
    let (mut happenings, mut messages) = (Vec::new(), Vec::new());
    let mut seen = BTreeSet::new();
    for user in users.into_iter().filter(|user| seen.insert(*user)) {
        let text = user.to_string();
        let (of, campaign) = (workspace.uuid(), scope.campaign.id.uuid());
        let theirs = messages::timeline(app.analytics(), of, campaign, &text).await?;
        if theirs.is_empty() {
            continue;
        }
        found = found.or(Some(user));
        happenings.extend(theirs);
        let cohort = scope.cohort();
        messages.extend(messages::messages_to(app.analytics(), &cohort, &text).await?);
    }
    let user = found.ok_or(NOT_FOUND)?;
    let user = store::people::survivor(db, workspace, user).await?;
    happenings.sort_by_key(|happening| happening.at_ms);
    if seen.len() > 1 {
        messages.sort_by_key(|message: &Recipient| Reverse(message.queued_ms.max(message.sent_ms)));
    }
    let filter = CreditFilter { of: Some(user), ..CreditFilter::default() };
    let currency = reporting_currency(app, workspace).await?;
    let mut credits = credits(app, scope, currency.as_deref(), &filter).await?.credited;
    credits.sort_by_key(|credit| credit.at_ms);
    Ok(Timeline { user, messages, happenings, credits })
}
