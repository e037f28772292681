//! Keywords in replies to text messages: opt-outs and opt-ins of a phone number, wherever it is known.

use contacts::consent::{
    self,
    model::ChannelStatus,
    ops::{ChannelChange, NumberHolder, set_channel_within},
};
use kernel::{Channel, Error, PhoneNumber, Result, Timestamp};
use providers::model::Inbound;
use suppressions::model::Identifier;
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

/// The source of consent by keyword.
const KEYWORD: &str = "keyword";
/// The actor in the history.
const RECIPIENT: &str = "recipient";
/// Contacts with one number in one page.
const PAGE: u32 = 500;

/// Applies a keyword to all contacts with the number it came from. An opt-out applies in every organization with the
/// number: the receiving number belongs to the service, and all organizations send from it. An opt-in applies only in
/// the organization that last sent to the number on the channel: it answers that message; if none sent, nothing
/// happens. Returns the number of changed contacts. A repeated text changes nothing.
///
/// # Errors
/// When the store fails; then the call may be repeated.
pub async fn apply_keyword(
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
                // An opt-in without an earlier opt-out changes nothing: it may answer something else.
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
                let key = format!("{key}:{}", holder.user);
                let change = HolderChange { holder, key: &key, change: &change };
                changed += u64::from(apply(app, &change).await?);
            }
            after = page.last().copied();
            if page.len() < PAGE as usize {
                break;
            }
        }
    }
    Ok(changed)
}

/// The spellings of a number in profiles: with its plus, or without.
fn spellings(number: &PhoneNumber) -> [Identifier; 2] {
    let digits = number.as_str().trim_start_matches('+');
    [format!("+{digits}"), digits.to_owned()].map(Identifier::of_stored)
}

/// A change of consent of a contact with the number, once by its key.
struct HolderChange<'c> {
    holder: &'c NumberHolder,
    key: &'c str,
    change: &'c ChannelChange,
}

async fn apply(app: &DeliveryState, change: &HolderChange<'_>) -> Result<bool> {
    let now = app.clock().now();
    let origin = Origin {
        source: KEYWORD.to_owned(),
        actor: RECIPIENT.to_owned(),
        requester: Requester::default(),
    };
    let entry = db::retried(|| apply_once(app, now, &origin, change)).await?;
    audit::count(entry.as_slice());
    Ok(entry.is_some())
}

async fn apply_once(
    app: &DeliveryState,
    now: Timestamp,
    origin: &Origin,
    HolderChange { holder, key, change }: &HolderChange<'_>,
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
