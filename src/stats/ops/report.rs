//! The main report: messages by progress, conversions and revenue.

use analytics::messages::{self, Count, Engagements, PeopleSums};
use kernel::Result;
use web::Services;

use super::{
    Maturity, ReportScope, conversion_scan::credits, event_credits::CreditFilter,
    maturity::maturity,
};
use crate::model::outcome::{Converted, Earned, MessageGroup, Outcomes, sum};

/// The data of the main report.
#[derive(Debug, Clone)]
pub struct Report {
    /// By variant and occurrence.
    pub counts: Vec<Count>,
    pub total: Count,
    /// Sums over people, by variant.
    pub people: Vec<PeopleSums>,
    /// All opens and clicks.
    pub engagements: Engagements,
    /// Of the messages that were sent, and of the control group.
    pub outcomes: Outcomes,
    /// Of all who were assigned to a variant or to the control group, up to the age that comparisons count.
    pub by_assignment: Outcomes,
    pub maturity: Maturity,
    /// The reporting currency, if there is one.
    pub currency: Option<String>,
}

/// Revenue in one currency that is attributed to messages.
#[derive(Debug, Clone, PartialEq)]
pub struct Revenue {
    /// Empty for orders without a currency.
    pub currency: String,
    pub earned: Earned,
}

/// Computes the main report.
///
/// # Errors
/// If a store fails.
pub async fn report(app: &Services, scope: &ReportScope, currency: Option<&str>) -> Result<Report> {
    let cohort = scope.cohort();
    let outcomes = async {
        let maturity = maturity(app, scope, &cohort).await?;
        let filter = CreditFilter {
            by_assignment: true,
            cut_ms: maturity.cut_ms,
            ..CreditFilter::default()
        };
        Ok::<_, kernel::Error>((credits(app, scope, currency, &filter).await?, maturity))
    };
    let (counts, outcomes, engagements) =
        tokio::join!(scope.counts(app), outcomes, messages::engagements(app.analytics(), &cohort),);
    let (counts, (credits, maturity)) = (counts?, outcomes?);
    Ok(Report {
        people: ReportScope::people(app, &cohort, &counts).await?,
        total: sum(&counts),
        counts,
        engagements: engagements?,
        outcomes: Outcomes::of(&credits.credited),
        by_assignment: Outcomes::of(&credits.by_assignment),
        maturity,
        currency: currency.map(str::to_owned),
    })
}

/// The currency of the main figures: the reporting currency, else that of most orders.
pub(super) fn main_currency(outcomes: &Outcomes, currency: Option<&str>) -> Option<String> {
    currency.map(str::to_owned).or_else(|| outcomes.most_frequent_currency())
}

impl Report {
    /// Conversions of a goal without the control group.
    pub fn converted(&self, goal: usize) -> Converted {
        self.outcomes.converted(goal, MessageGroup::is_sent)
    }

    /// Conversions of one variant, by its number.
    pub fn converted_of(&self, goal: usize, variant: u8) -> Converted {
        self.outcomes.converted(goal, |group| group.is_sent() && group.variant == variant)
    }

    /// People with a message of any variant that was sent.
    pub fn people_sent(&self) -> u64 {
        self.people_by(|people| people.sent)
    }

    /// People with a message of one variant that was sent, by its number.
    pub fn people_sent_of(&self, variant: u8) -> u64 {
        self.people.iter().filter(|people| people.variant == variant).map(|it| it.sent).sum()
    }

    /// A count of people, added up over the variants.
    pub(super) fn people_by(&self, count: impl Fn(&PeopleSums) -> u64) -> u64 {
        self.people.iter().map(count).sum()
    }

    /// The currency of the main figures, if there are orders in a currency or the workspace has one.
    pub fn main_currency(&self) -> Option<String> {
        main_currency(&self.outcomes, self.currency.as_deref())
    }

    /// Revenue by currency, that of the main figures first.
    pub fn revenue(&self) -> Vec<Revenue> {
        let main = self.main_currency();
        let others =
            self.outcomes.currencies().into_iter().filter(|of| main.as_deref() != Some(*of));
        let earned = |of: &str| Revenue {
            currency: of.to_owned(),
            earned: self.outcomes.earned(of, MessageGroup::is_sent),
        };
        let others = others.map(earned).filter(|revenue| revenue.earned.orders > 0.0);
        main.as_deref().map(earned).into_iter().chain(others).collect()
    }

    /// Revenue of one variant in a currency.
    pub fn earned_of(&self, currency: &str, variant: u8) -> Earned {
        self.outcomes.earned(currency, |group| group.is_sent() && group.variant == variant)
    }

    /// Whether orders are in several currencies that are not added up.
    pub fn has_mixed_currencies(&self) -> bool {
        self.outcomes.currencies().len() > 1
    }
}
