//! The library's filters, each with a size limit on its result.

use std::fmt;

use kernel::Timestamp;
use liquid_core::{
    Error, Expression, Filter, Language, ParseFilter, Result, Runtime, Value, ValueView,
    parser::{FilterArguments, FilterReflection},
};
use liquid_lib::stdlib;

use super::{RenderFault, VALUE_BYTES_MAX, meter};

/// Approximate memory of a small value in bytes.
const SMALL_VALUE_BYTES: usize = 32;
/// Most elements for `uniq`, which compares all pairs.
const UNIQ_ELEMENTS_MAX: usize = 1_000;
/// Digits of a width in a format of `date`.
const DATE_WIDTH_DIGITS_MAX: usize = 2;

/// How the size of a filter's result depends on its arguments.
#[derive(Debug, Clone, Copy)]
enum Growth {
    /// At most a small multiple of the input and the arguments together.
    Sum,
    /// The second argument for every occurrence of the first.
    Replace,
    /// The argument between all elements.
    Join,
    /// As wide as the format demands.
    Date,
    /// Compares all pairs of elements.
    Uniq,
}

pub(super) fn register(language: &mut Language) {
    for filter in [
        stdlib::Abs.into(),
        stdlib::Append.into(),
        stdlib::AtLeast.into(),
        stdlib::AtMost.into(),
        stdlib::Capitalize.into(),
        stdlib::Ceil.into(),
        stdlib::Compact.into(),
        stdlib::Concat.into(),
        stdlib::Default.into(),
        stdlib::DividedBy.into(),
        stdlib::Downcase.into(),
        stdlib::Escape.into(),
        stdlib::EscapeOnce.into(),
        stdlib::First.into(),
        stdlib::Floor.into(),
        stdlib::Last.into(),
        stdlib::Lstrip.into(),
        stdlib::Map.into(),
        stdlib::Minus.into(),
        stdlib::Modulo.into(),
        stdlib::NewlineToBr.into(),
        stdlib::Plus.into(),
        stdlib::Prepend.into(),
        stdlib::Remove.into(),
        stdlib::RemoveFirst.into(),
        stdlib::ReplaceFirst.into(),
        stdlib::Reverse.into(),
        stdlib::Round.into(),
        stdlib::Rstrip.into(),
        stdlib::Size.into(),
        stdlib::Slice.into(),
        stdlib::Sort.into(),
        stdlib::SortNatural.into(),
        stdlib::Split.into(),
        stdlib::Strip.into(),
        stdlib::StripHtml.into(),
        stdlib::StripNewlines.into(),
        stdlib::Times.into(),
        stdlib::Truncate.into(),
        stdlib::TruncateWords.into(),
        stdlib::Upcase.into(),
        stdlib::UrlDecode.into(),
        stdlib::UrlEncode.into(),
        stdlib::Where.into(),
    ] {
        bounded(language, filter, Growth::Sum);
    }
    bounded(language, stdlib::Replace.into(), Growth::Replace);
    bounded(language, stdlib::Join.into(), Growth::Join);
    bounded(language, stdlib::Date.into(), Growth::Date);
    bounded(language, stdlib::Uniq.into(), Growth::Uniq);
}

fn bounded(language: &mut Language, inner: Box<dyn ParseFilter>, growth: Growth) {
    let name = inner.reflection().name().to_owned();
    language.filters.register(name, Bounded { inner, growth }.into());
}

/// The approximate memory of a value.
pub(super) fn size_of(value: &dyn ValueView) -> usize {
    if let Some(array) = value.as_array() {
        array.values().map(size_of).fold(SMALL_VALUE_BYTES, usize::saturating_add)
    } else if let Some(object) = value.as_object() {
        let entry = |(key, value): (liquid_core::model::KStringCow<'_>, &dyn ValueView)| {
            size_of(value).saturating_add(key.len())
        };
        object.iter().map(entry).fold(SMALL_VALUE_BYTES, usize::saturating_add)
    } else {
        value.to_kstr().len().saturating_add(SMALL_VALUE_BYTES)
    }
}

#[derive(Clone)]
struct Bounded {
    inner: Box<dyn ParseFilter>,
    growth: Growth,
}

