//! Assigns profiles to buckets, and buckets to variants: by a hash, so that retries, servers and later runs agree.

use campaigns::model::variant::Variant;
use kernel::{CampaignId, UserId};
use sha2::{Digest as _, Sha256};

/// Buckets an audience is divided into.
pub const BUCKETS: u64 = 10_000;

/// The bucket of a profile in a campaign: the first eight bytes of SHA-256 of `campaign:user`, big-endian,
/// modulo [`BUCKETS`].
pub fn bucket(campaign: CampaignId, user: UserId) -> u64 {
    hashed(&format!("{campaign}:{user}")) % BUCKETS
}

/// A bucket independent of [`bucket`], one for each salt.
pub fn salted(campaign: CampaignId, user: UserId, salt: &str) -> u64 {
    hashed(&format!("{campaign}:{user}:{salt}")) % BUCKETS
}

/// The first eight bytes of SHA-256, big-endian.
pub fn hashed(text: &str) -> u64 {
    Sha256::digest(text).iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Variants on the line of buckets.
#[derive(Debug, Clone, PartialEq)]
pub struct Split {
    /// Where the slice of each ends: the control group's first, so that no change of the others' weights
    /// moves it; then the others in their order.
    slices: Vec<Slice>,
}

#[derive(Debug, Clone, PartialEq)]
struct Slice {
    variant: usize,
    end: f64,
}

impl Split {
    /// Cuts the line by the variants' weights. A lone variant has all of it; variants without any weight
    /// share alike.
    pub fn of(variants: &[Variant]) -> Self {
        let total: f64 = variants.iter().map(|it| it.weight).sum();
        let alike = variants.len() == 1 || total <= 0.0;
        let weight = |at: usize| if alike { 1.0 } else { variants[at].weight };
        #[expect(clippy::cast_precision_loss, reason = "at most eight variants")]
        let whole = if alike { variants.len() as f64 } else { total };
        let mut order: Vec<usize> = (0..variants.len()).collect();
        order.sort_by_key(|at| !variants[*at].is_control());
        let mut end = 0.0;
        let slices = order.into_iter().map(|variant| {
            #[expect(clippy::cast_precision_loss, reason = "ten thousand")]
            let width = weight(variant) / whole * BUCKETS as f64;
            end += width;
            Slice { variant, end }
        });
        Self { slices: slices.collect() }
    }

    /// Which variant a bucket belongs to, by its place; none where there are no variants.
    pub fn at(&self, bucket: u64) -> Option<usize> {
        #[expect(clippy::cast_precision_loss, reason = "below ten thousand")]
        let at = bucket as f64;
        let slice = self.slices.iter().find(|slice| at < slice.end - ROUNDING);
        slice.or(self.slices.last()).map(|slice| slice.variant)
    }
}

/// Weights of 33.33 and the like add up to a slice's end with an error far below this.
const ROUNDING: f64 = 1e-6;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn variants(weights: &[f64], control: Option<usize>) -> Vec<Variant> {
        let variant = |(at, weight): (usize, &f64)| Variant {
            id: format!("v{at}"),
            name: String::new(),
            weight: *weight,
            message: None,
            custom_content: None,
            is_control_group: Some(control == Some(at)),
        };
        weights.iter().enumerate().map(variant).collect()
    }

    #[test]
    fn the_hash_is_the_one_that_is_written_down() {
        assert_eq!(hashed("c1:u1") % BUCKETS, 4755);
    }

    #[test]
    fn slices_follow_the_weights_and_the_control_group_comes_first() {
        let split = Split::of(&variants(&[45.0, 45.0, 10.0], Some(2)));
        for (bucket, variant) in [(0, 2), (999, 2), (1000, 0), (5499, 0), (5500, 1), (9999, 1)] {
            assert_eq!(split.at(bucket), Some(variant), "{bucket}");
        }
        assert_eq!(Split::of(&variants(&[0.0], None)).at(9999), Some(0));
        assert_eq!(Split::of(&variants(&[0.0, 0.0], None)).at(5000), Some(1));
        assert_eq!(Split::of(&[]).at(0), None);
    }

    proptest! {
        #[test]
        fn the_control_group_stays_when_the_others_change(
            first in 0.0..=90.0_f64, bucket in 0..BUCKETS,
        ) {
            let is_control = |first: f64| {
                let weights = [first, 90.0 - first, 10.0];
                Split::of(&variants(&weights, Some(2))).at(bucket) == Some(2)
            };
            prop_assert_eq!(is_control(first), is_control(45.0));
        }

        #[test]
        fn parts_are_as_large_as_their_weights(
            weights in prop::collection::vec(0.1..=100.0_f64, 1..=8),
        ) {
            let split = Split::of(&variants(&weights, None));
            let total: f64 = weights.iter().sum();
            for (at, weight) in weights.iter().enumerate() {
                let found = (0..BUCKETS).filter(|bucket| split.at(*bucket) == Some(at)).count();
                #[expect(clippy::cast_precision_loss, reason = "at most ten thousand")]
                let off = found as f64 - weight / total * BUCKETS as f64;
                prop_assert!(off.abs() <= 1.0, "{}: {}", at, off);
            }
        }
    }
}
