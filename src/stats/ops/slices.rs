//! Slices of a time, in each of which so many events lie that they can be looked at at once.

use analytics::messages::EventSlot;

/// Slots that a time is divided into to learn when events happened.
const SLOTS: i64 = 20_000;
/// Shortest slot and slice, in milliseconds.
const SHORTEST_MS: i64 = 1_000;

/// A time, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slice {
    pub(super) start_ms: i64,
    pub(super) end_ms: i64,
}

impl Slice {
    /// Length of the slots by which events are counted.
    pub(super) fn slot_ms(self) -> i64 {
        (self.end_ms.saturating_sub(self.start_ms) / SLOTS).max(SHORTEST_MS)
    }

    /// Its halves; none of what is too short for that.
    pub(super) fn halves(self) -> Option<[Self; 2]> {
        let length = self.end_ms.saturating_sub(self.start_ms);
        let middle = self.start_ms + length / 2;
        (length >= SHORTEST_MS)
            .then_some([Self { end_ms: middle, ..self }, Self { start_ms: middle + 1, ..self }])
    }

    /// Slices that cover the time, with at most so many events each, unless one slot has more. None without events.
    pub(super) fn divided(self, slots: &[EventSlot], events_max: u64) -> Vec<SliceOfEvents> {
        let mut all: Vec<SliceOfEvents> = Vec::new();
        for slot in slots {
            match all.last_mut() {
                Some(last) if last.events + slot.events <= events_max => last.events += slot.events,
                None => all.push(SliceOfEvents { slice: self, events: slot.events }),
                Some(last) => {
                    let start_ms = self.start_ms + slot.slot * self.slot_ms();
                    last.slice.end_ms = start_ms - 1;
                    let slice = Self { start_ms, end_ms: self.end_ms };
                    all.push(SliceOfEvents { slice, events: slot.events });
                }
            }
        }
        all
    }
}

/// A slice, and how many events lie in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SliceOfEvents {
    pub(super) slice: Slice,
    pub(super) events: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of a slot, and its events.
    type Slot = (i64, u64);
    /// The beginning and the end of a slice, and its events.
    type Expected = (i64, i64, u64);

    fn slots(of: &[Slot]) -> Vec<EventSlot> {
        of.iter().map(|(slot, events)| EventSlot { slot: *slot, events: *events }).collect()
    }

    #[test]
    fn slices_cover_the_time_without_gaps() {
        let time = Slice { start_ms: 500, end_ms: 100_500 };
        assert_eq!(time.slot_ms(), 1_000);
        let table: [(&[Slot], &[Expected]); 4] = [
            (&[], &[]),
            (&[(3, 1), (7, 9)], &[(500, 100_500, 10)]),
            (
                &[(3, 8), (7, 3), (8, 7), (50, 1)],
                &[(500, 7_499, 8), (7_500, 50_499, 10), (50_500, 100_500, 1)],
            ),
            (&[(0, 99), (1, 1)], &[(500, 1_499, 99), (1_500, 100_500, 1)]),
        ];
        for (of, expected) in table {
            let found: Vec<(i64, i64, u64)> = time
                .divided(&slots(of), 10)
                .iter()
                .map(|it| (it.slice.start_ms, it.slice.end_ms, it.events))
                .collect();
            assert_eq!(found, expected, "{of:?}");
        }
    }

    #[test]
    fn halves_are_the_whole_until_they_are_too_short() {
        let mut slice = Slice { start_ms: -3, end_ms: 10_000 };
        while let Some([first, second]) = slice.halves() {
            assert_eq!((first.start_ms, second.end_ms), (slice.start_ms, slice.end_ms));
            assert_eq!(first.end_ms + 1, second.start_ms);
            slice = second;
        }
        assert!(slice.end_ms - slice.start_ms < SHORTEST_MS);
    }
}
