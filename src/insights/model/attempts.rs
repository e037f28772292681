//! How far a person comes through the steps of a funnel.
//!
//! A person enters with an event of the first step in the range. From each entry the earliest event that can be the next
//! step is taken, until there is none within the window; so an attempt reaches as many steps as any choice of events
//! could. The attempt with the most steps counts, of equal ones the earliest. Events at one millisecond may stand in any
//! order that helps. An event is one step only.
//!
//! Mostly the order of steps is such an order: where each of the events at one millisecond can be one step. Other
//! histories are followed group by group ([`super::ties`]), at a cost that grows with the number of events.

use analytics::insights::{HistoryEvent, PersonHistory};

use super::ties::Ties;

/// What may happen between two steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Any other events may.
    AnyBetween,
    /// No event of the person.
    Strict,
}

/// What decides how far a person comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rules {
    pub(super) steps: usize,
    pub(super) window_ms: i64,
    pub(super) order: Order,
}

/// The best attempt of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Attempt {
    /// When each step was reached.
    pub(super) at_ms: Vec<i64>,
    /// The place of the entry in the history.
    pub(super) entry: usize,
}

/// The best attempt of a person; none without an entry.
pub(super) fn best_attempt(history: &PersonHistory, rules: Rules) -> Option<Attempt> {
    if history.events.iter().all(|event| event.choices & 1 == 0) {
        return None;
    }
    // Mostly no two events happened at once.
    if history.events.windows(2).all(|pair| pair[0].at_ms < pair[1].at_ms) {
        return best_in_order(&history.events, rules);
    }
    let order = places(&history.events);
    let events: Vec<HistoryEvent> = order.iter().map(|place| history.events[*place]).collect();
    let best = if have_orders(&events, rules.order) {
        best_in_any_order(&events, rules)
    } else {
        best_in_order(&events, rules)
    };
    best.map(|Attempt { at_ms, entry }| Attempt { at_ms, entry: order[entry] })
}

/// The order in which events of a history stand: by time, then by step.
fn places(events: &[HistoryEvent]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..events.len()).collect();
    places.sort_by_key(|place| {
        let event = events[*place];
        (event.at_ms, event.choices.trailing_zeros(), event.choices)
    });
    places
}

/// Whether events at one millisecond may help more in another order than that of the steps.
fn have_orders(events: &[HistoryEvent], order: Order) -> bool {
    let mut tied = events.chunk_by(|one, other| one.at_ms == other.at_ms).filter(|it| it.len() > 1);
    tied.any(|tied| match order {
        Order::AnyBetween => tied.iter().any(|event| event.choices.count_ones() > 1),
        // Another event may stand before the first of the steps, or after the last.
        Order::Strict => tied.iter().any(|event| event.choices != 0),
    })
}

/// The next place, after each place, that can be each of the steps but the first.
fn next_places(choices: &[u32], steps: usize) -> Vec<Vec<usize>> {
    let none = choices.len();
    (1..steps)
        .map(|step| {
            let mut next = vec![none; choices.len()];
            let mut found = none;
            for (place, choices) in choices.iter().enumerate().rev() {
                next[place] = found;
                if choices & (1 << step) != 0 {
                    found = place;
                }
            }
            next
        })
        .collect()
}

/// The best attempt where events stand in this order.
fn best_in_order(events: &[HistoryEvent], rules: Rules) -> Option<Attempt> {
    let choices: Vec<u32> = events.iter().map(|event| event.choices).collect();
    let next = match rules.order {
        Order::AnyBetween => next_places(&choices, rules.steps),
        Order::Strict => Vec::new(),
    };
    let mut best: Option<Attempt> = None;
    for (entry, event) in events.iter().enumerate().filter(|(_, event)| event.choices & 1 != 0) {
        let mut at_ms = vec![event.at_ms];
        let mut place = entry;
        while at_ms.len() < rules.steps {
            let step = at_ms.len();
            place = match rules.order {
                Order::AnyBetween => next[step - 1][place],
                Order::Strict => place + 1,
            };
            let reached = events.get(place).filter(|event| {
                event.choices & (1 << step) != 0 && event.at_ms - at_ms[0] <= rules.window_ms
            });
            let Some(reached) = reached else { break };
            at_ms.push(reached.at_ms);
        }
        if best.as_ref().is_none_or(|best| at_ms.len() > best.at_ms.len()) {
            let is_whole = at_ms.len() == rules.steps;
            best = Some(Attempt { at_ms, entry });
            if is_whole {
                break;
            }
        }
    }
    best
}

