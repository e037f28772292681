//! A text that may be a template, and JSON whose strings may be.

use std::borrow::Cow;

use content::template::{self, Form, Object, Template};
use serde_json::{Map, Value};

use super::RenderFault;

/// Depth of JSON whose strings are templates. Stored JSON has passed a lower limit.
const JSON_DEPTH_MAX: usize = 16;

/// A text: as it is, or a template.
#[derive(Debug)]
pub(super) struct Words {
    field: &'static str,
    source: Source,
    bytes_max: usize,
}

#[derive(Debug)]
enum Source {
    Plain(String),
    Liquid(Template),
}

impl Words {
    /// Parses a text whose rendered form has at most `bytes_max` bytes.
    pub(super) fn read(
        field: &'static str,
        text: &str,
        form: Form,
        bytes_max: usize,
    ) -> Result<Self, RenderFault> {
        let source = if template::has_markup(text) {
            let parsed = Template::parse(text, form);
            Source::Liquid(parsed.map_err(|fault| RenderFault::of(field, fault))?)
        } else {
            if form == Form::Header && text.contains(['\r', '\n', '\0']) {
                return Err(RenderFault::of(field, "has a line end"));
            }
            Source::Plain(text.to_owned())
        };
        Ok(Self { field, source, bytes_max })
    }

    /// [`Self::read`] of a field that may be absent.
    pub(super) fn optional(
        field: &'static str,
        text: Option<&String>,
        form: Form,
        bytes_max: usize,
    ) -> Result<Option<Self>, RenderFault> {
        text.map(|text| Self::read(field, text, form, bytes_max)).transpose()
    }

    /// Renders the text with these variables.
    pub(super) fn render(&self, globals: &Object) -> Result<Cow<'_, str>, RenderFault> {
        match &self.source {
            Source::Plain(text) if text.len() > self.bytes_max => Err(RenderFault::of(
                self.field,
                format_args!("is larger than {} bytes", self.bytes_max),
            )),
            Source::Plain(text) => Ok(Cow::Borrowed(text)),
            Source::Liquid(template) => {
                let rendered = template.render(globals, self.bytes_max);
                rendered.map(Cow::Owned).map_err(|fault| RenderFault::of(self.field, fault))
            }
        }
    }

    /// Renders the text; none if the result is blank.
    pub(super) fn render_non_blank(&self, globals: &Object) -> Result<Option<String>, RenderFault> {
        let text = self.render(globals)?;
        Ok((!text.trim().is_empty()).then(|| text.into_owned()))
    }
}

/// Renders an optional text; none if the result is blank.
pub(super) fn render_optional(
    words: Option<&Words>,
    globals: &Object,
) -> Result<Option<String>, RenderFault> {
    words.map_or(Ok(None), |words| words.render_non_blank(globals))
}

/// JSON whose strings are texts.
#[derive(Debug)]
pub(super) enum Tree {
    Leaf(Value),
    Words(Words),
    List(Vec<Self>),
    Map(Vec<(String, Self)>),
}

impl Tree {
    /// Parses a value whose rendered strings have at most `bytes_max` bytes each.
    pub(super) fn read(
        field: &'static str,
        value: &Value,
        bytes_max: usize,
    ) -> Result<Self, RenderFault> {
        Self::read_to(field, bytes_max, value, JSON_DEPTH_MAX)
    }

    fn read_to(
        field: &'static str,
        bytes_max: usize,
        value: &Value,
        depth: usize,
    ) -> Result<Self, RenderFault> {
        let Some(deeper) = depth.checked_sub(1) else {
            return Err(RenderFault::of(field, "is nested too deep"));
        };
        Ok(match value {
            Value::String(text) => Self::Words(Words::read(field, text, Form::Text, bytes_max)?),
            Value::Array(values) => {
                let read =
                    values.iter().map(|value| Self::read_to(field, bytes_max, value, deeper));
                Self::List(read.collect::<Result<_, _>>()?)
            }
            Value::Object(map) => {
                let read = map.iter().map(|(key, value)| {
                    Ok((key.clone(), Self::read_to(field, bytes_max, value, deeper)?))
                });
                Self::Map(read.collect::<Result<_, RenderFault>>()?)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => Self::Leaf(value.clone()),
        })
    }

    /// The value with these variables.
    pub(super) fn render(&self, globals: &Object) -> Result<Value, RenderFault> {
        Ok(match self {
            Self::Leaf(value) => value.clone(),
            Self::Words(words) => Value::String(words.render(globals)?.into_owned()),
            Self::List(list) => {
                let rendered = list.iter().map(|tree| tree.render(globals));
                Value::Array(rendered.collect::<Result<_, _>>()?)
            }
            Self::Map(map) => {
                let rendered =
                    map.iter().map(|(key, tree)| Ok((key.clone(), tree.render(globals)?)));
                Value::Object(rendered.collect::<Result<Map<_, _>, RenderFault>>()?)
            }
        })
    }
}

/// An object whose strings are texts.
#[derive(Debug, Default)]
pub(super) struct Trees(Vec<(String, Tree)>);

impl Trees {
    /// Reads an object that may be absent.
    pub(super) fn read(
        field: &'static str,
        map: Option<&Map<String, Value>>,
        bytes_max: usize,
    ) -> Result<Self, RenderFault> {
        let read = map.into_iter().flatten();
        let read = read.map(|(key, value)| Ok((key.clone(), Tree::read(field, value, bytes_max)?)));
        Ok(Self(read.collect::<Result<_, RenderFault>>()?))
    }

    /// The object with these variables.
    pub(super) fn render(&self, globals: &Object) -> Result<Map<String, Value>, RenderFault> {
        self.0.iter().map(|(key, tree)| Ok((key.clone(), tree.render(globals)?))).collect()
    }
}
