//! `{% for %}` and `{% tablerow %}`, evaluated item by item, so that a range costs its iterations and not its
//! length, and every iteration is counted.

use std::io::Write;

use liquid_core::{
    BlockReflection, Error, Expression, Language, Object, ParseBlock, Renderable, Result, Runtime,
    TagBlock, TagTokenIter, Template, Value, ValueView,
    model::{KString, Scalar},
    parser::{BlockElement, TryMatchToken},
    runtime::{Interrupt, InterruptRegister},
};
use liquid_lib::stdlib::{Range, RangeExpression};

use super::{meter, runtime::Scope};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Loop {
    For,
    /// `tablerow`: every item in a cell of a table.
    TableRow,
}

impl BlockReflection for Loop {
    fn start_tag(&self) -> &'static str {
        match self {
            Self::For => "for",
            Self::TableRow => "tablerow",
        }
    }

    fn end_tag(&self) -> &'static str {
        match self {
            Self::For => "endfor",
            Self::TableRow => "endtablerow",
        }
    }

    fn description(&self) -> &'static str {
        "repeats its content for every item"
    }
}

impl ParseBlock for Loop {
    fn parse(
        &self,
        mut arguments: TagTokenIter<'_>,
        mut block: TagBlock<'_, '_>,
        language: &Language,
    ) -> Result<Box<dyn Renderable>> {
        let mut parsed = head(*self, &mut arguments)?;
        let mut content = Vec::new();
        while let Some(element) = block.next()? {
            match element {
                BlockElement::Tag(mut tag) if *self == Self::For && tag.name() == "else" => {
                    tag.tokens().expect_nothing()?;
                    parsed.otherwise = Some(Template::new(block.parse_all(language)?));
                    break;
                }
                element => content.push(element.parse(&mut block, language)?),
            }
        }
        block.assert_empty();
        parsed.content = Template::new(content);
        Ok(Box::new(parsed))
    }

    fn reflection(&self) -> &dyn BlockReflection {
        self
    }
}

/// `name in items limit:… offset:… reversed cols:…`
fn head(kind: Loop, arguments: &mut TagTokenIter<'_>) -> Result<Looped> {
    let name = arguments.expect_next("a name is expected")?.expect_identifier().into_result()?;
    let name = KString::from_ref(name);
    arguments
        .expect_next("`in` is expected")?
        .expect_str("in")
        .into_result_custom_msg("`in` is expected")?;
    let token = arguments.expect_next("an array or a range is expected")?;
    let items = match token.expect_value() {
        TryMatchToken::Matches(array) => RangeExpression::Array(array),
        TryMatchToken::Fails(token) => match token.expect_range() {
            TryMatchToken::Matches((first, last)) => RangeExpression::Counted(first, last),
            TryMatchToken::Fails(token) => return Err(token.raise_error()),
        },
    };
    let (content, otherwise) = (Template::new(Vec::new()), None);
    let (limit, offset, cols) = (None, None, None);
    let mut looped =
        Looped { kind, name, items, limit, offset, cols, reversed: false, content, otherwise };
    while let Some(token) = arguments.next() {
        match (token.as_str(), kind) {
            (",", _) => {}
            ("limit", _) => looped.limit = Some(attribute(arguments)?),
            ("offset", _) => looped.offset = Some(attribute(arguments)?),
            ("cols", Loop::TableRow) => looped.cols = Some(attribute(arguments)?),
            ("reversed", Loop::For) => looped.reversed = true,
            _ => {
                return Err(token.raise_custom_error("limit, offset, reversed or cols is expected"));
            }
        }
    }
    Ok(looped)
}

fn attribute(arguments: &mut TagTokenIter<'_>) -> Result<Expression> {
    arguments
        .expect_next("`:` is expected")?
        .expect_str(":")
        .into_result_custom_msg("`:` is expected")?;
    arguments.expect_next("a value is expected")?.expect_value().into_result()
}

#[derive(Debug)]
struct Looped {
    kind: Loop,
    name: KString,
    items: RangeExpression,
    limit: Option<Expression>,
    offset: Option<Expression>,
    cols: Option<Expression>,
    reversed: bool,
    content: Template,
    otherwise: Option<Template>,
}

/// The items of a loop, without materialising a range.
enum Items {
    Of(Vec<Value>),
    Between { first: i64, len: u64 },
}

impl Items {
    fn of(range: &Range<'_>) -> Self {
        match range {
            Range::Counted(first, last) => {
                let len = i128::from(*last) - i128::from(*first) + 1;
                let len = u64::try_from(len.max(0)).unwrap_or(u64::MAX);
                Self::Between { first: *first, len }
            }
            Range::Array(value) => Self::Of(listed(value.as_view())),
        }
    }

    fn len(&self) -> u64 {
        match self {
            Self::Of(values) => values.len() as u64,
            Self::Between { len, .. } => *len,
        }
    }

    fn at(&self, index: u64) -> Value {
        match self {
            Self::Of(values) => usize::try_from(index)
                .ok()
                .and_then(|index| values.get(index))
                .cloned()
                .unwrap_or_default(),
            Self::Between { first, .. } => Value::scalar(first.wrapping_add_unsigned(index)),
        }
    }
}

