//! In-app messages. Native texts are not escaped, since apps display them as text; values in HTML are escaped; the style
//! sheet of a native message is scoped to it.

use campaigns::model::in_app::{Action, Button, InAppContent, Mode, Style};
use content::{
    markup,
    template::{Form, Object},
};
use kernel::MessageId;

use super::{
    RenderFault,
    text::{Words, render_optional},
};

/// Bytes of a headline, a text, a button's text or an address.
const TEXT_BYTES_MAX: usize = 64 << 10;
/// Bytes of the markup.
const HTML_BYTES_MAX: usize = 1 << 20;
/// Schemes that make an app execute code.
const RUNNING: &[&str] = &["javascript", "vbscript", "data", "file", "blob"];

/// The in-app content of a variant, ready to be rendered as often as needed.
#[derive(Debug)]
pub struct InApp {
    /// What is the same for everyone, of its mode alone.
    frame: InAppContent,
    title: Option<Words>,
    body: Option<Words>,
    image_url: Option<Words>,
    buttons: Vec<ReadyButton>,
    html: Option<Words>,
}

#[derive(Debug)]
struct ReadyButton {
    id: String,
    action: Action,
    text: Words,
    url: Option<Words>,
}

impl InApp {
    /// Reads the templates of a variant's content.
    ///
    /// # Errors
    /// Templates that cannot be read.
    pub fn read(content: &InAppContent) -> Result<Self, RenderFault> {
        let mode = content.mode();
        let native = (mode == Mode::Native).then_some(content);
        let markup = (mode != Mode::Native).then_some(content);
        let text =
            |field, text: Option<&String>| Words::optional(field, text, Form::Text, TEXT_BYTES_MAX);
        let html = markup.and_then(|it| it.html.as_ref());
        let buttons = native.and_then(|it| it.buttons.as_deref()).unwrap_or_default();
        Ok(Self {
            title: text("title", native.and_then(|it| it.title.as_ref()))?,
            body: text("body", native.and_then(|it| it.body.as_ref()))?,
            image_url: text("imageUrl", native.and_then(|it| it.image_url.as_ref()))?,
            buttons: buttons.iter().map(ReadyButton::read).collect::<Result<_, _>>()?,
            html: Words::optional("html", html, Form::Html, HTML_BYTES_MAX)?,
            frame: InAppContent {
                mode: Some(mode),
                close_button: native.and_then(|it| it.close_button),
                backdrop_dismissible: native.and_then(|it| it.backdrop_dismissible),
                style: native.and_then(|it| it.style.clone()),
                css: markup.and_then(|it| it.css.clone()),
                ..InAppContent::default()
            },
        })
    }

    /// Renders the content with these variables, as the message of this id.
    ///
    /// # Errors
    /// A template that cannot be rendered, or a rendered address that is invalid.
    pub fn render(
        &self,
        globals: &Object,
        message: MessageId,
    ) -> Result<InAppContent, RenderFault> {
        let buttons: Vec<Button> =
            self.buttons.iter().map(|it| it.render(globals)).collect::<Result<_, _>>()?;
        let image_url = render_optional(self.image_url.as_ref(), globals)?;
        if image_url.as_deref().is_some_and(|url| !is_of_the_web(url)) {
            return Err(RenderFault::of("imageUrl", "is no http or https address"));
        }
        Ok(InAppContent {
            title: render_optional(self.title.as_ref(), globals)?,
            body: render_optional(self.body.as_ref(), globals)?,
            image_url,
            buttons: (!buttons.is_empty()).then_some(buttons),
            style: self.frame.style.clone().map(|style| of_message(style, message)),
            html: render_optional(self.html.as_ref(), globals)?,
            ..self.frame.clone()
        })
    }
}

impl ReadyButton {
    fn read(button: &Button) -> Result<Self, RenderFault> {
        let url = button.url.as_ref().filter(|_| button.action != Action::Dismiss);
        Ok(Self {
            id: button.id.clone(),
            action: button.action,
            text: Words::read("buttons.text", &button.text, Form::Text, TEXT_BYTES_MAX)?,
            url: Words::optional("buttons.url", url, Form::Text, TEXT_BYTES_MAX)?,
        })
    }

