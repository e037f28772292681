//! What reports ask.

mod cohort;
mod conversion_scan;
mod in_app;
mod learning;
mod lists;
mod occurrences;
mod recipients;
mod report;
mod variants;

pub use self::{
    cohort::Asked,
    conversion_scan::{Questions, reporting_currency},
    in_app::{InAppReport, impressions, in_app_report},
    learning::{ArmReward, Tried, Verdict, rewards, sent_by_arm, verdict},
    lists::{failures, links, time_to_engage},
    occurrences::{Occurrence, send_occurrences},
    recipients::{Person, Timeline, recipients, timeline},
    report::{Report, Revenue, Uplift, report},
    variants::{OfVariant, VariantReport, variant_report},
};
