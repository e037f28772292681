//! How an audience divides among variants (DELIVERY, "Variant assignment"), before anybody is assigned.

use super::variant::Variant;

/// One part of an audience.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Which variant it gets.
    pub variant_id: String,
    /// What people call the variant.
    pub name: String,
    /// Whether it gets nothing, to measure the others by.
    pub is_control: bool,
    /// Recipients.
    pub recipients: u64,
}

/// Divides a number of recipients among variants by their weights, so that the parts add up to it: whole
/// shares first, then one each to those whose shares were cut most (Hamilton's method), earlier ones first.
/// Variants without any weight share alike, and so does the only one.
pub fn parts(variants: &[Variant], recipients: u64) -> Vec<Part> {
    let total: f64 = variants.iter().map(|variant| variant.weight).sum();
    let alike = variants.len() == 1 || total <= 0.0;
    #[expect(clippy::cast_precision_loss, reason = "audiences are far below 2^52")]
    let (count, audience) = (variants.len() as f64, recipients as f64);
    let exact: Vec<f64> = variants
        .iter()
        .map(|variant| if alike { audience / count } else { audience * variant.weight / total })
        .collect();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "parts of an audience"
    )]
    let mut whole: Vec<u64> = exact.iter().map(|share| share.floor() as u64).collect();
    let left = recipients.saturating_sub(whole.iter().sum());
    let mut by_cut: Vec<usize> = (0..exact.len()).collect();
    by_cut.sort_by(|one, other| exact[*other].fract().total_cmp(&exact[*one].fract()));
    for at in by_cut.into_iter().cycle().take(usize::try_from(left).unwrap_or(0)) {
        whole[at] += 1;
    }
    let part = |(variant, recipients): (&Variant, u64)| Part {
        variant_id: variant.id.clone(),
        name: variant.name.clone(),
        is_control: variant.is_control(),
        recipients,
    };
    variants.iter().zip(whole).map(part).collect()
}

#[cfg(test)]
#[expect(clippy::cast_precision_loss, reason = "audiences of a test")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn variants(weights: &[f64]) -> Vec<Variant> {
        let variant = |(at, weight): (usize, &f64)| Variant {
            id: format!("v{at}"),
            name: format!("Variant {at}"),
            weight: *weight,
            message: None,
            custom_content: None,
            is_control_group: Some(at == 0),
        };
        weights.iter().enumerate().map(variant).collect()
    }

    fn numbers(weights: &[f64], recipients: u64) -> Vec<u64> {
        parts(&variants(weights), recipients).iter().map(|part| part.recipients).collect()
    }

    #[test]
    fn an_audience_divides_by_weight_and_nobody_is_lost() {
        let table: [(&[f64], u64, &[u64]); 8] = [
            (&[50.0, 50.0], 10, &[5, 5]),
            (&[50.0, 50.0], 11, &[6, 5]),
            (&[33.33, 33.33, 33.34], 100, &[33, 33, 34]),
            (&[10.0, 45.0, 45.0], 7, &[1, 3, 3]),
            (&[100.0], 3, &[3]),
            // A lone variant counts as 100, whatever its weight.
            (&[0.0], 3, &[3]),
            (&[0.0, 0.0], 3, &[2, 1]),
            (&[], 3, &[]),
        ];
        for (weights, recipients, expected) in table {
            assert_eq!(numbers(weights, recipients), expected, "{weights:?}");
        }
    }

    proptest! {
        #[test]
        fn parts_add_up_and_stay_within_one_of_their_share(
            weights in prop::collection::vec(0.0..=100.0_f64, 1..=8), recipients in 0_u64..1_000_000,
        ) {
            let found = numbers(&weights, recipients);
            prop_assert_eq!(found.iter().sum::<u64>(), recipients);
            let total: f64 = weights.iter().sum();
            if weights.len() > 1 && total > 0.0 {
                for (part, weight) in found.iter().zip(&weights) {
                    let share = recipients as f64 * weight / total;
                    prop_assert!((*part as f64 - share).abs() <= 1.0 + 1e-6);
                }
            }
        }
    }
}
