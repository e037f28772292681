//! The effect of a campaign: all who were assigned to a variant, compared with the control group.

use statistics::{
    proportion::{Proportion, share},
    revenue::{self, Difference, Draws},
    sample_ratio::ChiSquare,
};

use super::Report;
use crate::model::{comparison::Revenue, outcome::MessageGroup};

/// The assigned and the control group, by intention to treat: each person counts where they were assigned, whether
/// their message left or not.
#[derive(Debug, Clone, PartialEq)]
pub struct Uplift {
    /// People assigned to a variant, and those who converted.
    pub treatment: Proportion,
    /// The control group, and those who converted.
    pub control: Proportion,
    /// Share of the assigned people to whom a message was sent.
    pub reach: f64,
    /// The shares of failed messages by variant, if they can be compared.
    pub failures: Option<ChiSquare>,
}

/// Revenue of both sides in one currency, in whole units of it.
#[derive(Debug, Clone, PartialEq)]
pub struct UpliftRevenue {
    pub treatment: Revenue,
    pub control: Revenue,
}

impl UpliftRevenue {
    /// The same with the greatest thousandth of the amounts cut to a common cap. None of no payers.
    #[must_use]
    pub fn capped(&self) -> Option<Self> {
        let amounts = self.treatment.by_payer.iter().chain(&self.control.by_payer).copied();
        let cap = revenue::cap(amounts)?;
        Some(Self { treatment: self.treatment.capped(cap), control: self.control.capped(cap) })
    }

    /// The difference of the mean revenues. None where one side is empty or nothing varies.
    pub fn difference(&self, confidence: f64, seed: u64) -> Option<Difference> {
        let payers = self.treatment.by_payer.len() + self.control.by_payer.len();
        let draws = Draws::of(payers, seed);
        revenue::difference(self.treatment.group(), self.control.group(), confidence, draws)
    }
}

impl Report {
    /// Both sides, and how many of each converted.
    pub fn uplift(&self) -> Uplift {
        let side = |is_meant: fn(&MessageGroup) -> bool, trials: u64| Proportion {
            successes: self.by_assignment.converted(0, is_meant).people.min(trials),
            trials,
        };
        let of_variants = || self.people.iter().filter(|people| people.variant > 0);
        let assigned = of_variants().map(|people| people.assigned).sum();
        let sent: u64 = of_variants().map(|people| people.sent).sum();
        let failures: Vec<Proportion> = of_variants()
            .filter(|people| people.assigned > 0)
            .map(|people| Proportion {
                successes: people.assigned.saturating_sub(people.sent),
                trials: people.assigned,
            })
            .collect();
        Uplift {
            treatment: side(MessageGroup::is_assigned, assigned),
            control: side(MessageGroup::is_control, self.people_by(|people| people.control)),
            reach: share(sent, assigned),
            failures: ChiSquare::of_rates(&failures),
        }
    }

    /// Revenue of both sides in a currency.
    pub fn uplift_revenue(&self, currency: &str) -> UpliftRevenue {
        let assigned = self.people.iter().filter(|of| of.variant > 0).map(|of| of.assigned).sum();
        let earned = |is_meant: fn(&MessageGroup) -> bool, people: u64| {
            Revenue::new(&self.by_assignment.earned(currency, is_meant), people)
        };
        UpliftRevenue {
            treatment: earned(MessageGroup::is_assigned, assigned),
            control: earned(MessageGroup::is_control, self.people_by(|people| people.control)),
        }
    }
}
