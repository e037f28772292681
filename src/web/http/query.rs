//! Query strings, read with every error collected.

use std::{borrow::Cow, ops::RangeInclusive};

use axum::extract::FromRequestParts;
use http::request::Parts;
use kernel::{
    DayEdge, Error, FieldError, Timestamp,
    fields::{Words, problem, value_of},
};
use url::form_urlencoded;

use crate::http::{ApiError, ApiResult};

/// Most parameters of one query string.
const QUERY_PARAMETERS_MAX: usize = 256;

/// The value of a query string, or 400 with every error.
#[derive(Debug, Clone, Copy)]
pub struct Query<T>(pub T);

/// A value that is read from a query string. If there are errors, it is discarded.
pub trait FromQuery {
    fn from_query(query: &mut QueryFields<'_>) -> Self;
}

impl<T, S> FromRequestParts<S> for Query<T>
where
    T: FromQuery,
    S: Send + Sync,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> ApiResult<Self> {
        read(parts.uri.query().unwrap_or_default()).map(Self).map_err(ApiError)
    }
}

/// Reads a whole query string.
pub(super) fn read<T: FromQuery>(text: &str) -> Result<T, Error> {
    let mut query = QueryFields::new(text);
    let value = T::from_query(&mut query);
    if query.problems.is_empty() { Ok(value) } else { Err(Error::Invalid(query.problems)) }
}

/// The parameters of a query string. The last value of a repeated one counts, except in [`list`].
///
/// [`list`]: QueryFields::list
#[derive(Debug)]
pub struct QueryFields<'q> {
    pairs: Vec<(Cow<'q, str>, Cow<'q, str>)>,
    problems: Vec<FieldError>,
}

/// `startDate` and `endDate`, both inclusive to the millisecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DateRange {
    pub start: Option<Timestamp>,
    pub end: Option<Timestamp>,
}

impl<'q> QueryFields<'q> {
    fn new(text: &'q str) -> Self {
        let mut pairs = form_urlencoded::parse(text.as_bytes());
        let kept = pairs.by_ref().take(QUERY_PARAMETERS_MAX).collect();
        let mut query = Self { pairs: kept, problems: Vec::new() };
        if pairs.next().is_some() {
            let problem = format!("the query has more than {QUERY_PARAMETERS_MAX} parameters");
            query.problems.push(FieldError::new("", problem));
        }
        query
    }

    /// The value as sent; an empty one is absent.
    fn sent(&self, name: &str) -> Option<&str> {
        let (_, value) = self.pairs.iter().rfind(|(key, _)| key == name)?;
        (!value.is_empty()).then_some(&**value)
    }

    /// Reports an error of a parameter.
    pub fn refuse(&mut self, name: &str, problem: impl Into<String>) {
        self.problems.push(FieldError::new(name, problem));
    }

    /// A text of at most `chars_max` characters; an empty one is absent.
    pub fn text(&mut self, name: &str, chars_max: usize) -> Option<String> {
        let text = self.sent(name)?;
        match value_of::text(text, &(0..=chars_max)) {
            Ok(text) => Some(text),
            Err(problem) => {
                self.refuse(name, problem);
                None
            }
        }
    }

    pub fn required_text(&mut self, name: &str, chars_max: usize) -> String {
        if self.sent(name).is_none() {
            self.refuse(name, problem::REQUIRED);
        }
        self.text(name, chars_max).unwrap_or_default()
    }

    /// An integer; clamped to 64 bits. `None` if it is not a number.
    pub(super) fn whole_number(&self, name: &str) -> Option<i64> {
        let text = self.sent(name)?.trim();
        let digits = text.strip_prefix('-').unwrap_or(text);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let edge = if text.starts_with('-') { i64::MIN } else { i64::MAX };
        Some(text.parse().unwrap_or(edge))
    }

    /// An integer: if it is not a number or is below the range, `default`; above the range, its end.
    pub fn integer(&self, name: &str, default: i64, range: RangeInclusive<i64>) -> i64 {
        match self.whole_number(name) {
            Some(number) if number >= *range.start() => number.min(*range.end()),
            _ => default,
        }
    }

    /// `true` or `1`, or `false` or `0`, in any case; absent is `default`.
    pub fn flag(&mut self, name: &str, default: bool) -> bool {
        let Some(text) = self.sent(name) else { return default };
        match text.to_ascii_lowercase().as_str() {
            "true" | "1" => true,
            "false" | "0" => false,
            _ => {
                self.refuse(name, problem::FLAG);
                default
            }
        }
    }

    /// One of a closed set of words.
    pub fn one_of<T: Copy>(&mut self, name: &str, words: &Words<T>) -> Option<T> {
        let text = self.sent(name)?;
        match value_of::word(text, words) {
            Ok(value) => Some(value),
            Err(problem) => {
                self.refuse(name, problem);
                None
            }
        }
    }

    /// The same for a required one; the first word is the placeholder after an error.
    pub fn required_one_of<T: Copy>(&mut self, name: &str, words: &Words<T>) -> T {
        if self.sent(name).is_none() {
            self.refuse(name, problem::REQUIRED);
        }
        self.one_of(name, words).unwrap_or(words[0].1)
    }

    /// An ISO 8601 time; a date alone stands for that edge of its UTC day.
    pub fn timestamp(&mut self, name: &str, edge: DayEdge) -> Option<Timestamp> {
        let text = self.sent(name)?;
        // A `+` of an offset that the caller did not escape arrives as a space.
        let unescaped = text.rfind(' ').filter(|at| *at > "YYYY-MM-DD ".len());
        let text = match unescaped.and_then(|at| text.split_at_checked(at)) {
            Some((moment, offset)) => Cow::Owned(format!("{moment}+{}", offset.trim_start())),
            None => Cow::Borrowed(text),
        };
        match Timestamp::parse_at(&text, edge) {
            Ok(at) => Some(at),
            Err(wrong) => {
                self.refuse(name, wrong.to_string());
                None
            }
        }
    }

