//! What a recipient sees and does behind a link. All defects of a link have the same answer, so that links
//! cannot be probed.

use contacts::consent::{
    self,
    model::{Membership, MembershipKey, MembershipStatus, Tenant},
    ops::{ChannelChange, Subscription},
};
use content::template::{Form, Template};
use delivery::ops::feedback;
use kernel::{Channel, Error, MessageId, Result, UserId, WorkspaceId};
use providers::model::Reference;
use url::Url;
use web::{
    audit::Origin,
    http::Requester,
    links::{ConfirmChannel, ConfirmSubscription, Link, Preferences, TEST_TOKEN, Unsubscribe},
};

use crate::{
    PageState,
    hosted_page::{
        model::{Change, Choices, Contact, PageTemplate, Submission},
        page::{self, Filled},
        store,
    },
};

/// The actor in the consent history.
const RECIPIENT: &str = "recipient";
/// The source of choices on the preference page.
const PREFERENCE_CENTER: &str = "preference_center";
/// The source of the unsubscribe link.
const UNSUBSCRIBE_LINK: &str = "unsubscribe_link";
const NO_LINK: Error = Error::NotFound("Link");

/// The answer to a browser.
#[derive(Debug)]
pub struct Answer {
    pub html: String,
    /// The redirect after something was recorded.
    pub redirect: Option<Url>,
    /// Where the page's form may lead, besides the page itself.
    pub leads_to: Option<Url>,
}

impl Answer {
    fn page(html: String) -> Self {
        Self { html, redirect: None, leads_to: None }
    }
}

fn origin(source: &str, requester: Requester) -> Origin {
    Origin { source: source.to_owned(), actor: RECIPIENT.to_owned(), requester }
}

async fn tenant(app: &PageState, workspace: WorkspaceId) -> Result<Tenant> {
    consent::ops::tenant_of(app.db(), workspace).await?.ok_or(NO_LINK)
}

/// A deleted contact's link does not work.
fn gone(error: Error) -> Error {
    if matches!(error, Error::NotFound(_)) { NO_LINK } else { error }
}

/// Verifies a link to the preference page.
///
/// # Errors
/// Not found for any defect of the link.
pub async fn preferences(app: &PageState, token: &str) -> Result<Preferences> {
    match app.links().open(app.clock().now(), token).await? {
        Some(Link::Preferences(link)) => Ok(link),
        _ => Err(NO_LINK),
    }
}

async fn choices(app: &PageState, link: Preferences) -> Result<Choices> {
    let now = app.clock().now();
    store::view(app.db(), now, link.workspace, link.user).await?.ok_or(NO_LINK)
}

/// The page of a test message's link, which changes nothing.
fn test_page(token: &str) -> Option<Answer> {
    (token == TEST_TOKEN).then(|| Answer::page(page::of_test()))
}

pub async fn show(app: &PageState, token: &str) -> Result<Answer> {
    if let Some(answer) = test_page(token) {
        return Ok(answer);
    }
    let link = preferences(app, token).await?;
    let template = store::find(app.db(), link.workspace).await?;
    let choices = choices(app, link).await?;
    if let Some(target) = template.redirect() {
        let html = page::confirm_everything(&choices.workspace);
        return Ok(Answer { html, redirect: None, leads_to: Some(target) });
    }
    Ok(Answer::page(page_of(template, Filled::page(choices, false)).await?))
}

/// Stores the submitted form, and renders the page again.
pub async fn save(
    app: &PageState,
    link: Preferences,
    sent: Submission,
    requester: Requester,
) -> Result<Answer> {
    let template = store::find(app.db(), link.workspace).await?;
    let tenant = tenant(app, link.workspace).await?;
    let origin = origin(PREFERENCE_CENTER, requester);
    for change in choices(app, link).await?.changes(&sent) {
        write(app, tenant, &origin, link.user, change).await?;
    }
    let choices = choices(app, link).await?;
    if let Some(target) = template.redirect() {
        let html = page::done_everything(&choices.workspace);
        return Ok(Answer { html, redirect: Some(target), leads_to: None });
    }
    Ok(Answer::page(page_of(template, Filled::page(choices, true)).await?))
}

