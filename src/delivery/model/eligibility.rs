//! The gate: whether a message may leave to its recipient now. Pure rules over what the stores said a
//! moment ago; every refusal names its rule and what made it hold.
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
use contacts::{audience::model::SubscriptionPreference, consent::model::ChannelStatus};
use kernel::{
    MessageId, Timestamp,
    quiet::{QuietBehavior, QuietTimeOverride, QuietZone},
    zone::Zone,
};
use providers::model::Device;

use super::{Recipient, message::Purpose};

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
    pub suppressed: Vec<String>,
    /// The reason for which it is suppressed for the list.
    pub suppressed_for_list: Option<String>,
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

/// Why a message may not leave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub code: String,
    /// What made it hold.
    pub reason: String,
}

impl Refusal {
    /// By this rule, for this reason.
    pub fn new(code: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { code: code.into(), reason: reason.into() }
    }
}

/// Where a message goes that may leave; empty where the message itself says it.
///
/// # Errors
/// The first rule that forbids it, in the order in which audiences count.
pub fn admit(facts: &Facts, rules: Rules) -> Result<String, Refusal> {
    if facts.is_deleted {
        return Err(Refusal::new("deleted", "the profile was deleted"));
    }
    let address = address(facts, rules.channel)?;
    if facts.is_invalid && rules.channel == MessageChannel::Email {
        return Err(Refusal::new("invalid_address", "a hard bounce marked the address"));
    }
    if rules.purpose == Purpose::Campaign {
        consented(facts, rules)?;
    } else if has_no_ledger(rules.channel)
        && rules.purpose == Purpose::Transactional
        && facts.consent == Some(ChannelStatus::Unsubscribed)
        && !passes_unsubscribe(rules)
    {
        // Channels without a ledger of suppressions have the opt-out in the consent alone.
        return Err(Refusal::new("suppressed_unsubscribe", "unsubscribed from the channel"));
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
fn address(facts: &Facts, channel: MessageChannel) -> Result<String, Refusal> {
    let recipient = &facts.recipient;
    let absent = |what: &str| Refusal::new("no_address", format!("the profile has no {what}"));
    match channel {
        MessageChannel::Email => recipient.email.clone().ok_or_else(|| absent("email address")),
        MessageChannel::Sms | MessageChannel::Whatsapp | MessageChannel::Viber => {
            if recipient.phone.is_none() {
                return Err(absent("phone number"));
            }
            let wrong = || Refusal::new("invalid_address", "the phone number is none");
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
fn consented(facts: &Facts, rules: Rules) -> Result<(), Refusal> {
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
        return Err(Refusal::new("channel_consent", format!("consent to the channel: {said}")));
    }
    if facts.has_left_list {
        return Err(Refusal::new("list_consent", "unsubscribed from the list"));
    }
    Ok(())
}

/// Reasons for which an address is suppressed, the gravest first (DECISIONS S3).
const REASONS: [&str; 4] = ["hard_bounce", "complaint", "unsubscribe", "manual"];

fn suppressed(facts: &Facts, rules: Rules) -> Result<(), Refusal> {
    let holds = |reason: &str| match (rules.purpose, reason) {
        (Purpose::Test, "hard_bounce") => true,
        (Purpose::Test, _) => false,
        (_, "unsubscribe") => !passes_unsubscribe(rules),
        _ => true,
    };
    let found = REASONS.iter().find(|reason| {
        holds(reason) && facts.suppressed.iter().any(|suppressed| suppressed == *reason)
    });
    if let Some(reason) = found {
        let words = format!("the address is suppressed: {reason}");
        return Err(Refusal::new(format!("suppressed_{reason}"), words));
    }
    match &facts.suppressed_for_list {
        Some(reason) if rules.purpose == Purpose::Campaign => {
            let words = format!("the address is suppressed for the list: {reason}");
            Err(Refusal::new(format!("suppressed_{reason}"), words))
        }
        _ => Ok(()),
    }
}

/// What quiet hours make of a message that could leave now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Quiet {
    Loud,
    /// It waits until then.
    Until(Timestamp, Refusal),
    /// It does not go out.
    Never(Refusal),
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
    let refusal = Refusal::new("quiet_hours", words);
    match hours.behavior() {
        QuietBehavior::Skip => Quiet::Never(refusal),
        QuietBehavior::Defer => {
            let (_, low) = message.uuid().as_u64_pair();
            let later = i64::try_from(low % AFTER_QUIET_MS).unwrap_or(0);
            Quiet::Until(Timestamp::from_millis(ends.millis().saturating_add(later)), refusal)
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

    fn code(facts: &Facts, rules: Rules) -> String {
        match admit(facts, rules) {
            Ok(_) => "-".to_owned(),
            Err(refusal) => refusal.code,
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
                |f| f.suppressed = vec!["unsubscribe".into()],
                ["suppressed_unsubscribe", "suppressed_unsubscribe", "-", "-"],
            ),
            (
                |f| f.suppressed = vec!["manual".into(), "complaint".into()],
                ["suppressed_complaint", "suppressed_complaint", "suppressed_complaint", "-"],
            ),
            (|f| f.suppressed = vec!["hard_bounce".into()], ["suppressed_hard_bounce"; 4]),
            (
                |f| f.suppressed_for_list = Some("manual".into()),
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
            admit(facts, rules(Purpose::Campaign, channel)).map_err(|refusal| refusal.code)
        };
        let all = facts();
        assert_eq!(of(&all, MessageChannel::Email).as_deref(), Ok("a@example.test"));
        assert_eq!(of(&all, MessageChannel::Sms).as_deref(), Ok("+49301"));
        assert_eq!(of(&all, MessageChannel::Push).as_deref(), Ok("u1"));
        assert_eq!(of(&all, MessageChannel::Webhook).as_deref(), Ok(""));
        let none = Facts::default();
        for channel in [MessageChannel::Email, MessageChannel::Viber, MessageChannel::Push] {
            assert_eq!(of(&none, channel), Err("no_address".to_owned()), "{channel:?}");
        }
        let wrong = Facts { phone_normal: None, ..facts() };
        assert_eq!(of(&wrong, MessageChannel::Whatsapp), Err("invalid_address".to_owned()));
    }

    #[test]
    fn transactional_messages_pass_an_unsubscribe_only_where_that_is_set() {
        let unsubscribed = Facts {
            suppressed: vec!["unsubscribe".into()],
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
            let worse =
                Facts { suppressed: vec!["unsubscribe".into(), "manual".into()], ..facts() };
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
            let Quiet::Until(until, refusal) = of(None, timezone) else { panic!("{timezone:?}") };
            let late = until.millis() - Timestamp::parse("2026-01-11T07:00:00Z").unwrap().millis();
            assert_eq!(late, 7, "the jitter is the message's own");
            assert_eq!(refusal.code, "quiet_hours");
        }
        assert!(matches!(of(Some(QuietBehavior::Skip), None), Quiet::Never(_)));
    }
}
