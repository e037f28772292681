//! `/v1/in-app/*`: what an app may show a person, and what it tells of it.

use axum::{Json, extract::State};
use campaigns::model::{
    in_app::InAppContent,
    settings::channel_config::{InAppTrigger, InAppTriggerKind, InAppType, Platform, Priority},
};
use delivery::render::scope_of;
use kernel::{
    CampaignId, DayEdge, FieldError, MessageId, Result, Timestamp,
    fields::{Fields, FromFields},
    schema::one_or_list,
};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;
use web::http::{ApiResult, Body, FromQuery, OneOrMany, Query, QueryFields};

use super::person::{AppUser, Person};
use crate::{
    SdkState,
    model::{self, Kind, Occasion},
    ops::{
        events::{self, Happened, Sender, Which},
        messages::{self, Offered},
        public_messages::{self, Viewer},
        subject::Subject,
    },
};

/// Characters of an app's id.
const APP_ID_CHARS_MAX: usize = 255;
/// Characters of an event's name.
const EVENT_NAME_CHARS_MAX: usize = 255;
/// Characters of the id of something that happened.
const EVENT_ID_CHARS_MAX: usize = 255;
/// Characters of a variant's or button's id.
const ID_CHARS_MAX: usize = 64;
/// Things that happened in one request.
const EVENTS_MAX: usize = 100;

/// What the query string may ask for.
#[derive(Debug)]
pub(super) struct Ask {
    person: Person,
    app: model::App,
}

impl FromQuery for Ask {
    fn from_query(query: &mut QueryFields<'_>) -> Self {
        let person = Person::of_query(query);
        let platform = query.one_of("platform", Platform::NAMED);
        if platform.is_none() && query.text("platform", ID_CHARS_MAX).is_none() {
            query.refuse("platform", "is required");
        }
        let id = query.text("appId", APP_ID_CHARS_MAX);
        let kind = query.one_of("trigger", InAppTriggerKind::NAMED);
        let event_name = query.text("eventName", EVENT_NAME_CHARS_MAX);
        if event_name.is_some() && kind.is_some_and(|kind| kind != InAppTriggerKind::Event) {
            query.refuse("eventName", "is for the trigger event alone");
        }
        if event_name.is_some() && kind.is_none() {
            query.refuse("eventName", "needs the trigger event");
        }
        let occasion = kind.map(|kind| Occasion { kind, event_name });
        Self {
            person,
            app: model::App { platform: platform.unwrap_or(Platform::Web), id, occasion },
        }
    }
}

/// A message for the app to show.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct InAppMessage {
    /// By which the app tells of it: one a campaign and person.
    message_id: MessageId,
    campaign_id: CampaignId,
    variant_id: String,
    /// Whether it is only to be looked at: it is in no report.
    is_test: bool,
    #[serde(rename = "type")]
    kind: InAppType,
    /// Which goes first, the greatest.
    priority: i32,
    /// What makes it appear: any of these. Their conditions are for the app to judge. Never empty.
    triggers: Vec<InAppTrigger>,
    /// How often the person may see it, and how often they did.
    display_frequency: Frequency,
    /// Not before this moment.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    start_at: Option<Timestamp>,
    /// Not after this moment.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    end_at: Option<Timestamp>,
    /// The element that `content.style.customCss` is kept to: `[data-inapp="<messageId>"]`.
    css_scope: String,
    /// What it shows, rendered for the person; of its mode alone.
    content: InAppContent,
}

/// How often a person may see a message, and how often they did.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = InAppFrequency)]
struct Frequency {
    /// Displays to one person at most; null for any number.
    max_per_user: Option<u32>,
    /// Hours from one display to the next at least; null for none.
    min_hours_between: Option<u32>,
    /// Displays told so far.
    displays: u32,
    /// When the latest was.
    last_displayed_at: Option<Timestamp>,
}

