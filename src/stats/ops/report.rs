//! The main report: how many messages got how far, what they brought in, and what would have come without them.

use analytics::messages::{self, Count, Engagements};
use kernel::Result;
use statistics::proportion::Proportion;
use web::Services;

use super::{
    Asked,
    conversion_scan::{Questions, credits},
};
use crate::model::outcome::{Achieved, Converted, Earned, MessageGroup, sum};

/// Everything the main report is made of.
#[derive(Debug, Clone)]
pub struct Report {
    /// By variant and occurrence.
    pub counts: Vec<Count>,
    pub total: Count,
    /// All openings and clicks.
    pub engagements: Engagements,
    /// What came of it.
    pub achieved: Achieved,
    /// The reporting currency, where there is one.
    pub currency: Option<String>,
}

/// Money that messages brought in.
#[derive(Debug, Clone, PartialEq)]
pub struct Revenue {
    /// In what: the reporting currency, or the only one there is.
    pub currency: Option<String>,
    pub earned: Earned,
    /// In others, which are not added up.
    pub others: Vec<(String, Earned)>,
}

/// The treated and the held out, side by side.
#[derive(Debug, Clone, PartialEq)]
pub struct Uplift {
    /// Of those who got a message: how many, and who of them converted.
    pub treatment: Proportion,
    /// Of those held out.
    pub control: Proportion,
    /// What the treated brought in.
    pub treatment_revenue: Earned,
    /// What those held out brought in.
    pub control_revenue: Earned,
}

/// Gathers the main report.
///
/// # Errors
/// When a store fails; a bad request where there are too many events to look at.
pub async fn report(app: &Services, asked: &Asked, currency: Option<&str>) -> Result<Report> {
    let cohort = asked.cohort();
    let questions = Questions::default();
    let (counts, credits, engagements) = tokio::join!(
        asked.counts(app),
        credits(app, asked, currency, &questions),
        messages::engagements(app.analytics(), &cohort),
    );
    let counts = counts?;
    Ok(Report {
        total: sum(&counts),
        counts,
        engagements: engagements?,
        achieved: Achieved::of(&credits?),
        currency: currency.map(str::to_owned),
    })
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape of those who choose places")]
fn treated(place: &MessageGroup) -> bool {
    !place.is_control
}

/// The currency of the main figures: the reporting currency, else the only one there is.
pub(super) fn main_currency(achieved: &Achieved, currency: Option<&str>) -> Option<String> {
    currency.map(str::to_owned).or_else(|| match achieved.currencies().as_slice() {
        [only] if !only.is_empty() => Some(only.clone()),
        _ => None,
    })
}

impl Report {
    /// Conversions of a goal, those held out left aside.
    pub fn converted(&self, goal: usize) -> Converted {
        self.achieved.converted(goal, treated)
    }

    /// Those of one variant, named by its place.
    pub fn converted_of(&self, goal: usize, variant: u8) -> Converted {
        self.achieved.converted(goal, |place| treated(place) && place.variant == variant)
    }

    /// Messages of one variant, named by its place.
    pub fn count_of(&self, variant: u8) -> Count {
        sum(self.counts.iter().filter(|count| count.variant == variant))
    }

    /// What the messages brought in.
    pub fn revenue(&self) -> Revenue {
        let currency = main_currency(&self.achieved, self.currency.as_deref());
        let earned = |of: &str| self.achieved.earned(of, treated);
        let others =
            self.achieved.currencies().into_iter().filter(|of| currency.as_ref() != Some(of));
        let others: Vec<(String, Earned)> = others
            .map(|of| (of.clone(), earned(&of)))
            .filter(|(_, earned)| earned.orders > 0.0)
            .collect();
        let main = currency.as_deref().map(earned).unwrap_or_default();
        Revenue { earned: main, currency, others }
    }

    /// What one variant brought in, in a currency.
    pub fn earned_of(&self, currency: &str, variant: u8) -> Earned {
        self.achieved.earned(currency, |place| treated(place) && place.variant == variant)
    }

    /// The treated beside those held out.
    pub fn uplift(&self) -> Uplift {
        let currency = main_currency(&self.achieved, self.currency.as_deref()).unwrap_or_default();
        let of = |is_meant: fn(&MessageGroup) -> bool, trials: u64| Proportion {
            successes: self.achieved.converted(0, is_meant).unique.min(trials),
            trials,
        };
        let held_out = |place: &MessageGroup| place.is_control;
        Uplift {
            treatment: of(treated, self.total.sent),
            control: of(held_out, self.total.control),
            treatment_revenue: self.achieved.earned(&currency, treated),
            control_revenue: self.achieved.earned(&currency, held_out),
        }
    }
}
