//! Comparisons that are looked at again and again: a result is called significant at any look in as few comparisons of
//! equal variants as a single look would.
//!
//! Where the end is known, [`group`] tests lose almost nothing against a single look at the end. Where it is not, a
//! [`confidence_sequence`] holds at all sample sizes together. [`division`] is the same for the sample ratio.

pub mod confidence_sequence;
pub mod division;
pub mod group;
#[cfg(test)]
mod simulation;
