//! Distributions: what trials of variants and learning reckon with. Pure.

pub mod beta;
pub mod normal;
