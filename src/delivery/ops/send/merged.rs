//! Messages to profiles that were merged: each person gets one of a campaign.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    time::Duration,
};

use kernel::{CampaignId, Result, UserId, WorkspaceId};
use sqlx::PgConnection;

use super::eligibility::{CheckedBatch, Eligibility};
use crate::{
    model::{
        claimed::{Claimed, MessageStatus},
        merged::{MergedDecision, SentState, Sibling, decide},
        message::Purpose,
        skip::{Skip, SkipReason},
    },
    store::merged::{self, Redirected, SiblingMessage},
};

/// How long a message waits for the outcome of another to the same person.
const WAIT: Duration = Duration::from_secs(5);
pub(super) const DETAIL: &str =
    "the person got the campaign as another profile, which is merged with this one";

impl Eligibility<'_> {
    /// Directs messages of merged profiles to their survivors, and settles those that a person has twice.
    pub(super) async fn as_one_person(
        &mut self,
        batch: Vec<Claimed>,
        checked: &mut CheckedBatch,
    ) -> Result<Vec<Claimed>> {
        let users: BTreeSet<UserId> = batch.iter().filter_map(|message| message.user).collect();
        let users: Vec<UserId> = users.into_iter().collect();
        if users.is_empty() {
            return Ok(batch);
        }
        let survivors = merged::of_users(self.connection, self.workspace, &users).await?.survivors;
        if survivors.is_empty() {
            return Ok(batch);
        }
        let people: BTreeSet<UserId> = survivors.values().copied().collect();
        let people: Vec<UserId> = people.into_iter().collect();
        merged::lock(self.connection, self.workspace, &people).await?;
        let mut siblings = self.siblings(&survivors).await?;
        let (mut left, mut redirected) = (Vec::with_capacity(batch.len()), Vec::new());
        for mut message in batch {
            let Some(user) = message.user else {
                left.push(message);
                continue;
            };
            let survivor = survivors.get(&user).copied().unwrap_or(user);
            match decide(user == survivor, &siblings.besides(survivor, &message)) {
                MergedDecision::Send => {
                    siblings.leaving.insert((survivor, message.occurrence));
                    if user != survivor {
                        redirected.push(Redirected { message: message.id, survivor });
                    }
                    message.user = Some(survivor);
                    left.push(message);
                }
                MergedDecision::Skip => {
                    let skip = Skip::new(SkipReason::Merged, DETAIL);
                    checked.settle(message, MessageStatus::Skipped(skip));
                }
                MergedDecision::Wait => {
                    let skip =
                        Skip::new(SkipReason::Merged, "waits for a message to the same person");
                    let until = self.now.after(WAIT);
                    checked.settle(message, MessageStatus::Held { until, skip });
                }
            }
        }
        merged::redirect(self.connection, self.workspace, &redirected).await?;
        Ok(left)
    }

    /// The messages of the campaign to these people.
    async fn siblings(&mut self, survivors: &HashMap<UserId, UserId>) -> Result<Siblings> {
        match self.campaign_context.filter(|it| it.sends_one_to_a_person()) {
            Some(it) => {
                Siblings::of(self.connection, self.workspace, it.campaign.id, survivors).await
            }
            None => Ok(Siblings::default()),
        }
    }
}

/// The messages of one campaign to people with merged profiles, by person and occurrence.
#[derive(Debug, Default)]
pub(super) struct Siblings {
    of_person: HashMap<(UserId, i32), Vec<SiblingMessage>>,
    /// Those that leave with this batch.
    leaving: HashSet<(UserId, i32)>,
}

impl Siblings {
    /// Reads them; `survivors` has the survivor of each merged profile.
    pub(super) async fn of(
        connection: &mut PgConnection,
        workspace: WorkspaceId,
        campaign: CampaignId,
        survivors: &HashMap<UserId, UserId>,
    ) -> Result<Self> {
        let people: BTreeSet<UserId> =
            survivors.iter().flat_map(|(merged, survivor)| [*merged, *survivor]).collect();
        let people: Vec<UserId> = people.into_iter().collect();
        let mut siblings = Self::default();
        for message in merged::messages(connection, workspace, campaign, &people).await? {
            let survivor = survivors.get(&message.user).copied().unwrap_or(message.user);
            siblings.of_person.entry((survivor, message.occurrence)).or_default().push(message);
        }
        Ok(siblings)
    }

    /// The messages to the person besides this one.
    pub(super) fn besides(&self, survivor: UserId, message: &Claimed) -> Vec<Sibling> {
        if message.purpose != Purpose::Campaign {
            return Vec::new();
        }
        let key = (survivor, message.occurrence);
        let stored = self.of_person.get(&key).into_iter().flatten();
        let mut siblings: Vec<Sibling> = stored
            .filter(|other| other.id != message.id)
            .map(|other| Sibling { is_of_survivor: other.user == survivor, state: other.state })
            .collect();
        if self.leaving.contains(&key) {
            siblings.push(Sibling { is_of_survivor: false, state: SentState::Leaving });
        }
        siblings
    }
}