    /// `startDate` to `endDate`, inclusive; a date-only end means the end of that UTC day.
    pub fn date_range(&mut self) -> DateRange {
        let start = self.timestamp("startDate", DayEdge::Start);
        let end = self.timestamp("endDate", DayEdge::End);
        if let (Some(start), Some(end)) = (start, end)
            && start > end
        {
            self.refuse("startDate", problem::AFTER_END);
        }
        DateRange { start, end }
    }

    /// Every value of a parameter that may be repeated or comma-separated, without empty ones.
    pub fn list(&mut self, name: &str, chars_max: usize) -> Vec<String> {
        let mut texts = Vec::new();
        let mut problems = Vec::new();
        for (_, value) in self.pairs.iter().filter(|(key, _)| key == name) {
            for text in value.split(',').map(str::trim).filter(|text| !text.is_empty()) {
                match value_of::text(text, &(0..=chars_max)) {
                    Ok(text) => texts.push(text),
                    Err(problem) => problems.push(FieldError::new(name, problem)),
                }
            }
        }
        self.problems.extend(problems.into_iter().take(1));
        texts
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug)]
    struct Everything {
        user: Option<String>,
        archived: bool,
        size: i64,
        group: Option<u8>,
        dates: DateRange,
        tags: Vec<String>,
    }

    impl FromQuery for Everything {
        fn from_query(query: &mut QueryFields<'_>) -> Self {
            Self {
                user: query.text("userId", 5),
                archived: query.flag("includeArchived", false),
                size: query.integer("size", 10, 1..=20),
                group: query.one_of("groupBy", &[("hour", 1), ("day", 2)]),
                dates: query.date_range(),
                tags: query.list("tags", 3),
            }
        }
    }

    fn errors(text: &str) -> Vec<String> {
        match read::<Everything>(text) {
            Err(Error::Invalid(fields)) => fields.iter().map(ToString::to_string).collect(),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn a_query_is_read_in_full() {
        let query = read::<Everything>(
            "userId=a%20b&includeArchived=TRUE&size=15&groupBy=day&startDate=2026-01-01&endDate=2026-01-31&tags=a,b&tags=c",
        )
        .unwrap();
        assert_eq!(query.user.as_deref(), Some("a b"));
        assert!(query.archived);
        assert_eq!(query.size, 15);
        assert_eq!(query.group, Some(2));
        assert_eq!(query.dates.start.unwrap().to_string(), "2026-01-01T00:00:00.000Z");
        assert_eq!(query.dates.end.unwrap().to_string(), "2026-01-31T23:59:59.999Z");
        assert_eq!(query.tags, ["a", "b", "c"]);
    }

    #[test]
    fn nothing_sent_is_all_defaults() {
        let query = read::<Everything>("userId=&unknown=1").unwrap();
        assert_eq!((query.user, query.archived, query.size), (None, false, 10));
        assert_eq!(query.dates, DateRange::default());
    }

    #[test]
    fn every_error_is_listed_once_in_order() {
        assert_eq!(
            errors(
                "userId=toolong&includeArchived=maybe&groupBy=year&startDate=x&endDate=y&tags=long,longer"
            ),
            [
                "userId must be at most 5 characters",
                "includeArchived must be true or false",
                "groupBy must be one of: hour, day",
                "startDate must be an ISO 8601 date or date-time",
                "endDate must be an ISO 8601 date or date-time",
                "tags must be at most 3 characters",
            ]
        );
    }

    #[test]
    fn nul_characters_are_refused_here() {
        assert_eq!(errors("userId=a%00"), ["userId must not contain NUL characters"]);
    }

    #[test]
    fn a_range_that_ends_before_it_starts_is_refused() {
        assert_eq!(
            errors("startDate=2026-02-01&endDate=2026-01-31"),
            ["startDate must not be after endDate"]
        );
        assert!(read::<Everything>("startDate=2026-02-01&endDate=2026-02-01").is_ok());
    }

    #[test]
    fn an_offset_whose_plus_was_not_escaped_is_still_an_offset() {
        for text in ["startDate=2026-01-01T02:00:00+02:00", "startDate=2026-01-01T02:00:00%2B02:00"]
        {
            let query = read::<Everything>(text).unwrap();
            assert_eq!(query.dates.start.unwrap().to_string(), "2026-01-01T00:00:00.000Z");
        }
        let blank = read::<Everything>("startDate=2026-01-01%2002:00:00").unwrap();
        assert_eq!(blank.dates.start.unwrap().to_string(), "2026-01-01T02:00:00.000Z");
    }

    #[test]
    fn numbers_by_g8() {
        for (text, size) in
            [("size=0", 10), ("size=21", 20), ("size=abc", 10), ("size=-9", 10), ("size=20", 20)]
        {
            assert_eq!(read::<Everything>(text).unwrap().size, size, "{text}");
        }
    }

    #[test]
    fn a_query_of_too_many_parameters_is_refused() {
        let many = "a=1&".repeat(QUERY_PARAMETERS_MAX + 1);
        assert_eq!(errors(&many), ["the query has more than 256 parameters"]);
    }

    proptest! {
        #[test]
        fn no_query_makes_the_reader_panic(text in "\\PC{0,80}") {
            let _ = read::<Everything>(&text);
            let _ = read::<Everything>(&format!("startDate={text}&endDate={text}&size={text}"));
        }
    }
}