async fn write(
    app: &PageState,
    tenant: Tenant,
    origin: &Origin,
    user: UserId,
    change: Change,
) -> Result<()> {
    let now = app.clock().now();
    match change {
        Change::Channel(channel, status) => {
            let change = ChannelChange { user, channel, status, consent_text: None, reason: None };
            consent::ops::set_channel(app.db(), now, tenant, origin, &change)
                .await
                .map_err(gone)?;
        }
        Change::Membership(list, channel, status) => {
            let key = MembershipKey { user, list, channel };
            if status == MembershipStatus::Subscribed {
                let wish = Subscription { key, consent_text: None };
                consent::ops::subscribe(app.db(), now, tenant, origin, &wish)
                    .await
                    .map_err(gone)?;
            } else {
                consent::ops::unsubscribe(app.db(), now, tenant, origin, key)
                    .await
                    .map_err(gone)?;
            }
        }
    }
    Ok(())
}

/// The page in the workspace's HTML, or the built-in one. A template that fails for this contact must not
/// keep them from unsubscribing, so the built-in page replaces it.
async fn page_of(template: PageTemplate, filled: Filled) -> Result<String> {
    if !template.mode.is_authored() {
        return Ok(page::built_in(&filled));
    }
    let rendered = tokio::task::spawn_blocking(move || {
        let parsed = Template::parse(&template.html, Form::Html).map_err(|fault| fault.to_string());
        let authored = parsed
            .and_then(|parsed| page::authored(&parsed, &filled).map_err(|fault| fault.to_string()));
        authored.map_or_else(
            |fault| {
                // The fault describes the template, not the person.
                tracing::warn!(%fault, "a preference template cannot be rendered");
                page::built_in(&filled)
            },
            |html| page::document(&filled.choices.workspace, &html),
        )
    });
    rendered.await.map_err(Error::internal)
}

/// A verified unsubscribe link.
#[derive(Debug, Clone, Copy)]
pub enum UnsubscribeLink {
    Real(Unsubscribe),
    /// Of a test message, which changes nothing.
    Test,
}

/// Verifies an unsubscribe link.
///
/// # Errors
/// Not found for any defect of the link.
pub async fn unsubscribe_link(app: &PageState, token: &str) -> Result<UnsubscribeLink> {
    if token == TEST_TOKEN {
        return Ok(UnsubscribeLink::Test);
    }
    match app.links().open(app.clock().now(), token).await? {
        Some(Link::Unsubscribe(link)) => Ok(UnsubscribeLink::Real(link)),
        _ => Err(NO_LINK),
    }
}

async fn unsubscriber(app: &PageState, link: &Unsubscribe) -> Result<(String, Contact)> {
    let found = store::workspace_and_contact(app.db(), link.workspace, link.user).await?;
    found.ok_or(NO_LINK)
}

/// What an unsubscribe link is about, in words of the page.
async fn subject(app: &PageState, link: &Unsubscribe) -> Result<page::Subject> {
    let list = match link.list {
        Some(list) => Some(store::list_name(app.db(), link.workspace, list).await?.ok_or(NO_LINK)?),
        None => None,
    };
    Ok(page::Subject { list, channel: link.channel.unwrap_or(Channel::Email) })
}

/// The page that asks before it unsubscribes.
pub async fn ask(app: &PageState, link: UnsubscribeLink) -> Result<Answer> {
    let UnsubscribeLink::Real(link) = link else { return Ok(Answer::page(page::of_test())) };
    let (workspace, contact) = unsubscriber(app, &link).await?;
    let subject = subject(app, &link).await?;
    let leads_to = store::find(app.db(), link.workspace).await?.redirect();
    let html = page::confirm_unsubscribe(&workspace, &contact, &subject);
    Ok(Answer { html, redirect: None, leads_to })
}

