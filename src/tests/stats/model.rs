//! An independent model of the counting rules, written from the specification of reports and not from the program.

use std::collections::{BTreeMap, BTreeSet};

use ingest::record::MessageKind as K;
use uuid::Uuid;

use super::fixture::{H, TestMessageEvent};

/// What one message came to.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Message {
    pub(super) campaign: Uuid,
    pub(super) user: String,
    pub(super) occurrence: u32,
    pub(super) variant: String,
    /// `control`, `sent`, `failed`, `skipped`, `cancelled` or `queued`.
    pub(super) class: &'static str,
    /// The time it belongs to.
    pub(super) at: i64,
    /// When it was sent, held back, failed or was given up.
    pub(super) decided: i64,
    pub(super) delivered: bool,
    pub(super) opened: Option<i64>,
    pub(super) clicked: Option<i64>,
    pub(super) bounced: bool,
    pub(super) opens: usize,
    /// Event id and address of each click.
    pub(super) clicks: BTreeMap<String, String>,
    pub(super) code: Option<String>,
}

/// Every message with an event, tests left out.
pub(super) fn messages(message_events: &[TestMessageEvent]) -> Vec<Message> {
    let mut by_message: BTreeMap<(Uuid, String, u32), Vec<&TestMessageEvent>> = BTreeMap::new();
    for it in message_events.iter().filter(|it| !it.is_test) {
        by_message.entry((it.campaign, it.user.clone(), it.occurrence)).or_default().push(it);
    }
    by_message.into_iter().map(|(key, message_events)| message(key, &message_events)).collect()
}

fn message(
    (campaign, user, occurrence): (Uuid, String, u32),
    message_events: &[&TestMessageEvent],
) -> Message {
    let of = |kind: K| message_events.iter().filter(move |it| it.kind == kind && !it.is_bot);
    let first = |kind: K| of(kind).map(|it| it.at_ms).min();
    let known_failure = of(K::Failed).filter(|it| it.code != "unknown").map(|it| it.at_ms).max();
    let clicked = first(K::Clicked);
    // A click is an open.
    let opened = first(K::Opened).into_iter().chain(clicked).min();
    // Whatever happened to it later means that it left.
    let left = [first(K::Sent), first(K::Delivered), opened].into_iter().flatten().min();
    // So does a bounce or a complaint, unless it came with a failure; its time is unknown, so it is the last one.
    let came_back = first(K::Bounced).or(first(K::Complained)).is_some();
    let implied = came_back && first(K::Failed).is_none();
    let left = left.or_else(|| message_events.iter().map(|it| it.at_ms).max().filter(|_| implied));
    // A failure after the sending takes it back, unless it was opened.
    let taken_back = left.is_some_and(|left| known_failure.is_some_and(|failed| failed >= left));
    let is_sent = left.is_some() && (opened.is_some() || !taken_back);
    let bounce = of(K::Bounced).map(|it| it.at_ms).max();
    let bounced = bounce.is_some_and(|bounce| left.is_none_or(|left| bounce >= left));
    let class = if is_sent {
        "sent"
    } else if left.is_some() {
        "failed"
    } else if first(K::Control).is_some() {
        "control"
    } else if first(K::Failed).is_some() {
        "failed"
    } else if first(K::Skipped).is_some() {
        "skipped"
    } else if first(K::Cancelled).is_some() {
        "cancelled"
    } else {
        "queued"
    };
    let at = left.or(first(K::Control)).or(first(K::Queued));
    let last = message_events.iter().map(|it| it.at_ms).max().unwrap();
    let decided = match class {
        "failed" => left.or(of(K::Failed).map(|it| it.at_ms).max()).unwrap(),
        "skipped" | "cancelled" => last,
        _ => at.unwrap_or(last),
    };
    let ids = |kind: K| of(kind).map(|it| &it.event_id).collect::<BTreeSet<_>>().len();
    let reason = |kind: K| of(kind).map(|it| it.code.clone()).next();
    Message {
        at: at.or(message_events.iter().map(|it| it.at_ms).min()).unwrap(),
        decided,
        variant: message_events.iter().map(|it| it.variant.clone()).max().unwrap(),
        delivered: is_sent && (opened.is_some() || first(K::Delivered).is_some() && !bounced),
        opened: opened.filter(|_| is_sent),
        clicked: clicked.filter(|_| is_sent),
        opens: ids(K::Opened),
        clicks: of(K::Clicked).map(|it| (it.event_id.clone(), it.url.clone())).collect(),
        code: if bounced && opened.is_none() {
            reason(K::Bounced)
        } else if class == "failed" {
            reason(K::Failed)
        } else {
            None
        },
        campaign,
        user,
        occurrence,
        class,
        bounced,
    }
}

