//! Keys that an object has more than once: their last value counts.

use std::collections::HashMap;

/// Keys that are compared with each other; more are looked up in a table.
const KEYS_COMPARED_MAX: usize = 16;

/// The places of the keys that come again, ascending.
pub(in super::super) fn repeated<'k>(keys: impl Iterator<Item = &'k str> + Clone) -> Vec<usize> {
    let mut few = [""; KEYS_COMPARED_MAX];
    let mut count = 0;
    for key in keys.clone() {
        let Some(slot) = few.get_mut(count) else { return repeated_of_many(keys) };
        *slot = key;
        count += 1;
    }
    let few = &few[..count];
    let comes_again = |place: &usize| few[place + 1..].contains(&few[*place]);
    (0..count).filter(comes_again).collect()
}

/// The standard `HashMap` is keyed, so that chosen keys cost nothing special.
#[cold]
fn repeated_of_many<'k>(keys: impl Iterator<Item = &'k str> + Clone) -> Vec<usize> {
    let last: HashMap<&str, usize> = keys.clone().zip(0..).collect();
    let all = keys.enumerate();
    all.filter(|(place, key)| last.get(key) != Some(place)).map(|(place, _)| place).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn all_but_the_last_of_equal_keys_are_found(keys in prop::collection::vec("[a-f]{0,2}", 0..40)) {
            let expected: Vec<usize> =
                (0..keys.len()).filter(|place| keys[place + 1..].contains(&keys[*place])).collect();
            prop_assert_eq!(repeated(keys.iter().map(String::as_str)), expected);
        }
    }
}
