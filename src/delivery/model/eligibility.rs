//! Eligibility: whether a message may be sent to its recipient now. Pure rules over facts from the stores; every skip
//! names its rule and the fact that caused it.
//!
//! The rules by the purpose of a message. Only campaigns need consent; no message is sent to an address that hard-bounced:
//!
//! | | deleted, address | consent, list | suppressions | quiet hours, caps, rate |
//! | --- | --- | --- | --- | --- |
//! | campaign | yes | as it prefers | global, and its list's | yes |
//! | transactional | yes | no | global | no |
//! | confirmation | yes | no | global, unless only unsubscribed | no |
//! | test | yes | no | a hard bounce | no |

use std::time::Duration;

use audience::model::SubscriptionPreference;
use campaigns::model::message::MessageChannel;
use contacts::consent::model::ChannelStatus;
use kernel::{
    MessageId, Timestamp,
    quiet::{QuietBehavior, QuietTimeOverride, QuietZone},
    zone::Zone,
};
use providers::model::Device;
use suppressions::model::Reason;

use super::{
    Recipient,
    message::Purpose,
    skip::{Skip, SkipReason},
};

/// Messages are spread over this time after the end of quiet hours, so that not all are sent at once.
const AFTER_QUIET: Duration = Duration::from_mins(5);

/// The stored facts about a recipient and their addresses.
#[expect(clippy::struct_excessive_bools, reason = "independent facts, each from a column")]
#[derive(Debug, Clone, Default)]
pub struct Facts {
    pub recipient: Recipient,
    /// The phone number as providers accept it; none if it is invalid.
    pub phone_normal: Option<String>,
    /// Whether the profile was deleted.
    pub is_deleted: bool,
    /// Whether other profiles were merged into it.
    pub is_survivor: bool,
    /// The recorded consent to the channel.
    pub consent: Option<ChannelStatus>,
    /// Whether a hard bounce marked the address.
    pub is_invalid: bool,
    /// Whether they left the list.
    pub has_left_list: bool,
    /// The reasons for which the address is suppressed globally.
    pub suppressed: Vec<Reason>,
    /// The reason for which it is suppressed for the list.
    pub suppressed_for_list: Option<Reason>,
    /// Devices for push notifications.
    pub devices: Vec<Device>,
}

/// The rules of a message.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    pub purpose: Purpose,
    pub channel: MessageChannel,
    /// The consent that a campaign requires.
    pub preference: SubscriptionPreference,
    /// Whether transactional email and push reach those who only unsubscribed.
    pub bypass_unsubscribe: bool,
}

/// The address of a message that may be sent; empty if the message itself has it.
///
/// # Errors
/// The first rule that forbids it, in the order in which audiences count exclusions.
pub fn admit(facts: &Facts, rules: Rules) -> Result<String, Skip> {
    if facts.is_deleted {
        return Err(Skip::new(SkipReason::Deleted, "the profile was deleted"));
    }
    let address = address(facts, rules.channel)?;
    if facts.is_invalid && rules.channel == MessageChannel::Email {
        return Err(Skip::new(SkipReason::InvalidAddress, "a hard bounce marked the address"));
    }
    if rules.purpose == Purpose::Campaign {
        consented(facts, rules)?;
    } else if has_no_ledger(rules.channel)
        && rules.purpose == Purpose::Transactional
        && facts.consent == Some(ChannelStatus::Unsubscribed)
        && !passes_unsubscribe(rules)
    {
        // Channels without a ledger of suppressions have the opt-out in the consent alone.
        return Err(Skip::new(
            SkipReason::Suppressed(Some(Reason::Unsubscribe)),
            "unsubscribed from the channel",
        ));
    }
    suppressed(facts, rules)?;
    Ok(address)
}

const fn has_no_ledger(channel: MessageChannel) -> bool {
    matches!(channel, MessageChannel::Push | MessageChannel::Viber)
}

