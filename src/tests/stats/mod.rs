//! Reports of campaigns, over HTTP on the real engines.

mod adjusted;
mod comparisons;
mod fixture;
mod guardrails;
mod model;
mod random;
mod rates;
mod reports;
mod rules;
mod snapshots;
mod trend;
