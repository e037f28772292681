//! The computation of reports.

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
    cohort::ReportScope,
    conversion_scan::{CreditFilter, reporting_currency},
    in_app::{InAppReport, NamedShowing, impressions, in_app_report},
    learning::{ArmReward, TrialVariant, Verdict, rewards, sent_by_arm, verdict},
    lists::{failures, links, time_to_engage},
    occurrences::{Occurrence, send_occurrences},
    recipients::{NamedRecipient, Timeline, recipients, timeline},
    report::{Report, Revenue, Uplift, report},
    variants::{VariantReport, VariantResult, variant_report},
};
