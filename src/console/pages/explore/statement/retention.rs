//! Retention as a statement.

use kernel::zone::Zone;

use super::{
    super::address::Address, NO_FILTER, NO_INTERVAL, NO_RANGE, Statement, filters, named, quoted,
    range, start_of_interval, table,
};

/// The statement of retention: a row for each cohort with people, with how many of them return in each interval.
pub(in super::super) fn retention(asked: &Address, zone: Zone) -> Statement {
    let unit = if asked.interval.is_empty() { "week" } else { &asked.interval };
    let followed = if asked.intervals.is_empty() {
        8
    } else {
        asked.intervals.parse().map_err(|_| NO_INTERVAL)?
    };
    let relation = if asked.mode == "rolling" { ">=" } else { "=" };
    let zone = quoted(zone.name());
    let first = asked.events.first().ok_or("it names no event")?;
    let start_name = named(std::slice::from_ref(first));
    let mut start = vec![start_name.clone(), range(asked, &zone).ok_or(NO_RANGE)?];
    start.extend(filters(&asked.filters).ok_or(NO_FILTER)?);
    let start = start.join(" AND ");
    let back = named(std::slice::from_ref(asked.events.get(1).unwrap_or(first)));
    let cohort = start_of_interval(unit, "began", &zone).ok_or(NO_INTERVAL)?;
    let returned = start_of_interval(unit, "at", &zone).ok_or(NO_INTERVAL)?;
    let counts: Vec<String> = (0_u32..followed)
        .map(|interval| {
            format!(
                "countIf(arrayExists(it -> it {relation} {interval}, returned)) AS in_{interval}"
            )
        })
        .collect();
    Ok(format!(
        "SELECT cohort, count() AS people,\n  {}\nFROM (\n  SELECT {cohort} AS cohort,\n    arrayMap(at -> dateDiff('{unit}', {cohort}, {returned}, {zone}), arrayFilter(at -> at >= began, returns)) AS returned\n  FROM (\n    SELECT minIf(timestamp, {start}) AS began,\n      groupArrayIf(timestamp, {back}) AS returns\n    FROM {}\n    WHERE ({start_name} OR {back}) AND timestamp <= now64(3)\n    GROUP BY person_id\n    HAVING countIf({start}) > 0\n  )\n)\nGROUP BY cohort\nORDER BY cohort",
        counts.join(",\n  "),
        table(&asked.events),
    ))
}
