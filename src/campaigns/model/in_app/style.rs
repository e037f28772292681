//! The appearance of a native message; the app decides what is absent.

use kernel::fields::{Fields, FromFields};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    super::words::{self, plain_number_if},
    css,
};

/// Characters of a colour; the renderer ignores an invalid one.
const COLOUR_CHARS_MAX: usize = 100;
const CORNER_RADIUS_MAX: f64 = 48.0;
/// Smallest `fontSize` in points.
const FONT_SIZE_MIN: f64 = 10.0;
/// Largest `fontSize` in points.
const FONT_SIZE_MAX: f64 = 32.0;
const FONT_FAMILY_CHARS_MAX: usize = 255;
const CUSTOM_CSS_CHARS_MAX: usize = 20_000;

/// The weight of the headline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum TitleWeight {
    Regular,
    Medium,
    Semibold,
    Bold,
}

const TITLE_WEIGHTS: &[(&str, TitleWeight)] = &[
    ("regular", TitleWeight::Regular),
    ("medium", TitleWeight::Medium),
    ("semibold", TitleWeight::Semibold),
    ("bold", TitleWeight::Bold),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum TextAlign {
    /// By the language of the message.
    #[default]
    Auto,
    Start,
    Center,
    End,
}

const TEXT_ALIGNS: &[(&str, TextAlign)] = &[
    ("auto", TextAlign::Auto),
    ("start", TextAlign::Start),
    ("center", TextAlign::Center),
    ("end", TextAlign::End),
];

/// The appearance of a native message.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Style {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 100, pattern = "^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]*$")]
    pub background_color: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 100, pattern = "^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]*$")]
    pub text_color: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 100, pattern = "^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]*$")]
    pub primary_button_color: Option<String>,
    /// The text of the first button; black or white by contrast if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 100, pattern = "^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]*$")]
    pub primary_button_text_color: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "plain_number_if")]
    #[schema(minimum = 0, maximum = 48)]
    pub corner_radius: Option<f64>,
    /// 10 to 32, for the body; the headline scales with it.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "plain_number_if")]
    #[schema(minimum = 10, maximum = 32)]
    pub font_size: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title_weight: Option<TitleWeight>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_align: Option<TextAlign>,
    /// Font names in order of preference.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 255, pattern = "^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]*$")]
    pub font_family: Option<String>,
    /// A style sheet, on the web only; its selectors are limited to the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 20000)]
    pub custom_css: Option<String>,
}

impl FromFields for Style {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let mut colour = |name| words::line(body.optional(name), COLOUR_CHARS_MAX);
        Self {
            background_color: colour("backgroundColor"),
            text_color: colour("textColor"),
            primary_button_color: colour("primaryButtonColor"),
            primary_button_text_color: colour("primaryButtonTextColor"),
            corner_radius: body.optional("cornerRadius").number(0.0..=CORNER_RADIUS_MAX),
            font_size: body.optional("fontSize").number(FONT_SIZE_MIN..=FONT_SIZE_MAX),
            title_weight: body.optional("titleWeight").one_of(TITLE_WEIGHTS),
            text_align: body.optional("textAlign").one_of(TEXT_ALIGNS),
            font_family: words::line(body.optional("fontFamily"), FONT_FAMILY_CHARS_MAX),
            custom_css: body.optional("customCss").parsed(String::new(), |sheet| {
                words::at_most(sheet, CUSTOM_CSS_CHARS_MAX)?;
                css::is_bounded(sheet)?;
                Ok(sheet.to_owned())
            }),
        }
    }
}
