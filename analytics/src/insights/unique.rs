//! How many people there are per interval, where the intervals of a person fit into one number.

use super::{
    Span,
    parameters::{Parameters, Value},
};

const UNIQUE: &str = include_str!("../sql/insight_unique.sql");
/// Most intervals: the bits of a `UInt64`.
pub(super) const INTERVALS_MAX: usize = 64;

/// The statement of figures by interval, of rows with `person` and `interval_ms`. `needs_links` is the aggregate that says
/// whether any of them needs a join that is left out.
///
/// `starts_ms` are those of the range for comparison, then those of the range itself; at most [`INTERVALS_MAX`] in all.
pub(super) fn sql(
    starts_ms: &[i64],
    compared: Option<Span>,
    needs_links: &str,
    rows: &str,
    parameters: &mut Parameters,
) -> String {
    let compared = compared.map_or(0, |span| starts_ms.partition_point(|it| *it <= span.end_ms));
    let place_max = i64::try_from(starts_ms.len()).unwrap_or(i64::MAX);
    let starts = parameters.add(Value::Integers(starts_ms.to_vec()));
    let places = parameters.add(Value::Integers((0..place_max).collect()));
    let of_intervals = starts_ms.iter().enumerate().map(|(place, start_ms)| {
        let is_compared = u8::from(place < compared);
        figure(0, is_compared, *start_ms, &format!("bitTest(intervals, {place})"))
    });
    let totals = [(1, 0..compared), (0, compared..starts_ms.len())];
    let of_ranges = totals.into_iter().map(|(is_compared, places)| {
        let mask = places.fold(0_u64, |mask, place| mask | 1 << place);
        figure(1, is_compared, 0, &format!("bitAnd(intervals, toUInt64({mask})) != 0"))
    });
    let figures: Vec<String> = of_intervals.chain(of_ranges).collect();
    UNIQUE
        .replace("$starts$", &starts)
        .replace("$places$", &places)
        .replace("$figures$", &format!("[{}]", figures.join(", ")))
        .replace("$needs_links$", needs_links)
        .replace("$rows$", rows)
}

fn figure(is_total: u8, is_compared: u8, start_ms: i64, condition: &str) -> String {
    format!(
        "(toUInt8({is_total}), toUInt8({is_compared}), toInt64({start_ms}), countIf({condition}))"
    )
}