fn passes_unsubscribe(rules: Rules) -> bool {
    match rules.purpose {
        Purpose::Transactional => {
            let may = matches!(rules.channel, MessageChannel::Email | MessageChannel::Push);
            may && rules.bypass_unsubscribe
        }
        // A new subscription may follow an opt-out; the confirmation proves it.
        Purpose::Confirmation | Purpose::Test => true,
        Purpose::Campaign => false,
    }
}

/// The address of a message on a channel.
fn address(facts: &Facts, channel: MessageChannel) -> Result<String, Skip> {
    let recipient = &facts.recipient;
    let absent =
        |what: &str| Skip::new(SkipReason::NoAddress, format!("the profile has no {what}"));
    match channel {
        MessageChannel::Email => recipient.email.clone().ok_or_else(|| absent("email address")),
        MessageChannel::Sms | MessageChannel::Whatsapp | MessageChannel::Viber => {
            if recipient.phone.is_none() {
                return Err(absent("phone number"));
            }
            let wrong = || Skip::new(SkipReason::InvalidAddress, "the phone number is none");
            facts.phone_normal.clone().ok_or_else(wrong)
        }
        // A gateway gets the caller's id; other providers use the devices.
        MessageChannel::Push => match &recipient.external_id {
            Some(id) => Ok(id.clone()),
            None if facts.devices.is_empty() => Err(absent("device and no externalId")),
            None => Ok(String::new()),
        },
        MessageChannel::Webhook => Ok(String::new()),
    }
}

/// Checks the consent that a campaign requires.
fn consented(facts: &Facts, rules: Rules) -> Result<(), Skip> {
    if rules.channel == MessageChannel::Webhook {
        return Ok(());
    }
    let recorded = facts.consent.map_or("nothing", ChannelStatus::as_str);
    let is_refused = match rules.preference {
        SubscriptionPreference::SubscribedOrOptedIn => {
            facts.consent == Some(ChannelStatus::Unsubscribed)
        }
        SubscriptionPreference::OptedInOnly => facts.consent != Some(ChannelStatus::OptedIn),
        SubscriptionPreference::All => false,
    };
    if is_refused {
        return Err(Skip::new(
            SkipReason::ChannelConsent,
            format!("consent to the channel: {recorded}"),
        ));
    }
    if facts.has_left_list {
        return Err(Skip::new(SkipReason::ListConsent, "unsubscribed from the list"));
    }
    Ok(())
}

/// The order in which the reasons of a suppression are reported: what no opt-in lifts comes first.
const REASONS: [Reason; 4] =
    [Reason::HardBounce, Reason::Complaint, Reason::Unsubscribe, Reason::Manual];

fn suppressed(facts: &Facts, rules: Rules) -> Result<(), Skip> {
    let applies = |reason: Reason| match (rules.purpose, reason) {
        (Purpose::Test, Reason::HardBounce) => true,
        (Purpose::Test, _) => false,
        (_, Reason::Unsubscribe) => !passes_unsubscribe(rules),
        _ => true,
    };
    let found =
        REASONS.into_iter().find(|reason| applies(*reason) && facts.suppressed.contains(reason));
    if let Some(reason) = found {
        let detail = format!("the address is suppressed: {}", reason.as_str());
        return Err(Skip::new(SkipReason::Suppressed(Some(reason)), detail));
    }
    match facts.suppressed_for_list {
        Some(reason) if rules.purpose == Purpose::Campaign => {
            let detail = format!("the address is suppressed for the list: {}", reason.as_str());
            Err(Skip::new(SkipReason::Suppressed(Some(reason)), detail))
        }
        _ => Ok(()),
    }
}

/// The effect of quiet hours on a message that could be sent now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Quiet {
    Loud,
    /// Deferred until this time.
    Until(Timestamp, Skip),
    /// The message is skipped.
    Never(Skip),
}

/// What a recipient's time zone is derived from.
#[derive(Debug, Clone, Copy)]
pub struct RecipientClock<'a> {
    pub timezone: Option<&'a str>,
    pub country: Option<&'a str>,
    /// Used where neither of them gives a zone.
    pub workspace_zone: Zone,
}