impl From<Offered> for InAppMessage {
    fn from(offered: Offered) -> Self {
        let Offered { id, campaign, variant, is_test, config, content, shown } = offered;
        let frequency = config.display_frequency.as_ref();
        let at_start = || InAppTrigger {
            kind: InAppTriggerKind::SessionStart,
            event_name: None,
            conditions: None,
            delay_seconds: None,
        };
        Self {
            message_id: id,
            campaign_id: campaign,
            variant_id: variant,
            is_test,
            kind: config.kind.unwrap_or_default(),
            priority: match config.priority {
                Some(Priority::InApp(number)) => number,
                _ => 0,
            },
            display_frequency: Frequency {
                max_per_user: frequency.and_then(|it| it.max_per_user),
                min_hours_between: frequency.and_then(|it| it.min_hours_between),
                displays: shown.displays,
                last_displayed_at: shown.last_at,
            },
            triggers: config
                .triggers
                .filter(|triggers| !triggers.is_empty())
                .unwrap_or_else(|| vec![at_start()]),
            start_at: config.start_at,
            end_at: config.end_at,
            css_scope: scope_of(id),
            content,
        }
    }
}

/// What the app may show now.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct InAppMessages {
    /// At most 20, what goes first at first: tests, then by priority, among equals the newest campaign's.
    messages: Vec<InAppMessage>,
}

/// Lists the in-app messages a person may see now. Without a user token, where that is allowed, these are the
/// messages of campaigns for everyone, rendered without attributes and without links of the person's own; the
/// app keeps `displayFrequency` by itself.
#[utoipa::path(
    get,
    path = "/v1/in-app/messages",
    tag = "sdk",
    security(("sdk_key" = [], "user_token" = [])),
    params(
        ("userId" = String, Query, min_length = 1, max_length = 255, description = "the caller's own id of a profile, or the internal one"),
        ("platform" = Platform, Query),
        ("appId" = Option<String>, Query, description = "which app; messages for certain web apps need it"),
        ("trigger" = Option<InAppTriggerKind>, Query, description = "only what this sets off; all messages without"),
        ("eventName" = Option<String>, Query, description = "for the trigger event: only what this event sets off"),
    ),
    responses(
        (status = 200, body = InAppMessages),
        (status = 404, description = "the user token's person has no profile"),
    )
)]
pub(super) async fn list_in_app_messages(
    State(app): State<SdkState>,
    caller: AppUser,
    Query(ask): Query<Ask>,
) -> ApiResult<Json<InAppMessages>> {
    let workspace = caller.workspace();
    let offered = match caller.subject(&app, &ask.person).await? {
        Subject::Proven(user) => messages::messages(&app, workspace, user, &ask.app).await?,
        Subject::Claimed(user) => {
            let viewer = Viewer { name: ask.person.name(), user };
            public_messages::messages(&app, workspace, viewer, &ask.app).await?
        }
    };
    Ok(Json(InAppMessages { messages: offered.into_iter().map(InAppMessage::from).collect() }))
}

/// What a person did with a message.
#[derive(Debug, Clone, Copy, ToSchema)]
#[schema(rename_all = "lowercase")]
#[expect(dead_code, reason = "describes the body for openapi; Kind is what is read")]
enum InAppEventType {
    Impression,
    Click,
    Dismiss,
}

/// Something a person did with a message. It is named by `messageId`, or by `campaignId`.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "describes the body for openapi; InAppEvent reads it")]
struct InAppEventBody {
    #[schema(rename = "type")]
    kind: InAppEventType,
    message_id: Option<MessageId>,
    /// The campaign whose message it was.
    campaign_id: Option<CampaignId>,
    /// The variant that was shown; must be the one handed over.
    #[schema(min_length = 1, max_length = 64)]
    variant_id: Option<String>,
    #[schema(min_length = 1, max_length = 255)]
    user_id: String,
    /// An id of its own: told again with it, it is recorded and counted once.
    #[schema(min_length = 1, max_length = 255)]
    event_id: Option<String>,
    /// When, at most 30 days ago; now without a word, and where the device's clock is ahead.
    #[schema(value_type = Option<kernel::schema::Moment>)]
    at: Option<String>,
    /// Of a click: the button. Required where `type` is `click`.
    #[schema(min_length = 1, max_length = 64)]
    button_id: Option<String>,
    /// Where it was shown.
    platform: Platform,
    #[schema(min_length = 1, max_length = 255)]
    app_id: Option<String>,
}

one_or_list!(
    /// One thing, or up to 100 of them.
    InAppEventsBody = InAppEventBody,
    EVENTS_MAX
);

/// A body that was read.
#[derive(Debug)]
pub(super) struct InAppEvent(Happened);

