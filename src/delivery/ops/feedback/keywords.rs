//! What people who got a text write back: an opt-out or an opt-in of their number, wherever it is known.

use contacts::{
    consent::{
        self,
        model::ChannelStatus,
        ops::{ChannelChange, NumberHolder, set_channel_within},
    },
    suppressions::model::Identifier,
};
use kernel::{Channel, Error, PhoneNumber, Result, Timestamp};
use providers::model::Inbound;
use web::{
    audit::{self, Entry, Origin},
    db,
    http::Requester,
};

use crate::{
    DeliveryState,
    model::Keyword,
    store::{feedback, last_sender},
};

/// The source of what is said by a keyword.
const KEYWORD: &str = "keyword";
/// Who acts, in the history.
const RECIPIENT: &str = "recipient";
/// Contacts with one number that are looked at together.
const PAGE: u32 = 500;

/// Does what a keyword says to everyone who has the number it came from. An opt-out holds in every organization
/// that knows the number: the number written to is the service's, and what is said to it is said to all who
/// write from it. An opt-in holds only in the organization that last wrote to the number on the channel: it answers
/// that message, and no other organization may take it for its own; where none wrote, nothing happens.
/// Gives the number of contacts that changed. A text that is told again changes nothing.
///
/// # Errors
/// When the store fails; then it may be done again as it is.
pub async fn obey(
    app: &DeliveryState,
    channel: Channel,
    source: &'static str,
    inbound: &Inbound,
    keyword: Keyword,
) -> Result<u64> {
    let status = match keyword {
        Keyword::Stop => ChannelStatus::Unsubscribed,
        Keyword::Start => ChannelStatus::OptedIn,
        Keyword::Help => return Ok(0),
    };
    let Ok(number) = inbound.from.parse::<PhoneNumber>() else { return Ok(0) };
    let mut only_in = None;
    if status.is_opt_in() {
        only_in = last_sender::find(app.db(), channel, &spellings(&number)).await?;
        if only_in.is_none() {
            return Ok(0);
        }
    }
    let key = format!("{source}:{}", inbound.id);
    let mut changed = 0;
    for spelling in spellings(&number) {
        let mut after: Option<NumberHolder> = None;
        loop {
            let page = consent::ops::with_number(app.db(), channel, &spelling, after, PAGE).await?;
            for holder in &page {
                if only_in.is_some_and(|organization| organization != holder.tenant.organization) {
                    continue;
                }
                // A yes to those who never said no says nothing: it may answer something else.
                if status.is_opt_in() && !holder.is_opted_out {
                    continue;
                }
                let change = ChannelChange {
                    user: holder.user,
                    channel,
                    status,
                    consent_text: status.is_opt_in().then(|| inbound.text.clone()),
                    reason: None,
                };
                changed += u64::from(turn(app, holder, &key, &change).await?);
            }
            after = page.last().copied();
            if page.len() < PAGE as usize {
                break;
            }
        }
    }
    Ok(changed)
}

/// As callers may have written it down: with its plus, or without.
fn spellings(number: &PhoneNumber) -> [Identifier; 2] {
    let digits = number.as_str().trim_start_matches('+');
    [format!("+{digits}"), digits.to_owned()].map(Identifier::of_stored)
}

async fn turn(
    app: &DeliveryState,
    holder: &NumberHolder,
    key: &str,
    change: &ChannelChange,
) -> Result<bool> {
    let now = app.clock().now();
    let origin = Origin {
        source: KEYWORD.to_owned(),
        actor: RECIPIENT.to_owned(),
        requester: Requester::default(),
    };
    let key = format!("{key}:{}", holder.user);
    let entry = db::retried(|| turn_once(app, now, &origin, (holder, &key), change)).await?;
    audit::count(entry.as_slice());
    Ok(entry.is_some())
}

async fn turn_once(
    app: &DeliveryState,
    now: Timestamp,
    origin: &Origin,
    (holder, key): (&NumberHolder, &str),
    change: &ChannelChange,
) -> Result<Option<Entry>> {
    let mut tx = app.db().begin().await?;
    if !feedback::is_new(&mut tx, holder.tenant.workspace, key, now).await? {
        return Ok(None);
    }
    match set_channel_within(&mut tx, now, holder.tenant, origin, change).await {
        Ok((_, entry)) => {
            tx.commit().await?;
            Ok(Some(entry))
        }
        Err(Error::NotFound(_)) => Ok(None),
        Err(error) => Err(error),
    }
}
