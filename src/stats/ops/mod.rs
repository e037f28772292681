//! The computation of reports.

mod adjusted;
mod beside;
mod cohort;
mod comparison_input;
mod conversion_scan;
mod credit_list;
mod earlier;
mod event_credits;
mod event_people;
mod guardrails;
mod in_app;
mod learning;
mod lists;
mod looks;
mod maturity;
mod measures;
mod occurrences;
mod recipients;
mod report;
mod sample_ratio;
mod slices;
mod trend;
mod uplift;
mod user_messages;
mod variants;
mod verdict;

pub use self::{
    beside::Beside,
    cohort::*,
    conversion_scan::*,
    event_credits::{CreditFilter, Scan},
    guardrails::Guardrails,
    in_app::*,
    learning::*,
    lists::*,
    maturity::{CLOSED_MIN, ClosedShare, Maturity},
    occurrences::*,
    recipients::*,
    report::*,
    sample_ratio::SampleRatio,
    uplift::*,
    user_messages::*,
    variants::{Rollout, VariantReport, VariantResult, variant_report},
    verdict::*,
};
