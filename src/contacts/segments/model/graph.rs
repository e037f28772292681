//! Which segments use which: no segment uses itself, and a segment with those it uses has the size of one targeting
//! at most.

use std::collections::{HashMap, hash_map::Entry};

use audience::model::{
    SEGMENT_FILTERS_MAX, SEGMENT_LEVELS_MAX, SegmentUse, Targeting, TargetingSize,
};
use kernel::SegmentId;

/// A segment as it counts for others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    pub name: String,
    /// The size of its own targeting.
    pub size: TargetingSize,
    /// The segments it uses, with the number of filters that do.
    pub uses: HashMap<SegmentId, u64>,
}

impl Node {
    pub fn of(name: String, targeting: &Targeting) -> Self {
        let mut uses = HashMap::new();
        for SegmentUse { segment, .. } in targeting.segment_uses() {
            if let Some(segment) = segment {
                *uses.entry(segment).or_default() += 1;
            }
        }
        Self { name, size: TargetingSize::of(targeting), uses }
    }
}

/// The segments of a workspace.
#[derive(Debug, Clone, Default)]
pub struct Graph(pub HashMap<SegmentId, Node>);

/// A segment together with those it uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Extent {
    size: TargetingSize,
    levels: usize,
}

impl Graph {
    /// Why a segment must not be saved as it is in this graph; before the change there was no fault.
    pub fn fault(&self, changed: SegmentId) -> Option<String> {
        let node = self.0.get(&changed)?;
        let filters: u64 = node.uses.values().sum();
        if filters > SEGMENT_FILTERS_MAX as u64 {
            return Some(format!(
                "must have at most {SEGMENT_FILTERS_MAX} filters of type segment, received {filters}"
            ));
        }
        if let Some(cycle) = self.cycle(changed) {
            let names: Vec<String> = cycle.iter().map(|id| self.quoted(*id)).collect();
            return Some(format!("must not make a segment use itself: {}", names.join(" uses ")));
        }
        let mut extents = HashMap::new();
        if let Some(excess) = excess(self.extent(changed, &mut extents)) {
            return Some(format!("must have, with those of the segments it uses, {excess}"));
        }
        // In the order of names, so that the same change is refused with the same text.
        let mut others: Vec<(&str, SegmentId)> =
            self.0.iter().map(|(id, node)| (node.name.as_str(), *id)).collect();
        others.sort_unstable();
        others.into_iter().find_map(|(_, id)| {
            let excess = excess(self.extent(id, &mut extents))?;
            let user = self.quoted(id);
            Some(format!("is used by {user}, which must have, with the segments it uses, {excess}"))
        })
    }

    fn quoted(&self, segment: SegmentId) -> String {
        let name = self.0.get(&segment).map_or("", |node| node.name.as_str());
        format!("{name:?}")
    }

    /// A way from a segment to itself, both ends included.
    fn cycle(&self, start: SegmentId) -> Option<Vec<SegmentId>> {
        let (mut from, mut open) = (HashMap::new(), vec![start]);
        while let Some(user) = open.pop() {
            for used in self.0.get(&user).into_iter().flat_map(|node| node.uses.keys().copied()) {
                if used == start {
                    let mut way = vec![start];
                    let mut at = user;
                    while at != start {
                        way.push(at);
                        at = *from.get(&at)?;
                    }
                    way.push(start);
                    way.reverse();
                    return Some(way);
                }
                if let Entry::Vacant(unseen) = from.entry(used) {
                    unseen.insert(user);
                    open.push(used);
                }
            }
        }
        None
    }

    /// The extent of a segment that is in no cycle.
    fn extent(&self, segment: SegmentId, known: &mut HashMap<SegmentId, Extent>) -> Extent {
        if let Some(extent) = known.get(&segment) {
            return *extent;
        }
        let Some(node) = self.0.get(&segment) else { return Extent::default() };
        let mut extent = Extent { size: node.size, levels: 0 };
        for (used, times) in &node.uses {
            let Extent { size, levels } = self.extent(*used, known);
            extent.size = extent.size.plus(size.times(*times));
            extent.levels = extent.levels.max(levels);
        }
        extent.levels += 1;
        known.insert(segment, extent);
        extent
    }
}

