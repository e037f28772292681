//! A button of a native message.

use content::template;
use kernel::fields::{Fields, FromFields};
use serde::{Deserialize, Serialize};
use url::Url;
use utoipa::ToSchema;

use super::super::words::{self, Read};

const ID_CHARS_MAX: usize = 64;
const TEXT_CHARS_MAX: usize = 200;
const URL_CHARS_MAX: usize = 2_048;

/// Schemes that make the app run a script.
const SCRIPT_SCHEMES: &[&str] = &["javascript", "vbscript", "data", "file", "blob"];

/// The action of a button.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ButtonAction)]
pub enum Action {
    Dismiss,
    Url,
    /// Opens a screen of an app.
    DeepLink,
}

const ACTIONS: &[(&str, Action)] =
    &[("dismiss", Action::Dismiss), ("url", Action::Url), ("deep_link", Action::DeepLink)];

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Button {
    /// Identifies the button in statistics; unique in the message.
    #[schema(
        min_length = 1,
        max_length = 64,
        pattern = "^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]*$"
    )]
    pub id: String,
    /// The label, a Liquid template.
    #[schema(max_length = 200)]
    pub text: String,
    pub action: Action,
    /// The target; required for `url` and `deep_link`. Liquid.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 2048)]
    pub url: Option<String>,
}

impl FromFields for Button {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let id = words::named(body.required("id"), ID_CHARS_MAX);
        let text = words::templated(body.required("text"), TEXT_CHARS_MAX);
        let was_clean = body.is_clean();
        let action = body.required("action").one_of(ACTIONS);
        let checked = |text: &str| address(text, action).map(|()| text.to_owned());
        let url = body.optional("url").parsed(String::new(), checked);
        let leads = matches!(action, Action::Url | Action::DeepLink);
        if leads && url.as_ref().is_none_or(String::is_empty) && body.is_clean() == was_clean {
            body.refuse("url", "is required when the action is url or deep_link");
        }
        Self { id, text, action, url }
    }
}

/// Checks the target of a button.
fn address(text: &str, action: Action) -> Read<()> {
    words::at_most(text, URL_CHARS_MAX)?;
    match action {
        // Stored for a later change of the action, or an empty field of a draft.
        _ if text.is_empty() => Ok(()),
        Action::Url => words::is_web_address(text),
        Action::DeepLink | Action::Dismiss => {
            words::is_one_line(text)?;
            words::is_liquid(text)?;
            let scheme = text.split_once(':').map(|(scheme, _)| scheme.trim().to_ascii_lowercase());
            let runs = scheme.is_some_and(|scheme| SCRIPT_SCHEMES.contains(&scheme.as_str()));
            if runs
                || !(template::has_markup(text)
                    || Url::parse(text).is_ok()
                    || text.starts_with('/'))
            {
                return Err("must be a link into an app".to_owned());
            }
            Ok(())
        }
    }
}
