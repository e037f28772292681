//! Functions that a statement may call: an allow-list, made of those of ClickHouse 26.7 that compute their result from
//! their arguments alone. What reads files, other servers, dictionaries or the state of the engine is not on it.

use std::{collections::HashSet, sync::LazyLock};

/// Ordinary functions that may be called. Beside those that reach beyond their arguments, others are not on it: those that
/// end the engine (`JSONMergePatch` with deep texts), and those whose time grows with the square of a value or faster while
/// they look neither at the time nor at a kill, where analysts hardly need them (`editDistance`, `polygonsUnionCartesian`).
const ORDINARY: &str = include_str!("functions.txt");
/// Aggregate and window functions.
const AGGREGATE: &str = include_str!("aggregate_functions.txt");
/// What parses as a function and is in no list of the engine.
const OF_THE_PARSER: [&str; 5] = ["arrayJoin", "exists", "grouping", "lambda", "untuple"];
/// What may follow the name of an aggregate function.
const COMBINATORS: [&str; 16] = [
    "If",
    "Array",
    "Map",
    "Distinct",
    "OrDefault",
    "OrNull",
    "Resample",
    "State",
    "SimpleState",
    "Merge",
    "MergeState",
    "ForEach",
    "ArgMin",
    "ArgMax",
    "Null",
    "Tuple",
];
/// Functions that are refused, and whose names are those of columns so often that the names are not.
const USUAL_NAMES: [&str; 6] = ["nested", "revision", "uptime", "user", "DATABASE", "SCHEMA"];

/// The table functions that a statement may read from: they make numbers.
pub(crate) const TABLE_FUNCTIONS: [&str; 4] =
    ["generateSeries", "generate_series", "numbers", "numbers_mt"];

static CALLABLE: LazyLock<HashSet<String>> = LazyLock::new(|| lower(ORDINARY));
static AGGREGATES: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| AGGREGATE.split_whitespace().collect());
static AGGREGATES_LOWER: LazyLock<HashSet<String>> = LazyLock::new(|| lower(AGGREGATE));

fn lower(names: &str) -> HashSet<String> {
    names.split_whitespace().map(str::to_ascii_lowercase).collect()
}

/// Whether a function of this name may be called. Which case a name may have is for the engine to say.
pub(crate) fn may_be_called(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    CALLABLE.contains(&lower)
        || AGGREGATES_LOWER.contains(&lower)
        || OF_THE_PARSER.contains(&name)
        || is_combined(name)
}

/// Whether it is an aggregate function with combinators (`sumIfOrNull`).
fn is_combined(name: &str) -> bool {
    COMBINATORS.iter().filter_map(|combinator| name.strip_suffix(combinator)).any(|base| {
        AGGREGATES.contains(base)
            || AGGREGATES_LOWER.contains(&base.to_ascii_lowercase())
            || is_combined(base)
    })
}

/// Functions of an engine that may not be called. Their names are refused wherever they stand, since a function can be
/// called by its bare name: `arrayMap(file, […])`, `* APPLY file`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Denied(HashSet<String>);

impl Denied {
    /// Of all functions of the engine, those that are not allowed.
    pub(crate) fn of(functions: impl IntoIterator<Item = String>) -> Self {
        let denied = functions.into_iter().filter(|name| !may_be_called(name));
        let denied = denied.filter(|name| !USUAL_NAMES.contains(&name.as_str()));
        Self(denied.map(|name| name.to_ascii_lowercase()).collect())
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains(&name.to_ascii_lowercase())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_functions_may_be_called_in_any_case_with_combinators() {
        for name in [
            "count",
            "COUNT",
            "sumIf",
            "sumIfOrNull",
            "quantilesTDigestIf",
            "uniqExactMergeState",
            "toStartOfMonth",
            "JSONExtractString",
            "dictionaryless",
            "arrayJoin",
            "plus",
            "tuple",
            "min",
            "MIN",
            "version",
            "timezone",
            "now",
        ] {
            assert_eq!(may_be_called(name), name != "dictionaryless", "{name}");
        }
    }

    #[test]
    fn what_reaches_beyond_its_arguments_may_not() {
        for name in [
            "file",
            "FILE",
            "getMacro",
            "getServerPort",
            "hostName",
            "currentUser",
            "user",
            "dictGet",
            "dictGetStringOrDefault",
            "joinGet",
            "sleep",
            "getSetting",
            "aiGenerate",
            "catboostEvaluate",
            "hasColumnInTable",
            "addressToLine",
            "demangle",
            "showCertificate",
            "fileIf",
            "__getScalar",
            "remote",
            "url",
            "merge",
            "executable",
            "currentDatabase",
            "eval",
            // Of their arguments alone, but they end the engine or cannot be stopped.
            "JSONMergePatch",
            "jsonMergePatch",
            "levenshteinDistance",
            "editDistanceUTF8",
            "damerauLevenshteinDistance",
            "arraySimilarity",
            "jaroWinklerSimilarity",
            "arrayAutocorrelation",
            "arrayReduceInRanges",
            "polygonsDistanceSpherical",
            "seriesDecomposeSTL",
            "formatQuery",
            "highlightQuery",
        ] {
            assert!(!may_be_called(name), "{name}");
        }
    }

    #[test]
    fn names_of_denied_functions_are_refused_but_for_usual_names_of_columns() {
        let denied = Denied::of(["file", "sum", "user", "getMacro"].map(str::to_owned));
        assert!(denied.has("file") && denied.has("GETMACRO"));
        assert!(!denied.has("user") && !denied.has("sum") && !denied.has("events"));
    }
}
