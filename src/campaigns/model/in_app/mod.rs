//! The content of an in-app variant.
//!
//! Fields of other modes are validated and stored too, so that switching the mode in an editor loses nothing.
//! Only those of the selected mode are displayed.

mod button;
mod css;
mod style;

#[cfg(test)]
mod tests;

use kernel::fields::{Fields, FromFields};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::words::{self, Read};

pub use self::{
    button::{Action, Button},
    style::{Style, TextAlign, TitleWeight},
};

pub const TITLE_CHARS_MAX: usize = 1_000;
pub const BODY_CHARS_MAX: usize = 10_000;
pub const IMAGE_URL_CHARS_MAX: usize = 2_048;
pub const BUTTONS_MAX: usize = 3;
pub const CSS_BYTES_MAX: usize = 128 << 10;
/// Bytes of `designerData` in compact form.
pub const DESIGNER_BYTES_MAX: usize = 1 << 20;

/// How the content is authored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// From the app's own components.
    Native,
    /// From the author's HTML.
    #[default]
    Html,
    /// From HTML of a visual editor.
    DragDrop,
}

const MODES: &[(&str, Mode)] =
    &[("native", Mode::Native), ("html", Mode::Html), ("drag_drop", Mode::DragDrop)];

/// The content of an in-app variant.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct InAppContent {
    /// How the content is authored; `html` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// `native`: the headline. Liquid.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 1000)]
    pub title: Option<String>,
    /// `native`: the text. Liquid.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 10000)]
    pub body: Option<String>,
    /// `native`: the http or https address of a picture.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 2048)]
    pub image_url: Option<String>,
    /// `native`: at most 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 3)]
    pub buttons: Option<Vec<Button>>,
    /// `native`: whether there is a close button.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub close_button: Option<bool>,
    /// `native`: whether a tap outside closes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backdrop_dismissible: Option<bool>,
    /// How a `native` message looks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub style: Option<Style>,
    /// `html` and `drag_drop`: the HTML. Liquid.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 262_144)]
    pub html: Option<String>,
    /// `html` and `drag_drop`: the style sheet.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 131_072)]
    pub css: Option<String>,
    /// `drag_drop`: the editor's own document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub designer_data: Option<Map<String, Value>>,
}

impl FromFields for InAppContent {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        Self {
            mode: body.optional("mode").one_of(MODES),
            title: words::templated(body.optional("title"), TITLE_CHARS_MAX),
            body: words::templated(body.optional("body"), BODY_CHARS_MAX),
            image_url: words::web_address(body.optional("imageUrl"), IMAGE_URL_CHARS_MAX),
            buttons: buttons(body),
            close_button: body.optional("closeButton").bool(),
            backdrop_dismissible: body.optional("backdropDismissible").bool(),
            style: body.optional("style").object(),
            html: words::page(body.optional("html")),
            css: body.optional("css").parsed(String::new(), sheet),
            designer_data: designer_data(body),
        }
    }
}

impl InAppContent {
    pub fn mode(&self) -> Mode {
        self.mode.unwrap_or_default()
    }
}

fn sheet(text: &str) -> Read<String> {
    words::at_most_bytes(text, CSS_BYTES_MAX)?;
    css::is_bounded(text)?;
    Ok(text.to_owned())
}

fn buttons(body: &mut Fields<'_>) -> Option<Vec<Button>> {
    let buttons: Vec<Button> = body.optional("buttons").objects(0..=BUTTONS_MAX)?;
    for (at, button) in buttons.iter().enumerate() {
        let is_earlier = |earlier: &Button| !button.id.is_empty() && earlier.id == button.id;
        if buttons.iter().take(at).any(is_earlier) {
            body.refuse(&format!("buttons[{at}].id"), "must be unlike those of the other buttons");
        }
    }
    Some(buttons)
}

fn designer_data(body: &mut Fields<'_>) -> Option<Map<String, Value>> {
    let data = body.optional("designerData").json_object()?;
    let received = serde_json::to_vec(&data).map_or(usize::MAX, |bytes| bytes.len());
    if received > DESIGNER_BYTES_MAX {
        let problem = format!("must be at most {DESIGNER_BYTES_MAX} bytes, received {received}");
        body.refuse("designerData", problem);
        return None;
    }
    Some(data)
}
