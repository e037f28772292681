//! Trends, funnels and retention computed over plain vectors, without the program's rules.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::RangeInclusive,
};

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

/// A question about a funnel.
#[derive(Debug, Clone)]
pub(super) struct Funnel<'a> {
    pub(super) steps: &'a [&'a str],
    /// When people may enter, in milliseconds.
    pub(super) entries: RangeInclusive<i64>,
    pub(super) window_ms: i64,
    /// Whether no other event may come between two steps.
    pub(super) is_strict: bool,
}

/// How far a person came who entered: of the attempts with the most steps the earliest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Attempt {
    pub(super) reached: usize,
    /// The country of the events that the person entered with.
    pub(super) country: Option<&'static str>,
}

/// The attempt of each person who entered.
pub(super) fn attempts(events: &[Happened], asked: &Funnel<'_>) -> Vec<Attempt> {
    let mut people: BTreeMap<usize, BTreeMap<i64, Vec<&Happened>>> = BTreeMap::new();
    for event in events {
        people.entry(event.person).or_default().entry(event.at_ms).or_default().push(event);
    }
    let best = people.into_values().filter_map(|history| {
        // The events of each millisecond, which stand in the order that helps most.
        let history: Vec<Vec<&Happened>> = history.into_values().collect();
        let mut best: Option<Attempt> = None;
        for (place, entry) in history.iter().enumerate() {
            if !asked.entries.contains(&entry[0].at_ms) || !have(entry, &asked.steps[..1]) {
                continue;
            }
            let reached = from_entry(&history[place..], asked);
            if best.is_none_or(|best| reached > best.reached) {
                best = Some(Attempt { reached, country: entry[0].country });
            }
        }
        best
    });
    best.collect()
}

/// How many of these people reached each step.
pub(super) fn reached<'a>(attempts: impl Iterator<Item = &'a Attempt>, steps: usize) -> Vec<usize> {
    let mut people = vec![0; steps];
    for attempt in attempts {
        for count in &mut people[..attempt.reached] {
            *count += 1;
        }
    }
    people
}

/// Whether there is an event for each of these steps.
fn have(events: &[&Happened], steps: &[&str]) -> bool {
    let needed = |name: &str| steps.iter().filter(|step| **step == name).count();
    let found = |name: &str| events.iter().filter(|event| event.name == name).count();
    steps.iter().all(|step| found(step) >= needed(step))
}

/// The most steps of an attempt that begins with the first of these events. Others at that millisecond may stand before it.
fn from_entry(history: &[Vec<&Happened>], asked: &Funnel<'_>) -> usize {
    let Funnel { steps, window_ms, is_strict, .. } = asked;
    let (now, later) = history.split_first().unwrap();
    let end_ms = now[0].at_ms + window_ms;
    let taken = (1..=steps.len()).filter(|taken| have(now, &steps[..*taken]));
    let all = taken.map(|taken| {
        let left = &steps[taken..];
        taken + if *is_strict { next_to(later, left, end_ms) } else { deepest(later, left, end_ms) }
    });
    all.max().unwrap_or_default()
}

/// The most of these steps that any choice of these events reaches.
fn deepest(history: &[Vec<&Happened>], steps: &[&str], end_ms: i64) -> usize {
    let Some((now, later)) = history.split_first().filter(|(now, _)| now[0].at_ms <= end_ms) else {
        return 0;
    };
    if steps.is_empty() {
        return 0;
    }
    let taken = (0..=steps.len()).filter(|taken| have(now, &steps[..*taken]));
    taken.map(|taken| taken + deepest(later, &steps[taken..], end_ms)).max().unwrap_or_default()
}

/// The most of these steps that the next events are, none left out before the last.
fn next_to(history: &[Vec<&Happened>], steps: &[&str], end_ms: i64) -> usize {
    let Some((now, later)) = history.split_first().filter(|(now, _)| now[0].at_ms <= end_ms) else {
        return 0;
    };
    let taken = (0..=steps.len()).filter(|taken| have(now, &steps[..*taken]));
    let all = taken.map(|taken| {
        let is_whole = taken == now.len();
        taken + if is_whole { next_to(later, &steps[taken..], end_ms) } else { 0 }
    });
    all.max().unwrap_or_default()
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
