//! Finds the one position of the spool at which a worker panics.
//!
//! A worker takes a range of positions at a time. When it panics on one, the range is suspected: it is tried again in
//! halves, so that what is good passes, until one position alone is left. When that one has caused
//! [`PANICS_MAX`] panics it is to be left out.

use std::collections::BTreeSet;

/// Panics on one position alone after which it is left out.
const PANICS_MAX: u32 = 3;

/// What is suspected; belongs to one consumer of the spool.
#[derive(Debug, Default)]
pub struct Suspects {
    /// The first position not suspected any more; everything before it and not passed is.
    end: u64,
    /// Positions that may be tried together before `end`.
    together: u64,
    /// The position tried alone last, and the panics it caused.
    alone: Option<(u64, u32)>,
    left_out: BTreeSet<u64>,
}

impl Suspects {
    /// The worker panicked while it had the `count` positions from `first`; 0 when it is not known which.
    pub fn panicked(&mut self, first: u64, count: u64) {
        match count {
            0 => {}
            1 => {
                let panics = match self.alone {
                    Some((position, panics)) if position == first => panics + 1,
                    _ => 1,
                };
                self.alone = Some((first, panics));
                self.end = self.end.max(first + 1);
                self.together = 1;
                if panics >= PANICS_MAX {
                    self.left_out.insert(first);
                }
            }
            _ => {
                self.end = self.end.max(first + count);
                self.together = count.div_ceil(2);
            }
        }
    }

    /// How many positions may be taken together from `next` on.
    pub fn together(&self, next: u64) -> u64 {
        if next < self.end { self.together.min(self.end - next).max(1) } else { u64::MAX }
    }

    /// Whether `position` is to be left out.
    pub fn is_left_out(&self, position: u64) -> bool {
        self.left_out.contains(&position)
    }

    /// Everything before `end` is done.
    pub fn passed(&mut self, end: u64) {
        self.left_out = self.left_out.split_off(&end);
        if end >= self.end {
            self.alone = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Works through 0..`end` in steps of up to `step`, panicking on `bad`. Gives what was left out, and the panics.
    fn work(end: u64, step: u64, bad: &[u64]) -> (Vec<u64>, u32) {
        let (mut suspects, mut next, mut left_out, mut panics) =
            (Suspects::default(), 0, Vec::new(), 0);
        while next < end {
            let count = step.min(suspects.together(next)).min(end - next);
            let out: Vec<u64> =
                (next..next + count).filter(|at| suspects.is_left_out(*at)).collect();
            if bad.iter().any(|at| (next..next + count).contains(at) && !out.contains(at)) {
                suspects.panicked(next, count);
                panics += 1;
                assert!(panics < 1000, "it does not end");
                continue;
            }
            left_out.extend(out);
            next += count;
            suspects.passed(next);
        }
        (left_out, panics)
    }

    #[test]
    fn only_what_panics_is_left_out() {
        assert_eq!(work(10_000, 1000, &[]), (vec![], 0));
        let (left_out, panics) = work(10_000, 1000, &[4321]);
        assert_eq!(left_out, [4321]);
        assert!(panics <= 10 + PANICS_MAX, "{panics}");
        for bad in [&[0, 1, 2][..], &[9_999], &[5, 700, 701, 9000]] {
            assert_eq!(work(10_000, 1000, bad).0, bad);
        }
    }

    #[test]
    fn a_position_that_passes_at_last_is_not_left_out() {
        let mut suspects = Suspects::default();
        suspects.panicked(7, 1);
        suspects.panicked(7, 1);
        assert!(!suspects.is_left_out(7));
        suspects.passed(8);
        suspects.panicked(7, 1);
        assert!(!suspects.is_left_out(7), "counted anew");
        suspects.panicked(7, 1);
        suspects.panicked(7, 1);
        assert!(suspects.is_left_out(7));
    }
}
