//! Documents and comments: short lines, no citations of what is not in the repository, no comments without content.

use crate::{
    at_most,
    sources::{Finding, Source, Workspace, files, root},
};

const LINE_CHARS_MAX: usize = 160;
const README_BYTES_MAX: u64 = 10 * 1024;
/// A doc comment of fewer words says what the name says.
const COMMENT_WORDS_MIN: usize = 4;
/// Documents of the project's owners that readers of the repository do not have.
const ELSEWHERE: [&str; 12] = [
    "ANALYST.md",
    "CONSOLE.md",
    "CONTRACT",
    "DECISIONS",
    "DELIVERY",
    "DESIGN.md",
    "EXAMPLES.md",
    "REDESIGN",
    "REPAIRS",
    "SPEED.md",
    "STATISTICS",
    "engagement-api.md",
];

const LONG_LINES_REMAINING: usize = 0;
const SHORT_COMMENTS_REMAINING: usize = 0;
const CITATIONS_REMAINING: usize = 0;

#[test]
fn lines_of_documents_are_short() {
    let mut found = Vec::new();
    for (path, text) in files("md") {
        for (number, line) in text.lines().enumerate() {
            let chars = line.chars().count();
            if chars > LINE_CHARS_MAX {
                found.push(Finding {
                    path: path.clone(),
                    line: number + 1,
                    what: format!("{chars}"),
                });
            }
        }
    }
    at_most(LONG_LINES_REMAINING, "lines of documents above 160 characters", found);
}

#[test]
fn the_readme_can_be_read_in_five_minutes() {
    let bytes = std::fs::metadata(root().join("README.md")).unwrap().len();
    assert!(bytes <= README_BYTES_MAX, "README.md has {bytes} bytes");
}

/// Doc comments: the first line of each, and its words.
fn doc_comments(text: &str) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    let mut is_open = false;
    for (number, line) in text.lines().enumerate() {
        let comment = line.trim_start().strip_prefix("///").filter(|it| !it.starts_with('/'));
        let Some(comment) = comment else {
            is_open = false;
            continue;
        };
        if !is_open {
            found.push((number + 1, 0));
        }
        is_open = true;
        let last = found.len() - 1;
        found[last].1 += comment.split_whitespace().count();
    }
    found
}

#[test]
fn doc_comments_say_more_than_names() {
    assert_eq!(
        doc_comments("/// A\n/// b c.\nfn f() {\n    /// D.\n    //// no\n"),
        [(1, 3), (4, 1)]
    );
    let mut found = Vec::new();
    for source in &Workspace::get().sources {
        let short =
            doc_comments(&source.text).into_iter().filter(|(_, words)| *words < COMMENT_WORDS_MIN);
        found.extend(short.map(|(line, _)| source.finding(line, "a doc comment without content")));
    }
    at_most(SHORT_COMMENTS_REMAINING, "doc comments of three words or fewer", found);
}

/// The comment in a line of Rust, SQL, TOML or a script, if it has one.
fn comment<'a>(line: &'a str, extension: &str) -> Option<&'a str> {
    let mark = match extension {
        "rs" => "//",
        "sql" => "--",
        "md" => return Some(line),
        _ => "#",
    };
    line.find(mark).map(|at| line.split_at(at).1)
}

#[test]
fn comments_cite_only_what_is_in_the_repository() {
    let mut found = Vec::new();
    for extension in ["rs", "sql", "toml", "sh", "md"] {
        for (path, text) in files(extension) {
            if path.starts_with("src/tests/tidy") {
                continue;
            }
            for (number, line) in text.lines().enumerate() {
                let comment = comment(line, extension).unwrap_or_default();
                let cited = ELSEWHERE.iter().find(|name| {
                    comment.split(|c: char| !c.is_alphanumeric() && !"._-".contains(c)).any(
                        |word| {
                            let word = word.trim_end_matches('.');
                            word == **name || word.strip_suffix(".md") == Some(name)
                        },
                    )
                });
                if let Some(cited) = cited {
                    let what = format!("cites {cited}");
                    found.push(Finding { path: path.clone(), line: number + 1, what });
                }
            }
        }
    }
    at_most(CITATIONS_REMAINING, "citations of documents outside the repository", found);
}

/// Lines on which examples of doc comments begin. Blocks with the name of another language are no examples.
fn examples(text: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let mut is_inside = false;
    for (number, line) in text.lines().enumerate() {
        let comment = line.trim_start();
        let comment = comment.strip_prefix("///").or_else(|| comment.strip_prefix("//!"));
        let Some(info) = comment.and_then(|comment| comment.trim_start().strip_prefix("```"))
        else {
            continue;
        };
        let words = ["rust", "no_run", "should_panic", "compile_fail", ""];
        if !is_inside && info.split(',').all(|word| words.contains(&word.trim())) {
            found.push(number + 1);
        }
        is_inside = !is_inside;
    }
    found
}

/// `doctest = false` saves the minutes in which rustdoc reads crates without examples.
#[test]
fn examples_of_documentation_are_run() {
    let text = "/// ```\n/// f();\n/// ```\n//! ```text\n//! ```\n//! ```rust,no_run\n//! ```\n";
    assert_eq!(examples(text), [1, 6]);
    let workspace = Workspace::get();
    let without = |source: &&Source| {
        workspace.krate(source.krate()).is_some_and(|krate| !krate.runs_examples)
    };
    let found = workspace.sources.iter().filter(without).flat_map(|source| {
        examples(&source.text).into_iter().map(|line| source.finding(line, "an example"))
    });
    at_most(0, "examples in crates with `doctest = false`", found.collect());
}
