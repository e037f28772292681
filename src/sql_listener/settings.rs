//! Settings that callers may change, and the limits that hold for every statement.

use config::Sql;

use crate::{
    fault::{Code, Fault},
    statement::Setting,
};

/// The shortest time that a statement may be given. The engine takes a time that it rounds to zero for none at all.
const SECONDS_MIN: f64 = 0.001;
/// What a setting may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// A number from 1 up to a limit of the listener.
    AtMost(u64),
    /// Any whole number, 0 included.
    Number,
    /// 0 or 1, or their words.
    Flag,
    OneOf(&'static [&'static str]),
    /// A short text without control characters.
    Text,
}

const OVERFLOW: &[&str] = &["throw", "break"];
const TEXT_BYTES_MAX: usize = 200;
/// Most bytes of a statement; also `max_query_size`.
pub(crate) const STATEMENT_BYTES_MAX: usize = 1 << 20;
/// Rows of a block that a statement may ask for. The engine looks whether a statement was stopped between blocks alone.
const BLOCK_ROWS_MAX: u64 = 65_536;
/// Rows of a block where a statement asks for no other: a granule of the tables.
const BLOCK_ROWS: u64 = 8_192;
/// Bytes of a pattern of `multiMatchAny` and its like, whose patterns are compiled at once without a look at the time.
const PATTERN_BYTES_MAX: u64 = 1_000;
/// Bytes of all patterns of such a call.
const PATTERNS_BYTES_MAX: u64 = 10_000;
/// On disk, of a statement that sorts or groups more than its memory holds.
const TEMPORARY_BYTES_MAX: u64 = 4 << 30;
/// How far statements stand back for everything else: a Linux nice value.
const NICE: u64 = 15;

/// Settings without a limit of ours. Those of formats that name files or schemas are not among them.
const UNBOUNDED: &[(&str, Rule)] = &[
    ("aggregate_functions_null_for_empty", Rule::Flag),
    ("cast_keep_nullable", Rule::Flag),
    (
        "count_distinct_implementation",
        Rule::OneOf(&["uniq", "uniqCombined", "uniqCombined64", "uniqHLL12", "uniqExact"]),
    ),
    ("date_time_input_format", Rule::OneOf(&["basic", "best_effort", "best_effort_us"])),
    ("date_time_output_format", Rule::OneOf(&["simple", "iso", "unix_timestamp"])),
    ("describe_compact_output", Rule::Flag),
    ("describe_include_subcolumns", Rule::Flag),
    ("extremes", Rule::Flag),
    ("format_csv_delimiter", Rule::Text),
    ("format_csv_null_representation", Rule::Text),
    ("format_tsv_null_representation", Rule::Text),
    ("group_by_use_nulls", Rule::Flag),
    // Of writes, so without effect; dbt sets it and `mutations_sync` on connecting.
    ("insert_distributed_sync", Rule::Flag),
    ("join_algorithm", Rule::Text),
    ("join_default_strictness", Rule::OneOf(&["ALL", "ANY", ""])),
    ("join_use_nulls", Rule::Flag),
    ("low_cardinality_allow_in_native_format", Rule::Flag),
    ("max_bytes_to_read", Rule::Number),
    ("max_result_bytes", Rule::Number),
    ("max_rows_to_read", Rule::Number),
    ("mutations_sync", Rule::OneOf(&["0", "1", "2", "3"])),
    ("output_format_arrow_compression_method", Rule::OneOf(&["none", "lz4_frame", "zstd"])),
    ("output_format_arrow_low_cardinality_as_dictionary", Rule::Flag),
    ("output_format_arrow_string_as_string", Rule::Flag),
    ("output_format_csv_crlf_end_of_line", Rule::Flag),
    ("output_format_decimal_trailing_zeros", Rule::Flag),
    ("output_format_json_array_of_rows", Rule::Flag),
    ("output_format_json_escape_forward_slashes", Rule::Flag),
    ("output_format_json_named_tuples_as_objects", Rule::Flag),
    ("output_format_json_quote_64bit_floats", Rule::Flag),
    ("output_format_json_quote_64bit_integers", Rule::Flag),
    ("output_format_json_quote_decimals", Rule::Flag),
    ("output_format_json_quote_denormals", Rule::Flag),
    ("output_format_native_encode_types_in_binary_format", Rule::Flag),
    ("output_format_native_write_json_as_string", Rule::Flag),
    (
        "output_format_parquet_compression_method",
        Rule::OneOf(&["none", "snappy", "zstd", "lz4", "gzip", "brotli"]),
    ),
    ("output_format_parquet_string_as_string", Rule::Flag),
    ("output_format_pretty_color", Rule::OneOf(&["0", "1", "auto"])),
    ("output_format_pretty_max_rows", Rule::Number),
    ("output_format_pretty_row_numbers", Rule::Flag),
    ("output_format_tsv_crlf_end_of_line", Rule::Flag),
    ("output_format_write_statistics", Rule::Flag),
    ("prefer_column_name_to_alias", Rule::Flag),
    ("read_overflow_mode", Rule::OneOf(OVERFLOW)),
    ("result_overflow_mode", Rule::OneOf(OVERFLOW)),
    ("session_timezone", Rule::Text),
    ("timeout_overflow_mode", Rule::OneOf(OVERFLOW)),
    ("transform_null_in", Rule::Flag),
];

