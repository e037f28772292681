//! Trends, funnels and retention computed over plain vectors, without the program's rules.

use std::collections::{BTreeMap, BTreeSet};

/// An event as the model knows it: whose it is, and not by which identifier.
#[derive(Debug, Clone)]
pub(super) struct Happened {
    pub(super) person: usize,
    pub(super) name: &'static str,
    pub(super) at_ms: i64,
    pub(super) country: Option<&'static str>,
    pub(super) total: Option<f64>,
}

/// A metric over the events of one interval.
pub(super) fn figure(metric: &str, events: &[&Happened]) -> Option<f64> {
    let people: BTreeSet<usize> = events.iter().map(|it| it.person).collect();
    let mut numbers: Vec<f64> = events.iter().filter_map(|it| it.total).collect();
    numbers.sort_by(f64::total_cmp);
    let (count, sum) = (events.len() as f64, numbers.iter().sum::<f64>());
    match metric {
        "count" => Some(count),
        "unique" => Some(people.len() as f64),
        "perUser" => (!people.is_empty()).then(|| count / people.len() as f64),
        "sum" => Some(sum),
        "avg" => (!numbers.is_empty()).then(|| sum / numbers.len() as f64),
        "min" => numbers.first().copied(),
        "max" => numbers.last().copied(),
        percentile => {
            let level: f64 = percentile[1..].parse::<f64>().unwrap() / 100.0;
            let place = level * (numbers.len() as f64 - 1.0);
            let placed = || (0_u32..).map(f64::from).zip(&numbers);
            let (_, lower) = placed().take_while(|(at, _)| *at <= place).last()?;
            let upper = placed().find(|(at, _)| *at >= place);
            let upper = upper.map_or(lower, |(_, number)| number);
            Some(lower + (upper - lower) * place.fract())
        }
    }
}

/// Events of each interval; the last interval ends with `end_ms`.
pub(super) fn by_interval<'e>(
    events: &[&'e Happened],
    starts: &[i64],
    end_ms: i64,
) -> Vec<Vec<&'e Happened>> {
    let ends = starts[1..].iter().map(|start| start - 1).chain([end_ms]);
    starts
        .iter()
        .zip(ends)
        .map(|(start, end)| {
            events.iter().copied().filter(|it| (*start..=end).contains(&it.at_ms)).collect()
        })
        .collect()
}

/// How many people reached each step. Events at one millisecond stand in the order of the steps.
pub(super) fn funnel(
    events: &[Happened],
    steps: &[&str],
    entries: std::ops::RangeInclusive<i64>,
    window_ms: i64,
) -> Vec<usize> {
    let mut people: BTreeMap<usize, Vec<&Happened>> = BTreeMap::new();
    for event in events {
        people.entry(event.person).or_default().push(event);
    }
    let mut reached = vec![0; steps.len()];
    for mut history in people.into_values() {
        let step_of = |event: &Happened| steps.iter().position(|step| *step == event.name);
        history.sort_by_key(|event| (event.at_ms, step_of(event).unwrap_or(steps.len())));
        let mut best = 0;
        for (place, entry) in history.iter().enumerate() {
            if entry.name != steps[0] || !entries.contains(&entry.at_ms) {
                continue;
            }
            best = best.max(deepest(&history, place, 1, entry.at_ms + window_ms, steps));
        }
        for count in &mut reached[..best] {
            *count += 1;
        }
    }
    reached
}

/// The most steps that any choice of later events reaches.
fn deepest(history: &[&Happened], place: usize, step: usize, end_ms: i64, steps: &[&str]) -> usize {
    let mut best = step;
    if step < steps.len() {
        for next in place + 1..history.len() {
            if history[next].name == steps[step] && history[next].at_ms <= end_ms {
                best = best.max(deepest(history, next, step + 1, end_ms, steps));
            }
        }
    }
    best
}

/// A question about retention.
#[derive(Debug, Clone, Copy)]
pub(super) struct Retention<'a> {
    pub(super) begins: &'a str,
    pub(super) returns: &'a str,
    /// Where intervals begin, in milliseconds.
    pub(super) starts: &'a [i64],
    pub(super) cohorts: usize,
    /// Intervals in which returns are counted.
    pub(super) followed: usize,
    pub(super) is_rolling: bool,
}

/// The size of each cohort, and how many of it returned in each interval.
pub(super) fn retention(events: &[Happened], asked: Retention<'_>) -> Vec<(usize, Vec<usize>)> {
    let Retention { begins, returns, starts, cohorts, followed, is_rolling } = asked;
    let place = |at_ms: i64| {
        (0..starts.len() - 1).find(|place| (starts[*place]..starts[place + 1]).contains(&at_ms))
    };
    let mut answer = vec![(0, vec![0; followed]); cohorts];
    let people: BTreeSet<usize> = events.iter().map(|it| it.person).collect();
    for person in people {
        let own = || events.iter().filter(|it| it.person == person);
        let first = own()
            .filter(|it| it.name == begins && (starts[0]..starts[cohorts]).contains(&it.at_ms))
            .map(|it| it.at_ms)
            .min();
        let Some(first) = first else { continue };
        let cohort = place(first).unwrap();
        answer[cohort].0 += 1;
        for (offset, count) in answer[cohort].1.iter_mut().enumerate() {
            let is_in = |it: &&Happened| {
                let of = place(it.at_ms);
                let later = it.at_ms >= *starts.last().unwrap();
                it.name == returns
                    && it.at_ms >= first
                    && (of == Some(cohort + offset)
                        || is_rolling && (later || of.is_some_and(|of| of >= cohort + offset)))
            };
            *count += usize::from(own().any(|it| is_in(&it)));
        }
    }
    answer
}
