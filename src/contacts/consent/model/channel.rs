//! Consent of a contact on a channel, and the deliverability of its address.

use std::borrow::Cow;

use kernel::{Channel, Timestamp, UserId, schema::NamedSchemas};
use serde::Serialize;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{RefOr, Schema},
};
use web::audit::Action;

/// Which of a contact's addresses have changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressChange {
    pub user: UserId,
    /// Whether the email address was changed or set for the first time.
    pub email: bool,
    /// Whether the phone number was changed or set for the first time.
    pub phone: bool,
}

/// Consent of a contact on a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum ChannelStatus {
    OptedIn,
    Subscribed,
    Unsubscribed,
}

/// An opt-in to a channel that waits for confirmation by the contact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingChannel {
    pub user: UserId,
    pub channel: Channel,
    /// The status once it is confirmed.
    pub status: ChannelStatus,
    pub source: String,
    /// The text that the contact consented to.
    pub consent_text: Option<String>,
    pub requested_at: Timestamp,
    /// The end of the time in which it can be confirmed.
    pub expires_at: Timestamp,
}

impl ChannelStatus {
    /// The names of the statuses in request bodies.
    pub const NAMED: &'static [(&'static str, Self)] = &[
        ("optedIn", Self::OptedIn),
        ("subscribed", Self::Subscribed),
        ("unsubscribed", Self::Unsubscribed),
    ];

    /// The status as the API and the database write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OptedIn => "optedIn",
            Self::Subscribed => "subscribed",
            Self::Unsubscribed => "unsubscribed",
        }
    }

    /// The status with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMED.iter().find(|(known, _)| *known == name).map(|(_, status)| *status)
    }

    /// Whether it permits messages.
    pub const fn is_opt_in(self) -> bool {
        matches!(self, Self::OptedIn | Self::Subscribed)
    }

    /// How strict a status is; no status is the least strict.
    fn strictness(status: Option<Self>) -> u8 {
        match status {
            None => 0,
            Some(Self::OptedIn) => 1,
            Some(Self::Subscribed) => 2,
            Some(Self::Unsubscribed) => 3,
        }
    }

    /// The history's name of a change to `to`.
    pub fn action(previous: Option<Self>, to: Self) -> Action {
        match previous {
            Some(previous) if previous == to => Action::ApiUpdate,
            _ if !to.is_opt_in() => Action::Unsubscribe,
            None => Action::Subscribe,
            Some(Self::Unsubscribed) => Action::Resubscribe,
            // From one status of consent to the other.
            Some(Self::OptedIn | Self::Subscribed) => Action::ApiUpdate,
        }
    }
}

/// The type of a bounce.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum BounceType {
    /// The address does not exist.
    Hard,
    /// The address could not be reached this time.
    Soft,
}

impl BounceType {
    /// The type as the API and the database write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hard => "hard",
            Self::Soft => "soft",
        }
    }

    /// The type with this name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Hard, Self::Soft].into_iter().find(|kind| kind.as_str() == name)
    }
}

/// What bounces say about a contact's address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounce {
    /// False once a hard bounce has marked the address invalid.
    pub is_valid: bool,
    /// The type of the latest bounce.
    pub kind: Option<BounceType>,
    pub count: i32,
    pub last_at: Option<Timestamp>,
}

impl Bounce {
    pub const NONE: Self = Self { is_valid: true, kind: None, count: 0, last_at: None };
}

/// The unique key of a channel's state within a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChannelKey {
    pub user: UserId,
    pub channel: Channel,
}

/// The stored state of a contact's channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelState {
    /// `None` while only bounces are known.
    pub status: Option<ChannelStatus>,
    /// The start of the current or latest opt-in.
    pub opt_in_date: Option<Timestamp>,
    /// The start of the current or latest opt-out.
    pub opt_out_date: Option<Timestamp>,
    /// The source of the latest change.
    pub source: Option<String>,
    /// The text that the contact consented to last.
    pub consent_text: Option<String>,
    pub bounce: Bounce,
}

impl ChannelState {
    pub const NONE: Self = Self {
        status: None,
        opt_in_date: None,
        opt_out_date: None,
        source: None,
        consent_text: None,
        bounce: Bounce::NONE,
    };

