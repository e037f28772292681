//! The intervals of a range, as SQL.

use super::parameters::{Parameters, Value};

/// The first of some starts and the length of their intervals, where all have one length.
pub(super) fn even(starts_ms: &[i64]) -> Option<(i64, i64)> {
    let [first, second, ..] = starts_ms else { return None };
    let length = second - first;
    starts_ms.windows(2).all(|pair| pair[1] - pair[0] == length).then_some((*first, length))
}

/// The start of the interval that an event lies in. Intervals of one length are computed, others looked up.
pub(super) fn interval(starts_ms: &[i64], parameters: &mut Parameters) -> String {
    if let Some((first, length)) = even(starts_ms) {
        let first = parameters.add(Value::Integer(first));
        let length = parameters.add(Value::Integer(length));
        return format!("toInt64({first} + intDiv(at_ms - {first}, {length}) * {length})");
    }
    match starts_ms {
        [] => "toInt64(0)".to_owned(),
        [only] => format!("toInt64({})", parameters.add(Value::Integer(*only))),
        _ => {
            let starts = parameters.add(Value::Integers(starts_ms.to_vec()));
            format!("toInt64(roundDown(at_ms, {starts}))")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_of_one_length_are_computed() {
        let of = |starts: &[i64]| interval(starts, &mut Parameters::default());
        assert!(of(&[0, 5, 10]).contains("intDiv"));
        assert!(of(&[0, 5, 11]).contains("roundDown"));
        assert_eq!(of(&[7]), "toInt64({p0:Int64})");
    }
}
