//! `/v1/in-app/*`: the in-app messages for a person, and the interactions with them.

use axum::{Json, extract::State};
use campaigns::model::{
    in_app::InAppContent,
    settings::channel_config::{InAppTrigger, InAppTriggerKind, InAppType, Platform, Priority},
};
use delivery::render::scope_of;
use kernel::fields::describe::{described, words_schema};
use kernel::{
    CampaignId, DayEdge, FieldError, MessageId, Result, Timestamp,
    fields::{Fields, FromFields},
    schema::one_or_list,
};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;
use web::http::{ApiResult, Body, FromQuery, OneOrMany, Query, QueryFields};

use super::person::{AppUser, Person};
use crate::{
    SdkState,
    model::{self, InAppEventKind, Occasion},
    ops::{
        events::{self, Interaction, MessageRef, Sender},
        messages::{self, DisplayableMessage},
        public_messages::{self, Viewer},
        subject::Subject,
    },
};

pub(super) fn routes() -> OpenApiRouter<SdkState> {
    OpenApiRouter::new().routes(routes!(list_in_app_messages)).routes(routes!(record_in_app_events))
}

const APP_ID_CHARS_MAX: usize = 255;
const EVENT_NAME_CHARS_MAX: usize = 255;
const EVENT_ID_CHARS_MAX: usize = 255;
const ID_CHARS_MAX: usize = 64;
/// Interactions in one request.
const EVENTS_MAX: usize = 100;

/// The query string of the list of messages.
#[derive(Debug)]
pub(super) struct MessagesQuery {
    person: Person,
    app: model::App,
}

impl FromQuery for MessagesQuery {
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
    /// Identifies the message in `/v1/in-app/events`: one id for each campaign and person.
    message_id: MessageId,
    campaign_id: CampaignId,
    variant_id: String,
    /// Whether this is a test message: tests are in no report.
    is_test: bool,
    #[serde(rename = "type")]
    kind: InAppType,
    /// Messages with a greater priority come first.
    priority: i32,
    /// Any of these displays the message. Apps check the conditions. Never empty.
    triggers: Vec<InAppTrigger>,
    /// How often the person may see the message, and how often they have.
    display_frequency: Frequency,
    /// The message is not displayed before this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    start_at: Option<Timestamp>,
    /// The message is not displayed after this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    end_at: Option<Timestamp>,
    /// The element that `content.style.customCss` applies to: `[data-inapp="<messageId>"]`.
    css_scope: String,
    /// The content, rendered for the person; only the fields of its mode.
    content: InAppContent,
}

/// How often a person may see a message, and how often they have.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = InAppFrequency)]
struct Frequency {
    /// Most displays to one person; null for no limit.
    max_per_user: Option<u32>,
    /// Least hours between two displays; null for no limit.
    min_hours_between: Option<u32>,
    /// Displays recorded so far.
    displays: u32,
    /// The time of the latest display.
    last_displayed_at: Option<Timestamp>,
}

impl From<DisplayableMessage> for InAppMessage {
    fn from(message: DisplayableMessage) -> Self {
        let DisplayableMessage { id, campaign, variant, is_test, config, content, shown } = message;
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

/// The messages that the app may display now.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct InAppMessages {
    /// At most 20: tests first, then by priority, then the newest campaign first.
    messages: Vec<InAppMessage>,
}

/// Lists the in-app messages a person may see now. Without a user token, where that is allowed, only
/// campaigns for everyone are listed, rendered without attributes and without personal links; the app
/// enforces `displayFrequency` itself.
#[utoipa::path(
    get,
    path = "/v1/in-app/messages",
    tag = "sdk",
    security(("sdk_key" = [], "user_token" = [])),
    params(
        ("userId" = String, Query, min_length = 1, max_length = 255, description = "the caller's own id of the profile, or the internal one"),
        ("platform" = Platform, Query),
        ("appId" = Option<String>, Query, description = "the id of the app; messages for certain web apps require it"),
        ("trigger" = Option<InAppTriggerKind>, Query, description = "only messages with this trigger; all messages if absent"),
        ("eventName" = Option<String>, Query, description = "with the trigger event: only messages that this event triggers"),
    ),
    responses(
        (status = 200, body = InAppMessages),
        (status = 404, description = "the person of the user token has no profile"),
    )
)]
async fn list_in_app_messages(
    State(app): State<SdkState>,
    caller: AppUser,
    Query(query): Query<MessagesQuery>,
) -> ApiResult<Json<InAppMessages>> {
    let workspace = caller.workspace();
    let message = match caller.subject(&app, &query.person).await? {
        Subject::Proven(user) => messages::messages(&app, workspace, user, &query.app).await?,
        Subject::Claimed(user) => {
            let viewer = Viewer { name: query.person.name(), user };
            public_messages::messages(&app, workspace, viewer, &query.app).await?
        }
    };
    Ok(Json(InAppMessages { messages: message.into_iter().map(InAppMessage::from).collect() }))
}

words_schema!(
    /// A person's interaction with a message.
    InAppEventType = InAppEventKind::NAMED
);

