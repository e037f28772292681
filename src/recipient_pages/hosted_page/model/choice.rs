//! A recipient's choices on the preference page: what is offered, what is stored, what a form submits.

use std::collections::HashSet;

use contacts::consent::model::{ChannelStatus, MembershipStatus};
use kernel::{Channel, ListId, UserId};
use serde_json::{Map, Value};

/// The recipient of the page.
#[derive(Debug, Clone, PartialEq)]
pub struct Contact {
    pub id: UserId,
    /// The caller's id of the contact.
    pub external_id: Option<String>,
    pub email: Option<String>,
    pub phone: Option<String>,
    pub attributes: Map<String, Value>,
}

/// The state of a checkbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    On,
    Off,
    /// Requested, and waiting for the confirmation link.
    Pending,
}

/// A public list and the channels it is offered on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListChoice {
    pub id: ListId,
    pub name: String,
    pub description: String,
    /// In the order of the list.
    pub channels: Vec<(Channel, State)>,
}

/// The content of the page.
#[derive(Debug, Clone, PartialEq)]
pub struct Choices {
    pub workspace: String,
    pub contact: Contact,
    /// The displayed channels, and whether the contact receives messages on them.
    pub channels: Vec<(Channel, bool)>,
    /// Every channel the contact opted out of.
    pub closed: Vec<Channel>,
    pub lists: Vec<ListChoice>,
}

/// What is stored about a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChannelFacts {
    /// Whether a public list is offered on the channel.
    pub offered: bool,
    /// What the contact chose, if anything.
    pub status: Option<ChannelStatus>,
}

/// Whether the page displays a channel: the contact opted in, or was asked for consent, or has an address for
/// it and a list offers it. Push goes to devices, which a profile does not list.
pub fn is_displayed(contact: &Contact, channel: Channel, known: ChannelFacts) -> bool {
    let given = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
    let asked = known.offered || known.status.is_some();
    let reachable = match channel {
        Channel::Email => given(&contact.email),
        Channel::Sms | Channel::Whatsapp | Channel::Viber => given(&contact.phone) && asked,
        Channel::Push => known.offered,
    };
    reachable || known.status.is_some_and(ChannelStatus::is_opt_in)
}

/// A change to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    Channel(Channel, ChannelStatus),
    Membership(ListId, Channel, MembershipStatus),
}

/// A submitted form. It names the checkboxes it displayed, so that a checkbox that was not displayed is not
/// taken for an unticked one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Submission {
    shown: HashSet<String>,
    ticked: HashSet<String>,
    /// Whether the button "unsubscribe from everything" was pressed.
    pub from_everything: bool,
}

impl Submission {
    /// Reads the fields of a form; unknown ones are ignored.
    pub fn read(fields: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut submission = Self::default();
        for (name, value) in fields {
            match (name.as_str(), value.as_str()) {
                ("shown", _) => drop(submission.shown.insert(value)),
                ("on", _) => drop(submission.ticked.insert(value)),
                ("action", "unsubscribe") => submission.from_everything = true,
                _ => {}
            }
        }
        submission
    }

    /// The submitted state of a checkbox; none if it was not displayed.
    fn wants(&self, name: &str) -> Option<bool> {
        self.shown.contains(name).then(|| self.ticked.contains(name))
    }
}

pub fn channel_box(channel: Channel) -> String {
    format!("channel.{channel}")
}

pub fn list_box(list: ListId, channel: Channel) -> String {
    format!("list.{list}.{channel}")
}

impl Choices {
    /// The changes that bring the stored state to the submitted one.
    pub fn changes(&self, sent: &Submission) -> Vec<Change> {
        if sent.from_everything { self.opt_out() } else { self.differences(sent) }
    }

    fn differences(&self, sent: &Submission) -> Vec<Change> {
        let channels = self.channels.iter().filter_map(|(channel, on)| {
            let wanted = sent.wants(&channel_box(*channel))?;
            let status =
                if wanted { ChannelStatus::Subscribed } else { ChannelStatus::Unsubscribed };
            (wanted != *on).then_some(Change::Channel(*channel, status))
        });
        let lists = self.boxes().filter_map(|(list, channel, state)| {
            let change = |status| Some(Change::Membership(list, channel, status));
            match (sent.wants(&list_box(list, channel))?, state) {
                (true, State::Off) => change(MembershipStatus::Subscribed),
                (false, State::On | State::Pending) => change(MembershipStatus::Unsubscribed),
                _ => None,
            }
        });
        channels.chain(lists).collect()
    }

