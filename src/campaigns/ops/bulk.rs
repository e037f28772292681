//! One operation on many campaigns, each of which succeeds or fails alone.

use std::collections::HashSet;

use kernel::{CampaignId, Error, Result, Severity};

use super::{NOT_FOUND, Step, Who, archive, change, duplicate, remove, unarchive};
use crate::{
    CampaignState,
    model::{Action, Campaign, ChangeType, Definition, Status, TAGS_MAX, each_once},
};

/// The outcome of each, in the order of the request; a repeated id is processed once.
#[derive(Debug, Default)]
pub struct Bulk {
    pub succeeded: Vec<String>,
    /// Ids with the reason of the failure.
    pub failed: Vec<(String, String)>,
    /// Copies by the id of their source.
    pub created: Vec<(String, CampaignId)>,
}

/// The operation on each campaign.
#[derive(Debug)]
pub enum Work {
    /// Deleted if it was never live, otherwise archived.
    Delete,
    Archive,
    Unarchive,
    Duplicate,
    /// These tags are added.
    Tag(Vec<String>),
}

pub async fn each(app: &CampaignState, who: &Who, ids: &[String], work: &Work) -> Bulk {
    let (mut bulk, mut seen) = (Bulk::default(), HashSet::new());
    for text in ids {
        let id = text.parse::<CampaignId>();
        // An id has several spellings.
        if !seen.insert(id.map_or_else(|_| text.clone(), |id| id.to_string())) {
            continue;
        }
        let outcome = match id {
            Ok(id) => one(app, who, id, work).await,
            Err(_) => Err(NOT_FOUND),
        };
        match outcome {
            Ok(copy) => {
                bulk.succeeded.push(text.clone());
                bulk.created.extend(copy.map(|copy| (text.clone(), copy)));
            }
            Err(error) => bulk.failed.push((text.clone(), reason(&error))),
        }
    }
    bulk
}

async fn one(
    app: &CampaignState,
    who: &Who,
    id: CampaignId,
    work: &Work,
) -> Result<Option<CampaignId>> {
    match work {
        Work::Delete => remove(app, who, id).await?,
        Work::Archive => drop(archive(app, who, id).await?),
        Work::Unarchive => drop(unarchive(app, who, id).await?),
        Work::Duplicate => return Ok(Some(duplicate(app, who, id).await?.id)),
        // Tags serve searching, so a live campaign gets them at once.
        Work::Tag(tags) => drop(change(app, who, id, |it, _| tagged(it, tags)).await?),
    }
    Ok(None)
}

fn tagged(campaign: &Campaign, tags: &[String]) -> Result<Option<Step>> {
    if matches!(campaign.state.status, Status::Archived | Status::Cancelled) {
        let status = campaign.state.status.as_str();
        return Err(Error::Conflict(format!(
            "The campaign is {status}: it cannot be changed any more"
        )));
    }
    let mut changed = campaign.clone();
    changed.definition.tags = union(&campaign.definition, tags)?;
    if let Some(draft) = &mut changed.pending_draft {
        draft.definition.tags = union(&draft.definition, tags)?;
    }
    if changed == *campaign {
        return Ok(None);
    }
    let new = changed.definition.clone();
    Step::redefined(changed, &campaign.definition, &new, Action::Updated, ChangeType::Update)
        .map(Some)
}

fn union(definition: &Definition, tags: &[String]) -> Result<Vec<String>> {
    let union = each_once(definition.tags.iter().chain(tags).cloned().collect());
    if union.len() > TAGS_MAX {
        return Err(Error::invalid("tags", format!("must have at most {TAGS_MAX} elements")));
    }
    Ok(union)
}

/// The reason in the answer; internal errors are only logged.
fn reason(error: &Error) -> String {
    if error.severity() == Severity::Fault {
        tracing::error!(%error, "a bulk operation failed for a campaign");
    }
    error.message()
}
