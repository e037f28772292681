//! Reports of campaigns, over HTTP on the real engines.

mod comparisons;
mod fixture;
mod merged_people;
mod model;
mod random;
mod rates;
mod reports;
mod rules;
mod snapshots;
