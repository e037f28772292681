//! What calls of event SDKs mean here, in one table (also in `src/sdk/event_sdks/README.md`).
//!
//! | call | becomes |
//! |---|---|
//! | track, an event of PostHog | the event of that name |
//! | page, `$pageview` | `Page Viewed` |
//! | screen, `$screen` | `Screen Viewed` |
//! | identify, `$identify`, `$set`, `$set_once` | a change of the profile with that `userId` |
//! | `$unset`, alone or beside another event | nothing: attributes are not removed; its names are counted as dropped |
//! | group, `$groupidentify` | its attributes `groupId` and `group` |
//! | alias, `$create_alias` | a link of two ids |
//! | another `$name` of PostHog | the event `_name` |

use std::borrow::Cow;

use simd_json::{Node, StaticNode};

use crate::model::ORDER_COMPLETED;

use super::{
    super::{
        element::Field,
        properties::{Member, repeated},
        validate::is_blank,
    },
    Adjustments, CallKind, Protocol,
    call::Call,
};

/// The names of events that have one here.
const PAGE_VIEWED: &str = "Page Viewed";
const SCREEN_VIEWED: &str = "Screen Viewed";
/// What replaces the `$` at the beginning of a name.
const RENAMED_PREFIX: char = '_';
/// Names of an order's properties in Segment's specification of commerce, and here.
const ORDER_NAMES: [(&str, &str); 2] = [("order_id", ORDER_ID), ("revenue", "total")];
const ORDER_ID: &str = "orderId";
/// PostHog's event that removes attributes, and the property with their names.
const UNSET: &str = "$unset";
/// Properties of PostHog that say something of the event or its person beside what the event says: they are read by
/// [`Call::read_posthog`].
const POSTHOG_READ: [&str; 5] = ["$set", "$set_once", UNSET, "distinct_id", "token"];
/// Traits that say something of consent. A public key cannot give it.
const CONSENT_TRAITS: [&str; 6] =
    ["consent", "consents", "subscription", "subscriptions", "subscribed", "unsubscribed"];

/// What a call is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Meaning<'a> {
    /// An event of this name.
    Event(Cow<'a, str>),
    Identify,
    Group,
    Alias,
}

/// What a call is; or what is wrong with its type.
pub(super) fn meaning<'a>(
    call: &Call<'_, 'a>,
    protocol: Protocol,
    of_route: Option<CallKind>,
) -> Result<Meaning<'a>, String> {
    match protocol {
        Protocol::Segment => {
            let kind = of_route.map_or_else(|| segment_kind(&call.kind), Ok)?;
            Ok(match kind {
                CallKind::Track => Meaning::Event(Cow::Borrowed(text_of(&call.event))),
                CallKind::Page => Meaning::Event(Cow::Borrowed(PAGE_VIEWED)),
                CallKind::Screen => Meaning::Event(Cow::Borrowed(SCREEN_VIEWED)),
                CallKind::Identify => Meaning::Identify,
                CallKind::Group => Meaning::Group,
                CallKind::Alias => Meaning::Alias,
            })
        }
        Protocol::PostHog => Ok(posthog_meaning(text_of(&call.event))),
    }
}

fn segment_kind(kind: &Field<'_>) -> Result<CallKind, String> {
    let known = match kind {
        Field::Text(text) => CallKind::ALL.into_iter().find(|kind| kind.as_str() == *text),
        _ => None,
    };
    known.ok_or_else(|| match kind {
        Field::Absent => "type is required".to_owned(),
        _ => "type must be track, page, screen, identify, group or alias".to_owned(),
    })
}

fn posthog_meaning(event: &str) -> Meaning<'_> {
    match event {
        "$identify" | "$set" | "$set_once" | UNSET => Meaning::Identify,
        "$groupidentify" => Meaning::Group,
        "$create_alias" => Meaning::Alias,
        "$pageview" => Meaning::Event(Cow::Borrowed(PAGE_VIEWED)),
        "$screen" => Meaning::Event(Cow::Borrowed(SCREEN_VIEWED)),
        _ => Meaning::Event(without_dollar(event)),
    }
}

