//! Which elements of an array may be applied together, as if one after the other.
//!
//! An element touches names: the ids and addresses it is sent with, and those of the profile it
//! means. Elements that share none cannot influence each other, so they go in one wave, as a few
//! statements however many they are; one that shares a name with any before it waits for the next.

use std::collections::HashSet;

use kernel::UserId;

/// A name that two elements may share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Name<'e> {
    Internal(UserId),
    /// An id of the caller's.
    External(&'e str),
    Email(&'e str),
}

/// For each element, in order, whether it shares a name with none before it.
pub fn first_wave<'e, N>(elements: impl IntoIterator<Item = N>) -> Vec<bool>
where
    N: IntoIterator<Item = Name<'e>>,
{
    let mut touched: HashSet<Name<'e>> = HashSet::new();
    let mut first = Vec::new();
    for names in elements {
        let names: Vec<Name<'e>> = names.into_iter().collect();
        first.push(names.iter().all(|name| !touched.contains(name)));
        // Even one that waits holds up those behind it.
        touched.extend(names);
    }
    first
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

    fn wave(elements: &[Vec<usize>]) -> Vec<bool> {
        first_wave(
            elements.iter().map(|names| names.iter().map(|name| Name::External(NAMES[*name]))),
        )
    }

    #[test]
    fn an_element_waits_behind_those_it_shares_a_name_with() {
        assert_eq!(
            wave(&[vec![0], vec![1], vec![0, 2], vec![2], vec![3]]),
            [true, true, false, false, true]
        );
        let names = [Name::External("a"), Name::Email("a")];
        assert_eq!(first_wave(names.map(|name| [name])), [true, true]);
        let id = UserId::from_bytes([7; 12]);
        // A name twice in one element is no conflict with itself.
        assert_eq!(first_wave([[Name::Internal(id); 2], [Name::Internal(id); 2]]), [true, false]);
    }

    proptest! {
        /// Taking wave after wave meets elements that share a name in the order they were sent.
        #[test]
        fn waves_keep_the_order_of_every_name(
            elements in prop::collection::vec(prop::collection::vec(0_usize..5, 0..3), 0..20),
        ) {
            let mut pending: Vec<usize> = (0..elements.len()).collect();
            let mut applied: Vec<usize> = Vec::new();
            while !pending.is_empty() {
                let sent: Vec<Vec<usize>> = pending.iter().map(|&at| elements[at].clone()).collect();
                let first = wave(&sent);
                let (now, later): (Vec<_>, Vec<_>) =
                    pending.iter().copied().zip(first).partition(|(_, first)| *first);
                let now: Vec<usize> = now.into_iter().map(|(at, _)| at).collect();
                for (index, one) in now.iter().enumerate() {
                    for other in &now[index + 1..] {
                        prop_assert!(!elements[*one].iter().any(|name| elements[*other].contains(name)));
                    }
                }
                prop_assert!(!now.is_empty());
                applied.extend(&now);
                pending = later.into_iter().map(|(at, _)| at).collect();
            }
            for name in 0..NAMES.len() {
                let order: Vec<usize> =
                    applied.iter().copied().filter(|&at| elements[at].contains(&name)).collect();
                prop_assert!(order.is_sorted());
            }
        }
    }
}
