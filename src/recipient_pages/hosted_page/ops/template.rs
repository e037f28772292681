//! Reading, saving and previewing the template.

use content::template::{Form, Template};
use kernel::{Error, Result, WorkspaceId};
use serde_json::json;
use web::audit_log::{self, Author, Change, Entry};

use crate::{
    PageState,
    hosted_page::{
        model::{PageTemplate, TemplatePatch},
        page, store,
    },
};

/// The template; the built-in one before the first is saved.
pub async fn get(app: &PageState, workspace: WorkspaceId) -> Result<PageTemplate> {
    store::find(app.db(), workspace).await
}

/// Saves a change. An empty change leaves the time of the last save unchanged.
///
/// # Errors
/// A bad request if the template would lack what its mode requires.
pub async fn save(
    app: &PageState,
    workspace: WorkspaceId,
    author: &Author,
    patch: TemplatePatch,
) -> Result<PageTemplate> {
    if patch.is_empty() {
        return get(app, workspace).await;
    }
    let mut tx = app.db().begin().await?;
    let template = store::save(&mut tx, workspace, author.now, |template| {
        let template = template.patched(patch);
        let problems = template.problems();
        if problems.is_empty() { Ok(template) } else { Err(Error::Invalid(problems)) }
    })
    .await?;
    let settings = [
        ("mode", json!(template.mode.as_str())),
        ("redirectUrl", json!(template.redirect_url)),
        ("htmlBytes", json!(template.html.len())),
    ];
    let entry = Entry {
        change: Change::PreferencePageChanged,
        object_id: "preference_center",
        object_name: None,
        details: settings.map(|(name, value)| (name.to_owned(), value)).into_iter().collect(),
    };
    audit_log::append(&mut tx, workspace, author, entry).await?;
    tx.commit().await?;
    Ok(template)
}

/// Renders HTML as a page for a sample contact.
///
/// # Errors
/// A bad request for HTML that is not valid Liquid, with the line, or that exceeds a template's limits.
pub async fn preview(html: String) -> Result<String> {
    let rendered = tokio::task::spawn_blocking(move || {
        let template = Template::parse(&html, Form::Html)
            .map_err(|fault| Error::invalid("html", format!("is not valid Liquid: {fault}")))?;
        page::authored(&template, &page::Filled::sample())
            .map_err(|fault| Error::invalid("html", format!("cannot be rendered: {fault}")))
    });
    rendered.await.map_err(Error::internal)?
}
