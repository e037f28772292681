//! Send-time optimisation (STO): the best hour per recipient, and for how many recipients it is known.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use analytics::{
    Analytics,
    events::{PersonIds, VisitFilter, Visitor, engaged_users, visitors},
};
use audience::{
    model::AudienceQuery,
    ops::{Audience, further_identifiers},
};
use chrono::Timelike as _;
use kernel::{CampaignId, Error, Result, Timestamp, UserId, WorkspaceId, time::DAY, zone::Zone};
use tokio::sync::OwnedSemaphorePermit;

use super::{Who, find};
use crate::{
    CampaignState,
    model::{
        Definition,
        engagement_hours::{EngagementHours, HOURS},
        launch::first_send_at,
        settings::sto::StoConfig,
    },
};

/// Latest visits of one profile that count.
const VISITS_PER_PERSON_MAX: u32 = 1_000;
/// Visits of one scan, 4 bytes each.
const VISITS_MAX: usize = 5_000_000;
/// Identifier pairs of one scan, about 200 bytes each.
const PEOPLE_MAX: u64 = 1_000_000;
/// Recipients of one page, about 100 bytes each. Pages are large since each checks the consent of the whole
/// audience.
const PAGE: u32 = 50_000;

/// For how many recipients of an audience the best hour is known.
#[derive(Debug, Clone)]
pub struct Coverage {
    /// The settings the hours were computed with.
    pub config: StoConfig,
    /// Number of reachable recipients.
    pub total: u64,
    /// Recipients whose best hour is known, by that local hour.
    pub hours: [u64; HOURS],
    /// The hour at which most visits begin, of the whole audience.
    pub popular_hour: Option<u8>,
}

/// For how many recipients of a campaign the best hour is known.
///
/// # Errors
/// Not found; a bad request if there are more visits than fit into memory.
pub async fn sto_coverage(app: &CampaignState, who: &Who, id: CampaignId) -> Result<Coverage> {
    let campaign = find(app, who.workspace, id).await?;
    let definition = &campaign.definition;
    let now = app.clock().now();
    let zone = who.zone.parse().unwrap_or(Zone::UTC);
    let (timetable, known) = scan(app, who.workspace, definition, zone, now).await?;
    let first = first_send_at(definition, zone, now).unwrap_or(now);
    let mut hours = [0; HOURS];
    for (engagement, zone) in &known {
        hours[usize::from(timetable.hour_of(engagement, *zone, first)) % HOURS] += 1;
    }
    Ok(Coverage {
        popular_hour: timetable.popular_hour(),
        config: timetable.config,
        total: timetable.total,
        hours,
    })
}

/// The engagement hours of an audience, for a launch.
#[derive(Debug)]
pub struct Timetable {
    config: StoConfig,
    now: Timestamp,
    visits: Visits,
    /// Number of reachable recipients.
    total: u64,
    /// The engagement hours of the whole audience.
    prior: EngagementHours,
    _permit: Arc<OwnedSemaphorePermit>,
}

impl Timetable {
    /// Reads the engagement of a campaign's audience: visits (session starts, and events outside any
    /// session), and opens and clicks not made by machines.
    ///
    /// # Errors
    /// A bad request if there are more visits than fit into memory.
    pub async fn gather(
        app: &CampaignState,
        workspace: WorkspaceId,
        definition: &Definition,
        workspace_zone: Zone,
        now: Timestamp,
    ) -> Result<Self> {
        Ok(scan(app, workspace, definition, workspace_zone, now).await?.0)
    }

    /// The best local hour for a profile with these identifiers (internal and external id) in the window that
    /// starts at `begins`; none with too few visits. Visits under its further identifiers count.
    pub fn best_hour(
        &self,
        identifiers: [Option<&str>; 2],
        zone: Zone,
        begins: Timestamp,
    ) -> Option<u8> {
        let engagement = self.engagement_hours(identifiers, zone)?;
        Some(self.hour_of(&engagement, zone, begins))
    }

    /// The busiest hour of the whole audience.
    pub fn popular_hour(&self) -> Option<u8> {
        self.prior.busiest()
    }

    fn hour_of(&self, engagement: &EngagementHours, zone: Zone, begins: Timestamp) -> u8 {
        let first = u8::try_from(zone.clock_at(begins).hour()).unwrap_or(0);
        engagement.best_hour(&self.prior, first, self.config.window_hours())
    }

    /// The engagement hours of a profile with enough visits.
    fn engagement_hours(
        &self,
        identifiers: [Option<&str>; 2],
        zone: Zone,
    ) -> Option<EngagementHours> {
        let (engagement, count) = self.count(identifiers, zone);
        (count >= self.config.min_events()).then_some(engagement)
    }

    fn count(&self, identifiers: [Option<&str>; 2], zone: Zone) -> (EngagementHours, u32) {
        let (mut engagement, mut count) = (EngagementHours::default(), 0_u32);
        for seconds in self.visits.of(identifiers) {
            engagement.add(Timestamp::from_millis(i64::from(seconds) * 1000), zone, self.now);
            count = count.saturating_add(1);
        }
        (engagement, count)
    }
}