/// Unsubscribes. Only a person who pressed the page's button is redirected: a mail program's one-click
/// request (RFC 8058) is answered with 200.
pub async fn unsubscribe(
    app: &PageState,
    link: UnsubscribeLink,
    by_button: bool,
    requester: Requester,
) -> Result<Answer> {
    let UnsubscribeLink::Real(link) = link else { return Ok(Answer::page(page::of_test())) };
    let (workspace, _) = unsubscriber(app, &link).await?;
    let subject = subject(app, &link).await?;
    let tenant = tenant(app, link.workspace).await?;
    let change = match link.list {
        Some(list) => Change::Membership(list, subject.channel, MembershipStatus::Unsubscribed),
        None => Change::Channel(subject.channel, consent::model::ChannelStatus::Unsubscribed),
    };
    let origin = origin(UNSUBSCRIBE_LINK, requester);
    write(app, tenant, &origin, link.user, change).await?;
    // After the opt-out was stored: a failure here must not undo it.
    if let Some(message) = link.message {
        let message = Reference { workspace: link.workspace, message: MessageId::new(message) };
        feedback::publish_unsubscribed(app, message, UNSUBSCRIBE_LINK).await?;
    }
    let template = store::find(app.db(), link.workspace).await?;
    let redirect = template.redirect().filter(|_| by_button);
    Ok(Answer { html: page::done_unsubscribe(&workspace, &subject), redirect, leads_to: None })
}

/// What a link confirms.
#[derive(Debug, Clone, Copy)]
pub enum Confirmation {
    /// A subscription to a list.
    Subscription(ConfirmSubscription),
    /// An opt-in to a whole channel.
    Channel(ConfirmChannel),
}

/// Verifies a confirmation link.
///
/// # Errors
/// Not found for any defect of the link.
pub async fn confirmation(app: &PageState, token: &str) -> Result<Confirmation> {
    match app.links().open(app.clock().now(), token).await? {
        Some(Link::ConfirmSubscription(link)) => Ok(Confirmation::Subscription(link)),
        Some(Link::ConfirmChannel(link)) => Ok(Confirmation::Channel(link)),
        _ => Err(NO_LINK),
    }
}

/// The name of the workspace, and the confirmed subscription in words of the page.
async fn named(app: &PageState, confirmation: Confirmation) -> Result<(String, page::Subject)> {
    let (workspace, user, list, channel) = match confirmation {
        Confirmation::Subscription(link) => {
            (link.workspace, link.user, Some(link.list), link.channel)
        }
        Confirmation::Channel(link) => (link.workspace, link.user, None, link.channel),
    };
    let found = store::workspace_and_contact(app.db(), workspace, user).await?;
    let (name, _) = found.ok_or(NO_LINK)?;
    let list = match list {
        Some(list) => Some(store::list_name(app.db(), workspace, list).await?.ok_or(NO_LINK)?),
        None => None,
    };
    Ok((name, page::Subject { list, channel }))
}

/// The page that asks before it confirms.
pub async fn ask_to_confirm(app: &PageState, confirmation: Confirmation) -> Result<Answer> {
    let (workspace, subject) = named(app, confirmation).await?;
    Ok(Answer::page(page::confirm_subscription(&workspace, &subject)))
}

/// Confirms a pending subscription.
///
/// # Errors
/// Not found if nothing is pending: it was withdrawn or has expired.
pub async fn confirm(
    app: &PageState,
    confirmation: Confirmation,
    requester: Requester,
) -> Result<Answer> {
    let (workspace, subject) = named(app, confirmation).await?;
    let now = app.clock().now();
    let is_confirmed = match confirmation {
        Confirmation::Subscription(link) => {
            let confirmed: Option<Membership> =
                consent::ops::confirm(app.db(), now, link, &requester).await.map_err(gone)?;
            confirmed.is_some()
        }
        Confirmation::Channel(link) => {
            consent::ops::confirm_channel(app.db(), now, link, &requester).await.map_err(gone)?
        }
    };
    if !is_confirmed {
        return Err(NO_LINK);
    }
    Ok(Answer::page(page::done_subscription(&workspace, &subject)))
}

/// Whether the workspace has this contact; for the command line, which makes links.
pub async fn has_contact(db: &sqlx::PgPool, workspace: WorkspaceId, user: UserId) -> Result<bool> {
    Ok(store::workspace_and_contact(db, workspace, user).await?.is_some())
}
