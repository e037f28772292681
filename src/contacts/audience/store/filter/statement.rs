//! A targeting as conditions on profiles.

use kernel::{Result, Timestamp, UserId};
use sqlx::{PgConnection, Postgres, QueryBuilder};

use super::{Frame, PeopleSet, source::Source};
use crate::{
    model::{
        Criterion, Filter, FilterGroup, Join, SavedTargetings, Scalar, Targeting,
        filter::{
            AttributeFilter, ChannelFilter, ListFilter, ProfileField, ProfileFilter, SegmentFilter,
        },
    },
    store::ids::bytes_of,
};

/// A statement under construction. Profiles have the alias `u`.
pub(super) struct Statement<'a> {
    pub(super) frame: Frame<'a>,
    pub(super) sql: QueryBuilder<Postgres>,
    /// How many segments are being written, one within the other.
    segments: usize,
    /// Whether [`Self::reason`] is part of it.
    pub(super) has_reason: bool,
    /// The filter by whose people profiles are found, by its key.
    source: Option<String>,
}

impl<'a> Statement<'a> {
    pub(super) fn new(frame: Frame<'a>, begin: &str) -> Self {
        Self { frame, sql: QueryBuilder::new(begin), segments: 0, has_reason: false, source: None }
    }

    /// Writes where profiles are found: by a filter's people, in the order of the key, where all of the audience are among
    /// them; else among all profiles. Looking each profile up in a large set takes longer than walking along it.
    pub(super) fn push_from(&mut self) {
        let Some(Source { key, number }) = self.frame.source() else {
            self.sql.push(" from users u");
            return;
        };
        self.source = Some(key);
        self.sql.push(" from (select ids from audience_people where filter = ").push_bind(number);
        self.sql.push(") p cross join lateral (select * from users where workspace_id = ");
        self.workspace();
        self.sql.push(" and id = any(p.ids) offset 0) u");
    }

    /// Continues with another query.
    pub(super) fn continue_with(&mut self, frame: Frame<'a>) {
        self.frame = frame;
    }

    /// Prepares for a statement whose profiles are found by a filter's people: the planner takes these to be few, and would
    /// look at all rows of what it joins for each.
    pub(super) async fn before(&self, tx: &mut PgConnection) -> Result<()> {
        self.set_nested_loops(tx, "set local enable_nestloop = off").await
    }

    /// Permits what [`Self::before`] forbids.
    pub(super) async fn after(&self, tx: &mut PgConnection) -> Result<()> {
        self.set_nested_loops(tx, "set local enable_nestloop = on").await
    }

    async fn set_nested_loops(&self, tx: &mut PgConnection, sql: &'static str) -> Result<()> {
        if self.source.is_some() {
            sqlx::raw_sql(sql).execute(tx).await?;
        }
        Ok(())
    }

    pub(super) fn workspace(&mut self) {
        self.sql.push_bind(self.frame.workspace.uuid());
    }

    /// Writes joins and conditions: active profiles of the workspace that match the targeting.
    pub(super) fn audience(&mut self) {
        if let (true, Some(channel)) = (self.has_reason, self.frame.query.channel) {
            self.join_exclusions(channel);
        }
        self.sql.push(" where u.workspace_id = ");
        self.workspace();
        self.sql.push(" and u.deleted_at is null");
        if let Some(profiles) = self.frame.among {
            let users: Vec<UserId> = profiles.iter().map(|one| one.user).collect();
            self.sql.push(" and u.id = any(").push_bind(bytes_of(&users)).push(")");
        }
        self.matching();
    }

    /// Writes conditions, each after an `and`: profiles that match the targeting.
    pub(super) fn matching(&mut self) {
        if let Some(targeting) = self.frame.query.targeting {
            self.targeting(targeting);
        }
    }

