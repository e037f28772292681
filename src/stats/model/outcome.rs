//! Conversions and revenue of messages, summed.

use std::collections::{BTreeMap, HashMap};

use analytics::messages::Count;
use statistics::mean::Mean;

/// The sum of counts of variants and occurrences.
pub fn sum<'c>(counts: impl IntoIterator<Item = &'c Count>) -> Count {
    counts.into_iter().fold(Count::default(), |sum, count| Count {
        variant: count.variant,
        occurrence: count.occurrence,
        queued: sum.queued + count.queued,
        sent: sum.sent + count.sent,
        delivered: sum.delivered + count.delivered,
        reported_delivered: sum.reported_delivered + count.reported_delivered,
        opened: sum.opened + count.opened,
        reported_opened: sum.reported_opened + count.reported_opened,
        clicked: sum.clicked + count.clicked,
        failed: sum.failed + count.failed,
        skipped: sum.skipped + count.skipped,
        cancelled: sum.cancelled + count.cancelled,
        control: sum.control + count.control,
        bounced: sum.bounced + count.bounced,
        complained: sum.complained + count.complained,
        unsubscribed: sum.unsubscribed + count.unsubscribed,
        machine_opened: sum.machine_opened + count.machine_opened,
        machine_clicked: sum.machine_clicked + count.machine_clicked,
    })
}

/// The group that a message is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageGroup {
    /// The variant's number in the campaign, from 1; 0 for an unknown variant.
    pub variant: u8,
    /// Number of the campaign's run.
    pub occurrence: u32,
    /// Whether it belongs to the control group, which gets no message.
    pub is_control: bool,
}

/// A part of an event, credited to a message.
#[derive(Debug, Clone, PartialEq)]
pub struct Credit {
    pub message: u128,
    pub group: MessageGroup,
    /// When the message was sent, in milliseconds since 1970.
    pub sent_ms: i64,
    /// When the event happened, in milliseconds since 1970.
    pub at_ms: i64,
    /// The event's number within one scan, which distinguishes events of the same moment.
    pub event: usize,
    /// The part of the event that this message is credited with.
    pub part: f64,
    pub goal: Goal,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Goal {
    /// A conversion: 0 is the primary one.
    Conversion(usize),
    /// An order; the amount in ten thousandths.
    Order {
        /// Empty if the order has none.
        currency: String,
        /// The full amount of the order.
        amount: f64,
    },
}

/// Conversions of one goal in one group.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Converted {
    /// Events, in parts if several messages share one.
    pub conversions: f64,
    pub unique: u64,
}

/// Revenue in one currency in one group, in ten thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Earned {
    pub amount: f64,
    /// Orders, in parts if several messages share one.
    pub orders: f64,
    /// The sum of the squares of each message's revenue.
    pub squares: f64,
}

impl Earned {
    /// The mean over this many recipients, in whole units of the currency.
    pub fn mean(self, recipients: u64) -> Mean {
        Mean { sum: self.amount / 1e4, sum_of_squares: self.squares / 1e8, count: recipients }
    }

    fn add(&mut self, other: Self) {
        self.amount += other.amount;
        self.orders += other.orders;
        self.squares += other.squares;
    }
}

/// The outcomes credited to messages.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outcomes {
    conversions: BTreeMap<(usize, MessageGroup), Converted>,
    earned: BTreeMap<(String, MessageGroup), Earned>,
}

