//! The fields of a list, for a new one and for one that changes.

use maud::{Markup, html};
use serde_json::{Value, json};

use super::{CHANNELS, List};
use crate::{
    failure::Failure,
    view::{self, Choice, Field},
    visitor::Form,
};

/// Fields of the form that show their own faults.
const FIELDS: &[&str] = &["name", "description", "channels"];

/// A list as it is typed.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    name: String,
    description: String,
    channels: Vec<String>,
    is_public: bool,
    kind: String,
    require_double_opt_in: bool,
}

impl Draft {
    pub(super) fn new() -> Self {
        Self {
            name: String::new(),
            description: String::new(),
            channels: vec!["email".to_owned()],
            is_public: true,
            kind: "marketing".to_owned(),
            require_double_opt_in: false,
        }
    }

    pub(super) fn of(list: &List) -> Self {
        let List { name, description, channels, kind, .. } = list.clone();
        let (is_public, require_double_opt_in) = (list.is_public, list.require_double_opt_in);
        Self { name, description, channels, is_public, kind, require_double_opt_in }
    }

    pub(super) fn of_form(form: &Form) -> Self {
        let text = |name: &str| form.text(name).unwrap_or_default().to_owned();
        Self {
            name: text("name"),
            description: text("description"),
            channels: form.all("channels").map(str::to_owned).collect(),
            is_public: form.text("isPublic").is_some(),
            kind: text("type"),
            require_double_opt_in: form.text("requireDoubleOptIn").is_some(),
        }
    }

    /// The body that the API takes.
    pub(super) fn body(&self) -> Value {
        json!({
            "name": self.name, "description": self.description, "channels": self.channels,
            "isPublic": self.is_public, "type": self.kind,
            "requireDoubleOptIn": self.require_double_opt_in,
        })
    }

    /// The fields with their faults.
    pub(super) fn fields(&self, failure: Option<&Failure>) -> Markup {
        let fault = |name: &str| failure.and_then(|failure| failure.at(name));
        let (name, description, channels) =
            (fault("name"), fault("description"), fault("channels"));
        let kinds = [
            Choice { value: "marketing", label: "Marketing" },
            Choice { value: "transactional", label: "Transactional" },
        ];
        html! {
            @if let Some(rest) = failure.and_then(|failure| failure.elsewhere(FIELDS)) {
                (view::alert(&rest))
            }
            (view::field(&Field::text("name", "Name", &self.name).required().fault(name.as_deref())))
            (view::field(&Field::text("description", "Description", &self.description)
                .hint("Shown to recipients on the preference page").fault(description.as_deref())))
            fieldset {
                legend { "Channels" }
                @for channel in CHANNELS {
                    @let is_checked = self.channels.iter().any(|own| own == channel);
                    (view::check("channels", channel, channel, is_checked))
                }
                @if let Some(fault) = channels { p class="fault" { (fault) } }
            }
            (view::select("type", "Purpose", &self.kind, &kinds))
            (view::check("isPublic", "yes", "Shown on the preference page", self.is_public))
            (view::check("requireDoubleOptIn", "yes", "A subscription has to be confirmed",
                self.require_double_opt_in))
        }
    }
}