impl ParseFilter for Bounded {
    fn parse(&self, arguments: FilterArguments<'_>) -> Result<Box<dyn Filter>> {
        let positional: Vec<Expression> = arguments.positional.collect();
        let keyword: Vec<(&str, Expression)> = arguments.keyword.collect();
        let kept = positional.clone();
        let keyword = Box::new(keyword.into_iter());
        let passed = FilterArguments { positional: Box::new(positional.into_iter()), keyword };
        let inner = self.inner.parse(passed)?;
        Ok(Box::new(BoundedCall { inner, growth: self.growth, arguments: kept }))
    }

    fn reflection(&self) -> &dyn FilterReflection {
        self.inner.reflection()
    }
}

/// A filter with its arguments.
#[derive(Debug)]
struct BoundedCall {
    inner: Box<dyn Filter>,
    growth: Growth,
    arguments: Vec<Expression>,
}

impl fmt::Display for BoundedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl Filter for BoundedCall {
    fn evaluate(&self, input: &dyn ValueView, runtime: &dyn Runtime) -> Result<Value> {
        meter::of(runtime).check()?;
        if self.estimated(input, runtime)? > VALUE_BYTES_MAX {
            return Err(meter::of(runtime).stop(RenderFault::Value));
        }
        let moment = matches!(self.growth, Growth::Date).then(|| moment_of(input)).flatten();
        let input = moment.as_ref().map_or(input, |moment| moment as &dyn ValueView);
        let made = match self.inner.evaluate(input, runtime) {
            Ok(made) => made,
            // A missing value has no sum and no first element.
            Err(_) if input.is_nil() => Value::Nil,
            Err(error) => return Err(error),
        };
        if size_of(&made) > VALUE_BYTES_MAX {
            return Err(meter::of(runtime).stop(RenderFault::Value));
        }
        Ok(made)
    }
}

/// A date in a form that the library parses: it supports less of ISO 8601 than callers use.
fn moment_of(input: &dyn ValueView) -> Option<Value> {
    let moment = Timestamp::parse(&input.to_kstr()).ok()?;
    Some(Value::scalar(moment.utc().format("%Y-%m-%d %H:%M:%S +0000").to_string()))
}

impl BoundedCall {
    /// The size of the result before it is computed, or the cost of computing it.
    fn estimated(&self, input: &dyn ValueView, runtime: &dyn Runtime) -> Result<usize> {
        let own = size_of(input);
        let argument = |index: usize| -> Result<Option<String>> {
            let given = self.arguments.get(index).map(|given| given.evaluate(runtime));
            Ok(given.transpose()?.map(|value| value.to_kstr().into_string()))
        };
        match self.growth {
            Growth::Sum => self.arguments.iter().try_fold(own, |sum, argument| {
                Ok(sum.saturating_add(size_of(argument.evaluate(runtime)?.as_view())))
            }),
            Growth::Replace => {
                let text = input.to_kstr();
                let search = argument(0)?.unwrap_or_default();
                let replacement = argument(1)?.unwrap_or_default().len();
                let places = text.matches(search.as_str()).count();
                Ok(places.saturating_mul(replacement).saturating_add(own))
            }
            Growth::Join => {
                let separator = argument(0)?.unwrap_or_default().len();
                let elements = input.as_array().map_or(0, liquid_core::model::ArrayView::size);
                let elements = usize::try_from(elements).unwrap_or(0);
                Ok(elements.saturating_mul(separator).saturating_add(own))
            }
            Growth::Date => {
                let format = argument(0)?.unwrap_or_default();
                let mut widths = format.split(|c: char| !c.is_ascii_digit());
                if widths.any(|digits| digits.len() > DATE_WIDTH_DIGITS_MAX) {
                    return Err(Error::with_msg("a width in the date's format is too large"));
                }
                Ok(own.saturating_add(format.len()))
            }
            Growth::Uniq => {
                let elements = input.as_array().map_or(0, liquid_core::model::ArrayView::size);
                if usize::try_from(elements).unwrap_or(usize::MAX) > UNIQ_ELEMENTS_MAX {
                    return Err(meter::of(runtime).stop(RenderFault::Value));
                }
                Ok(own)
            }
        }
    }
}
