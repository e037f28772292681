//! Distributions, intervals and tests that reports and learning compute with. Nothing here does I/O.
//!
//! | module | holds |
//! |---|---|
//! | [`normal`] | quantiles of the normal distribution |
//! | [`gamma`] | tails of the normal and the chi-square distribution |
//! | [`adjustment`] | differences that are adjusted by what people did before |
//! | [`beta`] | posterior of a rate: distribution, draws, probability to be the best |
//! | [`delay`] | delays of rewards, and messages that are too young for them |
//! | [`proportion`] | rates, their intervals, and the comparison of two |
//! | [`mean`] | means of amounts, and the comparison of two |
//! | [`ratio`] | rates of messages, of people with several each |
//! | [`noninferiority`] | rates of harm that must not rise |
//! | [`multiplicity`] | p-values of several comparisons |
//! | [`revenue`] | revenue of two groups, by re-randomisation |
//! | [`score`] | intervals of the difference and the ratio of two rates |
//! | [`sequential`] | comparisons that are looked at again and again |
//! | [`sample_ratio`] | chi-square tests of divisions and of several rates |
//! | [`trend`] | effects that change from sending to sending |

#![warn(missing_docs)]

pub mod adjustment;
pub mod beta;
pub mod delay;
pub mod gamma;
pub mod mean;
pub mod multiplicity;
pub mod noninferiority;
pub mod normal;
pub mod proportion;
mod quadrature;
pub mod ratio;
pub mod revenue;
pub mod sample_ratio;
pub mod score;
pub mod sequential;
pub mod trend;

#[cfg(test)]
mod comparison;
