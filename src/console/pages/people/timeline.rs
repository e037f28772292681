//! What a person did and what became of the messages to them, in one list.

use std::cmp::Reverse;

use futures_util::future;
use kernel::Timestamp;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::Value;

use super::Profile;
use crate::{
    failure::PageResult,
    in_process::path,
    view::{self, Moment, Tone},
    visitor::Visitor,
};

/// Entries of one page.
const PAGE: usize = 50;
/// Most entries of one moment that pages leave out: the API answers 1,000 at most.
const SKIP_MAX: usize = 1_000 - PAGE - 1;

/// The part of the timeline that is shown: what is not after a moment, without the newest of that moment.
#[derive(Debug, Clone, Default)]
pub(super) struct Part {
    pub(super) until: Option<Timestamp>,
    /// How many of the moment itself were shown before.
    pub(super) skip: usize,
}

impl Part {
    /// The part that begins before its moment.
    fn before_moment(self) -> Self {
        let until = self.until.map(|until| Timestamp::from_millis(until.millis() - 1));
        Self { until, skip: 0 }
    }
}

#[derive(Deserialize)]
struct Events {
    data: Vec<Event>,
}

#[derive(Deserialize)]
struct Event {
    #[serde(rename = "event_id")]
    id: String,
    #[serde(rename = "event_name")]
    name: String,
    timestamp: String,
    properties: Value,
}

