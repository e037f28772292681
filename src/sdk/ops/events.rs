//! Records interactions with in-app messages that apps report.

use std::{collections::HashMap, sync::Arc};

use delivery::ops::{
    in_app_tests,
    lifecycle::{self, LifecycleEvent, MessageIdentity},
};
use ingest::record::MessageKind;
use kernel::{CampaignId, Error, MessageId, Result, Timestamp, UserId, WorkspaceId, time::DAY};
use uuid::Uuid;

use super::{
    live::Ready,
    messages::{CHANNEL, id_of},
    subject::{ANOTHER_PERSON, subject as subject_of},
};
use crate::{
    SdkState,
    model::{InAppEventKind, hash_of},
    store::recipients::{self, LockedRecipient},
};

/// How old an event may be: the app may have been offline.
pub(crate) const AGE_DAYS_MAX: u32 = 30;
/// The answer for a message that was not sent to this person.
const MESSAGE_NOT_FOUND: Error = Error::NotFound("Message");

/// The message an event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MessageRef {
    Message(MessageId),
    /// The person's message of a campaign.
    Campaign(CampaignId),
}

/// An interaction that an app reports.
#[derive(Debug, Clone)]
pub(crate) struct Interaction {
    pub(crate) kind: InAppEventKind,
    pub(crate) which: MessageRef,
    /// The variant that was displayed, if the app sent it.
    pub(crate) variant: Option<String>,
    /// The person's id as the app sent it.
    pub(crate) user: String,
    /// The app's id of the event; a repeated id counts once.
    pub(crate) event_id: String,
    pub(crate) at: Option<Timestamp>,
    pub(crate) button: Option<String>,
    pub(crate) platform: &'static str,
    pub(crate) app_id: Option<String>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Sender<'a> {
    pub(crate) workspace: WorkspaceId,
    /// The external id in the caller's user token, if there is one.
    pub(crate) external_id: Option<&'a str>,
}

/// The message an interaction is about.
struct Target {
    user: UserId,
    message: MessageId,
    campaign: CampaignId,
    variant: String,
    is_test: bool,
}

/// Records interactions, with the outcome of each. Displays are counted once each. A caller without a user
/// token learns only of invalid input, not whether the person exists or which messages are theirs.
///
/// # Errors
/// If a store is unavailable. Nothing was counted then, and the call may be repeated.
pub(crate) async fn record(
    app: &SdkState,
    from: Sender<'_>,
    happened: &[Interaction],
) -> Result<Vec<Result<()>>> {
    let (now, workspace) = (app.clock().now(), from.workspace);
    let people = people_of(app, from, happened).await?;
    let named: Vec<Result<(UserId, MessageId), Error>> = happened
        .iter()
        .map(|it| {
            let user = people.user(&it.user)?;
            let message = match it.which {
                MessageRef::Message(message) => message,
                MessageRef::Campaign(campaign) => id_of(campaign, user),
            };
            Ok((user, message))
        })
        .collect();
    let ids: Vec<Uuid> = named.iter().flatten().map(|(_, message)| message.uuid()).collect();
    // Before this task holds a connection: the read may take one itself.
    let live = app.in_app().of(app, workspace).await?;
    let mut tx = app.db().begin().await?;
    let mut held = recipients::lock(&mut tx, workspace, &ids).await?;
    let mut subjects = Vec::with_capacity(happened.len());
    for (it, named) in happened.iter().zip(named) {
        let target = match named {
            Err(refusal) => Err(refusal),
            Ok(named) => target_of(&mut tx, from, named.0, named.1, &held).await?,
        };
        subjects.push(in_time(it, now).and_then(|()| suited(it, target?)));
    }
    append(app, workspace, happened, &live, &subjects).await?;
    let mut counted: Vec<MessageId> = Vec::new();
    for (it, subject) in happened.iter().zip(&subjects) {
        let Ok(subject) = subject else { continue };
        if it.kind != InAppEventKind::Impression {
            continue;
        }
        let at = it.at.map_or(now, |at| at.min(now));
        if subject.is_test {
            in_app_tests::mark_displayed(&mut *tx, workspace, subject.message, at).await?;
        } else if let Some(held) = held.get_mut(&subject.message)
            && held.log.count(hash_of(&it.event_id), at)
            && !counted.contains(&subject.message)
        {
            counted.push(subject.message);
        }
    }
    for message in &counted {
        if let Some(held) = held.get(message) {
            recipients::count(&mut tx, workspace, held).await?;
        }
    }
    tx.commit().await?;
    let verdicts = happened.iter().zip(subjects).map(|(it, subject)| match from.external_id {
        Some(_) => subject.map(drop),
        None => in_time(it, now),
    });
    Ok(verdicts.collect())
}

/// The profiles of one request by the ids it names. Most requests name one person.
struct People<'h>(HashMap<&'h str, Result<UserId, Refused>>);

