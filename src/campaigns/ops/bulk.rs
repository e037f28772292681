//! The same done to many campaigns, each of which stands or falls alone.

use std::collections::HashSet;

use kernel::{CampaignId, Error, Result, Severity};

use super::{NOT_FOUND, Step, Who, archive, change, duplicate, remove, unarchive};
use crate::{
    CampaignState,
    model::{Action, Campaign, ChangeType, Definition, Status, TAGS_MAX, each_once},
};

/// What became of each, in the order they were named; one named twice is done once.
#[derive(Debug, Default)]
pub struct Bulk {
    pub succeeded: Vec<String>,
    /// Not done, and why.
    pub failed: Vec<(String, String)>,
    /// The copies that were made: of which, and their ids.
    pub created: Vec<(String, CampaignId)>,
}

/// What is done to each.
#[derive(Debug)]
pub enum Work {
    /// Deleted where it was never live, else archived.
    Delete,
    Archive,
    /// Taken out of the archive.
    Unarchive,
    Duplicate,
    /// Given these tags as well.
    Tag(Vec<String>),
}

/// Does the same to each.
pub async fn each(app: &CampaignState, who: &Who, ids: &[String], work: &Work) -> Bulk {
    let (mut bulk, mut seen) = (Bulk::default(), HashSet::new());
    for text in ids {
        let id = text.parse::<CampaignId>();
        // One id may be written in more than one way.
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
        // Tags are for those who look for a campaign, so a live one has them at once.
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
    let said = (&campaign.definition, &changed.definition.clone());
    Step::said(changed, said, Action::Updated, ChangeType::Update).map(Some)
}

fn union(definition: &Definition, tags: &[String]) -> Result<Vec<String>> {
    let union = each_once(definition.tags.iter().chain(tags).cloned().collect());
    if union.len() > TAGS_MAX {
        return Err(Error::invalid("tags", format!("must have at most {TAGS_MAX} elements")));
    }
    Ok(union)
}

/// What a caller is told of one that failed; a fault of ours stays here.
fn reason(error: &Error) -> String {
    if error.severity() == Severity::Fault {
        tracing::error!(%error, "one of many campaigns failed");
    }
    error.message()
}
