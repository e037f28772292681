//! `/console/campaigns`: making campaigns, launching them, watching them and reading their reports.

mod actions;
mod asked_report;
mod best_hours;
mod confirmed;
mod conflict;
mod draft;
mod editor;
mod fields;
mod form;
mod frame;
mod heat;
mod in_app;
mod launch;
mod learning;
mod list;
mod occurrences;
mod offers;
mod parts;
mod progress;
mod recipients;
mod report;
mod results;
mod sent_content;
mod trial;
mod typed;
mod upcoming;
mod values;
mod variant_report;
mod versions;

use axum::{
    Router,
    routing::{get, post},
};
use kernel::Timestamp;
use serde::Deserialize;
use serde_json::Value;
use web::auth::ScopeName;

use console_core::{
    failure,
    failure::{Failure, PageResult},
    gate, in_process,
    in_process::Tagged,
    query,
    state::ConsoleState,
    view,
    view::Entry,
    visitor,
    visitor::Visitor,
};

/// The place of these pages in the navigation.
pub const ENTRY: Entry =
    Entry { name: "Campaigns", path: "/console/campaigns", scopes: &[ScopeName::CampaignsRead] };
/// The address of the form for a new campaign.
const NEW: &str = "/console/campaigns/new";
/// Where the message and the next occurrences of its form are asked for.
const NEW_TYPED: &str = "/console/campaigns/new/typed";
const NEW_UPCOMING: &str = "/console/campaigns/new/upcoming";

/// The pages of campaigns, for people who are signed in.
pub fn routes() -> Router<ConsoleState> {
    Router::new()
        .route(ENTRY.path, get(list::show).post(editor::create))
        .route(NEW, get(editor::new))
        .route(NEW_TYPED, post(typed::show_unsaved))
        .route(NEW_UPCOMING, post(upcoming::show_unsaved))
        .route("/console/campaigns/{campaignId}", get(editor::show).post(editor::update))
        .route("/console/campaigns/{campaignId}/do/{action}", post(actions::act))
        .route("/console/campaigns/{campaignId}/launch", get(launch::show))
        .route("/console/campaigns/{campaignId}/test", get(trial::show).post(trial::send))
        .route("/console/campaigns/{campaignId}/message", get(trial::framed))
        .route("/console/campaigns/{campaignId}/clicks", get(heat::framed))
        .route("/console/campaigns/{campaignId}/typed", post(typed::show))
        .route("/console/campaigns/{campaignId}/upcoming", post(upcoming::show))
        .route("/console/campaigns/{campaignId}/versions", get(versions::show))
        .route("/console/campaigns/{campaignId}/progress", get(progress::part))
        .route("/console/campaigns/{campaignId}/recipients", get(recipients::show))
        .route("/console/campaigns/{campaignId}/report", get(report::show))
        .route("/console/campaigns/{campaignId}/csv/{report}", get(asked_report::download))
}

/// What pages show of a campaign beside its definition.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Campaign {
    id: String,
    name: String,
    channel: String,
    send_type: String,
    status: String,
    scheduled_at: Option<Timestamp>,
    failure_reason: Option<String>,
    version: u64,
    has_pending_draft: bool,
    next_send_at: Option<Timestamp>,
    last_sent_at: Option<Timestamp>,
    started_at: Option<Timestamp>,
    completed_at: Option<Timestamp>,
    updated_at: Timestamp,
}

impl Campaign {
    /// The address of its page.
    fn path(&self) -> String {
        in_process::path(["console", "campaigns", &self.id])
    }

    /// The address of one of its pages.
    fn path_of(&self, page: &str) -> String {
        in_process::path(["console", "campaigns", &self.id, page])
    }

    /// Whether it sends, or could go on to.
    fn is_under_way(&self) -> bool {
        matches!(self.status.as_str(), "scheduled" | "active" | "paused")
    }

    /// Whether it learns which variant is the best while it sends.
    fn is_learning(&self) -> bool {
        self.channel == "ai_optimized" || self.send_type == "ai_optimized"
    }
}

/// A campaign, and all its fields as the API answers them.
#[derive(Debug, Clone)]
struct Whole {
    campaign: Campaign,
    value: Value,
    /// The ETag of its content.
    etag: String,
}

impl Whole {
    fn of(found: Tagged<Value>) -> PageResult<Self> {
        let campaign =
            Campaign::deserialize(&found.answer).map_err(|fault| Failure::internal(&fault))?;
        Ok(Self { campaign, value: found.answer, etag: found.etag.unwrap_or_default() })
    }

    /// Its fields with the edits that are not published yet.
    fn latest(&self) -> &Value {
        self.value.get("pendingDraft").filter(|draft| draft.is_object()).unwrap_or(&self.value)
    }

    /// Whether it has an A/B test that people decide.
    fn winner_is_selected_by_hand(&self) -> bool {
        let config = self.value.get("abTestConfig");
        let field = |name: &str| config.and_then(|config| config.get(name));
        field("enabled") != Some(&Value::Bool(false))
            && field("winnerSelection").and_then(Value::as_str) == Some("manual")
    }

    /// The name of a variant; its id where it has been removed.
    fn variant_name<'w>(&'w self, id: &'w str) -> &'w str {
        let variants = self.value.get("variants").and_then(Value::as_array);
        let mut variants = variants.into_iter().flatten();
        let variant = variants.find(|it| it.get("id").and_then(Value::as_str) == Some(id));
        variant.and_then(|it| it.get("name")).and_then(Value::as_str).unwrap_or(id)
    }

    /// Whether it has begun to learn.
    fn has_learnt(&self) -> bool {
        self.value.get("rl").is_some_and(Value::is_object)
    }

    /// The ids and names of the variants that have a message.
    fn variants(&self) -> Vec<Variant> {
        let all = self.latest().get("variants").and_then(Value::as_array).cloned();
        all.unwrap_or_default()
            .into_iter()
            .filter(|it| it.get("isControlGroup") != Some(&Value::Bool(true)))
            .filter_map(|it| Variant::deserialize(it).ok())
            .collect()
    }
}

/// A variant by its id.
#[derive(Debug, Clone, Deserialize)]
struct Variant {
    id: String,
    name: String,
}

/// The campaign of this id.
async fn find(visitor: &Visitor, id: &str) -> PageResult<Whole> {
    Whole::of(visitor.get(in_process::path(["campaigns", id])).read_tagged().await?)
}
