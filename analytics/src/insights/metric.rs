//! What is computed of the events of an interval.

use crate::events::SUM_OF_FIELD;

/// What is computed of the events of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// How many there are.
    Count,
    /// How many people they are of.
    Unique,
    /// Events divided by people.
    PerUser,
    /// The sum of a numeric property.
    Sum,
    /// Mean of the property.
    Avg,
    /// Least value of the property.
    Min,
    /// Greatest value of the property.
    Max,
    /// Its quantile at so many hundredths, between the two nearest values where it lies between them.
    Percentile(u8),
}

/// The columns of figures in a row of `insight_trend.sql`.
const NO_PEOPLE: &str = "toUInt64(0)";
const NO_NUMBER: &str = "CAST(NULL, 'Nullable(Float64)')";
const NO_SUMS: &str =
    "toInt128(0) AS sum_units, toFloat64(0) AS sum_rest, toUInt64(0) AS sum_count";

impl Metric {
    /// Whether it is computed of a numeric property.
    pub const fn has_field(self) -> bool {
        !matches!(self, Self::Count | Self::Unique | Self::PerUser)
    }

    pub(super) const fn is_of_people(self) -> bool {
        matches!(self, Self::Unique | Self::PerUser)
    }

    fn quantile(hundredths: u8, suffix: &str) -> String {
        format!("quantileExactInclusive{suffix}({})", f64::from(hundredths) / 100.0)
    }

    /// The part of some events, besides their number: columns after a comma. [`Self::figures_sql`] adds parts up.
    pub(super) fn part_sql(self) -> String {
        match self {
            Self::Count => String::new(),
            Self::Unique | Self::PerUser => ", uniqExactState(person) AS part_people".to_owned(),
            // The value of a row without a number is 0.
            Self::Sum | Self::Avg => {
                let sums = SUM_OF_FIELD.replace("$value$", "number").replace("$metric$", "part");
                format!(",\n{sums}")
            }
            Self::Min => ", minIfOrNull(number, number_found) AS part_number".to_owned(),
            Self::Max => ", maxIfOrNull(number, number_found) AS part_number".to_owned(),
            Self::Percentile(hundredths) => {
                let state = Self::quantile(hundredths, "StateIf");
                format!(", {state}(number, number_found) AS part_numbers")
            }
        }
    }

    /// The figures of all parts together.
    pub(super) fn figures_sql(self) -> String {
        let people = if self.is_of_people() { "uniqExactMerge(part_people)" } else { NO_PEOPLE };
        let number = match self {
            Self::Min => "min(part_number)".to_owned(),
            Self::Max => "max(part_number)".to_owned(),
            Self::Percentile(hundredths) => {
                let merged = format!("{}(part_numbers)", Self::quantile(hundredths, "Merge"));
                format!("if(isNaN({merged}), NULL, {merged})")
            }
            _ => NO_NUMBER.to_owned(),
        };
        let sums = match self {
            Self::Sum | Self::Avg => {
                "sum(part_units) AS sum_units, sumKahan(part_rest) AS sum_rest, sum(part_count) AS sum_count"
            }
            _ => NO_SUMS,
        };
        format!("{people} AS people,\n    {number} AS number_of_all,\n    {sums}")
    }

    /// The figure by which labels of a breakdown are compared: of all their events in the range itself.
    pub(super) fn total_sql(self) -> String {
        let own = |aggregate: &str, column: &str| {
            format!("{aggregate}If({column}, NOT is_compared) OVER by_label")
        };
        let sum = || {
            let (units, rest) = (own("sum", "part_units"), own("sum", "part_rest"));
            format!("(toFloat64({units}) / 1e6 + {rest})")
        };
        match self {
            Self::Count => own("sum", "part_events"),
            Self::Unique => own("uniqExactMerge", "part_people"),
            Self::PerUser => {
                format!("{} / {}", own("sum", "part_events"), own("uniqExactMerge", "part_people"))
            }
            Self::Sum => sum(),
            Self::Avg => format!("{} / nullIf({}, 0)", sum(), own("sum", "part_count")),
            Self::Min => own("min", "part_number"),
            Self::Max => own("max", "part_number"),
            Self::Percentile(hundredths) => {
                let level = f64::from(hundredths) / 100.0;
                let merged = format!(
                    "quantileExactInclusiveMergeIf({level})(part_numbers, NOT is_compared) OVER by_label"
                );
                format!("if(isNaN({merged}), NULL, {merged})")
            }
        }
    }
}
