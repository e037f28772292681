//! The fields of the form. A field's name is its path in the API, so that faults find their fields.

/// How a field is typed, and what the API takes for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Input {
    /// A line of text.
    Line,
    /// Several lines of text.
    Lines(u32),
    /// Several lines of HTML.
    Html(u32),
    /// A number; another text is sent as it is, so that the API refuses it.
    Number,
    /// A value in JSON.
    Json(u32),
    /// An object or a list in JSON, or else a text.
    TextOrJson(u32),
    /// A number, a text or values between commas.
    Days,
    /// A list of texts between commas.
    Tags,
    /// A time, shown by the clock of the campaign's zone.
    Moment,
    /// A box to tick.
    Flag,
    /// One of these: the API's word and the label. An empty word leaves the field out.
    Choice(&'static [(&'static str, &'static str)]),
    /// Likewise for the field that says whether a setting is on, which it is without the field, too: see [`PRESENT`].
    Switch(&'static [(&'static str, &'static str)]),
}

/// The word for a setting that is there, be it without any field.
pub(super) const PRESENT: &str = "present";

/// A field of the form.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spec {
    /// The path inside of its part of the campaign.
    pub(super) path: &'static str,
    pub(super) label: &'static str,
    pub(super) input: Input,
    pub(super) hint: &'static str,
}

const fn spec(path: &'static str, label: &'static str, input: Input, hint: &'static str) -> Spec {
    Spec { path, label, input, hint }
}

/// The channels of a campaign: the API's word and the label.
pub(super) const CHANNELS: &[(&str, &str)] = &[
    ("email", "Email"),
    ("sms", "SMS"),
    ("push", "Push"),
    ("whatsapp", "WhatsApp"),
    ("viber", "Viber"),
    ("in_app", "In-app"),
    ("webhook", "Webhook"),
    ("ai_optimized", "Chosen by learning"),
];

/// The ways to send: the API's word and the label.
pub(super) const SEND_TYPES: &[(&str, &str)] = &[
    ("immediate", "Once, at launch"),
    ("scheduled", "Once, at a time"),
    ("recurring", "Again and again"),
    ("triggered", "At an event of each person"),
    ("intelligent", "Once, at each person's best hour"),
    ("ai_optimized", "While learning which variant is best"),
];

pub(super) const BASICS: &[Spec] = &[
    spec("name", "Name", Input::Line, ""),
    spec("description", "Description", Input::Line, ""),
    spec("tags", "Tags", Input::Tags, "Between commas"),
];

/// The fields of a variant beside its message.
pub(super) const VARIANT: &[Spec] = &[
    spec("id", "Id", Input::Line, "Stays in reports"),
    spec("name", "Name", Input::Line, ""),
    spec("weight", "Share in %", Input::Number, "All together are 100"),
    spec("isControlGroup", "Control group, which gets no message", Input::Flag, ""),
];

