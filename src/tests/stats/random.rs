//! Random campaigns, people and fates, every report compared with an independent computation.

use std::collections::{BTreeMap, BTreeSet};

use ingest::record::MessageKind as K;
use rand::{Rng as _, SeedableRng as _, rngs::StdRng, seq::IndexedRandom as _};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    fixture::{
        TestMessageEvent, campaign, hour, in_euros, iso, message_event, near, person, publish,
        report, track, variant,
    },
    model::{Counter, Credited, Message, ProfileEvent, Wanted, distinct, messages, shares},
};
use crate::kit::Workspace;

const PEOPLE: usize = 60;
const SEED: u64 = 20_261_121;
const LINKS: [&str; 3] =
    ["https://a.example.test/", "https://b.example.test/?x=1", "https://c.example.test/#y"];

struct World {
    dice: StdRng,
    /// Distinguishes times, so that no two touches are at one.
    ticks: i64,
    message_events: Vec<TestMessageEvent>,
}

impl World {
    fn coin(&mut self, chance: f64) -> bool {
        self.dice.random_bool(chance)
    }

    fn soon(&mut self, hours: i64) -> i64 {
        self.ticks += 1;
        self.dice.random_range(0..hours * 60) * 60_000 + self.ticks
    }

    fn push(&mut self, it: TestMessageEvent) {
        // Some events are recorded twice.
        if self.coin(0.1) {
            self.message_events.push(it.clone());
        }
        self.message_events.push(it);
    }

    /// One fate of one message.
    fn message(&mut self, campaign: Uuid, user: &str, occurrence: u32, starts: i64) {
        let name = ["control", "a", "b"].choose(&mut self.dice).copied().unwrap();
        let of = |kind, at| message_event(campaign, user, kind, at).of(name).nth(occurrence);
        let mut at = starts + self.soon(24);
        if self.coin(0.05) {
            // A test, whose message is another: as if of another occurrence.
            let mut test = of(K::Sent, at).nth(occurrence + 100);
            test.is_test = true;
            self.push(test);
        }
        self.push(of(K::Queued, at));
        if name == "control" {
            return self.push(of(K::Control, at + 1));
        }
        let fate = self.dice.random_range(0..20);
        match fate {
            0 => return,
            1 => return self.push(of(K::Skipped, at + 1).because("channel_consent", "none")),
            2 => return self.push(of(K::Cancelled, at + 1)),
            3 => return self.push(of(K::Failed, at + 1).because("550", "no")),
            4 => return self.push(of(K::Failed, at + 1).because("unknown", "cut off")),
            // Failed, or so it seemed, and then sent.
            5 => self.push(of(K::Failed, at + 1).because("451", "later")),
            6 => self.push(of(K::Failed, at + 1).because("unknown", "cut off")),
            _ => {}
        }
        at += 10;
        if self.coin(0.95) {
            self.push(of(K::Sent, at));
        }
        if self.coin(0.8) {
            self.push(of(K::Delivered, at + 5));
        }
        if fate > 6 && self.coin(0.08) {
            self.push(of(K::Failed, at + 7).because("30003", "unreachable"));
        }
        if self.coin(0.1) {
            self.push(of(K::Bounced, at + 9).because("5.1.1", "no such user"));
        }
        for _ in 0..self.dice.random_range(0..3) {
            let (after, is_bot) = (self.soon(50), self.coin(0.3));
            let mut open = of(K::Opened, at + 20 + after);
            open.is_bot = is_bot;
            self.push(open);
        }
        for _ in 0..self.dice.random_range(0..3) {
            let (after, is_bot) = (self.soon(50), self.coin(0.3));
            let mut click = of(K::Clicked, at + 30 + after);
            click = click.on(LINKS.choose(&mut self.dice).unwrap());
            click.is_bot = is_bot;
            self.push(click);
        }
        if self.coin(0.05) {
            self.push(of(K::Unsubscribed, at + 60_000));
        }
        if self.coin(0.03) {
            self.push(of(K::Complained, at + 60_000));
        }
    }

