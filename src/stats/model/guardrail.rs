//! Guardrails: harm that a variant must not do more of than another, whatever its success.

use statistics::{
    noninferiority::{Checked, NonInferiority, check},
    proportion::Proportion,
};

/// The share of guardrails without a difference beyond the margin that may be called ok by chance, all together.
/// Metrics of success have their own.
pub const ALPHA: f64 = 0.05;

/// Which kind of harm it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Harm {
    Unsubscribe,
    Complaint,
    Bounce,
    Failure,
}

impl Harm {
    pub const ALL: [Self; 4] = [Self::Unsubscribe, Self::Complaint, Self::Bounce, Self::Failure];

    /// By how much the share of people may be higher than that of the other variant.
    pub const fn margin(self) -> f64 {
        match self {
            Self::Unsubscribe => 0.002,
            // Half of the share from which large mailbox providers stop taking mail kindly (0.1 %).
            Self::Complaint => 0.0005,
            Self::Bounce => 0.005,
            Self::Failure => 0.01,
        }
    }
}

/// People of a variant to whom harm was done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Harmed {
    /// People to whom a message was sent.
    pub sent: u64,
    /// People with a message that was sent, failed, was skipped or cancelled.
    pub assigned: u64,
    pub unsubscribed: u64,
    pub complained: u64,
    pub bounced: u64,
    pub failed: u64,
}

impl Harmed {
    /// The share of people. A message that failed was not sent, so failures are of all who were assigned.
    pub fn share(&self, harm: Harm) -> Proportion {
        let (harmed, trials) = match harm {
            Harm::Unsubscribe => (self.unsubscribed, self.sent),
            Harm::Complaint => (self.complained, self.sent),
            Harm::Bounce => (self.bounced, self.sent),
            Harm::Failure => (self.failed, self.assigned),
        };
        Proportion { successes: harmed.min(trials), trials }
    }
}

/// A guardrail of a variant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Guardrail {
    pub harm: Harm,
    pub own: Proportion,
    pub base: Proportion,
    /// None of too few people.
    pub compared: Option<NonInferiority>,
    pub checked: Checked,
}

/// Compares each with the base; the answer has the order of `variants`. All are checked together.
pub fn guardrails(base: &Harmed, variants: &[Harmed]) -> Vec<Vec<Guardrail>> {
    let pairs: Vec<(&Harmed, Harm)> =
        variants.iter().flat_map(|of| Harm::ALL.map(|harm| (of, harm))).collect();
    let compared: Vec<Option<NonInferiority>> = pairs
        .iter()
        .map(|(of, harm)| {
            NonInferiority::new(of.share(*harm), base.share(*harm), harm.margin(), ALPHA)
        })
        .collect();
    let checked = check(&compared, ALPHA);
    let found: Vec<Guardrail> = pairs
        .into_iter()
        .zip(compared.into_iter().zip(checked))
        .map(|((of, harm), (compared, checked))| Guardrail {
            harm,
            own: of.share(harm),
            base: base.share(harm),
            compared,
            checked,
        })
        .collect();
    found.chunks(Harm::ALL.len()).map(<[Guardrail]>::to_vec).collect()
}

#[cfg(test)]
mod tests {
    use statistics::noninferiority::Verdict;

    use super::*;

    const GOOD: Harmed = Harmed {
        sent: 20_000,
        assigned: 20_400,
        unsubscribed: 60,
        complained: 4,
        bounced: 200,
        failed: 300,
    };

    #[test]
    fn each_harm_of_each_variant_is_checked() {
        let bad = Harmed { unsubscribed: 180, failed: 900, ..GOOD };
        let found = guardrails(&GOOD, &[GOOD, bad]);
        let verdicts =
            |at: usize| found[at].iter().map(|it| it.checked.verdict).collect::<Vec<_>>();
        assert_eq!(verdicts(0), [Verdict::Ok; 4]);
        assert_eq!(verdicts(1), [Verdict::Worse, Verdict::Ok, Verdict::Ok, Verdict::Worse]);
        let harmed: Vec<u64> = found[1].iter().map(|it| it.own.successes).collect();
        assert_eq!(harmed, [180, 4, 200, 900]);
        assert_eq!(guardrails(&GOOD, &[]), Vec::<Vec<Guardrail>>::new());
    }

    #[test]
    fn people_without_a_message_are_not_counted() {
        let odd =
            Harmed { sent: 10, assigned: 5, unsubscribed: 11, failed: 9, ..Harmed::default() };
        assert_eq!(odd.share(Harm::Unsubscribe), Proportion { successes: 10, trials: 10 });
        assert_eq!(odd.share(Harm::Failure), Proportion { successes: 5, trials: 5 });
        let found = guardrails(&odd, &[odd]);
        assert!(found[0].iter().all(|it| it.compared.is_none()), "too few");
    }
}