/// The items of a value: an object's are pairs, a text is one, others have none.
fn listed(value: &dyn ValueView) -> Vec<Value> {
    if value.is_nil() {
        Vec::new()
    } else if let Some(array) = value.as_array() {
        array.values().map(ValueView::to_value).collect()
    } else if let Some(object) = value.as_object() {
        let pair = |(key, value): (liquid_core::model::KStringCow<'_>, &dyn ValueView)| {
            Value::Array(vec![Value::scalar(key.into_owned()), value.to_value()])
        };
        object.iter().map(pair).collect()
    } else if value.is_scalar() && !value.to_kstr().is_empty() {
        vec![value.to_value()]
    } else {
        Vec::new()
    }
}

/// The whole number of an attribute; negative numbers count as 0.
fn whole(attribute: Option<&Expression>, runtime: &dyn Runtime) -> Result<Option<u64>> {
    let Some(attribute) = attribute else { return Ok(None) };
    let value = attribute.evaluate(runtime)?;
    if value.is_nil() {
        return Ok(None);
    }
    let number = value.as_scalar().and_then(|scalar| scalar.to_integer());
    let number = number.ok_or_else(|| Error::with_msg("a whole number is expected"))?;
    Ok(Some(u64::try_from(number).unwrap_or(0)))
}

impl Renderable for Looped {
    fn render_to(&self, writer: &mut dyn Write, runtime: &dyn Runtime) -> Result<()> {
        let items = Items::of(&self.items.evaluate(runtime)?);
        let offset = whole(self.offset.as_ref(), runtime)?.unwrap_or(0).min(items.len());
        let rest = items.len() - offset;
        let len = whole(self.limit.as_ref(), runtime)?.map_or(rest, |limit| limit.min(rest));
        let cols = whole(self.cols.as_ref(), runtime)?.unwrap_or(len).max(1);
        if len == 0 {
            return self
                .otherwise
                .as_ref()
                .map_or(Ok(()), |other| other.render_to(writer, runtime));
        }
        let outer =
            runtime.try_get(&[Scalar::new("forloop")]).map(liquid_core::ValueCow::into_owned);
        for turn in 0..len {
            meter::of(runtime).iteration()?;
            let index = if self.reversed { offset + len - 1 - turn } else { offset + turn };
            let mut locals = Object::new();
            locals.insert(self.name.clone(), items.at(index));
            let (name, mut progress) = match self.kind {
                Loop::For => ("forloop", progress_of(turn, len)),
                Loop::TableRow => ("tablerowloop", cell_of(turn, len, cols)),
            };
            if let Some(outer) = &outer {
                progress.insert("parentloop".into(), outer.clone());
            }
            locals.insert(name.into(), Value::Object(progress));
            let scope = Scope::new(runtime, locals);
            if self.kind == Loop::TableRow {
                self.cell(writer, &scope, Cell { turn, len, cols })?;
            } else {
                self.content.render_to(writer, &scope)?;
            }
            let interrupt = runtime.registers().get_mut::<InterruptRegister>().reset();
            if interrupt == Some(Interrupt::Break) {
                break;
            }
        }
        Ok(())
    }
}

/// A cell of `tablerow`: the item's number, the number of items, and the columns.
#[derive(Debug, Clone, Copy)]
struct Cell {
    turn: u64,
    len: u64,
    cols: u64,
}

impl Looped {
    fn cell(&self, writer: &mut dyn Write, scope: &Scope<'_>, cell: Cell) -> Result<()> {
        let Cell { turn, len, cols } = cell;
        let full = |_| Error::with_msg("the output is full");
        let (row, col) = (turn / cols + 1, turn % cols + 1);
        if col == 1 {
            write!(writer, "<tr class=\"row{row}\">").map_err(full)?;
        }
        write!(writer, "<td class=\"col{col}\">").map_err(full)?;
        self.content.render_to(writer, scope)?;
        writer.write_all(b"</td>").map_err(full)?;
        if col == cols || turn + 1 == len {
            writer.write_all(b"</tr>").map_err(full)?;
        }
        Ok(())
    }
}

/// The progress of a loop: `forloop`.
fn progress_of(turn: u64, len: u64) -> Object {
    let mut progress = Object::new();
    let number = |number: u64| Value::scalar(i64::try_from(number).unwrap_or(i64::MAX));
    for (name, value) in [
        ("index", number(turn + 1)),
        ("index0", number(turn)),
        ("rindex", number(len - turn)),
        ("rindex0", number(len - turn - 1)),
        ("length", number(len)),
        ("first", Value::scalar(turn == 0)),
        ("last", Value::scalar(turn + 1 == len)),
    ] {
        progress.insert(name.into(), value);
    }
    progress
}

/// The progress of a table: `tablerowloop`.
fn cell_of(turn: u64, len: u64, cols: u64) -> Object {
    let mut progress = progress_of(turn, len);
    let col = i64::try_from(turn % cols).unwrap_or(i64::MAX);
    for (name, value) in [
        ("col", Value::scalar(col + 1)),
        ("col0", Value::scalar(col)),
        ("col_first", Value::scalar(col == 0)),
        ("col_last", Value::scalar((turn + 1).is_multiple_of(cols) || turn + 1 == len)),
    ] {
        progress.insert(name.into(), value);
    }
    progress
}