#[derive(Deserialize)]
struct Messages {
    data: Vec<Message>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message {
    #[serde(rename = "messageId")]
    id: String,
    campaign_id: Option<String>,
    campaign_name: Option<String>,
    channel: String,
    #[serde(rename = "type")]
    kind: String,
    timestamp: Timestamp,
    is_bot: bool,
    is_test: bool,
    url: Option<String>,
    code: Option<String>,
    reason: Option<String>,
}

/// An entry, and when it was.
struct Entry {
    at: Timestamp,
    moment: Moment,
}

/// The page of the timeline, newest first.
pub(super) async fn tab(visitor: &Visitor, profile: &Profile, part: &Part) -> Markup {
    let mut entries = match entries(visitor, profile, part).await {
        Ok(entries) => entries,
        Err(failure) => return failure.card("Timeline"),
    };
    if entries.is_empty() {
        let text = if part.until.is_some() {
            "There is nothing before."
        } else {
            "What this person does, and the messages to them, are shown here."
        };
        return view::empty("No entries", &html! { p { (text) } });
    }
    let has_more = entries.len() > PAGE;
    entries.truncate(PAGE);
    let address = format!("{}?tab=timeline", profile.path());
    let next = next(part, &entries).filter(|_| has_more);
    let is_cut = next.as_ref().is_some_and(|next| next.skip > SKIP_MAX);
    let older = next.map(|next| {
        let Part { until, skip } = if is_cut { next.before_moment() } else { next };
        let until = until.map_or_else(String::new, |until| until.to_string());
        format!("{address}&until={until}&skip={skip}")
    });
    let newest = part.until.map(|_| address.clone());
    let moments: Vec<Moment> = entries.into_iter().map(|entry| entry.moment).collect();
    html! {
        (view::timeline(&moments))
        @if is_cut {
            p class="quiet" { "More entries have the time of the last one than are shown here; the API has all of them." }
        }
        div class="pager" {
            @if let Some(newest) = &newest { (view::button_link(newest, "Newest")) }
            @if let Some(older) = &older { (view::button_link(older, "Older")) }
        }
    }
}

/// The newest events that name an id without a profile; none where there are none.
pub(super) async fn without_profile(visitor: &Visitor, user: &str) -> PageResult<Option<Markup>> {
    let call = visitor.get("/events/query").query("userId", user).query("limit", PAGE.to_string());
    let events: Vec<Event> = call.read().await?;
    let moments: Vec<Moment> =
        events.iter().filter_map(|event| of_event(visitor, event)).map(|it| it.moment).collect();
    Ok((!moments.is_empty()).then(|| view::timeline(&moments)))
}

/// The part after a page of entries.
fn next(part: &Part, shown: &[Entry]) -> Option<Part> {
    let until = shown.last()?.at;
    let of_moment = shown.iter().rev().take_while(|entry| entry.at == until).count();
    let before = if part.until == Some(until) { part.skip } else { 0 };
    Some(Part { until: Some(until), skip: before + of_moment })
}

/// One entry more than a page, where there are as many.
async fn entries(visitor: &Visitor, profile: &Profile, part: &Part) -> PageResult<Vec<Entry>> {
    let wanted = (PAGE + 1 + part.skip.min(SKIP_MAX)).to_string();
    let until = part.until.map(|until| until.to_string());
    let call = |what: &str| {
        let call = visitor.get(path(["users", &profile.id, what])).query("limit", &wanted);
        call.query_if("endDate", until.as_deref())
    };
    let (events, messages) =
        future::try_join(call("events").read::<Events>(), call("messages").read::<Messages>())
            .await?;
    let events = events.data.into_iter().filter_map(|event| of_event(visitor, &event));
    let messages = messages.data.iter().map(|message| of_message(visitor, message));
    let mut entries: Vec<Entry> = events.chain(messages).collect();
    // Of one moment the order of the answers stays, so that pages continue each other.
    entries.sort_by_key(|entry| Reverse(entry.at));
    let skipped = entries.iter().take_while(|entry| Some(entry.at) == part.until).count();
    entries.drain(..skipped.min(part.skip));
    entries.truncate(PAGE + 1);
    Ok(entries)
}

fn of_event(visitor: &Visitor, event: &Event) -> Option<Entry> {
    let at = view::event_time(&event.timestamp)?;
    let moment = Moment {
        time: view::ago(at, visitor.now(), visitor.zone()),
        tone: Tone::Info,
        kind: "event".to_owned(),
        title: html! { (event.name) },
        details: Some(html! {
            p class="quiet" { "Event id " code { (event.id) } }
            (view::json(&event.properties))
        }),
    };
    Some(Entry { at, moment })
}

fn of_message(visitor: &Visitor, message: &Message) -> Entry {
    let tone = match message.kind.as_str() {
        "opened" | "clicked" | "delivered" => Tone::Good,
        "bounced" | "complained" | "failed" | "unsubscribed" => Tone::Bad,
        "skipped" | "cancelled" | "held" | "deferred" => Tone::Warning,
        _ => Tone::Neutral,
    };
    let title = html! {
        (message.kind)
        @match (&message.campaign_id, &message.campaign_name) {
            (Some(_), Some(name)) => { ": " bdi { (name) } }
            (Some(_), None) => ": a campaign that was deleted",
            (None, _) => ": a message of no campaign",
        }
        @if message.is_test { " " (view::badge(Tone::Neutral, "test")) }
        @if message.is_bot { " " (view::badge(Tone::Neutral, "by a machine")) }
    };
    let campaign = message.campaign_id.as_ref().zip(message.campaign_name.as_ref());
    let details = [&message.url, &message.code, &message.reason];
    let moment = Moment {
        time: view::ago(message.timestamp, visitor.now(), visitor.zone()),
        tone,
        kind: message.channel.clone(),
        title,
        details: Some(html! {
            @if let Some((id, name)) = campaign {
                p { a href=(path(["console", "campaigns", id, "report"])) { "The report of " bdi { (name) } } }
            }
            p class="quiet" { "Message id " code { (message.id) } }
            @for text in details.into_iter().flatten() { p { (text) } }
        }),
    };
    Entry { at: message.timestamp, moment }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(at_ms: i64) -> Entry {
        let moment = Moment {
            time: html! {},
            tone: Tone::Info,
            kind: String::new(),
            title: html! {},
            details: None,
        };
        Entry { at: Timestamp::from_millis(at_ms), moment }
    }

    #[test]
    fn the_next_part_begins_after_what_was_shown_of_the_last_moment() {
        let at = |ms| Some(Timestamp::from_millis(ms));
        for (until, skip, shown, expected) in [
            (None, 0, vec![9, 8, 7], (at(7), 1)),
            (None, 0, vec![9, 7, 7], (at(7), 2)),
            (at(7), 2, vec![7, 7, 7], (at(7), 5)),
            (at(7), 5, vec![7, 6, 6], (at(6), 2)),
        ] {
            let shown: Vec<Entry> = shown.into_iter().map(entry).collect();
            let next = next(&Part { until, skip }, &shown).unwrap();
            assert_eq!((next.until, next.skip), expected);
        }
        assert!(next(&Part::default(), &[]).is_none());
        let part = Part { until: at(7), skip: SKIP_MAX + 1 }.before_moment();
        assert_eq!((part.until, part.skip), (at(6), 0));
    }
}
