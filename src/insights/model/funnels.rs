//! Funnels: how many people go through steps, one after the other, within a window of time.

use std::collections::HashMap;

use analytics::insights::{HISTORY_CHOICES_MAX, PersonHistory};
use kernel::fields::{Fields, FromFields, Words, describe::described};
use statistics::proportion::{Interval as Bounds, Proportion, share};

pub use super::attempts::Order;
use super::{
    attempts::{Rules, best_attempt},
    breakdown::BreakdownBy,
    choice::{Choice, refuse_many_filters},
    follow::Follow,
    people::{People, needs_profiles},
    period::Period,
};

/// Confidence of the intervals of rates.
const CONFIDENCE: f64 = 0.95;
/// Longest window, in days.
const WINDOW_DAYS_MAX: i64 = 366;

const ORDERS: &Words<Order> = &[("any_between", Order::AnyBetween), ("strict", Order::Strict)];

const UNITS: &Words<i64> =
    &[("days", 86_400_000), ("hours", 3_600_000), ("minutes", 60_000), ("weeks", 604_800_000)];

/// How long a person has for all steps, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Window(i64);

impl FromFields for Window {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let amount = body.required("amount").integer(1..=WINDOW_DAYS_MAX * 24 * 60);
        let unit = body.required("unit").one_of(UNITS);
        let window = amount.saturating_mul(unit);
        if window > WINDOW_DAYS_MAX * 86_400_000 {
            body.refuse("amount", format!("must be at most {WINDOW_DAYS_MAX} days"));
        }
        Self(window)
    }
}

/// A question about a funnel.
#[derive(Debug, Clone, PartialEq)]
pub struct FunnelQuestion {
    /// The steps in their order.
    pub steps: Vec<Choice>,
    /// How long a person has from the first step to the last, in milliseconds; the end included.
    pub window_ms: i64,
    /// What may happen between two steps.
    pub order: Order,
    /// The range in which people enter.
    pub period: Period,
    /// What it is broken down by.
    pub breakdown: Option<BreakdownBy>,
    /// Whose events count; everybody's where absent.
    pub people: Option<People>,
}

described!(
    /// A question about a funnel.
    FunnelQuestion as "FunnelQuestion"
);

impl FromFields for FunnelQuestion {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let steps: Vec<Choice> = body.required("steps").objects(2..=HISTORY_CHOICES_MAX);
        refuse_many_filters(body, steps.iter());
        let Window(window_ms) = body
            .required("window")
            .about("How long a person has from the first step to the last, at most 366 days.")
            .object();
        Self {
            steps,
            window_ms,
            order: body
                .optional("order")
                .about("`any_between` (default): other events may come between steps; `strict`: none of the person.")
                .one_of(ORDERS)
                .unwrap_or(Order::AnyBetween),
            period: Period::read(body),
            breakdown: body.optional("breakdown").object(),
            people: body
                .optional("people")
                .about("A targeting, or `segmentId`: only events of these people.")
                .object(),
        }
    }
}

impl FunnelQuestion {
    /// Whether it depends on copies of profiles in ClickHouse.
    pub fn needs_profiles(&self) -> bool {
        needs_profiles(self.people.as_ref(), self.breakdown.as_ref())
    }
}

/// How far one person came.
#[derive(Debug, Clone)]
struct Reached {
    /// The number of the breakdown's value; none where it is absent.
    label: Option<usize>,
    /// Milliseconds from each step to the next that was reached.
    took_ms: Vec<i64>,
}

/// A funnel that is being computed, person by person.
#[derive(Debug)]
pub struct Funnel {
    rules: Rules,
    labels: HashMap<String, usize>,
    reached: Vec<Reached>,
}

impl Funnel {
    /// A funnel without people yet.
    pub fn new(question: &FunnelQuestion) -> Self {
        let rules = Rules {
            steps: question.steps.len(),
            window_ms: question.window_ms,
            order: question.order,
        };
        Self { rules, labels: HashMap::new(), reached: Vec::new() }
    }

