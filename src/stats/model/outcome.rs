//! Conversions and revenue of messages, summed.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use analytics::messages::Count;
use statistics::mean::Mean;

/// The sum of counts of variants and occurrences.
pub fn sum<'c>(counts: impl IntoIterator<Item = &'c Count>) -> Count {
    counts.into_iter().fold(Count::default(), |sum, count| Count {
        variant: count.variant,
        occurrence: count.occurrence,
        queued: sum.queued + count.queued,
        sent: sum.sent + count.sent,
        sent_not_bounced: sum.sent_not_bounced + count.sent_not_bounced,
        delivered: sum.delivered + count.delivered,
        opened: sum.opened + count.opened,
        reported_opened: sum.reported_opened + count.reported_opened,
        clicked: sum.clicked + count.clicked,
        failed: sum.failed + count.failed,
        skipped: sum.skipped + count.skipped,
        cancelled: sum.cancelled + count.cancelled,
        control: sum.control + count.control,
        bounced: sum.bounced + count.bounced,
        failed_or_bounced: sum.failed_or_bounced + count.failed_or_bounced,
        complained: sum.complained + count.complained,
        unsubscribed: sum.unsubscribed + count.unsubscribed,
        machine_opened: sum.machine_opened + count.machine_opened,
        machine_clicked: sum.machine_clicked + count.machine_clicked,
    })
}

/// What became of a message, as far as outcomes are credited to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Treatment {
    /// The message was sent.
    Sent,
    /// Its recipient is in the control group, which gets no message.
    Control,
    /// Its variant was assigned, and it did not leave: it failed, was skipped or cancelled.
    Unsent,
}

/// The group that a message is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageGroup {
    /// The variant's number in the campaign, from 1; 0 for an unknown variant.
    pub variant: u8,
    /// Number of the campaign's run.
    pub occurrence: u32,
    pub treatment: Treatment,
}

impl MessageGroup {
    /// Whether its recipient is in the control group.
    pub fn is_control(&self) -> bool {
        self.treatment == Treatment::Control
    }

    /// Whether its recipient was assigned to a variant, whether the message left or not.
    pub fn is_assigned(&self) -> bool {
        self.variant > 0 && self.treatment != Treatment::Control
    }

    /// Whether the message was sent.
    pub fn is_sent(&self) -> bool {
        self.treatment == Treatment::Sent
    }
}

/// The internal id of a profile.
pub type PersonId = [u8; 12];

/// Parts of events, credited to a message.
#[derive(Debug, Clone, PartialEq)]
pub struct Credit {
    pub message: u128,
    pub person: PersonId,
    pub group: MessageGroup,
    /// When the message was sent, in milliseconds since 1970.
    pub sent_ms: i64,
    /// When the first event happened, in milliseconds since 1970.
    pub at_ms: i64,
    /// The first event's number within one scan, which distinguishes events of the same moment.
    pub event: usize,
    /// The part of an event that this message is credited with, or the sum of several.
    pub part: f64,
    /// Of an order the amount is that of the part.
    pub goal: Goal,
}