    fn render(&self, globals: &Object) -> Result<Button, RenderFault> {
        let url = render_optional(self.url.as_ref(), globals)?.map(|url| url.trim().to_owned());
        let leads = match self.action {
            Action::Dismiss => true,
            Action::Url => url.as_deref().is_some_and(is_of_the_web),
            Action::DeepLink => url.as_deref().is_some_and(is_harmless),
        };
        if !leads {
            return Err(RenderFault::of("buttons.url", "is no address that a button may open"));
        }
        let text = self.text.render(globals)?.into_owned();
        Ok(Button { id: self.id.clone(), text, action: self.action, url })
    }
}

fn is_of_the_web(url: &str) -> bool {
    url::Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

/// Whether an app may open it: no program, in one line.
fn is_harmless(url: &str) -> bool {
    let scheme = url.split_once(':').map(|(scheme, _)| scheme.trim().to_ascii_lowercase());
    let runs = scheme.is_some_and(|scheme| RUNNING.contains(&scheme.as_str()));
    !runs && !url.chars().any(char::is_control)
}

/// The element a message is shown in, as its style sheet selects it.
pub fn scope_of(message: MessageId) -> String {
    format!("[data-inapp=\"{message}\"]")
}

fn of_message(mut style: Style, message: MessageId) -> Style {
    let suffix = message.uuid().simple().to_string();
    style.custom_css =
        style.custom_css.map(|css| markup::scoped(&css, &scope_of(message), &suffix));
    style
}

#[cfg(test)]
mod tests {
    use content::template;
    use serde_json::{Value, json};

    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "values a test has written itself")]
    fn rendered(content: Value, known: Value) -> Result<Value, String> {
        let content: InAppContent = serde_json::from_value(content).unwrap();
        let globals = template::to_object(&known).unwrap();
        let message = MessageId::new(uuid::Uuid::from_u128(1));
        let ready = InApp::read(&content).map_err(|fault| fault.reason)?;
        let shown = ready.render(&globals, message).map_err(|fault| fault.reason)?;
        Ok(serde_json::to_value(shown).unwrap())
    }

    #[test]
    fn native_texts_are_rendered_and_not_escaped() {
        let content = json!({"mode": "native", "title": "Hi {{ name }}", "body": "  ", "html": "<p>no</p>",
            "designerData": {"a": 1}, "closeButton": true,
            "buttons": [{"id": "a", "text": "For {{ name }}", "action": "url", "url": "https://x.test/{{ path }}"},
                        {"id": "b", "text": "No", "action": "dismiss", "url": "https://x.test/"}]});
        let shown = rendered(content, json!({"name": "<Ann> & Bob", "path": "p"})).unwrap();
        assert_eq!(
            shown,
            json!({"mode": "native", "title": "Hi <Ann> & Bob", "closeButton": true, "buttons": [
                {"id": "a", "text": "For <Ann> & Bob", "action": "url", "url": "https://x.test/p"},
                {"id": "b", "text": "No", "action": "dismiss"}]})
        );
    }

    #[test]
    fn html_escapes_what_people_are_called() {
        let content = json!({"html": "<p>{{ name }}</p>", "css": "p{color:red}", "title": "no"});
        let shown = rendered(content, json!({"name": "<script>"})).unwrap();
        assert_eq!(
            shown,
            json!({"mode": "html", "html": "<p>&lt;script&gt;</p>", "css": "p{color:red}"})
        );
    }

    #[test]
    fn a_button_opens_no_program_whatever_the_data_says() {
        for (action, to) in [
            ("url", "javascript:alert(1)"),
            ("url", "shop://x"),
            ("url", ""),
            ("deep_link", " JavaScript:alert(1)"),
            ("deep_link", "data:text/html,x"),
            ("deep_link", ""),
            ("deep_link", "shop://a\nb"),
        ] {
            let button = json!({"id": "a", "text": "Go", "action": action, "url": "{{ to }}"});
            let shown = rendered(json!({"mode": "native", "buttons": [button]}), json!({"to": to}));
            assert!(shown.is_err(), "{action} {to}: {shown:?}");
        }
    }

    #[test]
    fn a_style_sheet_is_kept_to_the_message() {
        let content = json!({"mode": "native", "title": "Hi", "style": {"customCss": "@import 'x'; h2{color:red}"}});
        let shown = rendered(content, json!({})).unwrap();
        assert_eq!(
            shown["style"]["customCss"],
            "[data-inapp=\"00000000-0000-0000-0000-000000000001\"] h2{color:red}"
        );
    }
}
