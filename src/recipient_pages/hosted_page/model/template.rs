//! The template: its modes, limits and required content.

use content::template;
use kernel::fields::describe::words_schema;
use kernel::{
    FieldError, Timestamp,
    fields::{Fields, Patch},
    schema::text_of,
};
use serde_json::{Map, Value};
use url::Url;

pub const HTML_BYTES_MAX: usize = 102_400;
const REDIRECT_URL_CHARS_MAX: usize = 2048;
/// Bytes of `designJson` in compact form.
pub const DESIGN_BYTES_MAX: usize = 1 << 20;
/// The Liquid variable that is replaced by the form.
pub const SLOT: &str = "preferences_form";

/// How the page is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    #[default]
    Default,
    Custom,
    /// The workspace's HTML from the visual editor.
    Dnd,
    /// Records the opt-out, then redirects.
    Redirect,
}

impl Mode {
    /// The API's name of each mode.
    pub const NAMED: &'static [(&'static str, Self)] = &[
        ("default", Self::Default),
        ("custom", Self::Custom),
        ("dnd", Self::Dnd),
        ("redirect", Self::Redirect),
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Custom => "custom",
            Self::Dnd => "dnd",
            Self::Redirect => "redirect",
        }
    }

    /// Whether the page is the workspace's HTML.
    pub const fn is_authored(self) -> bool {
        matches!(self, Self::Custom | Self::Dnd)
    }
}

words_schema!(
    /// How the preference page is made.
    pub PageMode = Mode::NAMED
);

/// A workspace's preference page.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PageTemplate {
    pub mode: Mode,
    /// HTML and Liquid, for the modes `custom` and `dnd`.
    pub html: String,
    pub redirect_url: String,
    /// The visual editor's document.
    pub design_json: Option<Map<String, Value>>,
    /// When the template was last saved.
    pub updated_at: Option<Timestamp>,
}

/// A change; absent fields stay unchanged.
#[derive(Debug, Clone, Default)]
pub struct TemplatePatch {
    mode: Option<Mode>,
    html: Patch<String>,
    redirect_url: Patch<String>,
    design_json: Patch<Map<String, Value>>,
}

impl TemplatePatch {
    pub fn read(body: &mut Fields<'_>) -> Self {
        Self {
            mode: body
                .optional("mode")
                .about("`default`, `custom`, `dnd` or `redirect`.")
                .as_type::<PageMode>()
                .one_of(Mode::NAMED),
            html: html_of(body.patch("html").about(
                "At most 102400 bytes; in `custom` and `dnd` with the slot `{{ preferences_form }}`.",
            )),
            redirect_url: body
                .patch("redirectUrl")
                .about("An http or https address; required in `redirect`.")
                .as_schema(|| {
                    text_of(0..=REDIRECT_URL_CHARS_MAX)
                        .pattern(Some("^(?:[Hh][Tt][Tt][Pp][Ss]?://.+)?$"))
                        .into()
                })
                .parsed(String::new(), redirect_url),
            design_json: design(body),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.mode.is_none()
            && !self.html.is_sent()
            && !self.redirect_url.is_sent()
            && !self.design_json.is_sent()
    }
}

/// Reads a page's HTML. Its length is checked here; its content once the mode is known.
pub fn html_of<P: kernel::fields::Presence>(field: kernel::fields::Field<'_, P>) -> P::Out<String> {
    field.as_schema(|| text_of(0..=HTML_BYTES_MAX).into()).parsed(String::new(), |html| {
        if html.len() > HTML_BYTES_MAX {
            let received = html.len();
            return Err(format!("must be at most {HTML_BYTES_MAX} bytes, received {received}"));
        }
        Ok(html.to_owned())
    })
}

fn redirect_url(text: &str) -> Result<String, String> {
    if text.chars().count() > REDIRECT_URL_CHARS_MAX {
        return Err(format!("must be at most {REDIRECT_URL_CHARS_MAX} characters"));
    }
    if text.is_empty() || web_address(text).is_some() {
        Ok(text.to_owned())
    } else {
        Err("must be an http:// or https:// URL".to_owned())
    }
}

/// An absolute http or https address.
fn web_address(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    (matches!(url.scheme(), "http" | "https") && url.host().is_some()).then_some(url)
}

fn design(body: &mut Fields<'_>) -> Patch<Map<String, Value>> {
    let design = body
        .patch("designJson")
        .about("At most 1 MiB; stored in `dnd`, cleared in other modes.")
        .json_object();
    if let Patch::Value(map) = &design {
        let received = serde_json::to_vec(map).map_or(usize::MAX, |bytes| bytes.len());
        if received > DESIGN_BYTES_MAX {
            let problem = format!("must be at most {DESIGN_BYTES_MAX} bytes, received {received}");
            body.refuse("designJson", problem);
        }
    }
    design
}

impl PageTemplate {
    /// The template after a change.
    #[must_use]
    pub fn patched(self, patch: TemplatePatch) -> Self {
        let mode = patch.mode.unwrap_or(self.mode);
        let design_json = patch.design_json.over(self.design_json);
        Self {
            mode,
            html: patch.html.over(Some(self.html)).unwrap_or_default(),
            redirect_url: patch.redirect_url.over(Some(self.redirect_url)).unwrap_or_default(),
            design_json: design_json.filter(|_| mode == Mode::Dnd),
            updated_at: self.updated_at,
        }
    }

    /// What the mode requires and the template lacks.
    pub fn problems(&self) -> Vec<FieldError> {
        let mut problems = Vec::new();
        if self.mode.is_authored() {
            if !template::writes(&self.html, SLOT) {
                problems
                    .push(FieldError::new("html", "must include the {{ preferences_form }} slot"));
            }
            if let Err(fault) = template::Template::parse(&self.html, template::Form::Html) {
                problems.push(FieldError::new("html", format!("is not valid Liquid: {fault}")));
            }
        }
        if self.mode == Mode::Redirect && self.redirect_url.is_empty() {
            let problem = "must be an http:// or https:// URL for the mode redirect";
            problems.push(FieldError::new("redirectUrl", problem));
        }
        problems
    }

    /// The address that the mode `redirect` leads to.
    pub fn redirect(&self) -> Option<Url> {
        if self.mode == Mode::Redirect { web_address(&self.redirect_url) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_absolute_web_addresses_are_accepted() {
        for good in
            ["https://example.test/a?b=c#d", "http://localhost:8080", "HTTPS://EXAMPLE.TEST"]
        {
            assert_eq!(redirect_url(good), Ok(good.to_owned()));
        }
        for bad in [
            "javascript:alert(1)",
            "data:text/html,x",
            "//example.test",
            "/a",
            "example.test",
            "ftp://example.test",
            "https://",
            "mailto:a@example.test",
        ] {
            assert!(redirect_url(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_editors_document_is_stored_in_its_mode_only() {
        let patch = |mode| TemplatePatch {
            mode: Some(mode),
            design_json: Patch::Value(Map::new()),
            ..TemplatePatch::default()
        };
        for (_, mode) in Mode::NAMED {
            let design = PageTemplate::default().patched(patch(*mode)).design_json;
            assert_eq!(design.is_some(), *mode == Mode::Dnd);
        }
        let drawn = PageTemplate::default().patched(patch(Mode::Dnd));
        let kept = drawn.clone().patched(TemplatePatch::default());
        assert_eq!(kept, drawn);
        let change = TemplatePatch { mode: Some(Mode::Default), ..TemplatePatch::default() };
        assert_eq!(drawn.patched(change).design_json, None);
    }
}