impl Outcomes {
    pub fn of(credits: &[Credit]) -> Self {
        let mut parts: HashMap<(usize, u128), (MessageGroup, f64)> = HashMap::new();
        let mut money: HashMap<(&str, u128), (MessageGroup, f64, f64)> = HashMap::new();
        for credit in credits {
            match &credit.goal {
                Goal::Conversion(goal) => {
                    parts.entry((*goal, credit.message)).or_insert((credit.group, 0.0)).1 +=
                        credit.part;
                }
                Goal::Order { currency, amount } => {
                    let earned =
                        money.entry((currency, credit.message)).or_insert((credit.group, 0.0, 0.0));
                    earned.1 += amount * credit.part;
                    earned.2 += credit.part;
                }
            }
        }
        let mut outcomes = Self::default();
        for ((goal, _), (group, part)) in parts {
            let converted = outcomes.conversions.entry((goal, group)).or_default();
            converted.conversions += part;
            converted.unique += 1;
        }
        for ((currency, _), (group, amount, orders)) in money {
            let earned = outcomes.earned.entry((currency.to_owned(), group)).or_default();
            earned.add(Earned { amount, orders, squares: amount * amount });
        }
        outcomes
    }

    /// Conversions of a goal in all groups that `is_included` selects.
    pub fn converted(&self, goal: usize, is_included: impl Fn(&MessageGroup) -> bool) -> Converted {
        let all =
            self.conversions.iter().filter(|((of, group), _)| *of == goal && is_included(group));
        all.fold(Converted::default(), |sum, (_, one)| Converted {
            conversions: sum.conversions + one.conversions,
            unique: sum.unique + one.unique,
        })
    }

    /// Revenue in a currency in all groups that `is_included` selects.
    pub fn earned(&self, currency: &str, is_included: impl Fn(&MessageGroup) -> bool) -> Earned {
        let mut sum = Earned::default();
        for ((of, group), earned) in &self.earned {
            if of == currency && is_included(group) {
                sum.add(*earned);
            }
        }
        sum
    }

    /// The currencies with revenue, sorted.
    pub fn currencies(&self) -> Vec<String> {
        let mut all: Vec<String> =
            self.earned.keys().map(|(currency, _)| currency.clone()).collect();
        all.dedup();
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(variant: u8) -> MessageGroup {
        MessageGroup { variant, occurrence: 1, is_control: false }
    }

    fn credit(message: u128, variant: u8, part: f64, goal: Goal) -> Credit {
        Credit { message, group: group(variant), sent_ms: 0, at_ms: 0, event: 0, part, goal }
    }

    #[test]
    fn conversions_are_counted_by_event_and_by_message() {
        let credits = [
            credit(1, 1, 1.0, Goal::Conversion(0)),
            credit(1, 1, 0.5, Goal::Conversion(0)),
            credit(2, 2, 0.5, Goal::Conversion(0)),
            credit(2, 2, 1.0, Goal::Conversion(1)),
        ];
        let outcomes = Outcomes::of(&credits);
        let all = outcomes.converted(0, |_| true);
        assert_eq!((all.unique, all.conversions.to_bits()), (2, 2.0_f64.to_bits()));
        assert_eq!(outcomes.converted(0, |group| group.variant == 2).unique, 1);
        assert_eq!(outcomes.converted(1, |_| true).unique, 1);
        assert_eq!(outcomes.converted(2, |_| true), Converted::default());
    }

    #[test]
    fn revenue_of_a_message_is_summed_before_it_is_squared() {
        let order = |amount| Goal::Order { currency: "EUR".to_owned(), amount };
        let credits = [
            credit(1, 1, 1.0, order(20_000.0)),
            credit(1, 1, 0.5, order(20_000.0)),
            credit(2, 1, 0.5, order(20_000.0)),
        ];
        let outcomes = Outcomes::of(&credits);
        assert_eq!(outcomes.currencies(), ["EUR"]);
        let mean = outcomes.earned("EUR", |_| true).mean(4);
        assert!(
            (mean.sum - 4.0).abs() < 1e-9 && (mean.sum_of_squares - 10.0).abs() < 1e-9,
            "{mean:?}"
        );
        assert!((outcomes.earned("EUR", |_| true).orders - 2.0).abs() < 1e-9);
        assert_eq!(outcomes.earned("USD", |_| true), Earned::default());
    }
}