impl Message {
    pub(super) fn is(&self, class: &str) -> bool {
        self.class == class
    }

    /// The status of K13.
    pub(super) fn status(&self) -> &'static str {
        match self {
            it if it.clicked.is_some() => "clicked",
            it if it.opened.is_some() => "opened",
            it if it.bounced && it.class != "control" => "bounced",
            it if it.class == "failed" => "failed",
            it if it.delivered => "delivered",
            it => it.class,
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct ProfileEvent {
    pub(super) user: String,
    pub(super) name: &'static str,
    pub(super) at: i64,
    pub(super) order: Option<String>,
    pub(super) total: f64,
    pub(super) currency: &'static str,
}

/// How a campaign counts what people do.
#[derive(Debug, Clone)]
pub(super) struct Counter {
    pub(super) campaign: Uuid,
    /// The event, and what its total must at least be.
    pub(super) goals: Vec<(&'static str, f64)>,
    pub(super) window_hours: i64,
    pub(super) model: &'static str,
}

impl Counter {
    fn converts(&self, profile_event: &ProfileEvent) -> bool {
        self.goals
            .iter()
            .any(|(name, least)| *name == profile_event.name && profile_event.total >= *least)
    }

    fn earns(&self, profile_event: &ProfileEvent) -> bool {
        let counts_orders = self.goals.iter().any(|(name, _)| *name == "Order Completed");
        profile_event.name == "Order Completed" && (!counts_orders || self.converts(profile_event))
    }
}

/// A message of a campaign, the part it is credited with, and what for.
pub(super) struct Share<'a> {
    pub(super) message: &'a Message,
    pub(super) part: f64,
    pub(super) profile_event: &'a ProfileEvent,
}

/// Orders once, the first to come in.
pub(super) fn distinct(profile_events: &[ProfileEvent]) -> Vec<ProfileEvent> {
    let mut seen = BTreeSet::new();
    let is_new = |profile_event: &&ProfileEvent| {
        profile_event.order.as_ref().is_none_or(|order| seen.insert(order.clone()))
    };
    profile_events.iter().filter(is_new).cloned().collect()
}

/// Which messages are credited.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Credited {
    /// Those that were sent, and the control group.
    Sent,
    /// Also those of the campaign itself that failed, were skipped or cancelled.
    Assigned,
}

/// Which outcomes are asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    /// The number of a goal; none for money.
    pub(super) goal: Option<usize>,
    pub(super) credited: Credited,
}

/// What the messages of a campaign are credited with.
pub(super) fn shares<'a>(
    own: &Counter,
    all: &[Counter],
    messages: &'a [Message],
    profile_events: &'a [ProfileEvent],
    Wanted { goal, credited }: Wanted,
) -> Vec<Share<'a>> {
    let mut found = Vec::new();
    for profile_event in profile_events {
        let is_meant = match goal {
            Some(goal) => {
                let (name, least) = own.goals[goal];
                profile_event.name == name && profile_event.total >= least
            }
            None => own.earns(profile_event),
        };
        if !is_meant {
            continue;
        }
        let mut touches: Vec<&Message> = Vec::new();
        for message in messages.iter().filter(|it| it.user == profile_event.user) {
            let Some(counter) = all.iter().find(|it| it.campaign == message.campaign) else {
                continue;
            };
            let counts = if goal.is_some() {
                counter.converts(profile_event)
            } else {
                counter.earns(profile_event)
            };
            let after = profile_event.at - message.decided;
            let is_own = message.campaign == own.campaign;
            let reached = message.is("sent")
                || message.is("control")
                || credited == Credited::Assigned && is_own && !message.is("queued");
            if counts && reached && (0..=counter.window_hours * H).contains(&after) {
                touches.push(message);
            }
        }
        touches.sort_by_key(|message| message.decided);
        let shared: Vec<&Message> = match own.model {
            "last_touch" => touches.last().copied().into_iter().collect(),
            "first_touch" => touches.first().copied().into_iter().collect(),
            _ => touches,
        };
        let part = 1.0 / shared.len() as f64;
        let its = shared.into_iter().filter(|message| message.campaign == own.campaign);
        found.extend(its.map(|message| Share { message, part, profile_event }));
    }
    found
}
