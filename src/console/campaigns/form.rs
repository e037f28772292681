//! The form of a campaign.

use maud::{Markup, html};
use web::auth::ScopeName;

use super::{
    conflict::LOADED,
    draft::{AUDIENCE, AUDIENCE_ID, Draft, LIST, Named, OTHER, TARGETING, root_of, variant_of},
    fields::{self, ADVANCED, Input, LIMITED, PRESENT, Spec},
    frame, trial, typed,
};
use crate::{
    failure::Failure,
    view::{self, Choice, Fault, Field, Kind},
    visitor::Visitor,
};

/// A name that can be chosen by its id.
#[derive(Debug, Clone, serde::Deserialize)]
pub(super) struct Choosable {
    pub(super) id: String,
    name: String,
}

/// What the form chooses from.
#[derive(Debug, Clone, Default)]
pub(super) struct Names {
    pub(super) segments: Vec<Choosable>,
    pub(super) lists: Vec<Choosable>,
}

/// The form with all that it shows.
#[derive(Debug, Clone, Copy)]
pub(super) struct CampaignForm<'f> {
    pub(super) visitor: &'f Visitor,
    pub(super) draft: &'f Draft,
    pub(super) names: &'f Names,
    /// Where the form is sent.
    pub(super) action: &'f str,
    pub(super) failure: Option<&'f Failure>,
    /// In place of faults: what others changed meanwhile.
    pub(super) conflict: Option<&'f Markup>,
    /// Whether it can be changed.
    pub(super) is_open: bool,
    /// Whether channel and send type stay as they are: it was live.
    pub(super) is_fixed: bool,
    /// The next occurrences of a recurring campaign.
    pub(super) occurrences: &'f Markup,
    /// Where they are computed while the schedule is typed.
    pub(super) upcoming: &'f str,
    /// Where the message is rendered as it is typed.
    pub(super) preview: &'f str,
}

