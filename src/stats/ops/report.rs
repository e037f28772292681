//! The main report: messages by progress, revenue, and uplift.

use analytics::messages::{self, Count, Engagements};
use kernel::Result;
use statistics::proportion::Proportion;
use web::Services;

use super::{
    ReportScope,
    conversion_scan::{CreditFilter, credits},
};
use crate::model::outcome::{Converted, Earned, MessageGroup, Outcomes, sum};

/// The data of the main report.
#[derive(Debug, Clone)]
pub struct Report {
    /// By variant and occurrence.
    pub counts: Vec<Count>,
    pub total: Count,
    /// All opens and clicks.
    pub engagements: Engagements,
    pub outcomes: Outcomes,
    /// The reporting currency, if there is one.
    pub currency: Option<String>,
}

/// Revenue that is attributed to messages.
#[derive(Debug, Clone, PartialEq)]
pub struct Revenue {
    /// The reporting currency, or the only one of the orders.
    pub currency: Option<String>,
    pub earned: Earned,
    /// Other currencies, which are not added up.
    pub others: Vec<(String, Earned)>,
}

/// The treated and the control group.
#[derive(Debug, Clone, PartialEq)]
pub struct Uplift {
    /// Recipients of a message, and those who converted.
    pub treatment: Proportion,
    /// The control group, and those who converted.
    pub control: Proportion,
    pub treatment_revenue: Earned,
    pub control_revenue: Earned,
}

/// Computes the main report.
///
/// # Errors
/// If a store fails; a bad request if there are too many events to scan.
pub async fn report(app: &Services, scope: &ReportScope, currency: Option<&str>) -> Result<Report> {
    let cohort = scope.cohort();
    let filter = CreditFilter::default();
    let (counts, credits, engagements) = tokio::join!(
        scope.counts(app),
        credits(app, scope, currency, &filter),
        messages::engagements(app.analytics(), &cohort),
    );
    let counts = counts?;
    Ok(Report {
        total: sum(&counts),
        counts,
        engagements: engagements?,
        outcomes: Outcomes::of(&credits?),
        currency: currency.map(str::to_owned),
    })
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape of those who choose places")]
fn treated(place: &MessageGroup) -> bool {
    !place.is_control
}

/// The currency of the main figures: the reporting currency, else the only one of the orders.
pub(super) fn main_currency(outcomes: &Outcomes, currency: Option<&str>) -> Option<String> {
    currency.map(str::to_owned).or_else(|| match outcomes.currencies().as_slice() {
        [only] if !only.is_empty() => Some(only.clone()),
        _ => None,
    })
}

impl Report {
    /// Conversions of a goal without the control group.
    pub fn converted(&self, goal: usize) -> Converted {
        self.outcomes.converted(goal, treated)
    }

    /// Conversions of one variant, by its number.
    pub fn converted_of(&self, goal: usize, variant: u8) -> Converted {
        self.outcomes.converted(goal, |place| treated(place) && place.variant == variant)
    }

    /// Messages of one variant, by its number.
    pub fn count_of(&self, variant: u8) -> Count {
        sum(self.counts.iter().filter(|count| count.variant == variant))
    }

    pub fn revenue(&self) -> Revenue {
        let currency = main_currency(&self.outcomes, self.currency.as_deref());
        let earned = |of: &str| self.outcomes.earned(of, treated);
        let others =
            self.outcomes.currencies().into_iter().filter(|of| currency.as_ref() != Some(of));
        let others: Vec<(String, Earned)> = others
            .map(|of| (of.clone(), earned(&of)))
            .filter(|(_, earned)| earned.orders > 0.0)
            .collect();
        let main = currency.as_deref().map(earned).unwrap_or_default();
        Revenue { earned: main, currency, others }
    }

    /// Revenue of one variant in a currency.
    pub fn earned_of(&self, currency: &str, variant: u8) -> Earned {
        self.outcomes.earned(currency, |place| treated(place) && place.variant == variant)
    }

    pub fn uplift(&self) -> Uplift {
        let currency = main_currency(&self.outcomes, self.currency.as_deref()).unwrap_or_default();
        let of = |is_meant: fn(&MessageGroup) -> bool, trials: u64| Proportion {
            successes: self.outcomes.converted(0, is_meant).unique.min(trials),
            trials,
        };
        let held_out = |place: &MessageGroup| place.is_control;
        Uplift {
            treatment: of(treated, self.total.sent),
            control: of(held_out, self.total.control),
            treatment_revenue: self.outcomes.earned(&currency, treated),
            control_revenue: self.outcomes.earned(&currency, held_out),
        }
    }
}
