//! By which people an audience is found.

use super::{Frame, PeopleSet};
use crate::model::{Filter, FilterGroup, Join};

/// A filter that everyone in an audience matches.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) key: String,
    /// The number of its people in `audience_people`.
    pub(super) number: i16,
}

impl Frame<'_> {
    /// A filter whose people are stored by internal ids, each once, and include the whole audience; none where there is no
    /// such filter, or where a few profiles are asked about.
    pub(super) fn source(&self) -> Option<Source> {
        let targeting = self.query.targeting.filter(|_| self.among.is_none())?;
        let groups = targeting.groups();
        let all_groups = targeting.join() == Join::And || groups.len() == 1;
        let has_all = |group: &&FilterGroup| group.join() == Join::And || group.filters.len() == 1;
        let required = groups.iter().filter(|_| all_groups).filter(has_all);
        required.flat_map(|group| &group.filters).find_map(|filter| self.source_of(filter))
    }

    fn source_of(&self, filter: &Filter) -> Option<Source> {
        let (Filter::Event(_) | Filter::Engagement(_)) = filter else { return None };
        let key = filter.key();
        match self.people.get(&key) {
            Some(PeopleSet::Stored {
                filter: number,
                has_tokens: false,
                outside: false,
                is_distinct: true,
                ..
            }) => Some(Source { key, number: *number }),
            _ => None,
        }
    }
}