    /// Every channel, including those without an address: one that is added later stays opted out.
    fn opt_out(&self) -> Vec<Change> {
        let is_closed = |channel: Channel| self.closed.contains(&channel);
        let channels = Channel::ALL
            .into_iter()
            .filter(|channel| !is_closed(*channel))
            .map(|channel| Change::Channel(channel, ChannelStatus::Unsubscribed));
        let lists =
            self.boxes().filter(|(_, _, state)| *state != State::Off).map(|(list, channel, _)| {
                Change::Membership(list, channel, MembershipStatus::Unsubscribed)
            });
        channels.chain(lists).collect()
    }

    fn boxes(&self) -> impl Iterator<Item = (ListId, Channel, State)> {
        self.lists.iter().flat_map(|list| {
            list.channels.iter().map(|(channel, state)| (list.id, *channel, *state))
        })
    }

    /// Whether a choice waits for its confirmation link.
    pub fn waits(&self) -> bool {
        self.boxes().any(|(_, _, state)| state == State::Pending)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: ListId = ListId::new(uuid::Uuid::from_u128(7));

    fn choices(email: bool, state: State) -> Choices {
        Choices {
            workspace: "Shop".to_owned(),
            contact: Contact {
                id: UserId::from_bytes([1; 12]),
                external_id: None,
                email: None,
                phone: None,
                attributes: Map::new(),
            },
            channels: vec![(Channel::Email, email)],
            closed: if email { vec![] } else { vec![Channel::Email] },
            lists: vec![ListChoice {
                id: LIST,
                name: "News".to_owned(),
                description: String::new(),
                channels: vec![(Channel::Email, state)],
            }],
        }
    }

    fn sent(shown: &[&str], ticked: &[&str]) -> Submission {
        let pair = |name: &str, value: &&str| (name.to_owned(), (*value).to_owned());
        let shown = shown.iter().map(|value| pair("shown", value));
        Submission::read(shown.chain(ticked.iter().map(|value| pair("on", value))))
    }

    #[test]
    fn only_displayed_boxes_that_differ_are_written() {
        let list = list_box(LIST, Channel::Email);
        let both = ["channel.email", list.as_str()];
        let page = choices(true, State::On);
        assert_eq!(page.changes(&sent(&both, &both)), []);
        assert_eq!(page.changes(&sent(&[], &[])), []);
        assert_eq!(page.changes(&sent(&[], &both)), []);
        assert_eq!(
            page.changes(&sent(&both, &[])),
            [
                Change::Channel(Channel::Email, ChannelStatus::Unsubscribed),
                Change::Membership(LIST, Channel::Email, MembershipStatus::Unsubscribed),
            ]
        );
        assert_eq!(
            choices(false, State::Off).changes(&sent(&both, &both)),
            [
                Change::Channel(Channel::Email, ChannelStatus::Subscribed),
                Change::Membership(LIST, Channel::Email, MembershipStatus::Subscribed),
            ]
        );
        let unknown = ["channel.sms", "channel.fax", "list.7.email", ""];
        assert_eq!(page.changes(&sent(&unknown, &unknown)), []);
    }

    #[test]
    fn a_pending_box_stays_ticked_until_it_is_unticked() {
        let list = list_box(LIST, Channel::Email);
        let page = choices(true, State::Pending);
        assert_eq!(page.changes(&sent(&[&list], &[&list])), []);
        assert_eq!(page.changes(&sent(&[&list], &[])).len(), 1);
    }

    #[test]
    fn unsubscribing_from_everything_covers_channels_and_lists() {
        let all = Submission::read([("action".to_owned(), "unsubscribe".to_owned())]);
        assert_eq!(choices(true, State::On).changes(&all).len(), Channel::ALL.len() + 1);
        assert_eq!(choices(false, State::Off).changes(&all).len(), Channel::ALL.len() - 1);
    }
}
