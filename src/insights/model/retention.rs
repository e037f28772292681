//! Retention: how many of those who began in an interval return in it and in later ones.

use analytics::insights::{PersonHistory, Span};
use kernel::{
    Timestamp,
    fields::{Fields, FromFields, Words, describe::described},
};

use super::{
    choice::{Choice, refuse_many_filters},
    follow::Follow,
    people::{People, needs_profiles},
    period::{Interval, Period},
};

/// Intervals that a cohort is followed for.
const FOLLOWED_MAX: i64 = 100;
const FOLLOWED_DEFAULT: i64 = 8;
/// Cohorts of a question.
const COHORTS_MAX: usize = 366;

const LENGTHS: &Words<Interval> =
    &[("day", Interval::Day), ("week", Interval::Week), ("month", Interval::Month)];

/// When a person counts as returned in an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// With an event in it.
    Classic,
    /// With an event in it or later.
    Rolling,
}

const MODES: &Words<Mode> = &[("classic", Mode::Classic), ("rolling", Mode::Rolling)];

/// A question about retention.
#[derive(Debug, Clone, PartialEq)]
pub struct RetentionQuestion {
    /// The event that people begin with.
    pub start: Choice,
    /// The event that people return with.
    pub returning: Choice,
    interval: Interval,
    followed: usize,
    mode: Mode,
    pub period: Period,
    /// Whose events count; everybody's where absent.
    pub people: Option<People>,
}

described!(
    /// A question about retention.
    RetentionQuestion as "RetentionQuestion"
);

impl FromFields for RetentionQuestion {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let start: Choice = body
            .required("start")
            .about("People belong to the interval of their first such event in the range.")
            .object();
        let returning: Choice =
            body.required("return").about("The event that people return with.").object();
        refuse_many_filters(body, [&start, &returning].into_iter());
        let followed = body
            .optional("intervals")
            .about("Intervals that each cohort is followed for, its own included; default 8.")
            .integer(1..=FOLLOWED_MAX)
            .unwrap_or(FOLLOWED_DEFAULT);
        Self {
            start,
            returning,
            interval: body
                .optional("interval")
                .about("`day` (default), `week` or `month`.")
                .one_of(LENGTHS)
                .unwrap_or(Interval::Day),
            followed: usize::try_from(followed).unwrap_or_default(),
            mode: body
                .optional("mode")
                .about("`classic` (default): returned in the interval; `rolling`: in it or later.")
                .one_of(MODES)
                .unwrap_or(Mode::Classic),
            period: Period::read(body),
            people: body
                .optional("people")
                .about("A targeting, or `segmentId`: only events of these people.")
                .object(),
        }
    }
}

impl RetentionQuestion {
    /// Whether it depends on copies of profiles in ClickHouse.
    pub fn needs_profiles(&self) -> bool {
        needs_profiles(self.people.as_ref(), None)
    }
}

/// A question with its intervals, at a moment.
#[derive(Debug)]
pub struct Retention {
    /// The range in which people begin.
    pub start_span: Span,
    /// The range in which they return.
    pub return_span: Span,
    /// Starts of the intervals of cohorts, and of those that follow.
    starts_ms: Vec<i64>,
    mode: Mode,
    /// Where the future begins.
    now_ms: i64,
    cohorts: Vec<Cohort>,
}

/// People who began in one interval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cohort {
    /// Start of the interval.
    pub start_ms: i64,
    /// People who began in it.
    pub size: u64,
    /// People who returned in each interval, the first being that of the beginning; none where the interval is ahead.
    pub returned: Vec<Option<u64>>,
}

impl Retention {
    /// Finds the intervals of a question.
    ///
    /// # Errors
    /// Bad request when the range is none, or has more intervals than an answer may have cohorts.
    pub fn new(question: &RetentionQuestion, now: Timestamp) -> kernel::Result<Self> {
        let span = question.period.span(now)?;
        let cohorts_ms = question.period.intervals(question.interval, span)?;
        if cohorts_ms.len() > COHORTS_MAX {
            return Err(kernel::Error::invalid(
                "interval",
                format!(
                    "must make at most {COHORTS_MAX} cohorts of the range, received {}",
                    cohorts_ms.len()
                ),
            ));
        }
        let starts_ms = question.period.following(
            question.interval,
            cohorts_ms[0],
            cohorts_ms.len() + question.followed,
        );
        let last_ms = starts_ms.last().map_or(span.end_ms, |end| end - 1);
        let end_ms = match question.mode {
            Mode::Classic => last_ms.min(now.millis()),
            Mode::Rolling => now.millis(),
        };
        let cohort = |(place, start_ms): (usize, &i64)| Cohort {
            start_ms: *start_ms,
            size: 0,
            returned: starts_ms[place..place + question.followed]
                .iter()
                .map(|start| (*start <= now.millis()).then_some(0))
                .collect(),
        };
        let cohorts = cohorts_ms.iter().enumerate().map(cohort).collect();
        Ok(Self {
            start_span: span,
            return_span: Span { start_ms: span.start_ms, end_ms: end_ms.max(span.start_ms) },
            mode: question.mode,
            now_ms: now.millis(),
            cohorts,
            starts_ms,
        })
    }