/// The best attempt where events at one millisecond stand in the order that helps most.
fn best_in_any_order(events: &[HistoryEvent], rules: Rules) -> Option<Attempt> {
    let mut ties = Ties::new(events, rules.steps);
    let choices = ties.choices();
    let next = match rules.order {
        Order::AnyBetween => next_places(&choices, rules.steps),
        Order::Strict => Vec::new(),
    };
    // When each step was reached, and the group of the entry.
    let mut best: (Vec<i64>, usize) = (Vec::new(), 0);
    for entry in (0..choices.len()).filter(|group| choices[*group] & 1 != 0) {
        let at_ms = match rules.order {
            Order::AnyBetween => any_between(&mut ties, &next, entry, rules),
            Order::Strict => strict(&mut ties, entry, rules),
        };
        if at_ms.len() > best.0.len() {
            best = (at_ms, entry);
            if best.0.len() == rules.steps {
                break;
            }
        }
    }
    let (at_ms, group) = best;
    let first = *at_ms.first()?;
    let at_once = at_ms.iter().take_while(|at_ms| **at_ms == first).count();
    let entry = ties.entry(group, at_once);
    Some(Attempt { at_ms, entry })
}

/// Takes as many steps as each group can be. Later groups reach no less after more of them.
fn any_between(ties: &mut Ties<'_>, next: &[Vec<usize>], entry: usize, rules: Rules) -> Vec<i64> {
    let Some(start) = ties.at_ms(entry) else { return Vec::new() };
    let mut at_ms = vec![start; ties.reach(entry, 0)];
    let mut group = entry;
    while at_ms.len() < rules.steps {
        group = next[at_ms.len() - 1][group];
        let Some(at) = ties.at_ms(group).filter(|at| at - start <= rules.window_ms) else {
            break;
        };
        let reached = ties.reach(group, at_ms.len());
        at_ms.resize(reached, at);
    }
    at_ms
}

