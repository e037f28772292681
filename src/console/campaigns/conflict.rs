//! A form that was sent although the campaign has changed since the form was opened: who changed it, and how to go on.

use maud::{Markup, html};

use super::{
    Campaign, Whole,
    versions::{Change, Entry, History},
};
use crate::{
    failure::PageResult,
    in_process::path,
    view,
    visitor::{Form, Visitor},
};

/// The field with the ETag of the campaign when the form was opened.
pub(super) const LOADED: &str = "loaded";
/// The field with the ETag that the message of a conflict is about: what is saved over.
pub(super) const SEEN: &str = "seen";

/// Entries of the history among which the change is looked for.
const ENTRIES: &str = "50";

/// The ETag that the campaign must still have for a form to be saved; none for a form without one.
pub(super) fn expected(form: &Form, is_over_others: bool) -> Option<&str> {
    form.filled(if is_over_others { SEEN } else { LOADED })
}

/// What stands in the form in place of its faults.
pub(super) async fn message(visitor: &Visitor, whole: &Whole, loaded: &str) -> Markup {
    let campaign = &whole.campaign;
    html! {
        div class="alert" role="alert" {
            p {
                (who_changed(visitor, campaign).await)
                ", after this form was opened. Nothing was saved; what you typed is below."
            }
            p {
                (what_changed(campaign, loaded))
                " · "
                a href=(campaign.path()) { "Drop what is typed here" }
            }
            (view::hidden(SEEN, &whole.etag))
            button class="button danger" type="submit" name="do" value="save-over" {
                "Save over that change"
            }
        }
    }
}

/// What stands above the page of the launch in place of what refused it.
pub(super) async fn message_of_launch(visitor: &Visitor, whole: &Whole, loaded: &str) -> Markup {
    let campaign = &whole.campaign;
    html! {
        div class="alert" role="alert" {
            p {
                (who_changed(visitor, campaign).await)
                ", after this page was opened. Nothing was sent; the numbers below are of what it is now."
            }
            p { (what_changed(campaign, loaded)) }
        }
    }
}

/// The beginning of a sentence that says who changed the content last, and when.
async fn who_changed(visitor: &Visitor, campaign: &Campaign) -> Markup {
    let call = visitor.get(path(["campaigns", &campaign.id, "history"])).query("limit", ENTRIES);
    let history: PageResult<History> = call.read().await;
    let change = history.ok().and_then(|history| history.items.into_iter().find(is_of_content));
    html! {
        @match &change {
            Some(change) => {
                bdi { (change.actor.name()) } " changed this campaign "
                (view::ago(change.created_at, visitor.now(), visitor.zone()))
            },
            None => "The campaign was changed",
        }
    }
}

/// The link to what changed since the version that an ETag names.
fn what_changed(campaign: &Campaign, loaded: &str) -> Markup {
    let versions = campaign.path_of("versions");
    if let Some(before) = number(loaded).filter(|before| *before < campaign.version) {
        let difference = format!("{versions}?v1={before}&v2={}", campaign.version);
        return html! { a href=(difference) target="_blank" { "What changed" } };
    }
    html! { a href=(versions) target="_blank" { "Versions and history" } }
}

/// The version that an ETag names.
fn number(etag: &str) -> Option<u64> {
    let digits = etag.trim_matches('"').split('-').next()?;
    digits.parse().ok()
}

/// Whether an entry changed what the form has.
fn is_of_content(entry: &Entry) -> bool {
    let is_content = |change: &Change| change.path != "/status";
    match entry.action.as_str() {
        "updated" | "draft_updated" => entry.changes.iter().any(is_content),
        "published" | "rolled_back" | "draft_discarded" => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn etags_name_versions() {
        for (etag, version) in [("\"7\"", Some(7)), ("\"12-pending\"", Some(12)), ("x", None)] {
            assert_eq!(number(etag), version, "{etag}");
        }
    }
}
