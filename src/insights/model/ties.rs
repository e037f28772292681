//! Events of a history in groups: those at one millisecond, whose order is not known.
//!
//! A group may stand in any order, so it can be some steps in a row where each of them finds an event of its own: a
//! matching of steps with events, which grows by one step at a time. Of the events that can be one step, as many as there
//! are steps are enough to look at, so that a matching looks at no more than their square.

use analytics::insights::HistoryEvent;

/// No step has this number.
const NOT_ASKED: u8 = u8::MAX;

/// Events at one millisecond, by their places in the history.
#[derive(Debug, Clone, Copy)]
struct Group {
    at_ms: i64,
    from: usize,
    end: usize,
}

/// The events of a history, by time.
#[derive(Debug)]
pub(super) struct Ties<'e> {
    events: &'e [HistoryEvent],
    steps: usize,
    groups: Vec<Group>,
    /// By group and step, what [`Self::reach`] answered, or [`NOT_ASKED`].
    reached: Vec<u8>,
}

impl<'e> Ties<'e> {
    /// The groups of events that are sorted by time.
    pub(super) fn new(events: &'e [HistoryEvent], steps: usize) -> Self {
        let mut groups: Vec<Group> = Vec::new();
        for (place, event) in events.iter().enumerate() {
            match groups.last_mut() {
                Some(group) if group.at_ms == event.at_ms => group.end = place + 1,
                _ => groups.push(Group { at_ms: event.at_ms, from: place, end: place + 1 }),
            }
        }
        let reached = vec![NOT_ASKED; groups.len() * steps];
        Self { events, steps, groups, reached }
    }

    /// What the events of each group can be together.
    pub(super) fn choices(&self) -> Vec<u32> {
        let together = |group: &Group| {
            self.events[group.from..group.end].iter().fold(0, |all, event| all | event.choices)
        };
        self.groups.iter().map(together).collect()
    }

    /// When the events of a group happened; none after the last.
    pub(super) fn at_ms(&self, group: usize) -> Option<i64> {
        self.groups.get(group).map(|it| it.at_ms)
    }

    /// How many events a group has.
    pub(super) fn size(&self, group: usize) -> usize {
        self.groups[group].end - self.groups[group].from
    }

    /// The first step, from this one on, that a group cannot be after all before it.
    pub(super) fn reach(&mut self, group: usize, step: usize) -> usize {
        let asked = group * self.steps + step;
        if self.reached[asked] == NOT_ASKED {
            let reached = self.reach_without(group, step, None);
            self.reached[asked] = u8::try_from(reached).unwrap_or(NOT_ASKED - 1);
        }
        self.reached[asked].into()
    }

    /// The place of the first event of a group that can be the first of so many steps in it.
    pub(super) fn entry(&self, group: usize, steps: usize) -> usize {
        let Group { from, end, .. } = self.groups[group];
        // Where the group can be these steps, at most one event a step is needed for another.
        let mut entries = (from..end).filter(|place| self.events[*place].choices & 1 != 0);
        entries.find(|place| self.reach_without(group, 1, Some(*place)) >= steps).unwrap_or(from)
    }

    fn reach_without(&self, group: usize, step: usize, without: Option<usize>) -> usize {
        let Group { from, end, .. } = self.groups[group];
        if end - from == 1 && without.is_none() {
            return step + usize::from(self.events[from].choices & (1 << step) != 0);
        }
        let places = (from..end).filter(|place| Some(*place) != without);
        let mut matching = Matching::of(places.map(|place| self.events[place].choices), self.steps);
        (step..self.steps).find(|step| !matching.add(*step)).unwrap_or(self.steps)
    }
}

/// Steps, each with an event of its own.
#[derive(Debug)]
struct Matching {
    /// What each event can be.
    choices: Vec<u32>,
    /// The step that each event is.
    taken: Vec<Option<usize>>,
}

impl Matching {
    /// No step yet, of events that can be these.
    fn of(events: impl Iterator<Item = u32>, steps: usize) -> Self {
        let mut counts = vec![0; steps];
        let mut choices = Vec::new();
        for event in events {
            let mut is_needed = false;
            for step in (0..steps).filter(|step| event & (1 << step) != 0) {
                is_needed |= counts[step] < steps;
                counts[step] += 1;
            }
            if is_needed {
                choices.push(event);
            }
        }
        let taken = vec![None; choices.len()];
        Self { choices, taken }
    }

    /// Finds an event for one more step, where other steps may have to take another.
    fn add(&mut self, step: usize) -> bool {
        let mut seen = vec![false; self.choices.len()];
        self.find(step, &mut seen)
    }

    fn find(&mut self, step: usize, seen: &mut [bool]) -> bool {
        for event in 0..self.choices.len() {
            if self.choices[event] & (1 << step) == 0 || seen[event] {
                continue;
            }
            seen[event] = true;
            let is_free = match self.taken[event] {
                None => true,
                Some(other) => self.find(other, seen),
            };
            if is_free {
                self.taken[event] = Some(step);
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach(choices: &[u32], steps: usize) -> usize {
        let event = |choices: &u32| HistoryEvent { at_ms: 1, choices: *choices };
        let events: Vec<HistoryEvent> = choices.iter().map(event).collect();
        Ties::new(&events, steps).reach(0, 0)
    }

    #[test]
    fn a_step_takes_the_event_of_another_that_finds_one_too() {
        assert_eq!(reach(&[0b11, 0b01], 2), 2);
        assert_eq!(reach(&[0b101, 0b010, 0b101], 3), 3);
        assert_eq!(reach(&[0b101, 0b010], 3), 2);
        assert_eq!(reach(&[0b111, 0b011, 0b001], 3), 3);
        assert_eq!(reach(&[0b110, 0b110, 0b110], 3), 0);
    }

    #[test]
    fn a_large_group_costs_no_more_than_the_square_of_the_steps() {
        // Of the last step there is one event, at the end of all others.
        let mut choices = vec![(1 << 19) - 1; 200_000];
        choices.push(1 << 19);
        assert_eq!(reach(&choices, 20), 20);
        let matching = Matching::of(choices.into_iter(), 20);
        assert!(matching.choices.len() <= 20 * 20, "{}", matching.choices.len());
    }
}