    fn targeting(&mut self, targeting: &Targeting) {
        if let Some(ids) = &targeting.user_ids {
            let mut internal: Vec<UserId> =
                ids.iter().filter_map(|id| id.parse::<UserId>().ok()).collect();
            internal.extend(ids.iter().flat_map(|id| self.frame.survivors.of(id)));
            self.sql.push(" and (u.external_id = any(").push_bind(ids.clone());
            self.sql.push(") or u.id = any(").push_bind(bytes_of(&internal)).push("))");
        }
        if !targeting.groups().is_empty() {
            self.sql.push(" and (");
            self.groups(targeting.groups(), targeting.join());
            self.sql.push(")");
        }
        if !targeting.excluded_groups().is_empty() {
            self.sql.push(" and (");
            self.groups(targeting.excluded_groups(), Join::Or);
            self.sql.push(") is not true");
        }
    }

    fn groups(&mut self, groups: &[FilterGroup], join: Join) {
        for (place, group) in groups.iter().enumerate() {
            self.sql.push(between(place, join)).push("(");
            for (place, filter) in group.filters.iter().enumerate() {
                self.sql.push(between(place, group.join())).push("(");
                self.filter(filter);
                self.sql.push(")");
            }
            self.sql.push(")");
        }
    }

    fn filter(&mut self, filter: &Filter) {
        match filter {
            Filter::Attribute(AttributeFilter { path, criterion }) => {
                self.or_complement(criterion.is_complement(), |s| s.attribute(path, criterion));
            }
            Filter::Profile(ProfileFilter { field, criterion }) => {
                self.or_complement(criterion.is_complement(), |s| s.profile(*field, criterion));
            }
            Filter::Channel(filter) => {
                self.or_complement(filter.criterion.is_complement(), |s| s.channel(filter));
            }
            Filter::List(filter) => self.or_complement(filter.not(), |s| s.list(filter)),
            Filter::Segment(filter) => self.or_complement(filter.not(), |s| s.segment(filter)),
            // Profiles are found by it.
            Filter::Event(_) | Filter::Engagement(_)
                if self.source.as_ref().is_some_and(|source| *source == filter.key()) =>
            {
                self.sql.push("true");
            }
            Filter::Event(_) | Filter::Engagement(_) => {
                let people = &self.frame.people[&filter.key()];
                let outside = matches!(people, PeopleSet::Stored { outside: true, .. });
                self.or_complement(outside, |s| s.people(people));
            }
        }
    }

    fn or_complement(&mut self, complement: bool, write: impl FnOnce(&mut Self)) {
        if complement {
            self.sql.push("(");
            write(self);
            self.sql.push(") is not true");
        } else {
            write(self);
        }
    }

    fn profile(&mut self, field: ProfileField, criterion: &Criterion) {
        let column = match field {
            ProfileField::Email => "u.email",
            ProfileField::Phone => "coalesce(u.phone_normal, u.phone)",
            ProfileField::ExternalId => "u.external_id",
            ProfileField::CreatedAt => "u.created_at",
            ProfileField::UpdatedAt => "u.updated_at",
        };
        let country = self.frame.country;
        let part = |text: &str| escaped(&field.normal_part(text));
        match criterion {
            Criterion::Equals { to: Scalar::Text(text), .. } => {
                self.sql.push(column).push(" = ").push_bind(field.normal(text, country));
            }
            Criterion::In { values, .. } => {
                let texts: Vec<String> = values
                    .iter()
                    .filter_map(|value| match value {
                        Scalar::Text(text) => Some(field.normal(text, country)),
                        _ => None,
                    })
                    .collect();
                self.sql.push(column).push(" = any(").push_bind(texts).push(")");
            }
            Criterion::Contains { part: Scalar::Text(text), .. } => {
                self.sql.push(column).push(" like ").push_bind(format!("%{}%", part(text)));
            }
            Criterion::StartsWith(text) => {
                let beginning = escaped(&field.normal_beginning(text, country));
                self.sql.push(column).push(" like ").push_bind(format!("{beginning}%"));
            }
            Criterion::EndsWith(text) => {
                self.sql.push(column).push(" like ").push_bind(format!("%{}", part(text)));
            }
            Criterion::Exists { .. } => {
                self.sql.push(column).push(" is not null");
            }
            _ if field.is_moment() => {
                let (from, to) = criterion.moments(self.frame.now);
                let at = |ms| Timestamp::from_millis(ms).utc();
                self.sql.push("true");
                if let Some(from) = from {
                    self.sql.push(" and ").push(column).push(" >= ").push_bind(at(from));
                }
                if let Some(to) = to {
                    self.sql.push(" and ").push(column).push(" <= ").push_bind(at(to));
                }
            }
            // The parser permits no other operator on a text.
            _ => {
                self.sql.push("false");
            }
        }
    }

