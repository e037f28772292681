//! Reports of campaigns, over HTTP on the real engines.

mod adjusted;
mod attribution;
mod comparisons;
mod edges;
mod false_alarms;
pub(crate) mod fixture;
mod guardrails;
mod merged_people;
mod model;
mod random;
mod rates;
mod reports;
mod rules;
mod sequential;
mod snapshots;
mod trend;
mod user_messages;
