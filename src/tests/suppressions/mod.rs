//! The ledgers: who may do what, one row and thousands, look-ups and removal.

mod access;
mod add;
mod import;
mod look;
mod metrics;
mod remove;
