//! A funnel as a statement.

use kernel::zone::Zone;

use super::{
    super::address::Address, NO_FILTER, NO_RANGE, Statement, filters, named, quoted, range, table,
};

/// The statement of a funnel whose steps are of different events, which others may come between: how many people reach
/// each step. None for other funnels: `windowFunnel` counts one event for two steps.
pub(in super::super) fn funnel(asked: &Address, window_ms: i64, zone: Zone) -> Statement {
    let steps = &asked.events;
    let is_repeated = steps.iter().enumerate().any(|(place, step)| steps[..place].contains(step));
    if !asked.breakdown.is_empty() {
        return Err("it is broken down by the value of each person's best attempt");
    }
    if !matches!(asked.order.as_str(), "" | "any_between") {
        return Err("no other event may come between its steps");
    }
    if is_repeated {
        return Err("two steps are of one event, which windowFunnel would count for both");
    }
    if steps.len() < 2 {
        return Err("it has one step");
    }
    let zone = quoted(zone.name());
    let mut first = vec![named(&steps[..1]), range(asked, &zone).ok_or(NO_RANGE)?];
    first.extend(filters(&asked.filters).ok_or(NO_FILTER)?);
    let conditions: Vec<String> = std::iter::once(first.join(" AND "))
        .chain(steps[1..].iter().map(|step| named(std::slice::from_ref(step))))
        .collect();
    let counts: Vec<String> = (1..=steps.len())
        .map(|step| format!("countIf(reached >= {step}) AS step_{step}"))
        .collect();
    Ok(format!(
        "SELECT {}\nFROM (\n  SELECT windowFunnel({window_ms})(toUInt64(toUnixTimestamp64Milli(timestamp)),\n    {}) AS reached\n  FROM {}\n  WHERE {}\n  GROUP BY person_id\n)",
        counts.join(", "),
        conditions.join(",\n    "),
        table(steps),
        named(steps),
    ))
}
