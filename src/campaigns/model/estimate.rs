//! Proportional division of a number into shares with an exact sum.

/// Divides `whole` in proportion to `parts`: integer shares first, then one each to the largest remainders
/// (Hamilton's method), earlier ones first. If all parts are 0, so are the shares.
pub fn share_out(parts: &[u64], whole: u64) -> Vec<u64> {
    let total: u128 = parts.iter().map(|part| u128::from(*part)).sum();
    if total == 0 {
        return vec![0; parts.len()];
    }
    let exact = |part: &u64| u128::from(*part) * u128::from(whole);
    let mut shares: Vec<u64> =
        parts.iter().map(|part| u64::try_from(exact(part) / total).unwrap_or(u64::MAX)).collect();
    let left = whole - shares.iter().sum::<u64>();
    let mut by_cut: Vec<usize> = (0..parts.len()).collect();
    by_cut.sort_by_key(|at| std::cmp::Reverse(exact(&parts[*at]) % total));
    for at in by_cut.into_iter().take(usize::try_from(left).unwrap_or(0)) {
        shares[at] += 1;
    }
    shares
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn shares_are_proportional_and_add_up() {
        for (parts, whole, expected) in [
            (&[50, 50][..], 10, &[5, 5][..]),
            (&[50, 50], 11, &[6, 5]),
            (&[1, 1, 1], 100, &[34, 33, 33]),
            (&[10, 45, 45], 7, &[1, 3, 3]),
            (&[3], 2, &[2]),
            (&[0, 7], 7, &[0, 7]),
            (&[0, 0], 0, &[0, 0]),
            (&[], 3, &[]),
        ] {
            assert_eq!(share_out(parts, whole), expected, "{parts:?}");
        }
    }

    proptest! {
        #[test]
        fn shares_differ_from_their_quota_by_less_than_one(
            parts in prop::collection::vec(0_u64..1_000_000, 1..=8), whole in 0_u64..1_000_000,
        ) {
            let total: u64 = parts.iter().sum();
            prop_assume!(total > 0);
            let shares = share_out(&parts, whole);
            prop_assert_eq!(shares.iter().sum::<u64>(), whole);
            for (share, part) in shares.iter().zip(&parts) {
                let due = u128::from(*part) * u128::from(whole);
                let given = u128::from(*share) * u128::from(total);
                prop_assert!(due.abs_diff(given) < u128::from(total));
            }
        }
    }
}
