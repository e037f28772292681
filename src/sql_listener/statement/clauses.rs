//! What stands behind a query: its settings and its format.

use super::{
    Setting,
    words::{Kind, Word},
};
use crate::fault::{Code, Fault};

/// Formats of answers. Not among them: those that read or write files on the engine's machine (schemas, templates), and
/// wire protocols of other databases.
const FORMATS: &str = "
Arrow ArrowStream Avro BSONEachRow CSV CSVWithNames CSVWithNamesAndTypes CustomSeparated CustomSeparatedWithNames
CustomSeparatedWithNamesAndTypes JSON JSONColumns JSONColumnsWithMetadata JSONCompact JSONCompactColumns
JSONCompactEachRow JSONCompactEachRowWithNames JSONCompactEachRowWithNamesAndTypes JSONCompactEachRowWithProgress
JSONCompactStrings JSONCompactStringsEachRow JSONCompactStringsEachRowWithNames
JSONCompactStringsEachRowWithNamesAndTypes JSONCompactStringsEachRowWithProgress JSONEachRow JSONEachRowWithProgress
JSONL JSONLines JSONObjectEachRow JSONStrings JSONStringsEachRow JSONStringsEachRowWithProgress LineAsString MD Markdown
MsgPack NDJSON Native Null ORC Parquet Pretty PrettyCompact PrettyCompactMonoBlock PrettyCompactNoEscapes
PrettyCompactNoEscapesMonoBlock PrettyJSONEachRow PrettyMonoBlock PrettyNoEscapes PrettyNoEscapesMonoBlock PrettySpace
PrettySpaceMonoBlock PrettySpaceNoEscapes PrettySpaceNoEscapesMonoBlock RawBLOB RowBinary RowBinaryWithNames
RowBinaryWithNamesAndTypes SQLInsert TSKV TSV TSVRaw TSVRawWithNames TSVRawWithNamesAndTypes TSVWithNames
TSVWithNamesAndTypes TabSeparated TabSeparatedRaw TabSeparatedRawWithNames TabSeparatedRawWithNamesAndTypes
TabSeparatedWithNames TabSeparatedWithNamesAndTypes Values Vertical XML";

/// Refuses a format that is not taken.
pub(crate) fn check_format(format: &str) -> Result<(), Fault> {
    if FORMATS.split_whitespace().any(|known| known == format) {
        return Ok(());
    }
    Err(Fault::new(Code::UnknownFormat, format!("Unknown format {}", format.escape_default())))
}

/// Takes `FORMAT name` off the end.
pub(super) fn take_format(words: &mut Vec<Word>) -> Result<Option<String>, Fault> {
    let [.., keyword, format] = words.as_slice() else { return Ok(None) };
    let is_clause = keyword.is("FORMAT") && keyword.depth == 0 && words.len() > 2;
    let Some(format) = format.name().filter(|_| is_clause) else { return Ok(None) };
    check_format(format)?;
    let format = format.to_owned();
    words.truncate(words.len() - 2);
    if words.iter().rev().nth(1).is_some_and(|word| word.is("FORMAT") && word.depth == 0) {
        return Err(Fault::syntax("A statement has one FORMAT"));
    }
    Ok(Some(format))
}

/// Takes `SETTINGS name = value, …` out, wherever it stands outside of brackets.
pub(super) fn take_settings(words: &mut Vec<Word>) -> Result<Vec<Setting>, Fault> {
    let mut taken = Vec::new();
    while let Some(begin) = settings_at(words) {
        let mut at = begin + 1;
        loop {
            let (setting, length) = assignment(words.get(at..).unwrap_or_default())?;
            taken.push(setting);
            at += length;
            if !words.get(at).is_some_and(|word| word.is_mark(',')) {
                break;
            }
            at += 1;
        }
        words.drain(begin..at);
        // What stood around it must not become one word.
        if let Some(next) = words.get_mut(begin) {
            next.spaced = true;
        }
    }
    refuse_settings(words)?;
    Ok(taken)
}

/// The setting by which a session is known.
const MARK: &str = "log_comment";

/// Refuses settings that were not taken out: the engine applies those of a subquery without a look at `readonly`.
fn refuse_settings(words: &[Word]) -> Result<(), Fault> {
    let refused = words.iter().enumerate().any(|(at, word)| {
        let before = |count: usize| at.checked_sub(count).and_then(|at| words.get(at));
        // `system.settings`
        let is_part = before(1).is_some_and(|point| point.is_mark('.'))
            && before(2).is_some_and(|owner| owner.name().is_some());
        let names_one =
            words.get(at + 1).is_some_and(|next| next.name().is_some() || next.is_mark('{'));
        let is_mark = word.name().is_some_and(|name| name.eq_ignore_ascii_case(MARK));
        is_mark || word.is("SETTINGS") && names_one && !is_part
    });
    if refused {
        let message = "SETTINGS name = value stands outside of brackets; a column of this name stands in quotes";
        return Err(Fault::new(Code::Readonly, message));
    }
    Ok(())
}

fn settings_at(words: &[Word]) -> Option<usize> {
    words.windows(3).position(|three| {
        matches!(three, [keyword, name, equals]
            if keyword.depth == 0 && keyword.is("SETTINGS")
                && name.name().is_some() && equals.is_mark('='))
    })
}

/// One assignment, and the words that it has.
fn assignment(words: &[Word]) -> Result<(Setting, usize), Fault> {
    let refused = || Fault::syntax("A setting is name = value, and the value a number or a text");
    let [name, equals, rest @ ..] = words else { return Err(refused()) };
    let name = name.name().filter(|_| equals.is_mark('=')).ok_or_else(refused)?;
    let (sign, rest, mut length) = match rest {
        [minus, rest @ ..] if minus.is_mark('-') => ("-", rest, 3),
        _ => ("", rest, 2),
    };
    let value = match rest {
        [whole, point, part, ..]
            if whole.kind == Kind::Number
                && point.is_mark('.')
                && part.kind == Kind::Number
                && !point.spaced
                && !part.spaced =>
        {
            length += 3;
            format!("{sign}{}.{}", whole.text, part.text)
        }
        [value, ..] if matches!(value.kind, Kind::Number) => {
            length += 1;
            format!("{sign}{}", value.text)
        }
        [value, ..] if sign.is_empty() && value.kind == Kind::Text => {
            length += 1;
            plain(&value.text).ok_or_else(refused)?
        }
        [value, ..] if sign.is_empty() && value.is_any(&["true", "false"]) => {
            length += 1;
            String::from(if value.is("true") { "1" } else { "0" })
        }
        _ => return Err(refused()),
    };
    Ok((Setting { name: name.to_owned(), value }, length))
}

/// The value of a text in quotes; none where it has escapes beyond those of quotes, tabs and line feeds.
fn plain(quoted: &str) -> Option<String> {
    let inner = quoted.strip_prefix('\'')?.strip_suffix('\'')?;
    let mut text = String::new();
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        text.push(match character {
            '\\' => match characters.next()? {
                't' => '\t',
                'n' => '\n',
                same @ ('\\' | '\'') => same,
                _ => return None,
            },
            '\'' => characters.next()?,
            other => other,
        });
    }
    Some(text)
}

/// Refuses `INTO OUTFILE`, at any depth.
pub(super) fn refuse_outfile(words: &[Word]) -> Result<(), Fault> {
    let names_file = words
        .windows(2)
        .any(|two| matches!(two, [into, what] if into.is("INTO") && what.is("OUTFILE")));
    if names_file {
        return Err(Fault::denied("INTO OUTFILE would write on the engine's machine"));
    }
    Ok(())
}
