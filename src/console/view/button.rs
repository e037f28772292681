//! Buttons that are links, and changes that are confirmed by name.

use maud::{Markup, html};

use super::card::dialog;

/// A link that looks like a button.
pub fn button_link(href: &str, text: &str) -> Markup {
    html! { a class="button" href=(href) { (text) } }
}

/// A change that cannot be undone, confirmed by typing a name.
#[derive(Debug, Clone, Copy)]
pub struct Confirmation<'c> {
    /// The id of the dialog, unique in the page.
    pub id: &'c str,
    /// The button, such as `Delete…`.
    pub button: &'c str,
    pub title: &'c str,
    /// What will happen, in a sentence.
    pub explanation: &'c str,
    /// What is to be typed: see [`confirmable`](super::confirmable). The server compares the field `confirm` with it.
    pub name: &'c str,
    pub action: &'c str,
    /// The hidden fields of every form.
    pub hidden: &'c Markup,
}

/// The button and its dialog. Without scripts the dialog stands open.
pub fn confirm_by_name(confirmation: &Confirmation<'_>) -> Markup {
    let Confirmation { id, button, title, explanation, name, action, hidden } = *confirmation;
    let field = format!("{id}-name");
    let form = html! {
        p { (explanation) }
        form method="post" action=(action) {
            (hidden)
            div class="field" {
                label for=(field) { "Type " strong { bdi { (name) } } " to confirm" }
                input id=(field) name="confirm" type="text" required autocomplete="off"
                    data-must-equal=(name);
            }
            button class="button danger" type="submit" { (button.trim_end_matches('…')) }
        }
    };
    html! {
        button class="button danger" type="button" data-opens=(id) { (button) }
        (dialog(id, title, &form))
    }
}