const EMAIL: &[Spec] = &[
    spec("message.subject", "Subject", Input::Line, "Liquid, as all texts: {{ user.firstName }}"),
    spec("message.preheader", "Preview text", Input::Line, ""),
    spec("message.fromName", "Sender's name", Input::Line, ""),
    spec("message.from", "Sender's address", Input::Line, "Empty: that of the channel"),
    spec(
        "message.html",
        "HTML",
        Input::Html(14),
        "With {{ unsubscribe_url }}, unless it is transactional",
    ),
    spec("message.text", "Plain text", Input::Lines(6), "Empty: made from the HTML"),
    spec("message.templateId", "Template at the provider", Input::Line, "In place of HTML"),
];
const SMS: &[Spec] = &[
    spec("message.body", "Text", Input::Lines(4), ""),
    spec("message.from", "Sender", Input::Line, "Empty: that of the channel"),
    spec("message.shortenLinks", "Shorten links", Input::Flag, ""),
];
const VIBER: &[Spec] = &[
    spec("message.templateId", "Template", Input::Line, ""),
    spec("message.variables", "Variables", Input::Json(4), "An object in JSON"),
    spec("message.body", "Text", Input::Lines(4), "For gateways without templates"),
];
const PUSH: &[Spec] = &[
    spec("message.title", "Title", Input::Line, ""),
    spec("message.body", "Text", Input::Lines(4), ""),
    spec("message.icon", "Icon", Input::Line, ""),
    spec("message.image", "Picture", Input::Line, "An http or https address"),
    spec("message.data", "Data for the app", Input::Json(4), "An object in JSON"),
];
const WHATSAPP: &[Spec] = &[
    spec(
        "message.messageType",
        "Kind",
        Input::Choice(&[
            ("", "Template (as by default)"),
            ("template", "Template"),
            ("reply", "Reply within 24 hours"),
        ]),
        "",
    ),
    spec("message.templateId", "Template", Input::Line, "Its name at Meta"),
    spec("message.wabaId", "Business account", Input::Line, ""),
    spec("message.variableMapping", "Variables", Input::Json(4), "An object in JSON"),
    spec("message.replyText", "Text of a reply", Input::Lines(4), ""),
];
const WEBHOOK: &[Spec] = &[
    spec("message.url", "Address", Input::Line, "https://…"),
    spec(
        "message.method",
        "Method",
        Input::Choice(&[
            ("", "POST (as by default)"),
            ("POST", "POST"),
            ("PUT", "PUT"),
            ("PATCH", "PATCH"),
            ("GET", "GET"),
            ("DELETE", "DELETE"),
        ]),
        "",
    ),
    spec(
        "message.bodyType",
        "Type of the body",
        Input::Choice(&[
            ("", "JSON (as by default)"),
            ("json", "JSON"),
            ("form", "Form"),
            ("text", "Text"),
        ]),
        "",
    ),
    spec("message.body", "Body", Input::TextOrJson(6), ""),
    spec("message.headers", "Headers", Input::Json(3), "An object in JSON"),
    spec(
        "message.auth",
        "Authentication",
        Input::Json(3),
        "Such as {\"type\": \"bearer\", \"token\": \"…\"}; ******** keeps the stored secret",
    ),
];
const IN_APP: &[Spec] = &[spec(
    "customContent",
    "Content",
    Input::Json(14),
    "As in the API: mode, title, body, buttons, style, html, css",
)];
const ANY: &[Spec] =
    &[spec("message", "Message", Input::Json(10), "As in the API, with its channel")];

/// The fields of a variant's message on a channel.
pub(super) fn message(channel: &str) -> &'static [Spec] {
    match channel {
        "sms" => SMS,
        "viber" => VIBER,
        "push" => PUSH,
        "whatsapp" => WHATSAPP,
        "webhook" => WEBHOOK,
        "in_app" => IN_APP,
        "ai_optimized" => ANY,
        _ => EMAIL,
    }
}

/// The fields that say when a campaign of this send type goes out.
pub(super) fn schedule(send_type: &str) -> &'static [Spec] {
    match send_type {
        "scheduled" => SCHEDULED,
        "recurring" => RECURRING,
        "triggered" => TRIGGERED,
        _ => &[],
    }
}

