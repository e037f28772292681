//! Words that only this project's authors understood, and the field's terms for them.

use std::{path::PathBuf, sync::LazyLock};

use crate::sources::{Finding, Workspace, files};

/// Where a word is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Within {
    /// Whole identifiers of code.
    Identifier,
    /// Words that identifiers are made of, as `tell` of `tell_all`.
    Name,
    /// Names, comments and texts, documents and SQL as well.
    Text,
}

use Within::{Identifier, Name, Text};

/// A word, the term to use, and how often it remains at most.
const WORDS: &[(Within, &str, &str, usize)] = &[
    (Text, "tell", "record, publish", 160),
    (Text, "tells", "record, publish", 110),
    (Text, "telling", "record, publish", 16),
    (Text, "told", "recorded, published", 637),
    (Text, "untold", "unpublished", 23),
    (Text, "teller", "callback source", 76),
    (Text, "tellers", "callback source", 24),
    (Text, "heard", "received feedback", 233),
    (Text, "judge", "check, eligibility", 133),
    (Text, "judges", "check, eligibility", 43),
    (Text, "judged", "check, eligibility", 196),
    (Text, "judging", "check, eligibility", 9),
    (Text, "mend", "recover", 5),
    (Text, "mends", "recover", 1),
    (Text, "mended", "recover", 21),
    (Text, "mending", "recover", 0),
    (Text, "nobody", "no profile, no caller", 292),
    (Text, "somebody", "a profile, a caller", 171),
    (Text, "whoever", "any caller, each profile", 69),
    (Text, "lookers", "engaged users", 6),
    (Text, "reckon", "compute, count", 2),
    (Text, "reckons", "compute, count", 3),
    (Text, "reckoned", "compute, count", 4),
    (Text, "reckoning", "compute, count", 3),
    (Text, "deed", "conversion event", 117),
    (Text, "deeds", "conversion event", 24),
    (Text, "dressing", "instrumentation of links and opens", 5),
    (Text, "unsaid", "not rendered", 6),
    (Text, "handover", "send", 7),
    (Text, "door", "ingest handle", 10),
    (Name, "say", "render, content", 59),
    (Name, "said", "render, content", 315),
    (Name, "lane", "send queue", 74),
    (Name, "lanes", "send queue", 80),
    (Name, "scene", "campaign context", 108),
    (Name, "carrier", "provider settings", 49),
    (Name, "carriers", "provider settings", 27),
    (Name, "carried", "provider settings", 80),
    (Name, "anatomy", "HTML outline", 34),
    (Name, "pulse", "connection timeouts", 94),
    (Identifier, "Note", "MessageEvent", 21),
    (Identifier, "Bell", "DueSignal", 0),
    (Identifier, "Whose", "a name that says of what", 50),
    (Identifier, "Why", "a name that says of what", 54),
    (Identifier, "Ask", "a name that says of what", 65),
    (Identifier, "Told", "a name that says of what", 40),
    (Identifier, "Place", "a name that says of what", 122),
    (Identifier, "Means", "a name that says of what", 3),
    (Identifier, "Look", "a name that says of what", 7),
    (Identifier, "Standing", "MessageStatus", 159),
    (Identifier, "Round", "BatchReport, or of what", 37),
    (Identifier, "Turns", "FairScheduler", 5),
    (Identifier, "Nothing", "EmptyBody", 14),
    (Identifier, "Shown", "HtmlErrorPage", 24),
    (Identifier, "Unread", "BodyDrain", 14),
    (Identifier, "Lent", "BodyDrain", 4),
    (Identifier, "Habits", "EngagementHours", 16),
    (Identifier, "Complaints", "FieldErrors", 20),
    (Identifier, "put_down", "update_statuses", 7),
    (Identifier, "come_back", "record_outcomes", 2),
    (Identifier, "hand_over", "send", 12),
];

/// A word of a text, or an identifier of code.
#[derive(Debug)]
pub(crate) struct Word {
    pub(crate) text: String,
    pub(crate) line: usize,
}

/// A text that is no Rust.
#[derive(Debug)]
struct Document {
    path: PathBuf,
    words: Vec<Word>,
}

/// The words of a text in small letters: runs of letters, taken apart where a capital follows a small letter.
pub(crate) fn words(text: &str) -> Vec<Word> {
    let (mut found, mut word, mut line) = (Vec::new(), String::new(), 1);
    for c in text.chars().chain(['\n']) {
        let follows = c.is_uppercase() && word.chars().next_back().is_some_and(char::is_lowercase);
        if (!c.is_alphabetic() || follows) && !word.is_empty() {
            found.push(Word { text: std::mem::take(&mut word).to_lowercase(), line });
        }
        if c.is_alphabetic() {
            word.push(c);
        }
        line += usize::from(c == '\n');
    }
    found
}

/// The lines in which a word is; a line for each time.
fn lines(words: &[Word], wanted: &str) -> Vec<usize> {
    words.iter().filter(|word| word.text == wanted).map(|word| word.line).collect()
}

fn found_in_sources(within: Within, wanted: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    for source in Workspace::get().sources.iter().filter(|it| it.krate() != "tidy") {
        let identifiers = &source.syntax.identifiers;
        let here = match within {
            Identifier => lines(identifiers, wanted),
            Name => {
                let named = |it: &Word| vec![it.line; lines(&words(&it.text), wanted).len()];
                identifiers.iter().flat_map(named).collect()
            }
            Text => lines(&source.words, wanted),
        };
        found.extend(here.into_iter().map(|line| source.finding(line, wanted)));
    }
    for document in documents().iter().filter(|_| within == Text) {
        let here = lines(&document.words, wanted).into_iter();
        found.extend(here.map(|line| {
            let (path, what) = (document.path.clone(), wanted.to_owned());
            Finding { path, line, what }
        }));
    }
    found
}

/// Documents and SQL files. Applied migrations stay as they are.
fn documents() -> &'static [Document] {
    static READ: LazyLock<Vec<Document>> = LazyLock::new(|| {
        let texts = ["md", "sql"].into_iter().flat_map(files);
        texts
            .filter(|(path, _)| !path.starts_with("migrations"))
            .map(|(path, text)| Document { path, words: words(&text) })
            .collect()
    });
    &READ
}

#[test]
fn names_and_comments_use_the_terms_of_the_field() {
    let mut failed = Vec::new();
    for (within, word, term, remaining) in WORDS {
        let found = found_in_sources(*within, word);
        println!("{word}: {} of at most {remaining}; say: {term}", found.len());
        if found.len() > *remaining {
            let shown = found.iter().map(Finding::to_string).collect::<Vec<_>>().join("\n");
            failed.push(format!(
                "{word}: {} of at most {remaining}; say {term}:\n{shown}",
                found.len()
            ));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

#[test]
fn words_are_taken_apart() {
    let found: Vec<String> =
        words("tell_all HttpBody\n// It's MAX2").into_iter().map(|it| it.text).collect();
    assert_eq!(found, ["tell", "all", "http", "body", "it", "s", "max"]);
}