    fn profile_event(&mut self, user: &str, orders: usize) -> ProfileEvent {
        let at = hour(0) + self.soon(24 * 8);
        if self.coin(0.4) {
            let user = user.to_owned();
            return ProfileEvent {
                user,
                name: "Viewed",
                at,
                order: None,
                total: 0.0,
                currency: "",
            };
        }
        ProfileEvent {
            user: user.to_owned(),
            name: "Order Completed",
            at,
            order: self.coin(0.8).then(|| format!("o{}", self.dice.random_range(0..orders))),
            total: f64::from(self.dice.random_range(1..=400)) / 4.0,
            currency: ["EUR", "EUR", "USD"].choose(&mut self.dice).copied().unwrap(),
        }
    }
}

fn tracking(counter: &Counter) -> Value {
    let goal = |(name, least): &(&str, f64)| {
        if *least > 0.0 {
            let least = json!([{"field": "total", "operator": "gte", "value": least}]);
            json!({"eventName": name, "conditions": least})
        } else {
            json!({"eventName": name})
        }
    };
    json!({
        "primaryConversion": goal(&counter.goals[0]),
        "secondaryConversions": counter.goals[1..].iter().map(goal).collect::<Vec<_>>(),
        "conversionWindowHours": counter.window_hours,
        "attributionModel": counter.model,
    })
}

struct Checked<'a> {
    workspace: &'a Workspace,
    own: &'a Counter,
    all: &'a [Counter],
    messages: &'a [Message],
    profile_events: &'a [ProfileEvent],
}

