//! Sorts rows by their ids, as bytes.
//!
//! Ids of one sender mostly begin alike (`order-2026-00001`) or ascend as they arrive (UUIDv7). So what all of them
//! begin with is left out, and the 16 bytes after it are compared as one number; the ids themselves, which lie all over
//! memory, are looked at only where those are equal.

/// Bytes compared as a number.
const PART: usize = size_of::<u128>();

/// Appends the numbers of rows to `order`, sorted by the rows' ids; those of equal ids in the order given.
pub(super) fn append_sorted<'a>(
    rows: impl Iterator<Item = (&'a [u8], u32)> + Clone,
    order: &mut Vec<u32>,
) {
    let Some((first, _)) = rows.clone().next() else { return };
    let (mut common, mut previous, mut is_sorted) = (first, first, true);
    for (id, _) in rows.clone() {
        if !id.starts_with(common) {
            common = &common[..shared(common, id)];
        }
        is_sorted &= previous <= id;
        previous = id;
    }
    if is_sorted {
        order.extend(rows.map(|(_, number)| number));
        return;
    }
    let begin = common.len();
    let placed = order.len();
    debug_assert!(
        rows.clone().all(|(id, _)| id.starts_with(common)),
        "every id begins with the common part"
    );
    let mut keys: Vec<(u128, &[u8], u32)> =
        rows.clone().map(|(id, number)| (part(&id[begin..]), id, number)).collect();
    keys.sort_unstable();
    debug_assert!(keys.is_sorted_by_key(|(_, id, _)| *id), "keys order as the ids they stand for");
    order.extend(keys.into_iter().map(|(_, _, number)| number));
    debug_assert_eq!(order.len() - placed, rows.count(), "each row is placed once");
}

/// How many bytes both begin with.
fn shared(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}

/// The first bytes as a number that orders like them. Shorter texts are filled up with zeros, so that unequal texts
/// may have equal numbers, never numbers the other way round.
fn part(text: &[u8]) -> u128 {
    let mut bytes = [0; PART];
    let length = text.len().min(PART);
    bytes[..length].copy_from_slice(&text[..length]);
    u128::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    fn sorted(ids: &[Vec<u8>]) -> Vec<u32> {
        let mut order = vec![7];
        append_sorted(ids.iter().map(Vec::as_slice).zip(0..), &mut order);
        assert_eq!(order.remove(0), 7, "what was there stays");
        order
    }

    proptest! {
        #[test]
        fn rows_are_in_the_order_of_their_ids_and_equal_ones_as_they_came(
            ids in vec(("(ab|order-2026-0000){0,2}", vec(0_u8..3, 0..20)), 0..50)
        ) {
            let ids: Vec<Vec<u8>> = ids
                .into_iter()
                .map(|(begin, end)| [begin.into_bytes(), end].concat())
                .collect();
            let mut expected: Vec<u32> = (0_u32..).take(ids.len()).collect();
            expected.sort_by_key(|number| &ids[*number as usize]);
            prop_assert_eq!(sorted(&ids), expected);
        }
    }

    #[test]
    fn ids_that_differ_after_the_compared_part_or_by_zeros_are_ordered() {
        for ids in [
            ["b", "a", ""].map(str::to_owned),
            ["a\0", "a", "b"].map(str::to_owned),
            ["common-0123456789abcdef-2", "common-0123456789abcdef-1", "common"].map(str::to_owned),
        ] {
            let ids: Vec<Vec<u8>> = ids.into_iter().map(String::into_bytes).collect();
            let mut expected: Vec<u32> = vec![0, 1, 2];
            expected.sort_by_key(|number| &ids[*number as usize]);
            assert_eq!(sorted(&ids), expected);
        }
    }
}
