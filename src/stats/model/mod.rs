//! The rules of counting and comparing. Pure.

pub mod attribution;
pub mod comparison;
pub mod gamma;
pub mod goal;
pub mod mean;
pub mod outcome;
pub mod proportion;
pub mod sample_ratio;
