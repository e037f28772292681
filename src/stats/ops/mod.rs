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
    cohort::*, conversion_scan::*, in_app::*, learning::*, lists::*, occurrences::*, recipients::*,
    report::*, variants::*,
};