/// A name that begins with `$`, which belongs to the system here, with another first character.
pub(super) fn without_dollar(name: &str) -> Cow<'_, str> {
    match name.strip_prefix('$') {
        Some(rest) => Cow::Owned(format!("{RENAMED_PREFIX}{rest}")),
        None => Cow::Borrowed(name),
    }
}

pub(super) fn text_of<'a>(field: &Field<'a>) -> &'a str {
    match field {
        Field::Text(text) => text,
        _ => "",
    }
}

/// The properties of an event under their names here, none twice: of equal names the last counts.
pub(super) fn properties<'t, 'a>(
    call: &Call<'t, 'a>,
    event_name: &str,
    protocol: Protocol,
    adjusted: &mut Adjustments,
) -> Vec<Member<'t, 'a>> {
    let is_read = |key: &str| protocol == Protocol::PostHog && POSTHOG_READ.contains(&key);
    let nodes = call.property_nodes();
    let mut made = Vec::new();
    for (key, value) in crate::parse::members(nodes).filter(|(key, _)| !is_read(key)) {
        let name = without_dollar(key);
        adjusted.renamed += u64::from(matches!(name, Cow::Owned(_)));
        made.push(Member { name, value });
    }
    if matches!(event_name, PAGE_VIEWED | SCREEN_VIEWED) {
        for (name, value) in [("name", call.name), ("category", call.category)] {
            if let Some(value) = value.filter(|_| !has(&made, name)) {
                made.push(Member { name: Cow::Borrowed(name), value });
            }
        }
    }
    if event_name == ORDER_COMPLETED {
        rename_order(&mut made, adjusted);
    }
    last_of_each(&mut made);
    made
}

/// The attributes that traits set, under their names here; `taken` are the traits that are none.
pub(super) fn attributes<'t, 'a>(
    traits: impl Iterator<Item = (&'a str, &'t [Node<'a>])>,
    is_public: bool,
    adjusted: &mut Adjustments,
) -> Vec<Member<'t, 'a>>
where
    'a: 't,
{
    let mut made = Vec::new();
    for (key, value) in traits {
        if is_public && CONSENT_TRAITS.contains(&key) {
            adjusted.dropped += 1;
            continue;
        }
        let name = without_dollar(key);
        adjusted.renamed += u64::from(matches!(name, Cow::Owned(_)));
        made.push(Member { name, value });
    }
    last_of_each(&mut made);
    made
}

/// Gives properties of an order their names here, where there are none of these names with a value.
fn rename_order(made: &mut Vec<Member<'_, '_>>, adjusted: &mut Adjustments) {
    for (sent, here) in ORDER_NAMES {
        let last = made.iter().rfind(|member| member.name == here);
        if !has(made, sent) || last.is_some_and(|member| has_value(member)) {
            continue;
        }
        if last.is_some() {
            let before = made.len();
            made.retain(|member| member.name != here);
            adjusted.dropped += (before - made.len()) as u64;
        }
        for member in made.iter_mut().filter(|member| member.name == sent) {
            member.name = Cow::Borrowed(here);
            adjusted.renamed += 1;
        }
    }
}

/// Whether a property of an order says anything: null does not, nor does an empty id.
fn has_value(member: &Member<'_, '_>) -> bool {
    let is_empty = member.name == ORDER_ID && member.value == [Node::String("")];
    !is_empty && member.value != [Node::Static(StaticNode::Null)]
}

fn has(made: &[Member<'_, '_>], name: &str) -> bool {
    made.iter().any(|member| member.name == name)
}

/// Leaves out each member whose name comes again.
fn last_of_each(made: &mut Vec<Member<'_, '_>>) {
    let repeated = repeated(made.iter().map(|member| member.name.as_ref()));
    if repeated.is_empty() {
        return;
    }
    let mut place = 0;
    made.retain(|_| {
        let is_last = repeated.binary_search(&place).is_err();
        place += 1;
        is_last
    });
}

/// Whether a call has no id of a person.
pub(super) fn is_anonymous(call: &Call<'_, '_>) -> bool {
    is_blank(&call.user_id) && is_blank(&call.anonymous_id)
}