/// What exceeds the limits, with the limit and the extent.
fn excess(Extent { size, levels }: Extent) -> Option<String> {
    if levels > SEGMENT_LEVELS_MAX {
        return Some(format!("at most {SEGMENT_LEVELS_MAX} levels of segments, received {levels}"));
    }
    size.excess()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;
    use audience::model::SEGMENT_SIZE_MAX;

    fn id(number: usize) -> SegmentId {
        SegmentId::new(Uuid::from_u128(number as u128))
    }

    /// Segments with so many filters each, that use others so many times.
    fn graph(filters: &[u64], uses: &[[u64; 3]]) -> Graph {
        let mut graph = Graph::default();
        for (number, filters) in filters.iter().enumerate() {
            let size = TargetingSize { filters: *filters, ..TargetingSize::default() };
            let name = format!("S{number}");
            graph.0.insert(id(number), Node { name, size, uses: HashMap::new() });
        }
        for [user, used, times] in uses {
            let index = |number: &u64| usize::try_from(*number).expect("a small number");
            let node = graph.0.get_mut(&id(index(user))).expect("a segment");
            node.uses.insert(id(index(used)), *times);
        }
        graph
    }

    /// What is refused of the changed segment in a graph.
    fn fault(filters: &[u64], uses: &[[u64; 3]], changed: usize) -> String {
        graph(filters, uses).fault(id(changed)).unwrap_or_default()
    }

    #[test]
    fn sizes_are_limited_of_the_changed_segment_and_of_its_users() {
        let own = "must have, with those of the segments it uses, at most 100 filters, received";
        let user = "is used by \"S0\", which must have, with the segments it uses, at most 100 filters, received";
        for (filters, uses, changed, expected) in [
            (vec![100], vec![], 0, String::new()),
            (vec![101], vec![], 0, format!("{own} 101")),
            (vec![2, 49], vec![[0, 1, 2]], 0, String::new()),
            (vec![3, 49], vec![[0, 1, 2]], 0, format!("{own} 101")),
            (vec![2, 50], vec![[0, 1, 2]], 1, format!("{user} 102")),
            (vec![10, 0], vec![[0, 1, 10]], 0, String::new()),
            (
                vec![11, 0],
                vec![[0, 1, 11]],
                0,
                "must have at most 10 filters of type segment, received 11".to_owned(),
            ),
        ] {
            assert_eq!(fault(&filters, &uses, changed), expected, "{filters:?} {uses:?}");
        }
    }

    #[test]
    fn levels_are_limited_and_cycles_refused() {
        let chain = [[0, 1, 1], [1, 2, 1], [2, 3, 1], [3, 4, 1]];
        let six = [&chain[..], &[[4, 5, 1]]].concat();
        let own = "must have, with those of the segments it uses, at most 5 levels of segments, received 6";
        let user = "is used by \"S0\", which must have, with the segments it uses, at most 5 levels of segments, \
                    received 6";
        let cycle = |way: &str| format!("must not make a segment use itself: {way}");
        // Two ways to the same segment are no cycle.
        let two_ways = vec![[0, 1, 1], [0, 2, 1], [1, 3, 1], [2, 3, 1]];
        let ring = vec![[0, 1, 1], [1, 2, 1], [2, 0, 1]];
        for (uses, changed, expected) in [
            (chain.to_vec(), 4, String::new()),
            (six.clone(), 0, own.to_owned()),
            (six, 4, user.to_owned()),
            (two_ways, 3, String::new()),
            (vec![[0, 0, 1]], 0, cycle("\"S0\" uses \"S0\"")),
            (ring, 1, cycle("\"S1\" uses \"S2\" uses \"S0\" uses \"S1\"")),
        ] {
            assert_eq!(fault(&[2; 6], &uses, changed), expected, "{uses:?}");
        }
    }

    #[test]
    fn an_unknown_segment_has_no_fault() {
        assert_eq!(graph(&[1], &[]).fault(id(7)), None);
    }

    proptest! {
        /// Segments that use only later ones make no cycle; with the last one using an earlier one that reaches it
        /// they do.
        #[test]
        fn only_cycles_are_cycles(edges in proptest::collection::vec((0_u64..4, 1_u64..5), 0..12)) {
            let forward: Vec<[u64; 3]> =
                edges.iter().filter(|(a, b)| a < b).map(|(a, b)| [*a, *b, 1]).collect();
            let fault = graph(&[0; 5], &forward).fault(id(0)).unwrap_or_default();
            prop_assert!(!fault.contains("use itself"), "{fault}");
            let mut reached = vec![0];
            for from in 0..5 {
                if reached.contains(&from) {
                    reached.extend(forward.iter().filter(|it| it[0] == from).map(|it| it[1]));
                }
            }
            let back = [&forward[..], &[[4, 0, 1]]].concat();
            let fault = graph(&[0; 5], &back).fault(id(4)).unwrap_or_default();
            prop_assert_eq!(fault.contains("use itself"), reached.contains(&4), "{}", fault);
        }

        #[test]
        fn sizes_add_up(own in 0_u64..200, used in 0_u64..200, times in 1_u64..=10) {
            let fault = graph(&[own, used], &[[0, 1, times]]).fault(id(0));
            prop_assert_eq!(fault.is_some(), own + used * times > SEGMENT_SIZE_MAX.filters);
        }
    }
}