/// Why the caller may not report for an id.
#[derive(Debug, Clone, Copy)]
enum Refused {
    Unknown,
    AnotherPerson,
}

impl People<'_> {
    fn user(&self, name: &str) -> Result<UserId> {
        match self.0.get(name) {
            Some(Ok(user)) => Ok(*user),
            Some(Err(Refused::AnotherPerson)) => Err(ANOTHER_PERSON),
            Some(Err(Refused::Unknown)) | None => Err(Error::NotFound("User")),
        }
    }
}

async fn people_of<'h>(
    app: &SdkState,
    from: Sender<'_>,
    happened: &'h [Interaction],
) -> Result<People<'h>> {
    let mut people = HashMap::new();
    for it in happened {
        let name = it.user.as_str();
        if people.contains_key(name) {
            continue;
        }
        let found = match subject_of(app.db(), from.workspace, from.external_id, name).await {
            Ok(subject) => subject.user().ok_or(Refused::Unknown),
            Err(Error::NotFound(_)) => Err(Refused::Unknown),
            Err(Error::Denied(_)) => Err(Refused::AnotherPerson),
            Err(fault) => return Err(fault),
        };
        people.insert(name, found);
    }
    Ok(People(people))
}

/// The message, if it was sent to this person.
async fn target_of(
    tx: &mut sqlx::PgConnection,
    from: Sender<'_>,
    user: UserId,
    message: MessageId,
    held: &HashMap<MessageId, LockedRecipient>,
) -> Result<Result<Target>> {
    if let Some(held) = held.get(&message) {
        if held.user != user {
            return Ok(Err(MESSAGE_NOT_FOUND));
        }
        let (campaign, variant) = (held.campaign, held.variant.clone());
        return Ok(Ok(Target { user, message, campaign, variant, is_test: false }));
    }
    if from.external_id.is_none() {
        // Tests are displayed to a proven person only.
        return Ok(Err(MESSAGE_NOT_FOUND));
    }
    let test = in_app_tests::find(tx, from.workspace, user, message).await?;
    Ok(test
        .map(|(campaign, variant)| Target { user, message, campaign, variant, is_test: true })
        .ok_or(MESSAGE_NOT_FOUND))
}

/// The address of the clicked button, as it is in the content.
fn address<'l>(
    live: &'l [Arc<Ready>],
    subject: &Target,
    happened: &Interaction,
) -> Option<&'l str> {
    let button = happened.button.as_ref().filter(|_| happened.kind == InAppEventKind::Click)?;
    let ready = live.iter().find(|it| it.campaign.id == subject.campaign)?;
    let mut variants = ready.campaign.definition.variants.iter();
    let content = variants.find(|it| it.id == subject.variant)?.custom_content.as_ref()?;
    content.buttons.iter().flatten().find(|it| it.id == *button)?.url.as_deref()
}

fn suited(happened: &Interaction, target: Target) -> Result<Target> {
    if happened.variant.as_ref().is_some_and(|variant| *variant != target.variant) {
        return Err(Error::invalid("variantId", "must be the variant that was handed over"));
    }
    Ok(target)
}

fn in_time(happened: &Interaction, now: Timestamp) -> Result<()> {
    if happened.at.is_some_and(|at| now.duration_since(at) > DAY * AGE_DAYS_MAX) {
        let problem = format!("must be at most {AGE_DAYS_MAX} days ago");
        return Err(Error::invalid("at", problem));
    }
    Ok(())
}

async fn append(
    app: &SdkState,
    workspace: WorkspaceId,
    happened: &[Interaction],
    live: &[Arc<Ready>],
    subjects: &[Result<Target>],
) -> Result<()> {
    let events: Vec<LifecycleEvent> = happened
        .iter()
        .zip(subjects)
        .filter_map(|(it, target)| {
            let target = target.as_ref().ok()?;
            let message = MessageIdentity {
                workspace,
                campaign: Some(target.campaign),
                message: target.message,
                occurrence: 0,
                user: Some(target.user),
                variant: Some(target.variant.clone()),
                channel: CHANNEL.into(),
                is_test: target.is_test,
            };
            let kind = match it.kind {
                InAppEventKind::Impression => MessageKind::Impression,
                InAppEventKind::Click => MessageKind::Clicked,
                InAppEventKind::Dismiss => MessageKind::Dismissed,
            };
            Some(LifecycleEvent {
                event_id: it.event_id.clone(),
                at: it.at,
                platform: it.platform,
                app_id: it.app_id.clone().unwrap_or_default(),
                button_id: it.button.clone().unwrap_or_default(),
                url: address(live, target, it).unwrap_or_default().to_owned(),
                ..LifecycleEvent::new(message, kind)
            })
        })
        .collect();
    lifecycle::publish(app, &events, app.clock().now()).await
}
