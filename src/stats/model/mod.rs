//! The rules of counting and comparing, without I/O.

pub mod attribution;
pub mod comparison;
pub mod goal;
pub mod outcome;
pub mod warning;
