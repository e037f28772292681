//! Reports of campaigns, over HTTP on the real engines.

mod comparisons;
mod false_alarms;
mod fixture;
mod model;
mod random;
mod rates;
mod reports;
mod rules;
mod sequential;
mod snapshots;