/// Reads an audience once: the timetable, and the engagement hours of each recipient with enough visits.
async fn scan(
    app: &CampaignState,
    workspace: WorkspaceId,
    definition: &Definition,
    workspace_zone: Zone,
    now: Timestamp,
) -> Result<(Timetable, Vec<(EngagementHours, Zone)>)> {
    let config = definition.sto_config.clone().unwrap_or_default();
    let permit = Arc::new(app.sto_scan_permit().await?);
    let analytics = app.analytics().keeping(Arc::clone(&permit));
    let visits = Visits::gather(&analytics, workspace, &config, now).await?;
    let (total, prior, mut known) = (0, EngagementHours::default(), Vec::new());
    let mut timetable = Timetable { config, now, visits, total, prior, _permit: permit };
    let query = AudienceQuery {
        targeting: definition.targeting.as_ref(),
        channel: definition.channel.delivers(),
        list: definition.subscription_category_id,
    };
    let mut audience = Audience::open_for_sending(app.contacts(), workspace, &query).await?;
    // Without visits no recipient has a best hour.
    if timetable.visits.times.is_empty() {
        timetable.total = audience.measure().await?.reachable;
        audience.close().await?;
        return Ok((timetable, known));
    }
    let mut after = None;
    loop {
        let page = audience.reachable_page(after, PAGE).await?;
        let Some(last) = page.last() else { break };
        after = Some(last.user);
        let users: Vec<UserId> = page.iter().map(|recipient| recipient.user).collect();
        timetable.visits.link(further_identifiers(app.db(), workspace, &users).await?);
        for recipient in &page {
            let (timezone, country) = (recipient.timezone.as_deref(), recipient.country.as_deref());
            let zone = Zone::of_person(timezone, country, workspace_zone);
            let id = recipient.user.to_string();
            let (engagement, count) =
                timetable.count([Some(&id), recipient.external_id.as_deref()], zone);
            timetable.total += 1;
            timetable.prior.add_all(&engagement);
            if count >= timetable.config.min_events() {
                known.push((engagement, zone));
            }
        }
    }
    audience.close().await?;
    Ok((timetable, known))
}

/// The visits of a workspace, by the identifiers they were tracked under.
#[derive(Debug, Default)]
struct Visits {
    /// Indexes into `times`, by internal or external id.
    places: HashMap<String, Vec<u32>>,
    /// Likewise, by anonymous id.
    anonymous: HashMap<String, Vec<u32>>,
    times: Vec<Vec<u32>>,
    count: usize,
}

impl Visits {
    async fn gather(
        analytics: &Analytics,
        workspace: WorkspaceId,
        config: &StoConfig,
        now: Timestamp,
    ) -> Result<Self> {
        let filter = VisitFilter {
            start_ms: now.before(DAY * config.lookback_days()).millis(),
            end_ms: now.millis(),
            visits_max: VISITS_PER_PERSON_MAX,
            people_max: PEOPLE_MAX + 1,
        };
        let mut visitors = visitors(analytics, workspace.uuid(), &filter)?;
        let mut gathered = Self::default();
        while let Some(visitor) = visitors.next().await? {
            gathered.add(visitor)?;
        }
        let mut engaged_users = engaged_users(analytics, workspace.uuid(), &filter)?;
        while let Some(visitor) = engaged_users.next().await? {
            gathered.add(visitor)?;
        }
        Ok(gathered)
    }

    fn add(&mut self, visitor: Visitor) -> Result<()> {
        self.count += visitor.visits.len();
        if self.count > VISITS_MAX || self.times.len() as u64 >= PEOPLE_MAX {
            return Err(Error::bad_request(format!(
                "There are more than {VISITS_MAX} visits or {PEOPLE_MAX} visitors to look at: \
                 shorten stoConfig.lookbackDays"
            )));
        }
        let place = u32::try_from(self.times.len()).unwrap_or(u32::MAX);
        self.times.push(visitor.visits);
        for token in BTreeSet::from([visitor.user_id, visitor.service_user_id]) {
            if !token.is_empty() {
                self.places.entry(token).or_default().push(place);
            }
        }
        if !visitor.anonymous_id.is_empty() {
            self.anonymous.entry(visitor.anonymous_id).or_default().push(place);
        }
        Ok(())
    }

    /// Adds to the visits under profiles' internal ids those under their further identifiers.
    fn link(&mut self, further: HashMap<UserId, PersonIds>) {
        for (user, ids) in further {
            let by_user = ids.users.iter().filter_map(|id| self.places.get(id));
            let by_anonymous = ids.anonymous.iter().filter_map(|id| self.anonymous.get(id));
            let places: Vec<u32> = by_user.chain(by_anonymous).flatten().copied().collect();
            if !places.is_empty() {
                self.places.entry(user.to_string()).or_default().extend(places);
            }
        }
    }

    /// The visits under these identifiers, each once.
    fn of<'v>(&'v self, identifiers: [Option<&str>; 2]) -> impl Iterator<Item = u32> + 'v {
        let places: BTreeSet<u32> = identifiers
            .into_iter()
            .flatten()
            .filter_map(|token| self.places.get(token))
            .flatten()
            .copied()
            .collect();
        let of_place = |place| self.times.get(usize::try_from(place).unwrap_or(usize::MAX));
        places.into_iter().filter_map(of_place).flatten().copied()
    }
}
