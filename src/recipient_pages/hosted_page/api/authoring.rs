//! `/subscriptions/hosted-page/*`: reading, saving and previewing the template.

use axum::{Json, extract::State};
use kernel::fields::describe::described;
use kernel::{
    Timestamp,
    fields::{Fields, FromFields},
};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    auth::{CallerOrSession, scope},
    http::{ApiResult, Body, Requester},
};

use crate::{
    PageState,
    hosted_page::{
        model::{PageTemplate, TemplatePatch, html_of},
        ops,
    },
};

pub(super) fn routes() -> OpenApiRouter<PageState> {
    OpenApiRouter::new()
        .routes(routes!(get_template, save_template))
        .routes(routes!(preview_template))
}

/// The template of a workspace's preference page.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Template {
    #[serde(rename = "type")]
    kind: &'static str,
    /// `default`, `custom`, `dnd` or `redirect`.
    mode: &'static str,
    /// HTML and Liquid with the slot `{{ preferences_form }}`, for `custom` and `dnd`.
    html: String,
    redirect_url: String,
    /// The visual editor's document, in `dnd`.
    #[schema(value_type = Option<Object>)]
    design_json: Option<Map<String, Value>>,
    /// When the template was last saved.
    updated_at: Option<Timestamp>,
}

impl From<PageTemplate> for Template {
    fn from(template: PageTemplate) -> Self {
        Self {
            kind: "preference_center",
            mode: template.mode.as_str(),
            html: template.html,
            redirect_url: template.redirect_url,
            design_json: template.design_json,
            updated_at: template.updated_at,
        }
    }
}

/// The body of a change of the template.
#[derive(Debug)]
pub(super) struct Save(TemplatePatch);

described!(
    /// A change to the template; absent fields stay unchanged.
    Save as "TemplateChange"
);

impl FromFields for Save {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        Self(TemplatePatch::read(body))
    }
}

/// A preview of the page, rendered.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct PagePreview {
    html: String,
}

#[derive(Debug)]
pub(super) struct Try(String);

described!(
    /// A page to render.
    Try as "Page"
);

impl FromFields for Try {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        Self(html_of(body.required("html").about("At most 102400 bytes.")))
    }
}

/// Reads the template of the preference page.
#[utoipa::path(
    get,
    path = "/subscriptions/hosted-page/preference-center",
    tag = "hosted page",
    responses((status = 200, body = Template))
)]
async fn get_template(
    State(app): State<PageState>,
    caller: CallerOrSession<scope::SettingsRead>,
) -> ApiResult<Json<Template>> {
    Ok(Json(ops::template::get(&app, caller.workspace()).await?.into()))
}

/// Saves the template of the preference page.
#[utoipa::path(
    put,
    path = "/subscriptions/hosted-page/preference-center",
    tag = "hosted page",
    request_body = Save,
    responses((status = 200, body = Template))
)]
async fn save_template(
    State(app): State<PageState>,
    caller: CallerOrSession<scope::SettingsWrite>,
    requester: Requester,
    Body(Save(patch)): Body<Save>,
) -> ApiResult<Json<Template>> {
    let author = app.author(caller.actor(), requester);
    Ok(Json(ops::template::save(&app, caller.workspace(), &author, patch).await?.into()))
}

/// Renders HTML as a preference page for a sample contact.
#[utoipa::path(
    post,
    path = "/subscriptions/hosted-page/preview",
    tag = "hosted page",
    request_body = Try,
    responses((status = 200, body = PagePreview))
)]
async fn preview_template(
    _caller: CallerOrSession<scope::SettingsRead>,
    Body(Try(html)): Body<Try>,
) -> ApiResult<Json<PagePreview>> {
    Ok(Json(PagePreview { html: ops::template::preview(html).await? }))
}