impl Credit {
    /// Adds what another event brought the same message, of the same goal and currency.
    pub fn add(&mut self, other: &Self) {
        if other.at_ms < self.at_ms {
            (self.at_ms, self.event) = (other.at_ms, other.event);
        }
        self.part += other.part;
        if let (Goal::Order { amount, .. }, Goal::Order { amount: further, .. }) =
            (&mut self.goal, &other.goal)
        {
            *amount += further;
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Goal {
    /// A conversion: 0 is the primary one.
    Conversion(usize),
    /// An order; the amount in ten thousandths.
    Order {
        /// Empty if the order has none.
        currency: String,
        amount: f64,
    },
}

impl Goal {
    /// This part of it.
    #[must_use]
    pub fn part(&self, part: f64) -> Self {
        match self {
            Self::Conversion(number) => Self::Conversion(*number),
            Self::Order { currency, amount } => {
                Self::Order { currency: currency.clone(), amount: amount * part }
            }
        }
    }
}

/// Conversions of one goal in some groups.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Converted {
    /// Events, in parts if several messages share one.
    pub conversions: f64,
    /// Number of people with such an event.
    pub people: u64,
}

/// Revenue in one currency in some groups, in ten thousandths.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Earned {
    pub amount: f64,
    /// Orders, in parts if several messages share one.
    pub orders: f64,
    /// The revenue of each person who paid, in no order.
    pub by_payer: Vec<f64>,
}

impl Earned {
    /// The mean over this many people, in whole units of the currency.
    pub fn mean(&self, people: u64) -> Mean {
        let squares: f64 = self.by_payer.iter().map(|amount| amount * amount).sum();
        Mean { sum: self.amount / 1e4, sum_of_squares: squares / 1e8, count: people }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Payment {
    amount: f64,
    orders: f64,
}

/// The outcomes credited to messages.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outcomes {
    /// Parts of events by goal, group and person.
    conversions: BTreeMap<(usize, MessageGroup), HashMap<PersonId, f64>>,
    /// Payments by currency, group and person.
    payments: BTreeMap<(String, MessageGroup), HashMap<PersonId, Payment>>,
}

impl Outcomes {
    pub fn of<'c>(credits: impl IntoIterator<Item = &'c Credit>) -> Self {
        let mut outcomes = Self::default();
        for credit in credits {
            match &credit.goal {
                Goal::Conversion(goal) => {
                    let people = outcomes.conversions.entry((*goal, credit.group)).or_default();
                    *people.entry(credit.person).or_default() += credit.part;
                }
                Goal::Order { currency, amount } => {
                    let group = (currency.clone(), credit.group);
                    let people = outcomes.payments.entry(group).or_default();
                    let payment = people.entry(credit.person).or_default();
                    payment.amount += amount;
                    payment.orders += credit.part;
                }
            }
        }
        outcomes
    }

    /// Conversions of a goal in all groups that `is_included` selects.
    pub fn converted(&self, goal: usize, is_included: impl Fn(&MessageGroup) -> bool) -> Converted {
        let groups =
            self.conversions.iter().filter(|((of, group), _)| *of == goal && is_included(group));
        let mut people: HashSet<PersonId> = HashSet::new();
        let mut conversions = 0.0;
        for (_, parts) in groups {
            conversions += parts.values().sum::<f64>();
            people.extend(parts.keys());
        }
        Converted { conversions, people: people.len() as u64 }
    }

    /// The people with a conversion of a goal in groups that `is_included` selects.
    pub fn converters(
        &self,
        goal: usize,
        is_included: impl Fn(&MessageGroup) -> bool,
    ) -> HashSet<PersonId> {
        let groups =
            self.conversions.iter().filter(|((of, group), _)| *of == goal && is_included(group));
        groups.flat_map(|(_, parts)| parts.keys().copied()).collect()
    }

    /// What each person paid in a currency, in ten thousandths, in groups that `is_included` selects.
    pub fn earned_by_person(
        &self,
        currency: &str,
        is_included: impl Fn(&MessageGroup) -> bool,
    ) -> HashMap<PersonId, f64> {
        let mut by_person: HashMap<PersonId, f64> = HashMap::new();
        for ((of, group), payments) in &self.payments {
            if of == currency && is_included(group) {
                for (person, payment) in payments {
                    *by_person.entry(*person).or_default() += payment.amount;
                }
            }
        }
        by_person
    }

    /// Revenue in a currency in all groups that `is_included` selects.
    pub fn earned(&self, currency: &str, is_included: impl Fn(&MessageGroup) -> bool) -> Earned {
        let mut by_person: HashMap<PersonId, f64> = HashMap::new();
        let mut sum = Earned::default();
        for ((of, group), payments) in &self.payments {
            if of != currency || !is_included(group) {
                continue;
            }
            for (person, payment) in payments {
                *by_person.entry(*person).or_default() += payment.amount;
                sum.orders += payment.orders;
            }
        }
        sum.by_payer = by_person.into_values().collect();
        // Sums of the same amounts are the same, in whatever order a map had them.
        sum.by_payer.sort_by(f64::total_cmp);
        sum.amount = sum.by_payer.iter().sum();
        sum
    }

    /// The currencies with revenue, sorted.
    pub fn currencies(&self) -> BTreeSet<&str> {
        self.payments.keys().map(|(currency, _)| currency.as_str()).collect()
    }