impl Checked<'_> {
    /// Own messages that belong to the range.
    fn cohort(&self, (start, end): (i64, i64)) -> Vec<&Message> {
        let is_own =
            |it: &&Message| it.campaign == self.own.campaign && (start..=end).contains(&it.at);
        self.messages.iter().filter(is_own).collect()
    }

    /// Events credited, people with any, and money by currency.
    fn totals(
        &self,
        wanted: Wanted,
        range: (i64, i64),
        is_control: bool,
    ) -> (f64, usize, BTreeMap<&str, f64>) {
        let shares = shares(self.own, self.all, self.messages, self.profile_events, wanted);
        let within = shares.iter().filter(|it| {
            (range.0..=range.1).contains(&it.message.decided)
                && it.message.is("control") == is_control
        });
        let (mut parts, mut who, mut money) = (0.0, BTreeSet::new(), BTreeMap::new());
        for it in within {
            parts += it.part;
            who.insert(&it.message.user);
            *money.entry(it.profile_event.currency).or_insert(0.0) +=
                it.part * it.profile_event.total;
        }
        (parts, who.len(), money)
    }

    #[expect(clippy::too_many_lines, reason = "one scenario in order")]
    fn stats(&self, report: &Value, message_events: &[TestMessageEvent], range: (i64, i64)) {
        let cohort = self.cohort(range);
        let count =
            |is: &dyn Fn(&Message) -> bool| cohort.iter().filter(|it| is(it)).count() as f64;
        let ever = |kind: K, is_bot: bool| {
            let had = |it: &Message| {
                message_events.iter().any(|event| {
                    !event.is_test
                        && event.kind == kind
                        && event.is_bot == is_bot
                        && (event.campaign, &event.user, event.occurrence)
                            == (it.campaign, &it.user, it.occurrence)
                })
            };
            cohort.iter().filter(|it| had(it)).count() as f64
        };
        let expected = [
            ("queued", count(&|it| it.class != "control")),
            ("sent", count(&|it| it.is("sent"))),
            ("failed", count(&|it| it.is("failed"))),
            ("skipped", count(&|it| it.is("skipped"))),
            ("cancelled", count(&|it| it.is("cancelled"))),
            ("control", count(&|it| it.is("control"))),
            ("delivered", count(&|it| it.delivered)),
            ("opened", count(&|it| it.opened.is_some())),
            ("clicked", count(&|it| it.clicked.is_some())),
            ("bounced", count(&|it| it.bounced)),
            ("failedOrBounced", count(&|it| it.bounced || it.is("failed"))),
            ("complained", ever(K::Complained, false)),
            ("unsubscribed", ever(K::Unsubscribed, false)),
            ("machineOpened", ever(K::Opened, true)),
            ("machineClicked", ever(K::Clicked, true)),
            // A click without an opening is one.
            (
                "totalOpens",
                cohort
                    .iter()
                    .map(|it| it.opens.max(usize::from(it.opened.is_some())))
                    .sum::<usize>() as f64,
            ),
            ("totalClicks", cohort.iter().map(|it| it.clicks.len()).sum::<usize>() as f64),
        ];
        for (name, expected) in expected {
            assert!(
                near(&report["stats"][name], expected),
                "{name}: {} is not {expected}",
                report["stats"]
            );
        }
        let people = |is: &dyn Fn(&Message) -> bool| {
            let users = cohort.iter().filter(|it| is(it)).map(|it| (&it.user, &it.variant));
            users.collect::<BTreeSet<_>>().len() as f64
        };
        let sent = people(&|it| it.is("sent"));
        let sent_of = |goal| Wanted { goal, credited: Credited::Sent };
        for goal in 0..self.own.goals.len() {
            let (parts, unique, _) = self.totals(sent_of(Some(goal)), range, false);
            let conversions = &report["conversionStats"];
            let found = if goal == 0 {
                &conversions["primary"]
            } else {
                &conversions["secondary"][goal - 1]
            };
            assert!(near(&found["conversions"], parts), "{goal}: {found} is not {parts}");
            assert!(
                near(&found["uniqueConversions"], unique as f64),
                "{goal}: {found} is not {unique}"
            );
            assert!(near(&found["conversionRate"], unique as f64 / sent), "{found}");
        }
        let (_, _, money) = self.totals(sent_of(None), range, false);
        let (revenue, euros) = (&report["revenue"], money.get("EUR").copied().unwrap_or(0.0));
        assert_eq!(revenue["currency"], "EUR");
        assert!(
            (revenue["total"].as_f64().unwrap() - euros).abs() < 1e-3,
            "{revenue} is not {money:?}"
        );
        let dollars = revenue["otherCurrencies"]
            .as_array()
            .unwrap()
            .iter()
            .find(|it| it["currency"] == "USD");
        let dollars = dollars.map_or(0.0, |it| it["total"].as_f64().unwrap());
        assert!(
            (dollars - money.get("USD").copied().unwrap_or(0.0)).abs() < 1e-3,
            "{revenue} is not {money:?}"
        );
        let uplift = &report["uplift"];
        let assigned = Wanted { goal: Some(0), credited: Credited::Assigned };
        let (_, treated, _) = self.totals(assigned, range, false);
        let (_, held_out, _) = self.totals(assigned, range, true);
        assert!(near(&uplift["treatment"]["conversions"], treated as f64), "{uplift}");
        assert!(near(&uplift["control"]["conversions"], held_out as f64), "{uplift}");
        let is_assigned = |it: &Message| !it.is("control") && !it.is("queued");
        assert!(near(&uplift["treatment"]["size"], people(&is_assigned)), "{uplift}");
        assert!(near(&uplift["control"]["size"], people(&|it| it.is("control"))), "{uplift}");
    }

    async fn others(&self) {
        let all = (i64::MIN, i64::MAX);
        let cohort = self.cohort(all);
        let own = self.own.campaign;

        let links = report(self.workspace, own, "links").await;
        for url in LINKS {
            let clicked: Vec<_> =
                cohort.iter().filter(|it| it.clicks.values().any(|on| on == url)).collect();
            let total =
                cohort.iter().flat_map(|it| it.clicks.values()).filter(|on| *on == url).count();
            let found =
                links["links"].as_array().unwrap().iter().find(|it| it["url"] == url).unwrap();
            assert!(near(&found["totalClicks"], total as f64), "{found} {total}");
            assert!(near(&found["uniqueClicks"], clicked.len() as f64), "{found}");
        }

        let mut codes: BTreeMap<&str, usize> = BTreeMap::new();
        for code in cohort.iter().filter_map(|it| it.code.as_deref()) {
            *codes.entry(code).or_default() += 1;
        }
        let found = report(self.workspace, own, "failure-reasons").await;
        let found: BTreeMap<&str, usize> = found
            .as_array()
            .unwrap()
            .iter()
            .map(|it| (it["code"].as_str().unwrap(), it["count"].as_u64().unwrap() as usize))
            .collect();
        assert_eq!(found, codes);

        let engaged = report(self.workspace, own, "time-to-engage").await;
        let edges = [0, 300, 900, 3600, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800, i64::MAX];
        for (at, bucket) in engaged["buckets"].as_array().unwrap().iter().enumerate() {
            let within = |first: Option<i64>, sent: i64| {
                first.is_some_and(|first| {
                    (edges[at]..edges[at + 1]).contains(&((first - sent) / 1000))
                })
            };
            let opened = cohort.iter().filter(|it| within(it.opened, it.at)).count();
            let clicked = cohort.iter().filter(|it| within(it.clicked, it.at)).count();
            assert!(near(&bucket["opened"], opened as f64), "{bucket} {opened}");
            assert!(near(&bucket["clicked"], clicked as f64), "{bucket} {clicked}");
        }

        let occurrences = report(self.workspace, own, "send-occurrences").await;
        for found in occurrences["data"].as_array().unwrap() {
            let number = found["occurrence"].as_u64().unwrap() as u32;
            let its = |is: &dyn Fn(&Message) -> bool| {
                cohort.iter().filter(|it| it.occurrence == number && is(it)).count() as f64
            };
            assert!(near(&found["sent"], its(&|it| it.is("sent"))), "{found}");
            assert!(near(&found["clicked"], its(&|it| it.clicked.is_some())), "{found}");
        }

        let variants = report(self.workspace, own, "variant-stats").await;
        for found in variants["variants"].as_array().unwrap() {
            let its = |is: &dyn Fn(&Message) -> bool| {
                cohort.iter().filter(|it| found["variantId"] == it.variant && is(it)).count() as f64
            };
            assert!(near(&found["sent"], its(&|it| it.is("sent"))), "{found}");
            assert!(near(&found["delivered"], its(&|it| it.delivered)), "{found}");
            assert!(near(&found["opened"], its(&|it| it.opened.is_some())), "{found}");
        }
        self.recipients(&cohort).await;
    }

    /// The latest message to each, page by page, and by status.
    async fn recipients(&self, cohort: &[&Message]) {
        let mut latest: BTreeMap<&str, &Message> = BTreeMap::new();
        for message in cohort {
            let kept = latest.entry(&message.user).or_insert(message);
            if kept.occurrence < message.occurrence {
                *kept = message;
            }
        }
        let mut found: BTreeMap<String, String> = BTreeMap::new();
        for offset in (0..latest.len()).step_by(25) {
            let page = format!("recipients?limit=25&offset={offset}");
            let page = report(self.workspace, self.own.campaign, &page).await;
            assert_eq!(page["pagination"]["total"], latest.len());
            assert_eq!(page["pagination"]["hasMore"], offset + 25 < latest.len());
            for row in page["data"].as_array().unwrap() {
                let text = |name: &str| row[name].as_str().unwrap().to_owned();
                found.insert(text("userId"), text("status"));
            }
        }
        let expected: BTreeMap<String, String> = latest
            .iter()
            .map(|(user, message)| ((*user).to_owned(), message.status().to_owned()))
            .collect();
        assert_eq!(found, expected);
        for status in [
            "queued",
            "sent",
            "delivered",
            "opened",
            "clicked",
            "bounced",
            "failed",
            "skipped",
            "cancelled",
            "control",
        ] {
            let page = format!("recipients?limit=200&status={status}");
            let page = report(self.workspace, self.own.campaign, &page).await;
            let count = latest.values().filter(|message| message.status() == status).count();
            assert_eq!(page["pagination"]["total"], count, "{status}");
            assert_eq!(page["data"].as_array().unwrap().len(), count, "{status}");
        }
    }
}

