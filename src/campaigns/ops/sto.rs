//! For how many of an audience the hour is known at which they look.

use std::collections::{BTreeSet, HashMap};

use analytics::events::{VisitFilter, Visitor, lookers, visitors};
use chrono::Timelike as _;
use contacts::audience::{model::Ask, ops::Audience};
use kernel::{CampaignId, Error, Result, Timestamp, WorkspaceId, zone::Zone};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::{Who, find};
use crate::{
    CampaignState,
    model::{
        Definition,
        habits::{HOURS, Habits},
        launch::first_send_at,
        settings::sto::StoConfig,
    },
};

/// Looks at one time: each holds the visits of a workspace.
const LOOKS_MAX: usize = 2;
/// Visits of one person that count, the latest.
const VISITS_PER_PERSON_MAX: u32 = 1_000;
/// Visits of one look, 4 bytes each.
const VISITS_MAX: usize = 5_000_000;
/// Pairs of identifiers of one look, about 200 bytes each.
const PEOPLE_MAX: u64 = 1_000_000;
/// Recipients of one page, about 100 bytes each: a page costs a judgement of the whole audience's consent.
const PAGE: u32 = 50_000;
/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;

static LOOKS: Semaphore = Semaphore::const_new(LOOKS_MAX);

/// For how many of an audience the hour is known.
#[derive(Debug, Clone)]
pub struct Coverage {
    /// How the hours were found.
    pub config: StoConfig,
    /// Those a message reaches.
    pub total: u64,
    /// Those of them whose hour is known, by that hour of their own day.
    pub hours: [u64; HOURS],
    /// The hour at which most visits begin, of the whole audience.
    pub popular_hour: Option<u8>,
}

/// For how many of a campaign's audience the hour is known at which they look.
///
/// # Errors
/// Not found; a bad request where there are more visits than can be held.
pub async fn sto_coverage(app: &CampaignState, who: &Who, id: CampaignId) -> Result<Coverage> {
    let campaign = find(app, who.workspace, id).await?;
    let definition = &campaign.definition;
    let now = app.clock().now();
    let zone = who.zone.parse().unwrap_or(Zone::UTC);
    let (timetable, known) = look(app, who.workspace, (definition, zone), now).await?;
    let first = first_send_at(definition, zone, now).unwrap_or(now);
    let mut hours = [0; HOURS];
    for (habits, zone) in &known {
        hours[usize::from(timetable.hour_of(habits, *zone, first)) % HOURS] += 1;
    }
    Ok(Coverage {
        popular_hour: timetable.popular_hour(),
        config: timetable.config,
        total: timetable.total,
        hours,
    })
}

/// When those of an audience look, as a launch asks it.
#[derive(Debug)]
pub struct Timetable {
    config: StoConfig,
    now: Timestamp,
    visits: Visits,
    /// Those a message reaches.
    total: u64,
    /// The habits of all of them.
    prior: Habits,
    _turn: SemaphorePermit<'static>,
}

impl Timetable {
    /// Gathers what is known of the audience of a campaign. What counts are visits (the beginnings of
    /// sessions, and events outside any session), and opens and clicks that no machine made.
    ///
    /// # Errors
    /// A bad request where there are more visits than can be held.
    pub async fn gather(
        app: &CampaignState,
        workspace: WorkspaceId,
        (definition, workspace_zone): (&Definition, Zone),
        now: Timestamp,
    ) -> Result<Self> {
        Ok(look(app, workspace, (definition, workspace_zone), now).await?.0)
    }

    /// The hour of their own day at which somebody with these identifiers (the internal one, the caller's)
    /// looks, in the window that begins then; none where too little is known.
    pub fn best_hour(
        &self,
        identifiers: [Option<&str>; 2],
        zone: Zone,
        begins: Timestamp,
    ) -> Option<u8> {
        let habits = self.habits(identifiers, zone)?;
        Some(self.hour_of(&habits, zone, begins))
    }