/// The effect of quiet hours on a message to a recipient with this clock.
pub fn quiet(
    hours: &QuietTimeOverride,
    RecipientClock { timezone, country, workspace_zone }: RecipientClock<'_>,
    message: MessageId,
    now: Timestamp,
) -> Quiet {
    let zone = match hours.zone() {
        QuietZone::Fixed(zone) => zone,
        QuietZone::Recipient => Zone::of_person(timezone, country, workspace_zone),
    };
    let Some(ends) = hours.ends(now, zone) else { return Quiet::Loud };
    let words = format!("quiet hours until {ends} ({})", zone.name());
    let skip = Skip::new(SkipReason::QuietHours, words);
    match hours.behavior() {
        QuietBehavior::Skip => Quiet::Never(skip),
        QuietBehavior::Defer => {
            let (_, low) = message.uuid().as_u64_pair();
            let window = u64::try_from(AFTER_QUIET.as_millis()).unwrap_or(u64::MAX);
            Quiet::Until(ends.after(Duration::from_millis(low % window)), skip)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> Facts {
        Facts {
            recipient: Recipient {
                external_id: Some("u1".into()),
                email: Some("a@example.test".into()),
                phone: Some("+49 30 1".into()),
                ..Recipient::default()
            },
            phone_normal: Some("+49301".into()),
            ..Facts::default()
        }
    }

    fn rules(purpose: Purpose, channel: MessageChannel) -> Rules {
        let preference = SubscriptionPreference::SubscribedOrOptedIn;
        Rules { purpose, channel, preference, bypass_unsubscribe: false }
    }

    fn code(facts: &Facts, rules: Rules) -> &'static str {
        match admit(facts, rules) {
            Ok(_) => "-",
            Err(skip) => skip.reason.code(),
        }
    }

    type Change = fn(&mut Facts);

    #[test]
    fn each_rule_holds_of_the_kinds_of_messages_it_is_for() {
        let table: [(Change, [&str; 4]); 10] = [
            // campaign, transactional, confirmation, test
            (|_| {}, ["-", "-", "-", "-"]),
            (|f| f.is_deleted = true, ["deleted", "deleted", "deleted", "deleted"]),
            (|f| f.recipient.email = None, ["no_address"; 4]),
            (|f| f.is_invalid = true, ["invalid_address"; 4]),
            (|f| f.consent = Some(ChannelStatus::Unsubscribed), ["channel_consent", "-", "-", "-"]),
            (|f| f.has_left_list = true, ["list_consent", "-", "-", "-"]),
            (
                |f| f.suppressed = vec![Reason::Unsubscribe],
                ["suppressed_unsubscribe", "suppressed_unsubscribe", "-", "-"],
            ),
            (
                |f| f.suppressed = vec![Reason::Manual, Reason::Complaint],
                ["suppressed_complaint", "suppressed_complaint", "suppressed_complaint", "-"],
            ),
            (|f| f.suppressed = vec![Reason::HardBounce], ["suppressed_hard_bounce"; 4]),
            (
                |f| f.suppressed_for_list = Some(Reason::Manual),
                ["suppressed_manual", "-", "-", "-"],
            ),
        ];
        let purposes =
            [Purpose::Campaign, Purpose::Transactional, Purpose::Confirmation, Purpose::Test];
        for (change, expected) in table {
            let mut facts = facts();
            change(&mut facts);
            let found = purposes.map(|purpose| code(&facts, rules(purpose, MessageChannel::Email)));
            assert_eq!(found, expected, "{facts:?}");
        }
    }

    #[test]
    fn preferences_check_the_recorded_consent() {
        use ChannelStatus::{OptedIn, Subscribed, Unsubscribed};
        use SubscriptionPreference::{All, OptedInOnly, SubscribedOrOptedIn};
        let table = [
            (SubscribedOrOptedIn, [true, true, true, false]),
            (OptedInOnly, [false, true, false, false]),
            (All, [true, true, true, true]),
        ];
        for (preference, expected) in table {
            let rules = Rules { preference, ..rules(Purpose::Campaign, MessageChannel::Push) };
            let recorded = [None, Some(OptedIn), Some(Subscribed), Some(Unsubscribed)];
            let found = recorded.map(|consent| admit(&Facts { consent, ..facts() }, rules).is_ok());
            assert_eq!(found, expected, "{preference:?}");
        }
    }

    #[test]
    fn each_channel_goes_to_an_address_of_its_own() {
        let of = |facts: &Facts, channel| {
            admit(facts, rules(Purpose::Campaign, channel)).map_err(|skip| skip.reason.code())
        };
        let all = facts();
        assert_eq!(of(&all, MessageChannel::Email), Ok("a@example.test".to_owned()));
        assert_eq!(of(&all, MessageChannel::Sms), Ok("+49301".to_owned()));
        assert_eq!(of(&all, MessageChannel::Push), Ok("u1".to_owned()));
        assert_eq!(of(&all, MessageChannel::Webhook), Ok(String::new()));
        let none = Facts::default();
        for channel in [MessageChannel::Email, MessageChannel::Viber, MessageChannel::Push] {
            assert_eq!(of(&none, channel), Err("no_address"), "{channel:?}");
        }
        let wrong = Facts { phone_normal: None, ..facts() };
        assert_eq!(of(&wrong, MessageChannel::Whatsapp), Err("invalid_address"));
    }

    #[test]
    fn transactional_messages_pass_an_unsubscribe_only_where_that_is_set() {
        let unsubscribed = Facts {
            suppressed: vec![Reason::Unsubscribe],
            consent: Some(ChannelStatus::Unsubscribed),
            ..facts()
        };
        let table = [
            (MessageChannel::Email, false, "suppressed_unsubscribe"),
            (MessageChannel::Email, true, "-"),
            (MessageChannel::Push, false, "suppressed_unsubscribe"),
            (MessageChannel::Push, true, "-"),
            (MessageChannel::Sms, true, "suppressed_unsubscribe"),
            (MessageChannel::Viber, true, "suppressed_unsubscribe"),
        ];
        for (channel, bypass_unsubscribe, expected) in table {
            let rules = Rules { bypass_unsubscribe, ..rules(Purpose::Transactional, channel) };
            assert_eq!(code(&unsubscribed, rules), expected, "{channel:?} {bypass_unsubscribe}");
            let worse = Facts { suppressed: vec![Reason::Unsubscribe, Reason::Manual], ..facts() };
            let code = code(&worse, rules);
            assert!(code.starts_with("suppressed_"), "{channel:?}: {code}");
        }
    }

    #[test]
    fn quiet_hours_hold_by_the_recipients_own_clocks() {
        let hours = |behavior| QuietTimeOverride {
            enabled: None,
            start: Some("22:00".parse().unwrap()),
            end: Some("08:00".parse().unwrap()),
            timezone: None,
            behavior,
        };
        let now = Timestamp::parse("2026-01-10T22:30:00Z").unwrap();
        let message = MessageId::new(uuid::Uuid::from_u128(7));
        let berlin: Zone = "Europe/Berlin".parse().unwrap();
        let of = |behavior, timezone| {
            quiet(
                &hours(behavior),
                RecipientClock { timezone, country: None, workspace_zone: berlin },
                message,
                now,
            )
        };
        // 23:30 in Berlin, 17:30 in New York.
        assert_eq!(of(None, Some("America/New_York")), Quiet::Loud);
        for timezone in [None, Some("nowhere"), Some("Europe/Berlin")] {
            let Quiet::Until(until, skip) = of(None, timezone) else { panic!("{timezone:?}") };
            let late = until.millis() - Timestamp::parse("2026-01-11T07:00:00Z").unwrap().millis();
            assert_eq!(late, 7, "the jitter is the message's own");
            assert_eq!(skip.reason.code(), "quiet_hours");
        }
        assert!(matches!(of(Some(QuietBehavior::Skip), None), Quiet::Never(_)));
    }
}