#[expect(clippy::too_many_lines, reason = "one scenario in order")]
#[tokio::test]
async fn every_report_matches_an_independent_model() {
    let workspace = in_euros().await;
    let mut people = Vec::new();
    for _ in 0..PEOPLE {
        people.push(person(&workspace).await);
    }
    let mut counters = Vec::new();
    for (goals, window_hours, model) in [
        (vec![("Order Completed", 50.0), ("Viewed", 0.0)], 72, "last_touch"),
        (vec![("Order Completed", 0.0)], 48, "linear"),
        (
            vec![("Viewed", 0.0), ("Order Completed", 20.0), ("Order Completed", 0.0)],
            24,
            "first_touch",
        ),
    ] {
        let mut counter = Counter { campaign: Uuid::nil(), goals, window_hours, model };
        let variants =
            json!([variant("a", 45, false), variant("b", 45, false), variant("control", 10, true)]);
        let fields = json!({"variants": variants, "conversionTracking": tracking(&counter)});
        counter.campaign = campaign(&workspace, fields).await;
        counters.push(counter);
    }
    let mut world =
        World { dice: StdRng::seed_from_u64(SEED), ticks: 0, message_events: Vec::new() };
    for (place, counter) in counters.iter().enumerate() {
        // The last campaign runs once, so that each recipient has one message of it.
        let times = if place == 2 { 1 } else { 2 };
        for occurrence in 1..=times {
            let starts = hour(24 * (i64::from(occurrence) - 1) + 8 * i64::try_from(place).unwrap());
            for (_, user) in &people {
                if world.coin(0.8) {
                    world.message(counter.campaign, user, occurrence, starts);
                }
            }
        }
    }
    let mut profile_events = Vec::new();
    for _ in 0..200 {
        let (_, user) = people.choose(&mut world.dice).cloned().unwrap();
        profile_events.push(world.profile_event(&user, 60));
    }
    let events: Vec<Value> = profile_events
        .iter()
        .map(|profile_event| {
            let (external, internal) = people.iter().find(|(_, id)| *id == profile_event.user).unwrap();
            let mut properties = json!({"total": profile_event.total});
            if profile_event.name == "Order Completed" {
                properties["currency"] = json!(profile_event.currency);
            }
            if let Some(order) = &profile_event.order {
                properties["orderId"] = json!(order);
            }
            let mut event = json!({"eventName": profile_event.name, "timestamp": iso(profile_event.at), "properties": properties});
            match world.dice.random_range(0..4) {
                0 => event["serviceUserId"] = json!(internal),
                1 => event["userId"] = json!(internal),
                2 => {
                    event["userId"] = json!(external);
                    event["serviceUserId"] = json!(internal);
                }
                _ => event["userId"] = json!(external),
            }
            event
        })
        .collect();
    publish(&workspace, &world.message_events).await;
    track(&workspace, &events, profile_events.len()).await;

    let (messages, profile_events) = (messages(&world.message_events), distinct(&profile_events));
    for own in &counters {
        let checked = Checked {
            workspace: &workspace,
            own,
            all: &counters,
            messages: &messages,
            profile_events: &profile_events,
        };
        let all = report(&workspace, own.campaign, "stats").await;
        checked.stats(&all, &world.message_events, (i64::MIN, i64::MAX));
        let range = (hour(10), hour(30));
        let query = format!("stats?startDate={}&endDate={}", iso(range.0), iso(range.1));
        let some = report(&workspace, own.campaign, &query).await;
        checked.stats(&some, &world.message_events, range);
        checked.others().await;
    }
}
