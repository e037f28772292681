//! The effect of a variant in each sending, and whether it fades.

use statistics::{
    multiplicity::holm,
    trend::{Effect, FADES_BELOW, Trend},
};

use super::comparison::Measure;

/// Days from the first of the year 1 to the beginning of 1970.
const DAYS_BEFORE_1970: i32 = 719_163;

/// One sending: an occurrence, or a day of a campaign that goes to each person once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sending {
    Occurrence(u32),
    /// Days since 1970, UTC.
    Day(i64),
}

impl Sending {
    /// The day, if it is one.
    pub fn date(self) -> Option<chrono::NaiveDate> {
        match self {
            Self::Occurrence(_) => None,
            Self::Day(day) => chrono::NaiveDate::from_num_days_from_ce_opt(
                i32::try_from(day).ok()? + DAYS_BEFORE_1970,
            ),
        }
    }

    /// Its place on the axis of time.
    #[expect(clippy::cast_precision_loss, reason = "days are far below 2^52")]
    fn at(self) -> f64 {
        match self {
            Self::Occurrence(number) => f64::from(number),
            Self::Day(day) => day as f64,
        }
    }
}

/// The effect in one sending.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SendingEffect {
    pub sending: Sending,
    pub effect: Effect,
}

impl SendingEffect {
    /// The effect of one measure over another. None of too few successes, or of people with several messages.
    pub fn new(sending: Sending, own: &Measure, base: &Measure) -> Option<Self> {
        let effect = match (own, base) {
            (Measure::Rate(own), Measure::Rate(base)) => {
                Effect::of_rates(sending.at(), *own, *base)
            }
            (Measure::Money(own), Measure::Money(base)) => {
                let is_few = super::comparison::few_payers(own, base).is_some();
                Effect::of_means(sending.at(), own.mean, base.mean).filter(|_| !is_few)
            }
            _ => None,
        };
        Some(Self { sending, effect: effect? })
    }
}

/// The effects of a variant, and the line through them.
#[derive(Debug, Clone, PartialEq)]
pub struct VariantTrend {
    /// Of the sendings with enough successes on both sides, oldest first.
    pub effects: Vec<SendingEffect>,
    /// None of too few sendings.
    pub line: Option<Trend>,
    /// The p-value of its slope, adjusted for the number of variants.
    pub adjusted_p: Option<f64>,
}

impl VariantTrend {
    /// Whether the effect becomes smaller from sending to sending.
    pub fn fades(&self) -> bool {
        self.line.is_some_and(|line| line.shrinks())
            && self.adjusted_p.is_some_and(|p| p < FADES_BELOW)
    }
}

/// The trends of several variants, by the effects of each.
pub fn trends(effects: Vec<Vec<SendingEffect>>) -> Vec<VariantTrend> {
    let lines: Vec<Option<Trend>> = effects
        .iter()
        .map(|of| Trend::of(&of.iter().map(|it| it.effect).collect::<Vec<_>>()))
        .collect();
    let adjusted = holm(&lines.iter().map(|line| line.map(|it| it.p_value)).collect::<Vec<_>>());
    effects
        .into_iter()
        .zip(lines.into_iter().zip(adjusted))
        .map(|(effects, (line, adjusted_p))| VariantTrend { effects, line, adjusted_p })
        .collect()
}

#[cfg(test)]
mod tests {
    use statistics::proportion::Proportion;

    use super::*;

    fn rate(successes: u64) -> Measure {
        Measure::Rate(Proportion { successes, trials: 10_000 })
    }

    fn effects(opens: &[u64]) -> Vec<SendingEffect> {
        (1..)
            .zip(opens)
            .filter_map(|(number, opens)| {
                SendingEffect::new(Sending::Occurrence(number), &rate(*opens), &rate(2_000))
            })
            .collect()
    }

    #[test]
    fn a_falling_lift_fades_and_a_rising_one_does_not() {
        let found = trends(vec![
            effects(&[2_400, 2_300, 2_200, 2_100, 2_000]),
            effects(&[2_000, 2_100, 2_200, 2_300, 2_400]),
            effects(&[2_400, 2_300, 2_200]),
            effects(&[2_200, 2_210, 2_190, 2_205, 4]),
        ]);
        assert_eq!(
            found.iter().map(VariantTrend::fades).collect::<Vec<_>>(),
            [true, false, false, false]
        );
        assert_eq!(found[2].line, None, "three sendings");
        assert_eq!(found[3].effects.len(), 4, "one of few opens is left out");
        assert!(found[0].adjusted_p > found[0].line.map(|line| line.p_value));
    }
}