one_or_list!(
    /// One event, or up to 100.
    InAppEventsBody = InAppEvent,
    EVENTS_MAX
);

#[derive(Debug)]
pub(super) struct InAppEvent(Interaction);

described!(
    /// An interaction with a message. Identify the message by `messageId` or by `campaignId`.
    InAppEvent as "InAppEventBody"
);

impl FromFields for InAppEvent {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let kind = body.required("type").as_type::<InAppEventType>().one_of(InAppEventKind::NAMED);
        let unknown_campaign = Uuid::nil();
        let message = body
            .optional("messageId")
            .as_type::<MessageId>()
            .parsed(MessageId::new(unknown_campaign), |text| {
                text.parse().map_err(|_| "must be a UUID".to_owned())
            });
        let campaign = body
            .optional("campaignId")
            .about("The campaign of the message.")
            .as_type::<CampaignId>()
            .parsed(CampaignId::new(unknown_campaign), |text| {
                text.parse().map_err(|_| "must be a UUID".to_owned())
            });
        let sent = |name: &str, body: &mut Fields<'_>| !body.optional(name).unchecked().is_null();
        if sent("messageId", body) == sent("campaignId", body) {
            body.refuse_body("either messageId or campaignId is required");
        }
        let button = body
            .optional("buttonId")
            .about("The button that was clicked. Required where `type` is `click`.")
            .text(1..=ID_CHARS_MAX);
        if kind == InAppEventKind::Click && !sent("buttonId", body) {
            body.refuse("buttonId", "is required for a click");
        }
        if kind != InAppEventKind::Click && sent("buttonId", body) && sent("type", body) {
            body.refuse("buttonId", "is for a click alone");
        }
        let interaction = Interaction {
            kind,
            which: message.map_or_else(
                || MessageRef::Campaign(campaign.unwrap_or(CampaignId::new(unknown_campaign))),
                MessageRef::Message,
            ),
            variant: body
                .optional("variantId")
                .about("The variant that was displayed; must be the one that was sent.")
                .text(1..=ID_CHARS_MAX),
            user: Person::of_body(body, "The caller's own id of the profile, or the internal one.").into_name(),
            event_id: body
                .optional("eventId")
                .about("Makes retries safe: an event with the same id is recorded and counted once.")
                .text(1..=EVENT_ID_CHARS_MAX)
                .unwrap_or_else(|| Uuid::new_v4().to_string()),
            at: body
                .optional("at")
                .about(
                    "At most 30 days ago. Defaults to now; later times count as now, since a device's clock may be ahead.",
                )
                .timestamp(DayEdge::Start),
            button,
            platform: platform_name(
                body.required("platform")
                    .about("The platform of the app.")
                    .as_type::<Platform>()
                    .one_of(Platform::NAMED),
            ),
            app_id: body.optional("appId").text(1..=APP_ID_CHARS_MAX),
        };
        Self(interaction)
    }
}

fn platform_name(platform: Platform) -> &'static str {
    Platform::NAMED.iter().find(|(_, known)| *known == platform).map_or("", |(name, _)| name)
}

/// The id of a single event, or the outcome of each element of an array.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub(super) enum Recorded {
    #[serde(rename_all = "camelCase")]
    One {
        /// The id of the event.
        event_id: String,
        success: bool,
    },
    /// For an array: counts, and the refused elements.
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

/// Records interactions with in-app messages. Without a user token, where that is allowed, an event that
/// cannot be recorded for its person is dropped and answered as if it had been recorded.
#[utoipa::path(
    post,
    path = "/v1/in-app/events",
    tag = "sdk",
    security(("sdk_key" = [], "user_token" = [])),
    request_body = InAppEventsBody,
    responses(
        (status = 200, body = Recorded, description = "stored durably; displays are counted"),
        (status = 404, description = "for a single event: no such person, or no such message was sent to them"),
    )
)]
async fn record_in_app_events(
    State(app): State<SdkState>,
    caller: AppUser,
    Body(body): Body<OneOrMany<InAppEvent, EVENTS_MAX>>,
) -> ApiResult<Json<Recorded>> {
    let from = Sender { workspace: caller.workspace(), external_id: caller.external_id() };
    let elements = match body {
        OneOrMany::One(InAppEvent(interaction)) => {
            let interactions = [interaction];
            events::record(&app, from, &interactions).await?.into_iter().collect::<Result<()>>()?;
            let [Interaction { event_id, .. }] = interactions;
            return Ok(Json(Recorded::One { event_id, success: true }));
        }
        OneOrMany::Many(elements) => elements,
    };
    let processed = elements.len();
    let (mut rejected, mut places, mut interactions) = (Vec::new(), Vec::new(), Vec::new());
    for (index, element) in elements.into_iter().enumerate() {
        match element {
            Ok(InAppEvent(it)) => {
                places.push(index);
                interactions.push(it);
            }
            Err(problems) => rejected.push(Refused { index, reason: joined(&problems) }),
        }
    }
    let verdicts = events::record(&app, from, &interactions).await?;
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