/// Takes some steps at the end of the first group, then groups whose events are all steps, then some at the beginning of
/// one. Fewer steps of the first group may lead further.
fn strict(ties: &mut Ties<'_>, entry: usize, rules: Rules) -> Vec<i64> {
    let Some(start) = ties.at_ms(entry) else { return Vec::new() };
    let mut best = Vec::new();
    for first in (1..=ties.reach(entry, 0)).rev() {
        let mut at_ms = vec![start; first];
        let mut group = entry + 1;
        while at_ms.len() < rules.steps
            && let Some(at) = ties.at_ms(group).filter(|at| at - start <= rules.window_ms)
        {
            let before = at_ms.len();
            let reached = ties.reach(group, before);
            at_ms.resize(reached, at);
            if reached - before < ties.size(group) {
                break;
            }
            group += 1;
        }
        if at_ms.len() > best.len() {
            best = at_ms;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn event(at_ms: i64, choices: u32) -> HistoryEvent {
        HistoryEvent { at_ms, choices }
    }

    fn rules(steps: usize, window_ms: i64, order: Order) -> Rules {
        Rules { steps, window_ms, order }
    }

    fn best(events: &[HistoryEvent], rules: Rules) -> Option<Attempt> {
        best_attempt(&PersonHistory::new(events.to_vec(), Vec::new()), rules)
    }

    fn reached(events: &[HistoryEvent], rules: Rules) -> Vec<i64> {
        best(events, rules).map(|attempt| attempt.at_ms).unwrap_or_default()
    }

    #[test]
    fn a_person_goes_through_the_steps_in_order_and_in_time() {
        use Order::{AnyBetween, Strict};
        let cases: [(&str, &[HistoryEvent], Rules, &[i64]); 11] = [
            ("nothing", &[event(1, 0b10)], rules(2, 10, AnyBetween), &[]),
            ("an entry alone", &[event(1, 1)], rules(2, 10, AnyBetween), &[1]),
            (
                "the window's end is included",
                &[event(0, 1), event(10, 2)],
                rules(2, 10, AnyBetween),
                &[0, 10],
            ),
            ("after the window", &[event(0, 1), event(11, 2)], rules(2, 10, AnyBetween), &[0]),
            (
                "a later entry reaches more",
                &[event(0, 1), event(5, 1), event(11, 2)],
                rules(2, 10, AnyBetween),
                &[5, 11],
            ),
            (
                "the earliest of equal attempts",
                &[event(0, 1), event(1, 1), event(2, 2)],
                rules(2, 10, AnyBetween),
                &[0, 2],
            ),
            (
                "steps at one millisecond",
                &[event(3, 0b100), event(3, 0b10), event(3, 1)],
                rules(3, 0, AnyBetween),
                &[3, 3, 3],
            ),
            ("one event is one step", &[event(0, 0b11)], rules(2, 10, AnyBetween), &[0]),
            (
                "the same event twice",
                &[event(0, 0b11), event(4, 0b11)],
                rules(2, 10, AnyBetween),
                &[0, 4],
            ),
            (
                "others between",
                &[event(0, 1), event(1, 0), event(2, 2)],
                rules(2, 10, AnyBetween),
                &[0, 2],
            ),
            (
                "none may come between",
                &[event(0, 1), event(1, 0), event(2, 2)],
                rules(2, 10, Strict),
                &[0],
            ),
        ];
        for (name, events, rules, expected) in cases {
            assert_eq!(reached(events, rules), expected, "{name}");
        }
    }

    #[test]
    fn events_at_one_millisecond_stand_in_the_order_that_helps() {
        use Order::{AnyBetween, Strict};
        let cases: [(&str, &[HistoryEvent], Rules, &[i64]); 8] = [
            (
                "steps A, B, A of events A, B, A",
                &[event(3, 0b101), event(3, 0b10), event(3, 0b101)],
                rules(3, 0, AnyBetween),
                &[3, 3, 3],
            ),
            (
                "an event is one step only",
                &[event(3, 0b101), event(3, 0b10)],
                rules(3, 0, AnyBetween),
                &[3, 3],
            ),
            (
                "the event that can be two steps is the one that no other can be",
                &[event(1, 0b11), event(1, 0b1), event(2, 0b100)],
                rules(3, 9, AnyBetween),
                &[1, 1, 2],
            ),
            (
                "in the middle of an attempt",
                &[event(1, 1), event(2, 0b110), event(2, 0b10), event(3, 0b1000)],
                rules(4, 9, AnyBetween),
                &[1, 2, 2, 3],
            ),
            (
                "another event stands before the entry",
                &[event(1, 1), event(1, 0), event(2, 0b10)],
                rules(2, 9, Strict),
                &[1, 2],
            ),
            (
                "another event stands behind the last step",
                &[event(1, 1), event(2, 0), event(2, 0b10), event(3, 0b100)],
                rules(3, 9, Strict),
                &[1, 2],
            ),
            (
                "fewer steps at once lead further",
                &[event(1, 1), event(1, 0b10), event(2, 0b10), event(3, 0b100)],
                rules(3, 9, Strict),
                &[1, 2, 3],
            ),
            (
                "all events between are steps",
                &[event(1, 1), event(2, 0b110), event(2, 0b10), event(3, 0b1000)],
                rules(4, 9, Strict),
                &[1, 2, 2, 3],
            ),
        ];
        for (name, events, rules, expected) in cases {
            assert_eq!(reached(events, rules), expected, "{name}");
        }
    }

    #[test]
    fn a_long_history_with_large_ties_is_followed_in_time() {
        // Each second millisecond an entry, and one with very many events that can be any step but the last.
        let mut events: Vec<HistoryEvent> = (0..20_000).map(|at| event(2 * at, 1)).collect();
        events.extend((0..200_000).map(|at| event(40_001 + at / 50_000, (1 << 19) - 1)));
        let attempt = best(&events, rules(20, 50_000, Order::AnyBetween)).unwrap();
        assert_eq!((attempt.at_ms.len(), attempt.entry), (19, 0));
        let strict = best(&events, rules(20, 50_000, Order::Strict)).unwrap();
        assert_eq!(strict.at_ms.len(), 19);
    }

    /// Every order in which events may stand, each as their places.
    fn orders(events: &[HistoryEvent]) -> Vec<Vec<usize>> {
        let mut orders = vec![Vec::new()];
        for _ in events {
            let longer = orders.iter().flat_map(|order: &Vec<usize>| {
                let left = (0..events.len()).filter(|place| !order.contains(place));
                let first_ms = left.clone().map(|place| events[place].at_ms).min();
                let next = left.filter(move |place| Some(events[*place].at_ms) == first_ms);
                next.map(|place| [order.as_slice(), &[place]].concat())
            });
            orders = longer.collect();
        }
        orders
    }

    /// Every attempt that goes on from some steps, which are places in the order of events.
    fn attempts(
        events: &[HistoryEvent],
        taken: &[usize],
        rules: Rules,
        found: &mut Vec<Vec<usize>>,
    ) {
        found.push(taken.to_vec());
        let (Some(first), Some(last)) = (taken.first(), taken.last()) else { return };
        if taken.len() == rules.steps {
            return;
        }
        let end = if rules.order == Order::Strict { last + 2 } else { events.len() };
        for place in last + 1..end.min(events.len()) {
            let is_step = events[place].choices & (1 << taken.len()) != 0;
            if is_step && events[place].at_ms - events[*first].at_ms <= rules.window_ms {
                attempts(events, &[taken, &[place]].concat(), rules, found);
            }
        }
    }

    /// The best attempt of all orders and all choices of events: the most steps, then the earliest of them, then the
    /// entry that stands first in a history.
    fn best_of_all(events: &[HistoryEvent], rules: Rules) -> Option<Attempt> {
        let mut all = Vec::new();
        for order in orders(events) {
            let ordered: Vec<HistoryEvent> = order.iter().map(|place| events[*place]).collect();
            let mut found = Vec::new();
            for entry in (0..ordered.len()).filter(|place| ordered[*place].choices & 1 != 0) {
                attempts(&ordered, &[entry], rules, &mut found);
            }
            all.extend(found.into_iter().map(|steps| Attempt {
                at_ms: steps.iter().map(|place| ordered[*place].at_ms).collect(),
                entry: order[steps[0]],
            }));
        }
        all.into_iter().min_by_key(|Attempt { at_ms, entry }| {
            let choices = events[*entry].choices;
            let unreached = rules.steps - at_ms.len();
            (unreached, at_ms.clone(), choices.trailing_zeros(), choices, *entry)
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]
        #[test]
        fn no_order_and_no_choice_of_events_is_better(
            events in prop::collection::vec((0_i64..5, 0_u32..16), 0..7),
            window_ms in 0_i64..6, strict: bool,
        ) {
            let events: Vec<HistoryEvent> =
                events.into_iter().map(|(at_ms, choices)| event(at_ms, choices)).collect();
            let order = if strict { Order::Strict } else { Order::AnyBetween };
            let rules = rules(4, window_ms, order);
            prop_assert_eq!(best(&events, rules), best_of_all(&events, rules));
        }
    }
}
