//! The content that messages of a time were made from: a campaign may have been changed since.

use futures_util::future;
use kernel::{DayEdge, Timestamp};
use maud::{Markup, html};
use serde_json::Value;

use super::{
    Whole,
    versions::{History, SHOWN, Version, Versions, snapshot},
};
use crate::{failure::PageResult, in_process::path, visitor::Visitor};

/// The definition whose variants were sent.
pub(super) struct SentContent {
    pub(super) definition: Value,
    /// The version; none where it is the present one.
    pub(super) version: Option<u64>,
    /// Versions whose variants differ, of which messages of the time were made: the first and the last.
    mixed: Option<(u64, u64)>,
}

impl SentContent {
    fn present(whole: &Whole) -> Self {
        Self { definition: whole.value.clone(), version: None, mixed: None }
    }

    /// A sentence where it is not simply the content that the campaign has now.
    pub(super) fn note(&self) -> Markup {
        html! {
            @match (self.mixed, self.version) {
                (Some((first, last)), _) => p {
                    "The variants were changed while messages of this time were sent: they were made from versions "
                    (first) " to " (last) ". Version " (last) " is shown; a link that it does not have is in the table alone."
                },
                (None, Some(version)) => p { "Shown is version " (version) ", which messages of this time were made from." },
                (None, None) => {},
            }
        }
    }
}

/// Finds the content that messages between two times were made from.
pub(super) async fn find(
    visitor: &Visitor,
    whole: &Whole,
    from: &str,
    to: &str,
) -> PageResult<SentContent> {
    let campaign = &whole.campaign;
    if campaign.version < 2 {
        return Ok(SentContent::present(whole));
    }
    let ask = |of: &str| visitor.get(path(["campaigns", &campaign.id, of])).query("limit", SHOWN);
    let (versions, history) =
        future::join(ask("versions").read::<Versions>(), ask("history").read::<History>()).await;
    let live = live(versions?.data, &history?, campaign.has_pending_draft);
    let start = Timestamp::parse_at(from.trim(), DayEdge::Start).ok().max(campaign.started_at);
    let end = Timestamp::parse_at(to.trim(), DayEdge::End).ok();
    let Some((first, last)) = sent(&live, start, end) else {
        return Ok(SentContent::present(whole));
    };
    let newest = live.first().map(|version| version.number);
    let mut content = SentContent::present(whole);
    if newest != Some(last) {
        content.definition = snapshot(visitor, &campaign.id, &last.to_string()).await?;
        content.version = Some(last);
    }
    let differs = |it: &&Version| {
        it.number > first
            && it.number <= last
            && it.changed_fields.iter().any(|it| it == "variants")
    };
    content.mixed = live.iter().find(differs).map(|_| (first, last));
    Ok(content)
}

/// The versions that were sent as soon as they were saved, newest first: not those that waited to be published.
fn live(versions: Vec<Version>, history: &History, has_pending_draft: bool) -> Vec<Version> {
    let newest = versions.first().map(|version| version.number);
    let waits = |version: &Version| {
        let is_entry_of = |action: &str| {
            let mut entries = history.items.iter();
            entries.any(|it| it.action == action && it.created_at == version.created_at)
        };
        is_entry_of("draft_updated")
            || has_pending_draft && newest == Some(version.number) && is_entry_of("rolled_back")
    };
    versions.into_iter().filter(|version| !waits(version)).collect()
}

/// The first and the last version that messages between two times were made from.
fn sent(live: &[Version], start: Option<Timestamp>, end: Option<Timestamp>) -> Option<(u64, u64)> {
    let oldest = live.last()?;
    let at = |time: Timestamp| live.iter().find(|it| it.created_at <= time).unwrap_or(oldest);
    let first = start.map_or(oldest, at);
    let last = end.map_or(live.first()?, at);
    Some((first.number.min(last.number), last.number))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
        serde_json::from_value(value).unwrap()
    }

    fn version(number: u64) -> Value {
        json!({"version": number, "changeType": "update", "changedFields": ["variants"], "createdBy": "a",
               "createdAt": format!("2026-03-0{number}T00:00:00.000Z")})
    }

    fn day(day: u64) -> Timestamp {
        Timestamp::parse(&format!("2026-03-0{day}T12:00:00Z")).unwrap()
    }

    #[test]
    fn messages_are_made_from_the_version_that_was_live() {
        let entry = json!({"action": "draft_updated", "actor": {"type": "user", "id": "a"}, "changes": [],
                           "createdAt": "2026-03-03T00:00:00.000Z"});
        let history: History = read(json!({"items": [entry]}));
        let all: Vec<Version> = (1..=4).rev().map(|number| read(version(number))).collect();
        let live = live(all, &history, false);
        assert_eq!(live.iter().map(|it| it.number).collect::<Vec<_>>(), [4, 2, 1]);
        for (start, end, expected) in [
            (None, None, (1, 4)),
            (Some(day(2)), None, (2, 4)),
            // The third waited to be published.
            (Some(day(3)), Some(day(3)), (2, 2)),
            (Some(day(4)), None, (4, 4)),
            (Some(day(4)), Some(day(1)), (1, 1)),
        ] {
            assert_eq!(sent(&live, start, end), Some(expected), "{start:?} {end:?}");
        }
        assert_eq!(sent(&[], None, None), None);
    }
}