impl CampaignForm<'_> {
    pub(super) fn form(&self) -> Markup {
        let draft = self.draft;
        html! {
            (view::code_editor())
            form id="campaign-form" method="post" action=(self.action) data-keep="campaign-form"
                data-typed[self.failure.is_some()] {
                (self.visitor.csrf_field())
                @if !draft.text(LOADED).is_empty() { (view::hidden(LOADED, draft.text(LOADED))) }
                // The button that the Enter key presses.
                button class="unseen" type="submit" name="do" value="save" tabindex="-1"
                    disabled[!self.is_open] { "Save" }
                (self.elsewhere())
                fieldset class="plain" disabled[!self.is_open] {
                    (view::card("Campaign", &self.basics()))
                    (view::card("Audience", &self.audience()))
                    @for at in 0..draft.variants() { (self.variant(at)) }
                    @if draft.may_grow() && self.is_open { p { (self.button("add-variant", "Add a variant")) } }
                    (self.preview())
                    (view::card("When", &self.schedule()))
                    (view::card("Goals", &self.all(fields::GOALS)))
                    @if draft.variants() > 1 { (view::card("A/B test", &self.all(fields::AB_TEST))) }
                    (view::card("Sending again", &self.all(fields::AGAIN)))
                    (view::card("Limits", &self.all(fields::LIMITS)))
                    (view::card("Quiet hours", &self.all(fields::QUIET)))
                    (view::card("UTM parameters of links", &self.all(fields::UTM)))
                    (view::card("Other settings", &self.other()))
                }
                @if self.is_open {
                    div class="actions" {
                        button class="button primary" type="submit" name="do" value="save" { "Save" }
                    }
                }
            }
        }
    }

    /// Faults that no field of the form shows.
    fn elsewhere(&self) -> Markup {
        if let Some(conflict) = self.conflict {
            return conflict.clone();
        }
        let Some(failure) = self.failure else { return html! {} };
        let all = self.draft.fields();
        let mut shown: Vec<&str> = all.iter().map(|field| field.name.as_str()).collect();
        shown.extend(["channel", "sendType", LIST, TARGETING, OTHER]);
        shown.extend(ADVANCED.iter().chain(LIMITED));
        let summary = self.summary();
        html! {
            @if let Some(rest) = failure.elsewhere(&shown) { (view::alert(&rest)) }
            @if !summary.is_empty() { (view::fault_summary(&summary)) }
        }
    }

    /// The fields that are not right, in the order of the form.
    fn summary(&self) -> Vec<Fault> {
        let draft = self.draft;
        let fault = |field: &str, label: String, problem: Option<String>| {
            Some(Fault { field: field.to_owned(), label, problem: problem? })
        };
        let of_field = |field: &Named| {
            let id = match field.spec.input {
                Input::Flag => format!("{}-true", field.name),
                _ => field.name.clone(),
            };
            let variant = variant_of(&field.name).map(|at| format!("{}: ", self.variant_title(at)));
            let label = format!("{}{}", variant.unwrap_or_default(), field.spec.label);
            fault(&id, label, self.fault(&field.name))
        };
        let audience = match draft.text(AUDIENCE) {
            "segment" | "list" => AUDIENCE_ID,
            "json" => TARGETING,
            _ => AUDIENCE,
        };
        let all = draft.fields();
        let is_basic = |field: &&Named| fields::BASICS.iter().any(|spec| spec.path == field.name);
        let is_of_variant = |field: &&Named| variant_of(&field.name).is_some();
        let rest = |field: &&Named| !is_basic(field) && !is_of_variant(field);
        let own = |name: &str, label: &str| fault(name, label.to_owned(), self.faults(name));
        let mut found: Vec<Fault> = all.iter().filter(is_basic).filter_map(of_field).collect();
        found.extend(own("channel", "Channel"));
        found.extend(fault(audience, "Audience".to_owned(), self.faults(TARGETING)));
        found.extend(own(LIST, "Sent under the consent of"));
        found.extend(all.iter().filter(is_of_variant).filter_map(of_field));
        found.extend(own("sendType", "Sent"));
        found.extend(all.iter().filter(rest).filter_map(of_field));
        found.extend(fault(OTHER, "Other settings".to_owned(), self.fault_of_others()));
        found
    }

    fn fault(&self, name: &str) -> Option<String> {
        let root = root_of(name);
        if LIMITED.contains(&root) && self.draft.is_among_others(root) {
            return None;
        }
        self.failure.and_then(|failure| failure.at(name))
    }

    /// Every fault of a field and of what is inside of it.
    fn faults(&self, name: &str) -> Option<String> {
        let errors = self.failure.map(|failure| failure.errors.as_slice()).unwrap_or_default();
        let own = errors.iter().filter_map(|error| error.strip_prefix(name));
        let own: Vec<&str> = own
            .filter(|rest| rest.starts_with([' ', '.', '[']))
            .map(|rest| rest.trim_start_matches(['.', ' ']))
            .collect();
        (!own.is_empty()).then(|| own.join("; "))
    }

    /// A button that changes the form.
    fn button(&self, does: &str, label: &str) -> Markup {
        html! {
            button class="button" type="submit" formnovalidate name="do" value=(does)
                hx-post=(self.action) hx-target="#campaign-form" hx-select="#campaign-form"
                hx-swap="outerHTML" { (label) }
        }
    }

    /// A choice upon which other fields depend.
    fn deciding(&self, choice: &Markup) -> Markup {
        html! {
            div hx-post=(self.action) hx-trigger="change" hx-include="#campaign-form"
                hx-target="#campaign-form" hx-select="#campaign-form" hx-swap="outerHTML" { (choice) }
            noscript { (self.button("refresh", "Show its fields")) }
        }
    }

    fn choose(&self, name: &str, label: &str, choices: &[Choice<'_>]) -> Markup {
        let fault = self.fault(name);
        let field = Field::text(name, label, self.draft.text(name)).fault(fault.as_deref());
        view::select_of(&field, choices)
    }

    fn all(&self, specs: &'static [Spec]) -> Markup {
        html! { @for spec in specs { (self.field(spec.path, spec)) } }
    }

    fn field(&self, name: &str, spec: &Spec) -> Markup {
        let (text, fault) = (self.draft.text(name), self.fault(name));
        let kind = match spec.input {
            Input::Choice(choices) | Input::Switch(choices) => {
                let choices: Vec<Choice<'static>> =
                    choices.iter().map(|(value, label)| Choice { value, label }).collect();
                return match spec.input {
                    Input::Switch(_) => self.switch(name, spec, &choices),
                    _ => self.choose(name, spec.label, &choices),
                };
            }
            Input::Flag => {
                return html! {
                    (view::check(name, "true", spec.label, self.draft.is_ticked(name)))
                    @if let Some(fault) = fault { p class="fault" { (fault) } }
                };
            }
            Input::Lines(rows) | Input::TextOrJson(rows) => Kind::Lines(rows),
            Input::Html(rows) => Kind::Code { rows, mode: "htmlmixed" },
            Input::Json(rows) => Kind::Code { rows, mode: "application/json" },
            Input::Line | Input::Number | Input::Days | Input::Tags | Input::Moment => Kind::Text,
        };
        let mut field = Field::text(name, spec.label, text).of(kind).fault(fault.as_deref());
        if !spec.hint.is_empty() {
            field = field.hint(spec.hint);
        }
        view::field(&field)
    }

    /// The choice whether a setting is on. It is on by its own word, too, where that is stored.
    fn switch(&self, name: &str, spec: &Spec, choices: &[Choice<'static>]) -> Markup {
        let (text, fault) = (self.draft.text(name), self.fault(name));
        let is_stored = |choice: &Choice<'_>| choice.value == PRESENT && text == "true";
        let stored = |choice: &Choice<'static>| {
            if is_stored(choice) { Choice { value: "true", ..*choice } } else { *choice }
        };
        let choices: Vec<Choice<'static>> = choices.iter().map(stored).collect();
        let mut field = Field::text(name, spec.label, text).fault(fault.as_deref());
        if !spec.hint.is_empty() {
            field = field.hint(spec.hint);
        }
        view::select_of(&field, &choices)
    }

    fn basics(&self) -> Markup {
        let channels: Vec<Choice<'_>> =
            fields::CHANNELS.iter().map(|(value, label)| Choice { value, label }).collect();
        html! {
            (self.all(fields::BASICS))
            @if self.is_fixed {
                (view::hidden("channel", self.draft.channel()))
            } @else {
                (self.deciding(&self.choose("channel", "Channel", &channels)))
            }
        }
    }

    fn audience(&self) -> Markup {
        let ways = [
            Choice { value: "everyone", label: "Everyone who can be reached" },
            Choice { value: "segment", label: "People of a segment" },
            Choice { value: "list", label: "People of a list" },
            Choice { value: "json", label: "A targeting as JSON" },
        ];
        let names = self.names;
        let id = self.draft.text(AUDIENCE_ID);
        let fault = self.faults(TARGETING);
        html! {
            (self.deciding(&view::select(AUDIENCE, "Who gets it", self.draft.text(AUDIENCE), &ways)))
            @match self.draft.text(AUDIENCE) {
                "segment" => {
                    (view::select(AUDIENCE_ID, "Segment", id, &named(&names.segments, id, "Choose…")))
                    @if let Some(fault) = &fault { p class="fault" { (fault) } }
                    p class="hint" { a href="/console/segments/new" { "Make a segment" } }
                },
                "list" => {
                    (view::select(AUDIENCE_ID, "List", id, &named(&names.lists, id, "Choose…")))
                    @if let Some(fault) = &fault { p class="fault" { (fault) } }
                },
                "json" => (view::field(&Field::text(TARGETING, "Targeting", self.draft.text(TARGETING))
                    .of(Kind::Lines(10)).fault(fault.as_deref())
                    .hint("As in the API: filterGroups, excludeFilterGroups, userIds, subscriptionPreference"))),
                _ => @if let Some(fault) = &fault { p class="fault" { (fault) } },
            }
            @let list = self.draft.text(LIST);
            (view::select(LIST, "Sent under the consent of", list, &named(&names.lists, list, "The channel alone")))
            @if let Some(fault) = self.faults(LIST) { p class="fault" { (fault) } }
        }
    }

    fn variant(&self, at: usize) -> Markup {
        let draft = self.draft;
        let field = |spec: &'static Spec| {
            let Named { name, spec } = Named::of_variant(at, spec);
            self.field(&name, spec)
        };
        let is_control = draft.is_ticked(&format!("variants[{at}].isControlGroup"));
        let own = |specs: &'static [Spec]| html! { @for spec in specs { (field(spec)) } };
        let message = own(fields::message(draft.channel()));
        let content = html! {
            div class="filters" { (own(fields::VARIANT)) }
            @if is_control {
                details { summary { "Its message, which is not sent" } (message) }
            } @else { (message) }
            @if self.is_open && (draft.variants() > 1 || draft.channel() == "in_app") {
                p { (self.button(&format!("remove-variant {at}"), "Remove this variant")) }
            }
        };
        view::card(&self.variant_title(at), &content)
    }

    fn variant_title(&self, at: usize) -> String {
        match self.draft.text(&format!("variants[{at}].name")) {
            "" => format!("Variant {}", at + 1),
            name => format!("Variant {name}"),
        }
    }

    /// The message as it is typed. Its button sends the form into the frame.
    fn preview(&self) -> Markup {
        let draft = self.draft;
        if !self.visitor.may(ScopeName::UsersRead) {
            return html! {};
        }
        let device = draft.text(typed::DEVICE);
        let ids: Vec<(String, String)> = (0..draft.variants())
            .map(|at| (at.to_string(), draft.text(&format!("variants[{at}].name")).to_owned()))
            .collect();
        let variants: Vec<Choice<'_>> =
            ids.iter().map(|(at, name)| Choice { value: at, label: name }).collect();
        let content = html! {
            div class="filters" {
                (view::field(&Field::text(typed::PERSON, "For the person", draft.text(typed::PERSON))
                    .hint("An id, yours or the internal one")))
                @if variants.len() > 1 {
                    (view::select(typed::VARIANT, "Variant shown", draft.text(typed::VARIANT), &variants))
                }
                (view::select(typed::DEVICE, "Width", device, &trial::DEVICES))
                button class="button" type="submit" formnovalidate formaction=(self.preview)
                    formtarget=(typed::FRAME) data-follows-typing { "Show as typed" }
            }
            iframe class={ "device " (device) } sandbox="" name=(typed::FRAME)
                title="The message as it is typed" {}
        };
        view::card("Preview", &content)
    }

    fn schedule(&self) -> Markup {
        let send_types: Vec<Choice<'_>> =
            fields::SEND_TYPES.iter().map(|(value, label)| Choice { value, label }).collect();
        let send_type = self.draft.send_type();
        html! {
            @if self.is_fixed {
                (view::hidden("sendType", send_type))
                p { (frame::send_type_label(send_type)) }
            } @else {
                (self.deciding(&self.choose("sendType", "Sent", &send_types)))
            }
            @if send_type == "recurring" {
                div hx-post=(self.upcoming) hx-trigger="input delay:400ms" hx-target="#occurrences" {
                    (self.all(fields::schedule(send_type)))
                }
                div id="occurrences" aria-live="polite" { (self.occurrences) }
            } @else {
                (self.all(fields::schedule(send_type)))
            }
        }
    }

    /// The faults of what is typed as JSON together.
    fn fault_of_others(&self) -> Option<String> {
        let limited = LIMITED.iter().filter(|root| self.draft.is_among_others(root));
        let faults: Vec<String> = [OTHER]
            .iter()
            .chain(ADVANCED)
            .chain(limited)
            .filter_map(|name| {
                let fault = self.faults(name)?;
                Some(if *name == OTHER { fault } else { format!("{name}: {fault}") })
            })
            .collect();
        (!faults.is_empty()).then(|| faults.join("; "))
    }

    fn other(&self) -> Markup {
        let fault = self.fault_of_others();
        let hint = format!("An object in JSON with any of: {}", ADVANCED.join(", "));
        view::field(
            &Field::text(OTHER, "Senders, channels and best hours", self.draft.text(OTHER))
                .of(Kind::Lines(6))
                .hint(&hint)
                .fault(fault.as_deref()),
        )
    }
}

/// The choices of names, with an id among them that is not theirs.
fn named<'n>(names: &'n [Choosable], chosen: &'n str, none: &'n str) -> Vec<Choice<'n>> {
    let mut choices = vec![Choice { value: "", label: none }];
    choices.extend(names.iter().map(|it| Choice { value: &it.id, label: &it.name }));
    if !chosen.is_empty() && names.iter().all(|it| it.id != chosen) {
        choices.push(Choice { value: chosen, label: chosen });
    }
    choices
}
