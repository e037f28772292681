//! Campaigns from their launch to the last outcome: a real server, its engines, and a gateway that says
//! who was called.

mod clocked;
mod fixture;
mod kill;
mod limits;
mod occurrences;
mod quiet;
mod retries;
mod send;
mod steps;
mod trials;