    /// The currency of most orders; of several the first by name. None without orders in a currency.
    pub fn most_frequent_currency(&self) -> Option<String> {
        let mut orders: BTreeMap<&str, f64> = BTreeMap::new();
        for ((currency, _), payments) in &self.payments {
            *orders.entry(currency).or_default() +=
                payments.values().map(|payment| payment.orders).sum::<f64>();
        }
        orders.remove("");
        let most = orders.into_iter().rev().max_by(|(_, one), (_, other)| one.total_cmp(other));
        most.map(|(currency, _)| currency.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(variant: u8) -> MessageGroup {
        MessageGroup { variant, occurrence: 1, treatment: Treatment::Sent }
    }

    fn credit(person: u8, variant: u8, part: f64, goal: &Goal) -> Credit {
        Credit {
            message: u128::from(person),
            person: [person; 12],
            group: group(variant),
            sent_ms: 0,
            at_ms: 0,
            event: 0,
            part,
            goal: goal.part(part),
        }
    }

    #[test]
    fn conversions_are_counted_by_event_and_by_person() {
        let credits = [
            credit(1, 1, 1.0, &Goal::Conversion(0)),
            credit(1, 1, 0.5, &Goal::Conversion(0)),
            credit(2, 2, 0.5, &Goal::Conversion(0)),
            credit(2, 2, 1.0, &Goal::Conversion(1)),
        ];
        let outcomes = Outcomes::of(&credits);
        let all = outcomes.converted(0, |_| true);
        assert_eq!((all.people, all.conversions.to_bits()), (2, 2.0_f64.to_bits()));
        assert_eq!(outcomes.converted(0, |group| group.variant == 2).people, 1);
        assert_eq!(outcomes.converted(1, |_| true).people, 1);
        assert_eq!(outcomes.converted(2, |_| true), Converted::default());
    }

    #[test]
    fn a_person_with_shares_in_several_messages_converts_once() {
        let third = |occurrence| {
            let mut credit = credit(1, 1, 1.0 / 3.0, &Goal::Conversion(0));
            credit.group.occurrence = occurrence;
            credit
        };
        let outcomes = Outcomes::of(&[third(1), third(2), third(3)]);
        let found = outcomes.converted(0, |_| true);
        assert_eq!(found.people, 1);
        assert!((found.conversions - 1.0).abs() < 1e-12);
    }

    fn order(currency: &str, amount: f64) -> Goal {
        Goal::Order { currency: currency.to_owned(), amount }
    }

    #[test]
    fn revenue_of_a_person_is_summed_before_it_is_squared() {
        let credits = [
            credit(1, 1, 1.0, &order("EUR", 20_000.0)),
            credit(1, 1, 0.5, &order("EUR", 20_000.0)),
            credit(2, 1, 0.5, &order("EUR", 20_000.0)),
        ];
        let outcomes = Outcomes::of(&credits);
        assert_eq!(outcomes.currencies().into_iter().collect::<Vec<_>>(), ["EUR"]);
        let mean = outcomes.earned("EUR", |_| true).mean(4);
        assert!(
            (mean.sum - 4.0).abs() < 1e-9 && (mean.sum_of_squares - 10.0).abs() < 1e-9,
            "{mean:?}"
        );
        assert!((outcomes.earned("EUR", |_| true).orders - 2.0).abs() < 1e-9);
        assert_eq!(outcomes.earned("USD", |_| true), Earned::default());
    }

    #[test]
    fn the_main_currency_has_most_orders() {
        let of = |orders: &[&str]| {
            let credits: Vec<Credit> =
                (1..).zip(orders).map(|(id, it)| credit(id, 1, 1.0, &order(it, 1.0))).collect();
            Outcomes::of(&credits).most_frequent_currency()
        };
        assert_eq!(of(&["USD", "EUR", "EUR"]).as_deref(), Some("EUR"));
        assert_eq!(of(&["USD", "EUR"]).as_deref(), Some("EUR"), "of equals the first by name");
        assert_eq!(of(&["", "", "USD"]).as_deref(), Some("USD"), "no currency is none");
        assert_eq!((of(&[""]), of(&[])), (None, None));
    }
}
