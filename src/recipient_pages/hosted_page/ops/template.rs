//! Reading, saving and trying the template.

use content::template::{Form, Template};
use kernel::{Error, Result, WorkspaceId};

use crate::{
    PageState,
    hosted_page::{
        model::{PageTemplate, TemplatePatch},
        page, store,
    },
};

/// The template; the built-in one before the first was saved.
pub async fn get(app: &PageState, workspace: WorkspaceId) -> Result<PageTemplate> {
    store::find(app.db(), workspace).await
}

/// Saves a change. A change of nothing leaves even the time alone.
///
/// # Errors
/// What the template's mode needs and it would not have.
pub async fn save(
    app: &PageState,
    workspace: WorkspaceId,
    patch: TemplatePatch,
) -> Result<PageTemplate> {
    if patch.is_empty() {
        return get(app, workspace).await;
    }
    store::save(app.db(), workspace, app.clock().now(), |template| {
        let template = template.patched(patch);
        let problems = template.problems();
        if problems.is_empty() { Ok(template) } else { Err(Error::Invalid(problems)) }
    })
    .await
}

/// What a page of this HTML would look like, for a contact who does not exist.
///
/// # Errors
/// HTML that is no Liquid, with the line; or does more than a template may.
pub async fn preview(html: String) -> Result<String> {
    let rendered = tokio::task::spawn_blocking(move || {
        let template = Template::parse(&html, Form::Html)
            .map_err(|fault| Error::invalid("html", format!("is not valid Liquid: {fault}")))?;
        page::authored(&template, &page::Filled::sample())
            .map_err(|fault| Error::invalid("html", format!("cannot be rendered: {fault}")))
    });
    rendered.await.map_err(Error::internal)?
}
