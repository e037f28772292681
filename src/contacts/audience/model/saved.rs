//! Targetings saved as segments, as far as other targetings use them.

use std::collections::{BTreeMap, HashMap, HashSet};

use kernel::SegmentId;

use super::{
    FILTERS_MAX, Filter, FilterGroup, SEGMENT_FILTERS_MAX, SEGMENT_LEVELS_MAX, SEGMENT_SIZE_MAX,
    Targeting,
};

/// The refusal of an id.
pub const NO_SUCH_SEGMENT: &str = "must be the id of a segment of this workspace";

/// A filter that uses a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentUse {
    /// Where the id stands: `filterGroups[0].filters[1].field`.
    pub path: String,
    /// `None` where the id that was sent cannot be one.
    pub segment: Option<SegmentId>,
}

impl Targeting {
    /// Its filters that use segments, in the order of the body.
    pub fn segment_uses(&self) -> Vec<SegmentUse> {
        let of = |name: &'static str, groups: &[FilterGroup]| {
            let mut uses = Vec::new();
            for (group, place) in groups.iter().zip(0..) {
                for (filter, at) in group.filters.iter().zip(0..) {
                    if let Filter::Segment(filter) = filter {
                        let field = filter.id_field();
                        let path = format!("{name}[{place}].filters[{at}].{field}");
                        uses.push(SegmentUse { path, segment: filter.segment() });
                    }
                }
            }
            uses
        };
        let mut uses = of("filterGroups", self.groups());
        uses.extend(of("excludeFilterGroups", self.excluded_groups()));
        uses
    }

    /// The segments that it uses itself, one for each filter.
    pub fn segments(&self) -> impl Iterator<Item = SegmentId> {
        self.filters().filter_map(|filter| match filter {
            Filter::Segment(filter) => filter.segment(),
            _ => None,
        })
    }
}

/// Most segments of a workspace.
pub const SEGMENTS_MAX: i64 = 1000;

/// A segment that a profile is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentName {
    pub id: SegmentId,
    pub name: String,
}

/// The targeting of a segment, with the segment's name.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedTargeting {
    pub segment: SegmentName,
    pub targeting: Targeting,
}

/// The size of a targeting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TargetingSize {
    pub filters: u64,
    /// Filters of type `event` or `engagement`.
    pub event_filters: u64,
    /// Values in lists, and ids in `userIds`.
    pub values: u64,
}

impl TargetingSize {
    /// The size of a targeting without those of the segments it uses.
    pub fn of(targeting: &Targeting) -> Self {
        let of_events = targeting.filters().filter(|filter| filter.is_of_events()).count();
        let listed: usize = targeting.filters().map(Filter::list_len).sum();
        let ids = targeting.user_ids.as_ref().map_or(0, Vec::len);
        Self {
            filters: targeting.filters().count() as u64,
            event_filters: of_events as u64,
            values: (listed + ids) as u64,
        }
    }

    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            filters: self.filters.saturating_add(other.filters),
            event_filters: self.event_filters.saturating_add(other.event_filters),
            values: self.values.saturating_add(other.values),
        }
    }

    #[must_use]
    pub const fn times(self, times: u64) -> Self {
        Self {
            filters: self.filters.saturating_mul(times),
            event_filters: self.event_filters.saturating_mul(times),
            values: self.values.saturating_mul(times),
        }
    }

    /// What exceeds the limits of a segment, with the limit and the size.
    pub fn excess(self) -> Option<String> {
        let Self { filters, event_filters, values } = SEGMENT_SIZE_MAX;
        [
            (self.filters, filters, "filters"),
            (self.event_filters, event_filters, "filters of type event or engagement"),
            (self.values, values, "values and user ids"),
        ]
        .into_iter()
        .find(|(size, max, _)| size > max)
        .map(|(size, max, what)| format!("at most {max} {what}, received {size}"))
    }
}

/// Saved targetings by the ids of their segments: all that a targeting uses, itself or through others.
#[derive(Debug, Default)]
pub struct SavedTargetings(HashMap<SegmentId, Targeting>);

/// Most filters of a targeting together with those of its segments.
pub const EXPANDED_MAX: u64 =
    FILTERS_MAX as u64 + SEGMENT_FILTERS_MAX as u64 * SEGMENT_SIZE_MAX.filters;

impl SavedTargetings {
    pub fn new(targetings: HashMap<SegmentId, Targeting>) -> Self {
        Self(targetings)
    }

    pub fn get(&self, segment: SegmentId) -> Option<&Targeting> {
        self.0.get(&segment)
    }

    /// The event filters of these targetings and of the segments they use, by their keys; equal ones once.
    pub fn event_filters<'t>(
        &'t self,
        targetings: &[&'t Targeting],
    ) -> BTreeMap<String, &'t Filter> {
        let all = self.with_used(targetings).into_iter();
        let of_events = all.flat_map(Targeting::filters).filter(|filter| filter.is_of_events());
        of_events.map(|filter| (filter.key(), filter)).collect()
    }

    /// These targetings and those of the segments they use, each segment once.
    pub fn with_used<'t>(&'t self, targetings: &[&'t Targeting]) -> Vec<&'t Targeting> {
        let (mut all, mut seen) = (targetings.to_vec(), HashSet::new());
        let mut next = 0;
        while let Some(targeting) = all.get(next).copied() {
            let used = targeting.segments().filter(|segment| seen.insert(*segment));
            all.extend(used.filter_map(|segment| self.get(segment)));
            next += 1;
        }
        all
    }

    /// Why a targeting with its segments is too large to evaluate.
    ///
    /// # Errors
    /// In words for the caller.
    pub fn check(&self, targeting: &Targeting) -> Result<(), String> {
        let used = targeting.segments().filter(|segment| self.0.contains_key(segment)).count();
        if used > SEGMENT_FILTERS_MAX {
            return Err(format!(
                "must have at most {SEGMENT_FILTERS_MAX} filters of type segment, received {used}"
            ));
        }
        self.expanded(targeting).map(drop).ok_or_else(|| {
            format!(
                "must have at most {EXPANDED_MAX} filters with those of its segments, and \
                 {SEGMENT_LEVELS_MAX} levels of segments"
            )
        })
    }

    /// The number of filters of a targeting and of the segments it uses; `None` beyond the levels and filters that
    /// segments may have.
    pub fn expanded(&self, targeting: &Targeting) -> Option<u64> {
        let mut left = EXPANDED_MAX;
        let is_within = self.is_expandable(targeting, SEGMENT_LEVELS_MAX, &mut left);
        is_within.then_some(EXPANDED_MAX - left)
    }

    /// Whether the filters of a targeting and of its segments are at most `left`, in at most so many levels.
    fn is_expandable(&self, targeting: &Targeting, levels: usize, left: &mut u64) -> bool {
        let filters = targeting.filters().count() as u64;
        if filters > *left {
            return false;
        }
        *left -= filters;
        let mut used = targeting.segments().filter_map(|segment| self.get(segment));
        used.all(|used| levels > 0 && self.is_expandable(used, levels - 1, left))
    }
}
