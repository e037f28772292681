//! For how many of an audience the hour is known at which they look.

use std::collections::{BTreeSet, HashMap};

use analytics::events::{VisitFilter, visitors};
use tokio::sync::Semaphore;

use crate::{
    app::App,
    audience::{model::Ask, ops::Audience},
    campaigns::model::{
        Definition,
        habits::{HOURS, Habits},
        launch::first_send_at,
        settings::{sto::StoConfig, zone::Zone},
    },
    kernel::{CampaignId, Error, Result, Timestamp, WorkspaceId},
};

use super::{Who, find};

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

/// Turns at looking.
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

/// For how many of a campaign's audience the hour is known at which they look. What counts are visits: the
/// beginnings of sessions, and events outside any session. Opens and clicks join them when messages are sent.
///
/// # Errors
/// Not found; a bad request where there are more visits than can be held.
pub async fn sto_coverage(app: &App, who: &Who, id: CampaignId) -> Result<Coverage> {
    let campaign = find(app, who.workspace, id).await?;
    let definition = &campaign.definition;
    let config = definition.sto_config.clone().unwrap_or_default();
    let _turn = LOOKS.acquire().await.map_err(|_| Error::store_unavailable())?;
    let now = app.clock().now();
    let visits = Visits::gather(app, who.workspace, &config, now).await?;
    let workspace_zone = who.zone.parse().unwrap_or(Zone::UTC);
    let mut look =
        Look { config, now, workspace_zone, total: 0, prior: Habits::default(), known: Vec::new() };
    look.through(app, who.workspace, definition, &visits).await?;
    let first = first_send_at(definition, workspace_zone, now).unwrap_or(now);
    Ok(look.coverage(first))
}

/// The visits of a workspace, by the identifiers they were tracked under.
#[derive(Default)]
struct Visits {
    /// Which of `times` are an identifier's.
    places: HashMap<String, Vec<u32>>,
    times: Vec<Vec<u32>>,
}

impl Visits {
    async fn gather(
        app: &App,
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
        let (mut gathered, mut count) = (Self::default(), 0);
        while let Some(visitor) = visitors.next().await? {
            count += visitor.visits.len();
            if count > VISITS_MAX || gathered.times.len() as u64 >= PEOPLE_MAX {
                return Err(Error::bad_request(format!(
                    "There are more than {VISITS_MAX} visits or {PEOPLE_MAX} visitors to look at: \
                     shorten stoConfig.lookbackDays"
                )));
            }
            let place = u32::try_from(gathered.times.len()).unwrap_or(u32::MAX);
            gathered.times.push(visitor.visits);
            for token in BTreeSet::from([visitor.user_id, visitor.service_user_id]) {
                if !token.is_empty() {
                    gathered.places.entry(token).or_default().push(place);
                }
            }
        }
        Ok(gathered)
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

/// One look through an audience.
struct Look {
    config: StoConfig,
    now: Timestamp,
    workspace_zone: Zone,
    total: u64,
    /// The habits of all.
    prior: Habits,
    /// Those of whom enough is known, and the zone each lives in.
    known: Vec<(Habits, Zone)>,
}

impl Look {
    async fn through(
        &mut self,
        app: &App,
        workspace: WorkspaceId,
        definition: &Definition,
        visits: &Visits,
    ) -> Result<()> {
        let ask = Ask {
            targeting: definition.targeting.as_ref(),
            channel: definition.channel.delivers(),
            list: definition.subscription_category_id,
        };
        let mut audience = Audience::open(app, workspace, &ask).await?;
        // Where nobody came there is nothing to look for in anybody.
        if visits.times.is_empty() {
            self.total = audience.measure().await?.reachable;
            return audience.close().await;
        }
        let mut after = None;
        loop {
            let page = audience.reachable_page(after, PAGE).await?;
            let Some(last) = page.last() else { break };
            after = Some(last.user);
            for recipient in &page {
                let own = recipient.timezone.as_deref().and_then(|name| name.parse().ok());
                let zone = own.unwrap_or(self.workspace_zone);
                let id = recipient.user.to_string();
                self.count(visits.of([Some(&id), recipient.external_id.as_deref()]), zone);
            }
        }
        audience.close().await
    }

    fn count(&mut self, visits: impl Iterator<Item = u32>, zone: Zone) {
        self.total += 1;
        let (mut habits, mut count) = (Habits::default(), 0_u32);
        for seconds in visits {
            habits.add(Timestamp::from_millis(i64::from(seconds) * 1000), zone, self.now);
            count = count.saturating_add(1);
        }
        self.prior.add_all(&habits);
        if count >= self.config.min_events() {
            self.known.push((habits, zone));
        }
    }

    fn coverage(self, first: Timestamp) -> Coverage {
        use chrono::Timelike as _;
        let mut hours = [0; HOURS];
        for (habits, zone) in &self.known {
            let begins = u8::try_from(zone.clock_at(first).hour()).unwrap_or(0);
            let best = habits.best_hour(&self.prior, (begins, self.config.window_hours()));
            hours[usize::from(best) % HOURS] += 1;
        }
        Coverage {
            config: self.config,
            total: self.total,
            hours,
            popular_hour: self.prior.busiest(),
        }
    }
}
