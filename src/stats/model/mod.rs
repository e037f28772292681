//! The rules of counting and comparing, without I/O.

pub mod adjusted;
pub mod attribution;
pub mod comparison;
pub mod goal;
pub mod guardrail;
pub mod outcome;
pub mod trend;
pub mod warning;
