//! The gate: whether a message may leave to its recipient now. Pure rules over what the stores said a
//! moment ago; every skip names its rule and what made it hold.
//!
//! What is asked of a kind of message (DECISIONS T1, T3):
//!
//! | | deleted, address | consent, list | suppressions | quiet hours, caps, rate |
//! | --- | --- | --- | --- | --- |
//! | campaign | yes | as it prefers | global, and its list's | yes |
//! | transactional | yes | no | global | no |
//! | confirmation | yes | no | global, unless only unsubscribed | no |
//! | test | yes | no | a hard bounce | no |

use campaigns::model::message::MessageChannel;
use contacts::{
    audience::model::SubscriptionPreference, consent::model::ChannelStatus,
    suppressions::model::Reason,
};
use kernel::{
    MessageId, Timestamp,
    quiet::{QuietBehavior, QuietTimeOverride, QuietZone},
    zone::Zone,
};
use providers::model::Device;

use super::{
    Recipient,
    message::Purpose,
    skip::{Skip, SkipReason},
};

/// Longest a message waits beyond the end of quiet hours, so that not all leave at once: five minutes.
const AFTER_QUIET_MS: u64 = 5 * 60_000;

/// What the stores say of a recipient, and of what a message to them would go to.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    pub recipient: Recipient,
    /// Their phone number as providers take it; none where it is no number.
    pub phone_normal: Option<String>,
    /// Whether the profile was deleted.
    pub is_deleted: bool,
    /// What they said of the channel.
    pub consent: Option<ChannelStatus>,
    /// Whether a hard bounce marked the address.
    pub is_invalid: bool,
    /// Whether they left the list.
    pub has_left_list: bool,
    /// The reasons for which the address is suppressed for everything.
    pub suppressed: Vec<Reason>,
    /// The reason for which it is suppressed for the list.
    pub suppressed_for_list: Option<Reason>,
    /// Their devices, for push.
    pub devices: Vec<Device>,
}

/// What is asked of recipients.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// What the message is for.
    pub purpose: Purpose,
    /// What it goes out on.
    pub channel: MessageChannel,
    /// What somebody must have said.
    pub preference: SubscriptionPreference,
    /// Whether transactional email and push reach those who only unsubscribed.
    pub bypass_unsubscribe: bool,
}

/// Where a message goes that may leave; empty where the message itself says it.
///
/// # Errors
/// The first rule that forbids it, in the order in which audiences count.
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
        // Who asks to subscribe again has changed their mind; the confirmation is how they prove it.
        Purpose::Confirmation | Purpose::Test => true,
        Purpose::Campaign => false,
    }
}

/// Where a message on a channel goes.
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
        // The gateway is given the caller's own id; others take the devices.
        MessageChannel::Push => match &recipient.external_id {
            Some(id) => Ok(id.clone()),
            None if facts.devices.is_empty() => Err(absent("device and no externalId")),
            None => Ok(String::new()),
        },
        MessageChannel::Webhook => Ok(String::new()),
    }
}

/// What a campaign asks of consent.
fn consented(facts: &Facts, rules: Rules) -> Result<(), Skip> {
    if rules.channel == MessageChannel::Webhook {
        return Ok(());
    }
    let said = facts.consent.map_or("nothing", ChannelStatus::as_str);
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
            format!("consent to the channel: {said}"),
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

/// What quiet hours make of a message that could leave now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Quiet {
    Loud,
    /// It waits until then.
    Until(Timestamp, Skip),
    /// It does not go out.
    Never(Skip),
}

/// What quiet hours make of a message to somebody with these clocks.
pub fn quiet(
    hours: &QuietTimeOverride,
    (timezone, country, workspace_zone): (Option<&str>, Option<&str>, Zone),
    (message, now): (MessageId, Timestamp),
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
            let later = i64::try_from(low % AFTER_QUIET_MS).unwrap_or(0);
            Quiet::Until(Timestamp::from_millis(ends.millis().saturating_add(later)), skip)
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
    fn preferences_ask_for_what_was_said() {
        use ChannelStatus::{OptedIn, Subscribed, Unsubscribed};
        use SubscriptionPreference::{All, OptedInOnly, SubscribedOrOptedIn};
        let table = [
            (SubscribedOrOptedIn, [true, true, true, false]),
            (OptedInOnly, [false, true, false, false]),
            (All, [true, true, true, true]),
        ];
        for (preference, expected) in table {
            let rules = Rules { preference, ..rules(Purpose::Campaign, MessageChannel::Push) };
            let said = [None, Some(OptedIn), Some(Subscribed), Some(Unsubscribed)];
            let found = said.map(|consent| admit(&Facts { consent, ..facts() }, rules).is_ok());
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
        let of =
            |behavior, timezone| quiet(&hours(behavior), (timezone, None, berlin), (message, now));
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
