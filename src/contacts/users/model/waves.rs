//! Splits an array into waves of elements that can be applied together.
//!
//! Each element has names: the ids and addresses it was sent with, and those of the profile it selects.
//! Elements that share no name cannot influence each other, so they go into one wave of a few statements. An
//! element that shares a name with an earlier one waits for the next wave.

use std::collections::HashSet;

use kernel::UserId;

/// An identifier that two elements may share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Name<'e> {
    Internal(UserId),
    External(&'e str),
    Email(&'e str),
}

/// For each element, in order, whether it shares a name with no earlier one.
pub fn first_wave<'e, N>(elements: impl IntoIterator<Item = N>) -> Vec<bool>
where
    N: IntoIterator<Item = Name<'e>>,
{
    let mut touched: HashSet<Name<'e>> = HashSet::new();
    let mut first = Vec::new();
    for names in elements {
        let names: Vec<Name<'e>> = names.into_iter().collect();
        first.push(names.iter().all(|name| !touched.contains(name)));
        // An element that waits also delays later elements that share a name with it.
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
    fn an_element_waits_for_earlier_ones_with_the_same_name() {
        assert_eq!(
            wave(&[vec![0], vec![1], vec![0, 2], vec![2], vec![3]]),
            [true, true, false, false, true]
        );
        let names = [Name::External("a"), Name::Email("a")];
        assert_eq!(first_wave(names.map(|name| [name])), [true, true]);
        let id = UserId::from_bytes([7; 12]);
        // The same name twice in one element is not a conflict.
        assert_eq!(first_wave([[Name::Internal(id); 2], [Name::Internal(id); 2]]), [true, false]);
    }

    proptest! {
        /// Wave after wave, elements that share a name are taken in the order they were sent.
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
