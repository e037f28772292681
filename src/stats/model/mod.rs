//! The rules of counting and comparing, without I/O.

pub mod adjusted;
pub mod attribution;
pub mod comparison;
pub mod goal;
pub mod guardrail;
pub mod outcome;
pub mod sequential;
pub mod sequential_result;
pub mod trend;
pub mod warning;