    /// The cohorts, the earliest first.
    pub fn cohorts(self) -> Vec<Cohort> {
        self.cohorts
    }
}

impl Follow for Retention {
    /// The first choice is the beginning, the second a return.
    fn add(&mut self, history: &PersonHistory) {
        let starts = history.events.iter().filter(|event| event.choices & 1 != 0);
        let Some(first_ms) = starts.map(|event| event.at_ms).min() else { return };
        let place_of =
            |at_ms: i64| self.starts_ms.partition_point(|start| *start <= at_ms).checked_sub(1);
        let Some(place) = place_of(first_ms).filter(|place| *place < self.cohorts.len()) else {
            return;
        };
        let returns = history.events.iter().filter(|event| {
            event.choices & 2 != 0 && (first_ms..=self.now_ms).contains(&event.at_ms)
        });
        let mut offsets: Vec<usize> =
            returns.filter_map(|event| Some(place_of(event.at_ms)? - place)).collect();
        offsets.sort_unstable();
        offsets.dedup();
        let cohort = &mut self.cohorts[place];
        cohort.size += 1;
        match self.mode {
            Mode::Classic => {
                for offset in offsets {
                    if let Some(Some(returned)) = cohort.returned.get_mut(offset) {
                        *returned += 1;
                    }
                }
            }
            Mode::Rolling => {
                let Some(last) = offsets.last() else { return };
                for returned in cohort.returned.iter_mut().take(last + 1).flatten() {
                    *returned += 1;
                }
            }
        }
    }

    fn clear(&mut self) {
        for cohort in &mut self.cohorts {
            cohort.size = 0;
            for returned in cohort.returned.iter_mut().flatten() {
                *returned = 0;
            }
        }
    }

    fn people(&self) -> u64 {
        self.cohorts.iter().map(|cohort| cohort.size).sum()
    }
}

#[cfg(test)]
mod tests {
    use analytics::insights::HistoryEvent;
    use kernel::fields;
    use serde_json::json;

    use super::*;

    fn retention(mode: &str, now: &str) -> Retention {
        let question = json!({
            "start": {"eventName": "A"}, "return": {"eventName": "B"}, "interval": "day", "intervals": 3,
            "mode": mode, "from": "2026-01-01", "to": "2026-01-02",
        });
        let question = fields::read::<RetentionQuestion>(&question).unwrap();
        Retention::new(&question, Timestamp::parse(now).unwrap()).unwrap()
    }

    fn event(at: &str, choices: u32) -> HistoryEvent {
        HistoryEvent { at_ms: Timestamp::parse(at).unwrap().millis(), choices }
    }

    fn returned(mode: &str, now: &str) -> Vec<(u64, Vec<Option<u64>>)> {
        let mut retention = retention(mode, now);
        for events in [
            // Begins and returns at once, and on the third day.
            vec![event("2026-01-01T10:00Z", 0b11), event("2026-01-03T00:00Z", 0b10)],
            // Returns before the beginning only.
            vec![event("2026-01-01T10:00Z", 0b01), event("2026-01-01T09:00Z", 0b10)],
            // The first of two beginnings counts.
            vec![
                event("2026-01-02T10:00Z", 0b01),
                event("2026-01-01T23:59:59.999Z", 0b01),
                event("2026-01-02T00:00Z", 0b10),
            ],
            vec![event("2026-01-02T10:00Z", 0b01), event("2026-01-04T10:00Z", 0b10)],
            vec![event("2026-01-02T10:00Z", 0b10)],
        ] {
            retention.add(&PersonHistory::new(events, Vec::new()));
        }
        retention.cohorts().into_iter().map(|it| (it.size, it.returned)).collect()
    }

    #[test]
    fn people_return_in_intervals_or_later() {
        let late = "2026-03-01T00:00Z";
        assert_eq!(
            returned("classic", late),
            [(3, vec![Some(1), Some(1), Some(1)]), (1, vec![Some(0), Some(0), Some(1)])]
        );
        assert_eq!(
            returned("rolling", late),
            [(3, vec![Some(2), Some(2), Some(1)]), (1, vec![Some(1), Some(1), Some(1)])]
        );
    }

    #[test]
    fn intervals_ahead_have_no_number() {
        let cohorts = returned("classic", "2026-01-03T00:00Z");
        assert_eq!(cohorts[0].1, [Some(1), Some(1), Some(1)]);
        assert_eq!(cohorts[1].1, [Some(0), Some(0), None]);
    }
}
