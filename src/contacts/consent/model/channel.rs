//! What a contact agreed to on a channel, and what bounces said about its address.

use std::borrow::Cow;

use kernel::{Channel, Timestamp, UserId};
use serde::Serialize;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{RefOr, Schema},
};
use web::audit::Action;

/// Which of a contact's addresses are new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressChange {
    pub user: UserId,
    /// Whether the email address is another one, or the first.
    pub email: bool,
    /// Whether the phone number is another one, or the first.
    pub phone: bool,
}

/// What a contact said about a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum ChannelStatus {
    OptedIn,
    Subscribed,
    Unsubscribed,
}

/// An opt-in to a whole channel that waits for its contact's word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingChannel {
    pub user: UserId,
    pub channel: Channel,
    /// What the contact will have said.
    pub status: ChannelStatus,
    /// Where it came from.
    pub source: String,
    /// The words consented to.
    pub consent_text: Option<String>,
    /// When it was asked for.
    pub requested_at: Timestamp,
    /// When it is too late to confirm.
    pub expires_at: Timestamp,
}

impl ChannelStatus {
    /// The names and what they stand for, as readers of bodies take them.
    pub const NAMED: &'static [(&'static str, Self)] = &[
        ("optedIn", Self::OptedIn),
        ("subscribed", Self::Subscribed),
        ("unsubscribed", Self::Unsubscribed),
    ];

    /// The status as the API and the store write it.
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

    /// Whether it lets messages through.
    pub const fn is_opt_in(self) -> bool {
        matches!(self, Self::OptedIn | Self::Subscribed)
    }

    /// What becoming `to` is called in the history (DECISIONS C2).
    pub fn action(previous: Option<Self>, to: Self) -> Action {
        match previous {
            Some(previous) if previous == to => Action::ApiUpdate,
            _ if !to.is_opt_in() => Action::Unsubscribe,
            None => Action::Subscribe,
            Some(Self::Unsubscribed) => Action::Resubscribe,
            // From one kind of yes to the other.
            Some(Self::OptedIn | Self::Subscribed) => Action::ApiUpdate,
        }
    }
}

/// What a bounce said about an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum BounceType {
    /// It does not exist.
    Hard,
    /// It could not be reached this time.
    Soft,
}

impl BounceType {
    /// The type as the API and the store write it.
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

/// What bounces said about a contact's address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounce {
    /// False when a hard bounce marked the address invalid.
    pub is_valid: bool,
    /// The latest bounce's type.
    pub kind: Option<BounceType>,
    pub count: i32,
    /// When the latest was.
    pub last_at: Option<Timestamp>,
}

impl Bounce {
    pub const NONE: Self = Self { is_valid: true, kind: None, count: 0, last_at: None };
}

/// A channel of a contact, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelState {
    /// What the contact said; nothing while only bounces are known.
    pub status: Option<ChannelStatus>,
    /// Since when it has been opted in, or was last.
    pub opt_in_date: Option<Timestamp>,
    /// Since when it has been opted out, or was last.
    pub opt_out_date: Option<Timestamp>,
    /// Where the latest change came from.
    pub source: Option<String>,
    /// The words last consented to.
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

    /// Takes a status from a caller, and says what that is called.
    ///
    /// A status that is there already keeps its date: the contact has been in that state since then. An
    /// opt-in on email forgets a soft bounce; a hard one is a fact about the address, not about consent.
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

    /// Whether there is anything to tell.
    pub fn is_known(&self) -> bool {
        *self != Self::NONE
    }
}

/// What is known of a contact's channels; those of which nothing is known are absent.
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
    /// Puts a channel's state in, where there is anything to tell.
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

/// A channel of a contact, as callers see it.
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
    /// Where the latest change came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub opt_in_source: Option<String>,
    /// The words consented to.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub consent_text: Option<String>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = DeliverabilityFields)]
    pub deliverability: Option<Deliverability>,
}

/// What bounces said about an address, as callers see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Deliverability {
    /// False when a hard bounce marked the address invalid.
    pub is_valid: bool,
    /// The latest bounce's type.
    pub bounce_type: Option<BounceType>,
    pub bounce_count: i32,
    /// When the latest was.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub last_bounce_at: Option<Timestamp>,
}

/// The fields of a [`Deliverability`] on a channel that may have none: all of them may be absent.
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

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
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
