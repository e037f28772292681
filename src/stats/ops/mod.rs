//! The computation of reports.

mod cohort;
mod conversion_scan;
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
mod uplift;
mod variants;
mod verdict;

pub use self::{
    cohort::*,
    conversion_scan::*,
    in_app::*,
    learning::*,
    lists::*,
    maturity::{CLOSED_MIN, ClosedShare, Maturity},
    occurrences::*,
    recipients::*,
    report::*,
    sample_ratio::SampleRatio,
    uplift::*,
    variants::{Rollout, VariantReport, VariantResult, variant_report},
    verdict::*,
};