const SCHEDULED: &[Spec] = &[
    spec("scheduledAt", "Time", Input::Moment, "Such as 2030-03-01T09:00, by the zone's clock"),
    spec("scheduledTimezone", "Zone", Input::Line, "Such as Europe/Berlin; empty: the workspace's"),
];
const RECURRING: &[Spec] = &[
    spec(
        "recurringSchedule.frequency",
        "How often",
        Input::Choice(&[
            ("", "Choose…"),
            ("daily", "Every day"),
            ("weekly", "Every week"),
            ("monthly", "Every month"),
            ("custom", "By a cron expression"),
        ]),
        "",
    ),
    spec(
        "recurringSchedule.dayOfWeek",
        "Days of the week",
        Input::Days,
        "0 (Sunday) to 6 or names, between commas",
    ),
    spec("recurringSchedule.dayOfMonth", "Day of the month", Input::Number, ""),
    spec("recurringSchedule.timeOfDay", "Time of day", Input::Line, "Such as 09:00"),
    spec("recurringSchedule.cron", "Cron expression", Input::Line, "Such as 0 9 * * 1-5"),
    spec("recurringSchedule.timezone", "Zone", Input::Line, "Empty: the workspace's"),
    spec("recurringSchedule.endDate", "Until", Input::Line, "Such as 2030-12-31"),
    spec("recurringSchedule.maxOccurrences", "Times at most", Input::Number, ""),
];
const TRIGGERED: &[Spec] = &[
    spec("triggerConfig.eventName", "Event", Input::Line, "Such as Signup Completed"),
    spec(
        "triggerConfig.conditions",
        "Conditions on its properties",
        Input::Json(3),
        "A list in JSON: [{\"property\": \"plan\", \"operator\": \"equals\", \"value\": \"pro\"}]",
    ),
    spec(
        "triggerConfig.reEntry",
        "The same person again",
        Input::Choice(&[
            ("", "Never (as by default)"),
            ("once", "Never"),
            ("always", "Each time"),
            ("cooldown", "After a time"),
        ]),
        "",
    ),
    spec("triggerConfig.cooldownHours", "Hours until then", Input::Number, ""),
    spec("triggerConfig.delayMinutes", "Minutes after the event", Input::Number, ""),
];

pub(super) const GOALS: &[Spec] = &[
    spec(
        "conversionTracking.primaryConversion.eventName",
        "Goal",
        Input::Line,
        "The event that counts, such as Order Completed; empty: none",
    ),
    spec(
        "conversionTracking.primaryConversion.conditions",
        "Conditions on its properties",
        Input::Json(3),
        "A list in JSON",
    ),
    spec(
        "conversionTracking.secondaryConversions",
        "Other goals",
        Input::Json(3),
        "A list in JSON: [{\"eventName\": \"Product Viewed\"}]",
    ),
    spec(
        "conversionTracking.conversionWindowHours",
        "Hours after the message in which it counts",
        Input::Number,
        "Empty: 72",
    ),
    spec(
        "conversionTracking.attributionModel",
        "Which message it counts for",
        Input::Choice(&[
            ("", "The last (as by default)"),
            ("last_touch", "The last"),
            ("first_touch", "The first"),
            ("linear", "All in equal parts"),
        ]),
        "",
    ),
];

pub(super) const AB_TEST: &[Spec] = &[
    spec(
        "abTestConfig.enabled",
        "Test on a part of the audience first",
        Input::Switch(&[("", "Only with other fields here"), (PRESENT, "Yes"), ("false", "No")]),
        "",
    ),
    spec("abTestConfig.testPercentage", "Part in %", Input::Number, "Empty: 20"),
    spec("abTestConfig.testDurationHours", "Hours", Input::Number, "Empty: 4"),
    spec(
        "abTestConfig.winnerMetric",
        "Decided by",
        Input::Choice(&[
            ("", "Opens (as by default)"),
            ("open_rate", "Opens"),
            ("click_rate", "Clicks"),
            ("conversion_rate", "Goals"),
            ("revenue_per_recipient", "Revenue"),
        ]),
        "",
    ),
    spec(
        "abTestConfig.winnerSelection",
        "Selected",
        Input::Choice(&[
            ("", "By itself (as by default)"),
            ("automatic", "By itself"),
            ("manual", "By hand"),
        ]),
        "",
    ),
    spec(
        "abTestConfig.ifInconclusive",
        "Without a winner",
        Input::Choice(&[
            ("", "Send the best (as by default)"),
            ("send_best", "Send the best"),
            ("stop", "Stop"),
        ]),
        "",
    ),
    spec("abTestConfig.minSamplePerVariant", "People a variant at least", Input::Number, ""),
    spec("abTestConfig.confidenceLevel", "Confidence", Input::Number, "Empty: 0.95"),
];

