//! Results as a table to read and as JSON to keep.

use std::{
    fmt::{self, Display},
    io::{self, Write},
    path::Path,
};

use anyhow::{Context, Result};
use serde::Serialize;

/// Something to be shown and kept.
pub trait Report: Serialize {
    /// The tables a reader sees.
    fn tables(&self) -> Vec<Table>;
}

/// Rows of text under a title; columns are as wide as their widest cell.
#[derive(Debug)]
pub struct Table {
    title: String,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with a heading over each column.
    pub fn new(title: &str, columns: &[&str]) -> Self {
        let columns = columns.iter().map(|column| (*column).to_owned()).collect();
        Self { title: title.to_owned(), columns, rows: Vec::new() }
    }

    /// A table of labels and values.
    pub fn pairs(title: &str) -> Self {
        Self::new(title, &[])
    }

    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Appends a label and its value.
    pub fn pair(&mut self, label: &str, value: impl Display) {
        self.rows.push(vec![label.to_owned(), value.to_string()]);
    }
}

impl Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = || std::iter::once(&self.columns).filter(|row| !row.is_empty()).chain(&self.rows);
        let count = all().map(Vec::len).max().unwrap_or(0);
        let cell = |row: &Vec<String>, column: usize| {
            row.get(column).map_or(0, |text| text.chars().count())
        };
        let widths: Vec<_> = (0..count)
            .map(|column| all().map(|row| cell(row, column)).max().unwrap_or(0))
            .collect();
        writeln!(f, "{}", self.title)?;
        for row in all() {
            let cells = row.iter().zip(&widths).enumerate().map(|(column, (text, width))| {
                // Labels to the left, figures to the right.
                if column == 0 { format!("{text:<width$}") } else { format!("{text:>width$}") }
            });
            let line = cells.collect::<Vec<_>>().join("  ");
            writeln!(f, "  {}", line.trim_end())?;
        }
        Ok(())
    }
}

/// Prints the tables on stdout and writes the JSON where asked.
///
/// # Errors
/// A file or a stdout that cannot be written.
pub fn publish(report: &impl Report, json: Option<&Path>) -> Result<()> {
    let mut out = io::stdout().lock();
    for table in report.tables() {
        write!(out, "\n{table}")?;
    }
    if let Some(path) = json {
        let text = serde_json::to_string_pretty(report)?;
        std::fs::write(path, text + "\n")
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// A count with its thousands apart.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A rate, rounded, with its thousands apart.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rates are positive and far below 2^63"
)]
pub fn rate(per_second: f64) -> String {
    grouped(per_second.max(0.0).round() as u64)
}

/// Bytes in MiB with one decimal.
pub fn mib(bytes: f64) -> String {
    format!("{:.1} MiB", bytes / f64::from(1 << 20))
}

/// Middle of the values, the mean of the two middle ones when their number is even; 0 of none.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => 0.0,
        odd if odd % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_labels_keep_left() {
        let mut table = Table::new("Pairs", &["pair", "ratio"]);
        table.row(vec!["1".to_owned(), "1.20".to_owned()]);
        table.row(vec!["größter".to_owned(), "10.03".to_owned()]);
        assert_eq!(
            table.to_string(),
            "Pairs\n  pair     ratio\n  1         1.20\n  größter  10.03\n"
        );
        let mut pairs = Table::pairs("Run");
        pairs.pair("events", 12);
        assert_eq!(pairs.to_string(), "Run\n  events  12\n");
    }

    #[test]
    fn numbers_are_grouped_by_thousands() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(rate(999.6), "1,000");
        assert_eq!(mib(1_572_864.0), "1.5 MiB");
        let medians = [median(&[]), median(&[3.0]), median(&[4.0, 1.0, 3.0]), median(&[4.0, 1.0])];
        assert!(
            medians.iter().zip([0.0, 3.0, 3.0, 2.5]).all(|(got, want)| (got - want).abs() < 1e-12)
        );
    }
}