    /// The funnel of everybody.
    pub fn all(&self) -> FunnelSteps {
        self.of(self.reached.iter())
    }

    /// The funnels of the values of a breakdown: those that most people entered with, at most `limit`; then that of people
    /// without a value, then that of the rest.
    pub fn by_value(&self, limit: u32) -> Vec<FunnelOf> {
        let mut names: Vec<(&str, usize)> =
            self.labels.iter().map(|(label, number)| (label.as_str(), *number)).collect();
        let mut entered = vec![0_u64; names.len()];
        for number in self.reached.iter().filter_map(|it| it.label) {
            entered[number] += 1;
        }
        names.sort_by(|one, other| {
            entered[other.1].cmp(&entered[one.1]).then_with(|| one.0.cmp(other.0))
        });
        let limit = names.len().min(limit as usize);
        let mut by_label: Vec<Vec<&Reached>> = vec![Vec::new(); names.len()];
        let mut absent = Vec::new();
        for reached in &self.reached {
            match reached.label {
                Some(number) => by_label[number].push(reached),
                None => absent.push(reached),
            }
        }
        let mut funnels: Vec<FunnelOf> = names[..limit]
            .iter()
            .map(|(label, number)| FunnelOf {
                value: Some((*label).to_owned()),
                is_other: false,
                steps: self.of(by_label[*number].iter().copied()),
            })
            .collect();
        if !absent.is_empty() {
            let steps = self.of(absent.into_iter());
            funnels.push(FunnelOf { value: None, is_other: false, steps });
        }
        if limit < names.len() {
            let rest = names[limit..].iter().flat_map(|(_, number)| &by_label[*number]);
            let steps = self.of(rest.copied());
            funnels.push(FunnelOf { value: None, is_other: true, steps });
        }
        funnels
    }

    fn of<'r>(&self, reached: impl Iterator<Item = &'r Reached>) -> FunnelSteps {
        let mut people = vec![0_u64; self.rules.steps];
        let mut took: Vec<Vec<i64>> = vec![Vec::new(); self.rules.steps];
        for Reached { took_ms, .. } in reached {
            people[0] += 1;
            for (step, ms) in (1..).zip(took_ms) {
                people[step] += 1;
                took[step].push(*ms);
            }
        }
        let entered = people[0];
        let of_step = |step: usize| {
            let from_start = Proportion { successes: people[step], trials: entered };
            let before = if step == 0 { entered } else { people[step - 1] };
            FunnelStep {
                people: people[step],
                from_previous: (before > 0).then(|| share(people[step], before)),
                from_start: (entered > 0).then(|| from_start.rate()),
                interval: (entered > 0).then(|| from_start.interval(CONFIDENCE)),
                median_seconds: None,
            }
        };
        let mut steps: Vec<FunnelStep> = (0..self.rules.steps).map(of_step).collect();
        for (step, took) in steps.iter_mut().zip(&mut took) {
            step.median_seconds = median(took).map(|ms| ms / 1000.0);
        }
        FunnelSteps { entered, steps }
    }
}

impl Follow for Funnel {
    fn add(&mut self, history: &PersonHistory) {
        let Some(attempt) = best_attempt(history, self.rules) else { return };
        let label = history.label(attempt.entry).map(|label| {
            let next = self.labels.len();
            match self.labels.get(label) {
                Some(number) => *number,
                None => *self.labels.entry(label.to_owned()).or_insert(next),
            }
        });
        let took_ms = attempt.at_ms.windows(2).map(|pair| pair[1] - pair[0]).collect();
        self.reached.push(Reached { label, took_ms });
    }

    fn clear(&mut self) {
        self.labels.clear();
        self.reached.clear();
    }

    fn people(&self) -> u64 {
        self.reached.len() as u64
    }
}