pub(super) const AGAIN: &[Spec] = &[
    spec(
        "resendPolicy",
        "Sent again to",
        Input::Choice(&[
            ("only_new", "People who did not get it"),
            ("everyone", "Everyone"),
            ("cooldown", "People who did not get it lately"),
        ]),
        "",
    ),
    spec("resendCooldownDays", "Days of lately", Input::Number, ""),
    spec("ignoreTouchingRules", "Without frequency caps", Input::Flag, ""),
];

/// Limits of the number and the speed of messages.
pub(super) const LIMITS: &[Spec] = &[
    spec(
        "sendVolumeLimit.enabled",
        "Limit the number of messages",
        Input::Switch(&[("", "Only with a number here"), (PRESENT, "Yes"), ("false", "No")]),
        "",
    ),
    spec("sendVolumeLimit.maxSends", "Messages at most", Input::Number, ""),
    spec(
        "sendVolumeLimit.cadence",
        "Counted",
        Input::Choice(&[
            ("", "Over all sendings (as by default)"),
            ("lifetime", "Over all sendings"),
            ("per_send", "In each sending"),
        ]),
        "",
    ),
    spec(
        "sendRateLimit.enabled",
        "Limit the speed",
        Input::Switch(&[("", "Only with a number here"), (PRESENT, "Yes"), ("false", "No")]),
        "",
    ),
    spec("sendRateLimit.maxPerMinute", "Messages a minute at most", Input::Number, ""),
];

/// Hours in which the campaign does not send.
pub(super) const QUIET: &[Spec] = &[
    spec(
        "quietTimeOverride.enabled",
        "Which hours",
        Input::Switch(&[
            ("", "Those of the workspace, unless hours are typed here"),
            (PRESENT, "Of its own"),
            ("false", "None for this campaign"),
        ]),
        "",
    ),
    spec("quietTimeOverride.start", "From", Input::Line, "Such as 22:00, as by default"),
    spec("quietTimeOverride.end", "Until", Input::Line, "Such as 08:00, as by default"),
    spec(
        "quietTimeOverride.timezone",
        "By the clock of",
        Input::Line,
        "recipient, as by default, or a zone such as Europe/Berlin",
    ),
    spec(
        "quietTimeOverride.behavior",
        "A message that is due then",
        Input::Choice(&[
            ("", "Waits until they end (as by default)"),
            ("defer", "Waits until they end"),
            ("skip", "Is not sent"),
        ]),
        "",
    ),
];

/// The parameters that are added to links.
pub(super) const UTM: &[Spec] = &[
    spec(
        "utmSettings.enabled",
        "Tag links",
        Input::Switch(&[("", "Only with values here"), (PRESENT, "Yes"), ("false", "No")]),
        "Without values: utm_source=millrace, the channel as utm_medium, the campaign's name as utm_campaign",
    ),
    spec("utmSettings.source", "utm_source", Input::Line, "Liquid, as all of them"),
    spec("utmSettings.medium", "utm_medium", Input::Line, ""),
    spec("utmSettings.campaign", "utm_campaign", Input::Line, ""),
    spec("utmSettings.term", "utm_term", Input::Line, ""),
    spec("utmSettings.content", "utm_content", Input::Line, ""),
];

/// The settings of [`LIMITS`], [`QUIET`] and [`UTM`]. What their fields cannot hold is typed as JSON.
pub(super) const LIMITED: &[&str] =
    &["sendVolumeLimit", "sendRateLimit", "quietTimeOverride", "utmSettings"];

/// Fields that are typed as JSON together.
pub(super) const ADVANCED: &[&str] = &["emailConfigId", "channelConfig", "stoConfig"];
