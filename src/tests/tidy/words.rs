//! Words that only this project's authors understood, and the field's terms for them.

use crate::sources::{Finding, Workspace};

/// Where a word is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Within {
    /// Whole identifiers of code.
    Identifier,
    /// Words that identifiers are made of, as `tell` of `tell_all`.
    Name,
    /// Names, comments and texts.
    Text,
}

use Within::{Identifier, Name, Text};

/// A word, the term to use, and how often it remains at most.
const WORDS: &[(Within, &str, &str, usize)] = &[
    (Text, "tell", "record, publish", 155),
    (Text, "tells", "record, publish", 103),
    (Text, "telling", "record, publish", 15),
    (Text, "told", "recorded, published", 586),
    (Text, "untold", "unpublished", 21),
    (Text, "teller", "callback source", 81),
    (Text, "tellers", "callback source", 26),
    (Text, "heard", "received feedback", 235),
    (Text, "judge", "check, eligibility", 129),
    (Text, "judges", "check, eligibility", 47),
    (Text, "judged", "check, eligibility", 173),
    (Text, "judging", "check, eligibility", 7),
    (Text, "mend", "recover", 5),
    (Text, "mends", "recover", 1),
    (Text, "mended", "recover", 20),
    (Text, "mending", "recover", 0),
    (Text, "nobody", "no profile, no caller", 280),
    (Text, "somebody", "a profile, a caller", 172),
    (Text, "whoever", "any caller, each profile", 66),
    (Text, "lookers", "engaged users", 6),
    (Text, "reckon", "compute, count", 2),
    (Text, "reckons", "compute, count", 3),
    (Text, "reckoned", "compute, count", 4),
    (Text, "reckoning", "compute, count", 2),
    (Text, "deed", "conversion event", 117),
    (Text, "deeds", "conversion event", 24),
    (Text, "dressing", "instrumentation of links and opens", 5),
    (Text, "unsaid", "not rendered", 6),
    (Text, "handover", "send", 5),
    (Text, "door", "ingest handle", 10),
    (Name, "say", "render, content", 59),
    (Name, "said", "render, content", 315),
    (Name, "lane", "send queue", 74),
    (Name, "lanes", "send queue", 80),
    (Name, "scene", "campaign context", 108),
    (Name, "carrier", "provider settings", 49),
    (Name, "carriers", "provider settings", 27),
    (Name, "carried", "provider settings", 88),
    (Name, "anatomy", "HTML outline", 34),
    (Name, "pulse", "connection timeouts", 94),
    (Identifier, "Note", "MessageEvent", 21),
    (Identifier, "Bell", "DueSignal", 9),
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
    (Identifier, "Nothing", "EmptyBody", 31),
    (Identifier, "Shown", "HtmlErrorPage", 24),
    (Identifier, "Unread", "BodyDrain", 14),
    (Identifier, "Lent", "BodyDrain", 4),
    (Identifier, "Habits", "EngagementHours", 16),
    (Identifier, "Complaints", "FieldErrors", 20),
    (Identifier, "put_down", "update_statuses", 7),
    (Identifier, "come_back", "record_outcomes", 2),
    (Identifier, "hand_over", "send", 12),
];

/// The words of a text: runs of letters, taken apart where a capital follows a small letter.
pub(crate) fn words(text: &str) -> Vec<(String, usize)> {
    let (mut found, mut word, mut line) = (Vec::new(), String::new(), 1);
    for c in text.chars().chain(['\n']) {
        let follows = c.is_uppercase() && word.chars().next_back().is_some_and(char::is_lowercase);
        if (!c.is_alphabetic() || follows) && !word.is_empty() {
            found.push((std::mem::take(&mut word).to_lowercase(), line));
        }
        if c.is_alphabetic() {
            word.push(c);
        }
        line += usize::from(c == '\n');
    }
    found
}

fn found_in_sources(within: Within, wanted: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    for source in Workspace::get().sources.iter().filter(|it| it.krate() != "tidy") {
        let here: Vec<usize> = match within {
            Identifier => {
                let own = source.syntax.identifiers.iter().filter(|(name, _)| name == wanted);
                own.map(|(_, line)| *line).collect()
            }
            Name => {
                let own = source.syntax.identifiers.iter();
                own.flat_map(|(name, line)| words(name).into_iter().map(|(word, _)| (word, *line)))
                    .filter(|(word, _)| word == wanted)
                    .map(|(_, line)| line)
                    .collect()
            }
            Text => {
                let own = source.words.iter().filter(|(word, _)| word == wanted);
                own.map(|(_, line)| *line).collect()
            }
        };
        found.extend(here.into_iter().map(|line| source.finding(line, wanted)));
    }
    found
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
        words("tell_all HttpBody\n// It's MAX2").into_iter().map(|it| it.0).collect();
    assert_eq!(found, ["tell", "all", "http", "body", "it", "s", "max"]);
}