impl FromFields for InAppEvent {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let kind = body.required("type").one_of(Kind::NAMED);
        let nobodys = Uuid::nil();
        let message = body.optional("messageId").parsed(MessageId::new(nobodys), |text| {
            text.parse().map_err(|_| "must be a UUID".to_owned())
        });
        let campaign = body.optional("campaignId").parsed(CampaignId::new(nobodys), |text| {
            text.parse().map_err(|_| "must be a UUID".to_owned())
        });
        let sent = |name: &str, body: &mut Fields<'_>| !body.optional(name).unjudged().is_null();
        if sent("messageId", body) == sent("campaignId", body) {
            body.refuse_body("either messageId or campaignId is required");
        }
        let button = body.optional("buttonId").text(1..=ID_CHARS_MAX);
        if kind == Kind::Click && !sent("buttonId", body) {
            body.refuse("buttonId", "is required for a click");
        }
        if kind != Kind::Click && sent("buttonId", body) && sent("type", body) {
            body.refuse("buttonId", "is for a click alone");
        }
        let happened = Happened {
            kind,
            which: message.map_or_else(
                || Which::Campaign(campaign.unwrap_or(CampaignId::new(nobodys))),
                Which::Message,
            ),
            variant: body.optional("variantId").text(1..=ID_CHARS_MAX),
            user: Person::of_body(body).into_name(),
            event_id: body
                .optional("eventId")
                .text(1..=EVENT_ID_CHARS_MAX)
                .unwrap_or_else(|| Uuid::new_v4().to_string()),
            at: body.optional("at").timestamp(DayEdge::Start),
            button,
            platform: platform_name(body.required("platform").one_of(Platform::NAMED)),
            app_id: body.optional("appId").text(1..=APP_ID_CHARS_MAX),
        };
        Self(happened)
    }
}

fn platform_name(platform: Platform) -> &'static str {
    Platform::NAMED.iter().find(|(_, known)| *known == platform).map_or("", |(name, _)| name)
}

/// The answer: to a single thing its id, to an array the verdicts.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub(super) enum Recorded {
    #[serde(rename_all = "camelCase")]
    One {
        /// The id it is known by.
        event_id: String,
        success: bool,
    },
    /// An array was judged element by element.
    Many { processed: usize, accepted: usize, rejected: Vec<Refused> },
}

/// An element that was refused.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RefusedInAppEvent)]
pub(super) struct Refused {
    /// Zero-based position in the request's array.
    index: usize,
    reason: String,
}

/// Records what people did with in-app messages. Without a user token, where that is allowed, what cannot be
/// recorded for its person is dropped, and answered as if it had been.
#[utoipa::path(
    post,
    path = "/v1/in-app/events",
    tag = "sdk",
    security(("sdk_key" = [], "user_token" = [])),
    request_body = InAppEventsBody,
    responses(
        (status = 200, body = Recorded, description = "durable; displays are counted"),
        (status = 404, description = "of a single one: no such person, or no such message was handed over to them"),
    )
)]
pub(super) async fn record_in_app_events(
    State(app): State<SdkState>,
    caller: AppUser,
    Body(body): Body<OneOrMany<InAppEvent, EVENTS_MAX>>,
) -> ApiResult<Json<Recorded>> {
    let from = Sender { workspace: caller.workspace(), external_id: caller.external_id() };
    let elements = match body {
        OneOrMany::One(InAppEvent(happened)) => {
            let happened = [happened];
            events::record(&app, from, &happened).await?.into_iter().collect::<Result<()>>()?;
            let [Happened { event_id, .. }] = happened;
            return Ok(Json(Recorded::One { event_id, success: true }));
        }
        OneOrMany::Many(elements) => elements,
    };
    let processed = elements.len();
    let (mut rejected, mut places, mut happened) = (Vec::new(), Vec::new(), Vec::new());
    for (index, element) in elements.into_iter().enumerate() {
        match element {
            Ok(InAppEvent(it)) => {
                places.push(index);
                happened.push(it);
            }
            Err(problems) => rejected.push(Refused { index, reason: joined(&problems) }),
        }
    }
    let verdicts = events::record(&app, from, &happened).await?;
    let refused = places
        .into_iter()
        .zip(verdicts)
        .filter_map(|(index, verdict)| Some(Refused { index, reason: verdict.err()?.to_string() }));
    rejected.extend(refused);
    rejected.sort_by_key(|refused| refused.index);
    Ok(Json(Recorded::Many { processed, accepted: processed - rejected.len(), rejected }))
}

fn joined(problems: &[FieldError]) -> String {
    let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
    texts.join("; ")
}