    /// The hour at which most of the audience look.
    pub fn popular_hour(&self) -> Option<u8> {
        self.prior.busiest()
    }

    fn hour_of(&self, habits: &Habits, zone: Zone, begins: Timestamp) -> u8 {
        let first = u8::try_from(zone.clock_at(begins).hour()).unwrap_or(0);
        habits.best_hour(&self.prior, (first, self.config.window_hours()))
    }

    /// The habits of somebody of whom enough is known.
    fn habits(&self, identifiers: [Option<&str>; 2], zone: Zone) -> Option<Habits> {
        let (habits, count) = self.count(identifiers, zone);
        (count >= self.config.min_events()).then_some(habits)
    }

    fn count(&self, identifiers: [Option<&str>; 2], zone: Zone) -> (Habits, u32) {
        let (mut habits, mut count) = (Habits::default(), 0_u32);
        for seconds in self.visits.of(identifiers) {
            habits.add(Timestamp::from_millis(i64::from(seconds) * 1000), zone, self.now);
            count = count.saturating_add(1);
        }
        (habits, count)
    }
}

/// Goes through an audience once: what is known of all, and the habits of those of whom enough is known.
async fn look(
    app: &CampaignState,
    workspace: WorkspaceId,
    (definition, workspace_zone): (&Definition, Zone),
    now: Timestamp,
) -> Result<(Timetable, Vec<(Habits, Zone)>)> {
    let config = definition.sto_config.clone().unwrap_or_default();
    let turn = LOOKS.acquire().await.map_err(|_| Error::store_unavailable())?;
    let visits = Visits::gather(app, workspace, &config, now).await?;
    let (total, prior, mut known) = (0, Habits::default(), Vec::new());
    let mut timetable = Timetable { config, now, visits, total, prior, _turn: turn };
    let ask = Ask {
        targeting: definition.targeting.as_ref(),
        channel: definition.channel.delivers(),
        list: definition.subscription_category_id,
    };
    let mut audience = Audience::open(app, workspace, &ask).await?;
    // Where nobody came there is nothing to look for in anybody.
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
        for recipient in &page {
            let (timezone, country) = (recipient.timezone.as_deref(), recipient.country.as_deref());
            let zone = Zone::of_person(timezone, country, workspace_zone);
            let id = recipient.user.to_string();
            let (habits, count) =
                timetable.count([Some(&id), recipient.external_id.as_deref()], zone);
            timetable.total += 1;
            timetable.prior.add_all(&habits);
            if count >= timetable.config.min_events() {
                known.push((habits, zone));
            }
        }
    }
    audience.close().await?;
    Ok((timetable, known))
}

/// The visits of a workspace, by the identifiers they were tracked under.
#[derive(Debug, Default)]
struct Visits {
    /// Which of `times` are an identifier's.
    places: HashMap<String, Vec<u32>>,
    times: Vec<Vec<u32>>,
    /// How many there are.
    count: usize,
}

impl Visits {
    async fn gather(
        app: &CampaignState,
        workspace: WorkspaceId,
        config: &StoConfig,
        now: Timestamp,
    ) -> Result<Self> {
        let filter = VisitFilter {
            start_ms: now.millis() - i64::from(config.lookback_days()) * DAY_MS,
            end_ms: now.millis(),
            visits_max: VISITS_PER_PERSON_MAX,
            people_max: PEOPLE_MAX + 1,
        };
        let mut visitors = visitors(app.analytics(), workspace.uuid(), &filter)?;
        let mut gathered = Self::default();
        while let Some(visitor) = visitors.next().await? {
            gathered.add(visitor)?;
        }
        let mut lookers = lookers(app.analytics(), workspace.uuid(), &filter)?;
        while let Some(visitor) = lookers.next().await? {
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
        Ok(())
    }

    /// The visits of somebody with these identifiers, each once.
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
