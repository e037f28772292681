//! Several comparisons at once: adjusted p-values.

/// p-values adjusted for multiple comparisons (Holm, Scand. J. Stat. 6, 1979, 65-70), in their order. Missing
/// ones do not count.
pub fn holm(p_values: &[Option<f64>]) -> Vec<Option<f64>> {
    let mut order: Vec<(usize, f64)> =
        p_values.iter().enumerate().filter_map(|(at, p)| p.map(|p| (at, p))).collect();
    order.sort_by(|(_, one), (_, other)| one.total_cmp(other));
    let mut adjusted = vec![None; p_values.len()];
    let mut least = 0.0_f64;
    for (rank, (at, p)) in order.iter().enumerate() {
        let left = u32::try_from(order.len() - rank).unwrap_or(u32::MAX);
        least = least.max((p * f64::from(left)).min(1.0));
        adjusted[*at] = Some(least);
    }
    adjusted
}

/// The confidence of each of several intervals that hold together with this confidence, by Bonferroni's inequality.
pub fn simultaneous_confidence(confidence: f64, comparisons: usize) -> f64 {
    let comparisons = u32::try_from(comparisons.max(1)).unwrap_or(u32::MAX);
    1.0 - (1.0 - confidence) / f64::from(comparisons)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p_values_are_adjusted_by_holms_method() {
        let found = holm(&[Some(0.04), None, Some(0.01), Some(0.03)]);
        // 3 × 0.01; 2 × 0.03; and 0.04, raised to the value before it.
        let expected = [Some(0.06), None, Some(0.03), Some(0.06)];
        for (found, expected) in found.iter().zip(expected) {
            assert_eq!(found.is_some(), expected.is_some());
            let (found, expected) = (found.unwrap_or(0.0), expected.unwrap_or(0.0));
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
        assert_eq!(holm(&[Some(0.6), Some(0.9)]), [Some(1.0), Some(1.0)]);
        assert_eq!(holm(&[]), []);
    }

    #[test]
    fn confidence_of_several_intervals_is_divided() {
        assert!((simultaneous_confidence(0.95, 5) - 0.99).abs() < 1e-12);
        assert!((simultaneous_confidence(0.95, 1) - 0.95).abs() < 1e-12);
        assert!((simultaneous_confidence(0.95, 0) - 0.95).abs() < 1e-12);
    }
}
