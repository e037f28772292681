//! Reports of campaigns, over HTTP on the real engines.

mod fixture;
mod model;
mod random;
mod reports;
mod rules;