    /// Sets the status and returns the history's name of the change.
    ///
    /// A status that is set again keeps its date: the contact has been in that state since then. An opt-in on email
    /// clears a soft bounce. A hard bounce stays, since it says that the address does not exist.
    pub fn set(
        &mut self,
        now: Timestamp,
        to: ChannelStatus,
        source: &str,
        consent_text: Option<&str>,
    ) -> Action {
        let previous = self.status.replace(to);
        if previous != Some(to) {
            if to.is_opt_in() {
                self.opt_in_date = Some(now);
            } else {
                self.opt_out_date = Some(now);
            }
        }
        self.source = Some(source.to_owned());
        if let Some(text) = consent_text {
            self.consent_text = Some(text.to_owned());
        }
        if to.is_opt_in() && self.bounce.kind == Some(BounceType::Soft) {
            self.bounce = Bounce::NONE;
        }
        ChannelStatus::action(previous, to)
    }

    /// The state of two contacts that become one: the stricter status with its dates and source. Bounces are those of
    /// the address that stays.
    #[must_use]
    pub fn merged(&self, other: &Self, takes_bounces: bool) -> Self {
        let is_stricter =
            ChannelStatus::strictness(other.status) > ChannelStatus::strictness(self.status);
        let (first, second) = if is_stricter { (other, self) } else { (self, other) };
        Self {
            status: first.status,
            opt_in_date: first.opt_in_date.or(second.opt_in_date),
            opt_out_date: first.opt_out_date.or(second.opt_out_date),
            source: first.source.clone().or_else(|| second.source.clone()),
            consent_text: first.consent_text.clone().or_else(|| second.consent_text.clone()),
            bounce: if takes_bounces { other.bounce.clone() } else { self.bounce.clone() },
        }
    }

    /// Whether a status or a bounce is known.
    pub fn is_known(&self) -> bool {
        *self != Self::NONE
    }
}

/// The channels of a contact of which something is known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct Channels {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub email: Option<ChannelConsent>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub sms: Option<ChannelConsent>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub whatsapp: Option<ChannelConsent>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub push: Option<ChannelConsent>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub viber: Option<ChannelConsent>,
}

impl Channels {
    /// Adds a channel, if a status or a bounce is known.
    pub fn put(&mut self, channel: Channel, state: ChannelState) {
        let place = match channel {
            Channel::Email => &mut self.email,
            Channel::Sms => &mut self.sms,
            Channel::Whatsapp => &mut self.whatsapp,
            Channel::Push => &mut self.push,
            Channel::Viber => &mut self.viber,
        };
        *place = state.is_known().then(|| ChannelConsent::of(channel, state));
    }

    pub fn get(&self, channel: Channel) -> Option<&ChannelConsent> {
        match channel {
            Channel::Email => self.email.as_ref(),
            Channel::Sms => self.sms.as_ref(),
            Channel::Whatsapp => self.whatsapp.as_ref(),
            Channel::Push => self.push.as_ref(),
            Channel::Viber => self.viber.as_ref(),
        }
    }
}

/// A channel of a contact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelConsent {
    /// Absent while only bounces are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub status: Option<ChannelStatus>,
    /// Present after an opt-in.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub opt_in_date: Option<Timestamp>,
    /// Present after an opt-out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub opt_out_date: Option<Timestamp>,
    /// The source of the latest change.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub opt_in_source: Option<String>,
    /// The text that the contact consented to.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub consent_text: Option<String>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = DeliverabilityFields)]
    pub deliverability: Option<Deliverability>,
}

/// What bounces say about an address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Deliverability {
    /// False once a hard bounce has marked the address invalid.
    pub is_valid: bool,
    /// The type of the latest bounce.
    pub bounce_type: Option<BounceType>,
    pub bounce_count: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub last_bounce_at: Option<Timestamp>,
}

/// The fields of a [`Deliverability`]. They are absent on channels that have none.
#[derive(Debug)]
struct DeliverabilityFields;

impl PartialSchema for DeliverabilityFields {
    fn schema() -> RefOr<Schema> {
        let mut schema = Deliverability::schema();
        if let RefOr::T(Schema::Object(object)) = &mut schema {
            object.required.clear();
        }
        schema
    }
}

impl ToSchema for DeliverabilityFields {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("Deliverability")
    }

    fn schemas(schemas: &mut NamedSchemas) {
        Deliverability::schemas(schemas);
    }
}

impl ChannelConsent {
    fn of(channel: Channel, state: ChannelState) -> Self {
        let Bounce { is_valid, kind, count, last_at } = state.bounce;
        let deliverability = Deliverability {
            is_valid,
            bounce_type: kind,
            bounce_count: count,
            last_bounce_at: last_at,
        };
        Self {
            status: state.status,
            opt_in_date: state.opt_in_date,
            opt_out_date: state.opt_out_date,
            opt_in_source: state.source,
            consent_text: state.consent_text,
            deliverability: (channel == Channel::Email).then_some(deliverability),
        }
    }
}
