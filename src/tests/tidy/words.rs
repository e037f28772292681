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
    (Text, "tell", "record, publish", 122),
    (Text, "tells", "record, publish", 96),
    (Text, "telling", "record, publish", 9),
    (Text, "told", "recorded, published", 563),
    (Text, "untold", "unpublished", 13),
    (Text, "teller", "callback source", 4),
    (Text, "tellers", "callback source", 0),
    (Text, "heard", "received feedback", 125),
    (Text, "judge", "check, eligibility", 117),
    (Text, "judges", "check, eligibility", 39),
    (Text, "judged", "check, eligibility", 152),
    (Text, "judging", "check, eligibility", 3),
    (Text, "mend", "recover", 5),
    (Text, "mends", "recover", 1),
    (Text, "mended", "recover", 21),
    (Text, "mending", "recover", 0),
    (Text, "nobody", "no profile, no caller", 278),
    (Text, "somebody", "a profile, a caller", 160),
    (Text, "whoever", "any caller, each profile", 64),
    (Text, "lookers", "engaged users", 0),
    (Text, "reckon", "compute, count", 0),
    (Text, "reckons", "compute, count", 3),
    (Text, "reckoned", "compute, count", 4),
    (Text, "reckoning", "compute, count", 3),
    (Text, "deed", "conversion event", 39),
    (Text, "deeds", "conversion event", 10),
    (Text, "dressing", "instrumentation of links and opens", 0),
    (Text, "unsaid", "not rendered", 6),
    (Text, "handover", "send", 0),
    (Text, "door", "ingest handle", 2),
    (Name, "say", "render, content", 59),
    (Name, "said", "render, content", 313),
    (Name, "lane", "send queue", 16),
    (Name, "lanes", "send queue", 9),
    (Name, "scene", "campaign context", 16),
    (Name, "carrier", "provider settings", 24),
    (Name, "carriers", "provider settings", 27),
    (Name, "carried", "provider settings", 34),
    (Name, "anatomy", "HTML outline", 0),
    (Name, "pulse", "connection timeouts", 0),
    (Identifier, "Note", "MessageEvent", 0),
    (Identifier, "Bell", "DueSignal", 0),
    (Identifier, "Whose", "a name that says of what", 0),
    (Identifier, "Why", "a name that says of what", 3),
    (Identifier, "Ask", "a name that says of what", 65),
    (Identifier, "Told", "a name that says of what", 32),
    (Identifier, "Place", "a name that says of what", 99),
    (Identifier, "Means", "a name that says of what", 0),
    (Identifier, "Look", "a name that says of what", 4),
    (Identifier, "Standing", "MessageStatus", 81),
    (Identifier, "Round", "BatchReport, or of what", 12),
    (Identifier, "Turns", "FairScheduler", 3),
    (Identifier, "Nothing", "EmptyBody", 14),
    (Identifier, "Shown", "HtmlErrorPage", 15),
    (Identifier, "Unread", "BodyDrain", 10),
    (Identifier, "Lent", "BodyDrain", 0),
    (Identifier, "Habits", "EngagementHours", 0),
    (Identifier, "Complaints", "FieldErrors", 12),
    (Identifier, "put_down", "update_statuses", 0),
    (Identifier, "come_back", "record_outcomes", 0),
    (Identifier, "hand_over", "send", 9),
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
        for finding in &found {
            println!("    {finding}");
        }
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
