//! Who is in a campaign, and what happened to one of them.

use std::collections::HashMap;

use analytics::messages::{self, Happening, Recipient, RecipientFilter};
use kernel::{Error, Result, UserId};
use web::Services;

use super::{
    Asked,
    conversion_scan::{Questions, credits, reporting_currency},
};
use crate::{model::outcome::Credit, store};

/// A recipient, and what they are called.
#[derive(Debug, Clone)]
pub struct Person {
    /// The latest message to them.
    pub recipient: Recipient,
    pub external_id: Option<String>,
    pub email: Option<String>,
    pub phone: Option<String>,
}

/// A page of a campaign's recipients, in the order of their ids, and how many match.
///
/// # Errors
/// When a store fails.
pub async fn recipients(
    app: &Services,
    asked: &Asked,
    filter: RecipientFilter,
) -> Result<(Vec<Person>, u64)> {
    let cohort = asked.cohort();
    let (page, total) = messages::recipients(app.analytics(), &cohort, &filter).await?;
    let ids: Vec<UserId> =
        page.iter().filter_map(|recipient| recipient.user.parse().ok()).collect();
    let called = store::people::called(app.db(), asked.workspace, &ids).await?;
    let mut called: HashMap<String, store::people::Called> =
        called.into_iter().map(|(id, called)| (id.to_string(), called)).collect();
    let person = |recipient: Recipient| {
        let called = called.remove(&recipient.user).unwrap_or_default();
        Person {
            recipient,
            external_id: called.external_id,
            email: called.email,
            phone: called.phone,
        }
    };
    Ok((page.into_iter().map(person).collect(), total))
}

/// What happened to one person's messages, and what came of them.
#[derive(Debug, Clone)]
pub struct Timeline {
    pub user: UserId,
    /// The messages to them, newest first.
    pub messages: Vec<Recipient>,
    pub happenings: Vec<Happening>,
    pub credits: Vec<Credit>,
}

/// What happened to the messages of a campaign to one person, named by either id.
///
/// # Errors
/// Not found where the campaign has nothing to do with them.
pub async fn timeline(app: &Services, asked: &Asked, named: &str) -> Result<Timeline> {
    const NOT_FOUND: Error = Error::NotFound("Recipient");
    let mut users: Vec<UserId> = named.parse().into_iter().collect();
    if named.contains('\0') {
        // Nobody is called so, and PostgreSQL takes no such text.
        return Err(NOT_FOUND);
    }
    let by_name = [named.to_owned()];
    let external = store::people::of_external_ids(app.db(), asked.workspace, &by_name).await?;
    users.extend(external.into_iter().map(|(_, user)| user));
    for user in users {
        let happenings = messages::timeline(
            app.analytics(),
            asked.workspace.uuid(),
            asked.campaign.id.uuid(),
            &user.to_string(),
        )
        .await?;
        if happenings.is_empty() {
            continue;
        }
        let text = user.to_string();
        let cohort = asked.cohort();
        let messages = messages::messages_to(app.analytics(), &cohort, &text).await?;
        let questions = Questions { of: Some(user), ..Questions::default() };
        let currency = reporting_currency(app, asked.workspace).await?;
        let mut credits = credits(app, asked, currency.as_deref(), &questions).await?;
        credits.sort_by_key(|credit| credit.at_ms);
        return Ok(Timeline { user, messages, happenings, credits });
    }
    Err(NOT_FOUND)
}
