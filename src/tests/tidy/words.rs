//! Words that only this project's authors understood, and the field's terms for them.

use std::{
    path::{Path, PathBuf},
    sync::LazyLock,
};

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

/// A word, and the term to use.
const WORDS: &[(Within, &str, &str)] = &[
    (Text, "tell", "record, publish"),
    (Text, "tells", "record, publish"),
    (Text, "telling", "record, publish"),
    (Text, "told", "recorded, published"),
    (Text, "untold", "unpublished"),
    (Text, "teller", "callback source"),
    (Text, "tellers", "callback source"),
    (Text, "heard", "received feedback"),
    (Text, "judge", "check, eligibility"),
    (Text, "judges", "check, eligibility"),
    (Text, "judged", "check, eligibility"),
    (Text, "judging", "check, eligibility"),
    (Text, "mend", "recover"),
    (Text, "mends", "recover"),
    (Text, "mended", "recover"),
    (Text, "mending", "recover"),
    (Text, "nobody", "no profile, no caller"),
    (Text, "somebody", "a profile, a caller"),
    (Text, "whoever", "any caller, each profile"),
    (Text, "lookers", "engaged users"),
    (Text, "reckon", "compute, count"),
    (Text, "reckons", "compute, count"),
    (Text, "reckoned", "compute, count"),
    (Text, "reckoning", "compute, count"),
    (Text, "deed", "conversion event"),
    (Text, "deeds", "conversion event"),
    (Text, "dressing", "instrumentation of links and opens"),
    (Text, "unsaid", "not rendered"),
    (Text, "handover", "send"),
    (Text, "door", "ingest handle"),
    (Name, "say", "render, content"),
    (Name, "said", "render, content"),
    (Name, "lane", "send queue"),
    (Name, "lanes", "send queue"),
    (Name, "scene", "campaign context"),
    (Name, "carrier", "provider settings"),
    (Name, "carriers", "provider settings"),
    (Name, "carried", "provider settings"),
    (Name, "anatomy", "HTML outline"),
    (Name, "pulse", "connection timeouts"),
    (Identifier, "Note", "MessageEvent"),
    (Identifier, "Bell", "DueSignal"),
    (Identifier, "Whose", "a name that says of what"),
    (Identifier, "Why", "a name that says of what"),
    (Identifier, "Ask", "a name that says of what"),
    (Identifier, "Told", "a name that says of what"),
    (Identifier, "Place", "a name that says of what"),
    (Identifier, "Means", "a name that says of what"),
    (Identifier, "Look", "a name that says of what"),
    (Identifier, "Standing", "MessageStatus"),
    (Identifier, "Round", "BatchReport, or of what"),
    (Identifier, "Turns", "FairScheduler"),
    (Identifier, "Nothing", "EmptyBody"),
    (Identifier, "Shown", "HtmlErrorPage"),
    (Identifier, "Unread", "BodyDrain"),
    (Identifier, "Lent", "BodyDrain"),
    (Identifier, "Habits", "EngagementHours"),
    (Identifier, "Complaints", "FieldErrors"),
    (Identifier, "put_down", "update_statuses"),
    (Identifier, "come_back", "record_outcomes"),
    (Identifier, "hand_over", "send"),
];

/// Names that are given: tables and columns of landed migrations, names of other projects, names of earlier releases.
/// A file, the word, and how often it is there.
const GIVEN: &[(&str, &str, usize)] = &[
    ("README.md", "teller", 1),
    ("README.md", "untold", 1),
    ("src/callbacks/README.md", "nobody", 1),
    ("src/campaigns/store/enabled_channels.rs", "carried", 1),
    ("src/content/template/filters.rs", "Round", 1),
    ("src/delivery/store/feedback.rs", "heard", 6),
    ("src/delivery/store/retention.rs", "told", 1),
    ("src/delivery/triggers/store.rs", "told", 7),
    ("src/engines/account.rs", "nobody", 1),
    ("src/privacy/store/erase.rs", "heard", 1),
    ("src/privacy/store/rewrite.rs", "heard", 1),
    ("src/sdk/store/recipients.rs", "told", 3),
    ("src/server/README.md", "nobody", 1),
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
    for (within, word, term) in WORDS {
        let mut found = found_in_sources(*within, word);
        for (path, _, count) in GIVEN.iter().filter(|(_, given, _)| given == word) {
            let (here, elsewhere): (Vec<Finding>, Vec<Finding>) =
                found.into_iter().partition(|it| it.path == Path::new(path));
            assert_eq!(here.len(), *count, "{word} in {path}: {here:?}");
            found = elsewhere;
        }
        println!("{word}: {}; say: {term}", found.len());
        if !found.is_empty() {
            let shown = found.iter().map(Finding::to_string).collect::<Vec<_>>().join("\n");
            failed.push(format!("{word}: {}; say {term}:\n{shown}", found.len()));
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
