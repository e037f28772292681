//! Which matching profiles can be reached.

use kernel::Channel;

use super::{Frame, statement::Statement};
use crate::model::{SubscriptionPreference, Targeting};

impl Statement<'_> {
    /// Writes the number of the reason why a profile cannot be reached, from the tables that [`Self::join_exclusions`]
    /// joins.
    pub(super) fn reason(&mut self) {
        let Some(channel) = self.frame.query.channel else {
            self.sql.push("0");
            return;
        };
        self.has_reason = true;
        let [missing, unusable] = address_faults(channel);
        self.sql.push(format!("case when {missing} then 1 when {unusable} then 2"));
        if channel == Channel::Email {
            self.sql.push(" when not c.is_valid then 2");
        }
        self.sql.push(match preference(self.frame) {
            SubscriptionPreference::SubscribedOrOptedIn => " when c.status = 'unsubscribed' then 3",
            SubscriptionPreference::OptedInOnly => {
                " when c.status is distinct from 'optedIn' then 3"
            }
            SubscriptionPreference::All => "",
        });
        if self.frame.query.list.is_some() {
            self.sql.push(" when o.status = 'unsubscribed' then 3");
        }
        if ledger(channel).is_some() {
            self.sql.push(" when s.identifier is not null then 4");
        }
        self.sql.push(" else 0 end");
    }

    /// Selects the profiles that other tables exclude when no opt-in is required, each with the numbers of its
    /// reasons.
    pub(super) fn exceptions(&mut self, channel: Channel) {
        self.sql.push("select user_id, case when is_valid then 3 else 2 end as reason");
        self.sql.push(" from channel_consent where workspace_id = ");
        self.workspace();
        self.sql.push(" and channel = ").push_bind(channel.as_str());
        self.sql.push(match preference(self.frame) {
            SubscriptionPreference::All => " and not is_valid",
            _ => " and (status = 'unsubscribed' or not is_valid)",
        });
        if let Some(list) = self.frame.query.list {
            self.sql
                .push(" union all select user_id, 3 from list_membership where workspace_id = ");
            self.workspace();
            self.sql.push(" and list_id = ").push_bind(list.uuid());
            self.sql.push(" and channel = ").push_bind(channel.as_str());
            self.sql.push(" and status = 'unsubscribed'");
        }
        let Some(address) = ledger(channel) else { return };
        self.sql.push(" union all select u.id, 4 from (");
        self.suppressed(channel);
        self.sql.push(") s join users u on u.workspace_id = ");
        self.workspace();
        self.sql.push(format!(" and {address} = s.identifier and u.deleted_at is null"));
    }

    /// Suppressed addresses of a channel, as `identifier`.
    fn suppressed(&mut self, channel: Channel) {
        self.sql.push("select distinct identifier from suppression where workspace_id = ");
        self.workspace();
        self.sql.push(" and channel = ").push_bind(channel.as_str());
        self.sql.push(" and (scope = 'global'");
        if let Some(list) = self.frame.query.list {
            self.sql.push(" or list_id = ").push_bind(list.uuid());
        }
        self.sql.push(")");
    }

    /// Joins the tables that decide whether a profile can be reached: its consent to the channel (`c`), its
    /// membership of the list (`o`), and the suppression of its address (`s`). Joins instead of subqueries, because
    /// a join stays fast when the planner's estimates are wrong.
    pub(super) fn join_exclusions(&mut self, channel: Channel) {
        self.sql.push(" left join channel_consent c on c.workspace_id = ");
        self.workspace();
        self.sql.push(" and c.user_id = u.id and c.channel = ").push_bind(channel.as_str());
        // Only rows that can exclude a profile, or include it.
        self.sql.push(match preference(self.frame) {
            SubscriptionPreference::SubscribedOrOptedIn => {
                " and (c.status = 'unsubscribed' or not c.is_valid)"
            }
            SubscriptionPreference::OptedInOnly => " and (c.status = 'optedIn' or not c.is_valid)",
            SubscriptionPreference::All => " and not c.is_valid",
        });
        if let Some(list) = self.frame.query.list {
            self.sql.push(" left join list_membership o on o.workspace_id = ");
            self.workspace();
            self.sql.push(" and o.user_id = u.id and o.list_id = ").push_bind(list.uuid());
            self.sql.push(" and o.channel = ").push_bind(channel.as_str());
        }
        let Some(address) = ledger(channel) else { return };
        self.sql.push(" left join (");
        self.suppressed(channel);
        self.sql.push(") s on s.identifier = ").push(address);
    }
}

/// The consent that a recipient needs.
pub(super) fn preference(frame: Frame<'_>) -> SubscriptionPreference {
    frame.query.targeting.map(Targeting::preference).unwrap_or_default()
}

/// Conditions on the profile alone: it has no address on a channel, or an address that cannot be used.
pub(super) const fn address_faults(channel: Channel) -> [&'static str; 2] {
    match channel {
        Channel::Email => ["u.email is null", "false"],
        Channel::Sms | Channel::Whatsapp | Channel::Viber => {
            ["u.phone is null", "u.phone_normal is null"]
        }
        // The gateway gets the external id.
        Channel::Push => ["u.external_id is null", "false"],
    }
}

/// The column that the ledger of a channel uses as identifier; push and Viber have no ledger.
const fn ledger(channel: Channel) -> Option<&'static str> {
    match channel {
        Channel::Email => Some("u.email"),
        Channel::Sms | Channel::Whatsapp => Some("u.phone_normal"),
        Channel::Push | Channel::Viber => None,
    }
}
