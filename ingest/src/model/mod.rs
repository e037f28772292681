//! What an event is, and the specification's limits, each named once.

pub mod limits;
