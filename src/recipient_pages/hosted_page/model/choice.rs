//! What a recipient can choose, has chosen, and sends back.

use std::collections::HashSet;

use contacts::consent::model::{ChannelStatus, MembershipStatus};
use kernel::{Channel, ListId, UserId};
use serde_json::{Map, Value};

/// The person the page is for.
#[derive(Debug, Clone, PartialEq)]
pub struct Contact {
    pub id: UserId,
    /// The caller's id of it.
    pub external_id: Option<String>,
    pub email: Option<String>,
    pub phone: Option<String>,
    /// What else is known.
    pub attributes: Map<String, Value>,
}

/// Whether a box is ticked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    On,
    Off,
    /// Asked for, and waiting for the click on a link.
    Pending,
}

/// A public list and the channels it can be had on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListChoice {
    pub id: ListId,
    pub name: String,
    /// What it is about.
    pub description: String,
    /// Its channels, as the list names them.
    pub channels: Vec<(Channel, State)>,
}

/// Everything on the page.
#[derive(Debug, Clone, PartialEq)]
pub struct Choices {
    /// Whose messages these are.
    pub workspace: String,
    pub contact: Contact,
    /// The channels with a box, and whether they are open.
    pub channels: Vec<(Channel, bool)>,
    /// Every channel the contact has closed.
    pub closed: Vec<Channel>,
    /// The lists, in their order.
    pub lists: Vec<ListChoice>,
}

/// What is known of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// Whether a public list is offered on it.
    pub offered: bool,
    /// What the contact said.
    pub status: Option<ChannelStatus>,
}

/// Whether a channel is worth a box: one the contact opted into, or can be reached on and would be, or
/// has been asked about. Push goes to devices, which no profile lists.
pub fn is_shown(contact: &Contact, channel: Channel, known: Known) -> bool {
    let given = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
    let asked = known.offered || known.status.is_some();
    let reachable = match channel {
        Channel::Email => given(&contact.email),
        Channel::Sms | Channel::Whatsapp | Channel::Viber => given(&contact.phone) && asked,
        Channel::Push => known.offered,
    };
    reachable || known.status.is_some_and(ChannelStatus::is_opt_in)
}

/// One thing to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    Channel(Channel, ChannelStatus),
    Membership(ListId, Channel, MembershipStatus),
}

/// What a form says. It names the boxes it showed, so that a box which was not there is not taken for
/// one that was unticked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Submission {
    shown: HashSet<String>,
    ticked: HashSet<String>,
    /// Whether the button "unsubscribe from everything" was pressed.
    pub from_everything: bool,
}

impl Submission {
    /// Reads the fields of a form; others are ignored.
    pub fn read(fields: Vec<(String, String)>) -> Self {
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

    /// What a box becomes; nothing where it was not shown.
    fn wants(&self, name: &str) -> Option<bool> {
        self.shown.contains(name).then(|| self.ticked.contains(name))
    }
}

/// The name of a channel's box.
pub fn channel_box(channel: Channel) -> String {
    format!("channel.{channel}")
}

/// The name of a list's box on a channel.
pub fn list_box(list: ListId, channel: Channel) -> String {
    format!("list.{list}.{channel}")
}

impl Choices {
    /// The writes that make the page say what was sent: none for what it says already.
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

    /// Every channel, those without an address too: one that comes later stays closed.
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

    /// Whether something waits for a confirmation.
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
        Submission::read(shown.chain(ticked.iter().map(|value| pair("on", value))).collect())
    }

    #[test]
    fn only_boxes_that_were_shown_and_differ_are_written() {
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
    fn everything_means_every_channel_and_every_list() {
        let all = Submission::read(vec![("action".to_owned(), "unsubscribe".to_owned())]);
        assert_eq!(choices(true, State::On).changes(&all).len(), Channel::ALL.len() + 1);
        assert_eq!(choices(false, State::Off).changes(&all).len(), Channel::ALL.len() - 1);
    }
}