    fn channel(&mut self, filter: &ChannelFilter) {
        self.sql.push("exists (select 1 from channel_consent s where s.workspace_id = ");
        self.workspace();
        self.sql.push(" and s.user_id = u.id and s.channel = ");
        self.sql.push_bind(filter.channel.as_str()).push(" and s.status is not null");
        let statuses = match &filter.criterion {
            Criterion::Equals { to, .. } => std::slice::from_ref(to),
            Criterion::In { values, .. } => values,
            _ => &[],
        };
        if !statuses.is_empty() {
            let statuses: Vec<String> = statuses
                .iter()
                .filter_map(|status| match status {
                    Scalar::Text(text) => Some(text.clone()),
                    _ => None,
                })
                .collect();
            self.sql.push(" and s.status = any(").push_bind(statuses).push(")");
        }
        self.sql.push(")");
    }

    fn list(&mut self, filter: &ListFilter) {
        self.sql.push("exists (select 1 from list_membership m where m.workspace_id = ");
        self.workspace();
        self.sql.push(" and m.user_id = u.id and m.list_id = ").push_bind(filter.list().uuid());
        self.sql.push(" and m.status = 'subscribed'");
        // Who is in a segment does not depend on the campaign that uses it.
        if let (0, Some(channel)) = (self.segments, self.frame.lists_on) {
            self.sql.push(" and m.channel = ").push_bind(channel.as_str());
        }
        self.sql.push(") and exists (select 1 from subscription_list l where l.workspace_id = ");
        self.workspace();
        self.sql.push(" and l.id = ").push_bind(filter.list().uuid());
        self.sql.push(" and l.archived_at is null)");
    }

    /// Writes the saved targeting of a segment in place of the filter.
    fn segment(&mut self, filter: &SegmentFilter) {
        let saved: &SavedTargetings = self.frame.saved;
        match filter.segment().and_then(|segment| saved.get(segment)) {
            Some(targeting) => {
                self.segments += 1;
                self.sql.push("true");
                self.targeting(targeting);
                self.segments -= 1;
            }
            None => {
                self.sql.push("false");
            }
        }
    }

    fn people(&mut self, people: &PeopleSet) {
        match people {
            PeopleSet::Known(users) if users.is_empty() => {
                self.sql.push("false");
            }
            PeopleSet::Known(users) => {
                self.sql.push("u.id = any(").push_bind(bytes_of(users)).push(")");
            }
            PeopleSet::Stored { filter, has_tokens, has_ids, .. } => {
                let tokens = has_tokens.then_some(("u.external_id", "p.tokens"));
                let ids = has_ids.then_some(("u.id", "p.ids"));
                if !*has_tokens && !*has_ids {
                    self.sql.push("false");
                }
                // `is true` keeps the planner from turning this into a join, whose size it cannot estimate.
                for (place, (column, set)) in tokens.into_iter().chain(ids).enumerate() {
                    self.sql.push(between(place, Join::Or)).push("(").push(column);
                    self.sql.push(" in (select unnest(").push(set);
                    self.sql.push(") from audience_people p where p.filter = ").push_bind(*filter);
                    self.sql.push(")) is true");
                }
            }
        }
    }
}

/// The text before the element at this position.
pub(super) fn between(place: usize, join: Join) -> &'static str {
    match (place, join) {
        (0, _) => "",
        (_, Join::And) => " and ",
        (_, Join::Or) => " or ",
    }
}

/// Escapes a text so that a `like` pattern matches it literally.
pub(super) fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_")
}