/// The limits of statements.
#[derive(Debug, Clone)]
pub(crate) struct Bounds {
    seconds: u64,
    memory_bytes: u64,
    result_rows: u64,
    threads: u64,
}

impl Bounds {
    pub(crate) fn new(settings: &Sql) -> Self {
        Self {
            seconds: settings.seconds,
            memory_bytes: settings.memory_bytes,
            result_rows: settings.result_rows,
            threads: settings.threads,
        }
    }

    #[cfg(test)]
    pub(crate) fn for_tests() -> Self {
        Self { seconds: 30, memory_bytes: 1 << 30, result_rows: 10, threads: 2 }
    }

    fn bounded(&self) -> [(&'static str, Rule); 6] {
        [
            ("max_block_size", Rule::AtMost(BLOCK_ROWS_MAX)),
            ("max_execution_time", Rule::AtMost(self.seconds)),
            ("max_memory_usage", Rule::AtMost(self.memory_bytes)),
            ("max_query_size", Rule::AtMost(STATEMENT_BYTES_MAX as u64)),
            ("max_result_rows", Rule::AtMost(self.result_rows)),
            ("max_threads", Rule::AtMost(self.threads)),
        ]
    }

    fn rule(&self, name: &str) -> Option<Rule> {
        let all = self.bounded().into_iter().chain(UNBOUNDED.iter().copied());
        all.into_iter().find_map(|(known, rule)| (known == name).then_some(rule))
    }

    /// Refuses a setting that may not be changed, or not to this.
    pub(crate) fn check(&self, setting: &Setting) -> Result<(), Fault> {
        let Setting { name, value } = setting;
        let refused = |what: String| Err(Fault::new(Code::SettingConstraint, what));
        let Some(rule) = self.rule(name) else {
            let name = name.escape_default();
            let message = format!("Cannot modify '{name}' setting in readonly mode");
            return Err(Fault::new(Code::Readonly, message));
        };
        let is_valid = match rule {
            // Of times, parts of a second may be given.
            Rule::AtMost(most) => match value.parse::<f64>() {
                #[expect(clippy::cast_precision_loss, reason = "limits are far below 2^53")]
                Ok(number) if number > most as f64 => {
                    return refused(format!("Setting {name} shouldn't be greater than {most}"));
                }
                Ok(number) if name == "max_execution_time" => number >= SECONDS_MIN,
                _ => value.parse::<u64>().is_ok_and(|number| number > 0),
            },
            Rule::Number => value.parse::<u64>().is_ok(),
            Rule::Flag => matches!(value.as_str(), "0" | "1" | "true" | "false"),
            Rule::OneOf(values) => values.contains(&value.as_str()),
            Rule::Text => value.len() <= TEXT_BYTES_MAX && !value.chars().any(char::is_control),
        };
        if is_valid {
            return Ok(());
        }
        refused(format!("Setting {name} cannot be '{}'", value.escape_default()))
    }

    /// Settings of every statement. What a caller changes comes behind them.
    pub(crate) fn of_every_statement(&self, is_embedded: bool) -> Vec<(&'static str, String)> {
        [
            ("max_execution_time", self.seconds),
            ("max_memory_usage", self.memory_bytes),
            ("max_result_rows", self.result_rows),
            ("max_threads", self.threads),
            ("max_query_size", 4 * STATEMENT_BYTES_MAX as u64),
            ("max_block_size", BLOCK_ROWS),
            ("max_joined_block_size_rows", BLOCK_ROWS),
            ("max_hyperscan_regexp_length", PATTERN_BYTES_MAX),
            ("max_hyperscan_regexp_total_length", PATTERNS_BYTES_MAX),
            ("max_temporary_data_on_disk_size_for_query", TEMPORARY_BYTES_MAX),
            ("enable_analyzer", 1),
            ("allow_ddl", 0),
            ("allow_introspection_functions", 0),
            // Caches are of all workspaces.
            ("use_query_cache", 0),
            ("use_query_condition_cache", 0),
            ("do_not_merge_across_partitions_select_final", 1),
            ("cancel_http_readonly_queries_on_client_close", 1),
        ]
        .map(|(name, value)| (name, value.to_string()))
        .into_iter()
        .chain([
            ("timeout_overflow_mode", "throw".to_owned()),
            ("result_overflow_mode", "throw".to_owned()),
        ])
        // Other releases may not know it.
        .chain(is_embedded.then(|| ("os_threads_nice_value_query", NICE.to_string())))
        .collect()
    }

    /// Settings under which the syntax tree of a statement is shown.
    pub(crate) fn of_trees(&self) -> Vec<Setting> {
        let limits = [
            ("max_execution_time", self.seconds),
            ("max_memory_usage", self.memory_bytes),
            ("max_query_size", 4 * STATEMENT_BYTES_MAX as u64),
            ("max_threads", 1),
        ];
        let setting =
            |name: &str, value: u64| Setting { name: name.to_owned(), value: value.to_string() };
        limits.into_iter().map(|(name, value)| setting(name, value)).collect()
    }

    /// The names of settings that may be changed, as a list in SQL.
    pub(crate) fn changeable_in_sql(&self) -> String {
        let bounded = self.bounded();
        let names = bounded.iter().chain(UNBOUNDED).map(|(name, _)| format!("'{name}'"));
        names.collect::<Vec<_>>().join(", ")
    }

    /// The least value of the setting `name`, in SQL.
    pub(crate) fn least_in_sql(&self) -> String {
        self.bounds_in_sql(|_| 1)
    }

    /// The largest value of the setting `name`, in SQL.
    pub(crate) fn most_in_sql(&self) -> String {
        self.bounds_in_sql(|most| most)
    }

    fn bounds_in_sql(&self, bound: impl Fn(u64) -> u64) -> String {
        let cases = self.bounded().into_iter().filter_map(|(name, rule)| match rule {
            Rule::AtMost(most) => Some(format!("name = '{name}', '{}'", bound(most))),
            _ => None,
        });
        format!("multiIf({}, NULL)", cases.collect::<Vec<_>>().join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(name: &str, value: &str) -> Option<Code> {
        let setting = Setting { name: name.to_owned(), value: value.to_owned() };
        Bounds::for_tests().check(&setting).err().map(|fault| fault.code)
    }

    #[test]
    fn settings_hold_within_the_limits_and_at_them() {
        for (name, value) in [
            ("max_execution_time", "30"),
            ("max_execution_time", "0.5"),
            ("max_result_rows", "10"),
            ("max_threads", "1"),
            ("max_block_size", "65536"),
            ("join_use_nulls", "1"),
            ("date_time_input_format", "best_effort"),
            ("session_timezone", "Europe/London"),
        ] {
            assert_eq!(code(name, value), None, "{name} = {value}");
        }
        for (name, value) in [
            ("max_execution_time", "31"),
            ("max_execution_time", "0"),
            ("max_execution_time", "-1"),
            // The engine would round these to no limit at all.
            ("max_execution_time", "1e-9"),
            ("max_execution_time", "0.0000001"),
            ("max_execution_time", "inf"),
            ("max_execution_time", "NaN"),
            ("max_result_rows", "11"),
            ("max_result_rows", "0"),
            ("max_threads", "3"),
            ("max_block_size", "65537"),
            ("max_block_size", "0"),
            ("max_threads", "auto"),
            ("join_use_nulls", "2"),
            ("date_time_input_format", "x"),
            ("session_timezone", "a\nb"),
        ] {
            assert_eq!(code(name, value), Some(Code::SettingConstraint), "{name} = {value}");
        }
    }

    #[test]
    fn settings_that_lift_a_wall_may_not_be_changed() {
        for name in [
            "readonly",
            "log_comment",
            "additional_table_filters",
            "role",
            "profile",
            "allow_ddl",
            "allow_introspection_functions",
            "use_query_cache",
            "final",
            "format_schema",
            "format_template_row",
            "output_format_schema",
            "allow_experimental_eval_table_function",
            "max_ast_depth",
            "enable_analyzer",
            "no_such_setting",
        ] {
            assert_eq!(code(name, "1"), Some(Code::Readonly), "{name}");
        }
    }
}