/// The middle value, or the mean of the two in the middle.
fn median(values: &mut [i64]) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "milliseconds of a year are far below 2^52")]
    let real = |value: i64| value as f64;
    if values.is_empty() {
        return None;
    }
    let middle = values.len() / 2;
    let is_even = values.len().is_multiple_of(2);
    let (below, upper, _) = values.select_nth_unstable(middle);
    let upper = real(*upper);
    if !is_even {
        return Some(upper);
    }
    below.iter().copied().max().map(|lower| f64::midpoint(real(lower), upper))
}

/// How many people reached a step.
#[derive(Debug, Clone, PartialEq)]
pub struct FunnelStep {
    /// People who reached it.
    pub people: u64,
    /// Of those who reached the step before; none without any.
    pub from_previous: Option<f64>,
    /// Of those who entered; none without any.
    pub from_start: Option<f64>,
    /// The 95 % interval of Wilson for `from_start`.
    pub interval: Option<Bounds>,
    /// Seconds from the step before; none of the first step, and without people.
    pub median_seconds: Option<f64>,
}

/// The steps of a funnel.
#[derive(Debug, Clone, PartialEq)]
pub struct FunnelSteps {
    /// People with an entry in the range.
    pub entered: u64,
    /// The steps in their order.
    pub steps: Vec<FunnelStep>,
}

/// The funnel of people with one value of a breakdown.
#[derive(Debug, Clone, PartialEq)]
pub struct FunnelOf {
    /// The value; none where it is absent, and of the rest.
    pub value: Option<String>,
    /// Whether it is of all further values.
    pub is_other: bool,
    /// The funnel of these people.
    pub steps: FunnelSteps,
}

#[cfg(test)]
mod tests {
    use analytics::insights::HistoryEvent;

    use super::*;

    fn event(at_ms: i64, choices: u32) -> HistoryEvent {
        HistoryEvent { at_ms, choices }
    }

    fn history(events: &[HistoryEvent]) -> PersonHistory {
        PersonHistory::new(events.to_vec(), Vec::new())
    }

    fn rules(steps: usize, window_ms: i64, order: Order) -> Rules {
        Rules { steps, window_ms, order }
    }

    #[test]
    fn a_funnel_counts_people_and_takes_the_median_of_their_times() {
        let question = FunnelQuestion {
            steps: Vec::new(),
            window_ms: 10_000,
            order: Order::AnyBetween,
            period: Period::default(),
            breakdown: None,
            people: None,
        };
        let mut funnel =
            Funnel { rules: rules(2, 10_000, Order::AnyBetween), ..Funnel::new(&question) };
        let empty = funnel.all();
        assert_eq!(
            (empty.entered, empty.steps[1].from_start, empty.steps[1].median_seconds),
            (0, None, None)
        );
        assert_eq!(empty.steps[0].interval, None);
        for (after, label) in [(1000, "a"), (2000, "a"), (6000, "b"), (20_000, "c")] {
            let events = vec![event(0, 1), event(after, 2)];
            funnel.add(&PersonHistory::new(events, vec![Some(label.to_owned()), None]));
        }
        funnel.add(&history(&[event(0, 1)]));
        let all = funnel.all();
        assert_eq!((all.entered, all.steps[0].people, all.steps[1].people), (5, 5, 3));
        assert_eq!(all.steps[1].from_previous, Some(0.6));
        assert_eq!(all.steps[1].median_seconds, Some(2.0));
        let shown: Vec<_> = funnel
            .by_value(2)
            .into_iter()
            .map(|it| (it.value, it.is_other, it.steps.entered, it.steps.steps[1].people))
            .collect();
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(
            shown,
            [
                (text("a"), false, 2, 2),
                (text("b"), false, 1, 1),
                (None, false, 1, 0),
                (None, true, 1, 0)
            ]
        );
    }

    #[test]
    fn a_median_of_an_even_number_lies_between_two() {
        assert_eq!(median(&mut []), None);
        assert_eq!(median(&mut [3]), Some(3.0));
        assert_eq!(median(&mut [9, 1, 4]), Some(4.0));
        assert_eq!(median(&mut [9, 1, 4, 2]), Some(3.0));
    }
}
