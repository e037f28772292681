//! What a file's syntax says: every path it names, the names its modules have, and facts that rules ask about.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use syn::{
    Attribute, Ident, Item, LitStr, UseTree,
    visit::{self, Visit},
};

use crate::{
    conditions::{attributes, is_of_tests},
    schemas::{self, Schema},
    signatures::{self, TupleParameter},
    words::Word,
};

/// A path as it is written, in the module where it is.
#[derive(Debug, Clone)]
pub(crate) struct Use {
    pub(crate) scope: Vec<String>,
    pub(crate) path: Vec<String>,
    pub(crate) line: usize,
    pub(crate) is_test: bool,
    /// Begins with `::`, so that it names a crate.
    pub(crate) is_extern: bool,
}

/// What names stand for in a module.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    /// Modules declared in it.
    pub(crate) children: BTreeSet<String>,
    /// Imported names, and the paths as they are written. One name may be imported by several functions.
    pub(crate) imported: BTreeMap<String, Vec<Vec<String>>>,
    /// Modules all of whose names are imported.
    pub(crate) globs: Vec<Vec<String>>,
}

/// Facts of one file.
#[derive(Debug, Default)]
pub(crate) struct Syntax {
    pub(crate) is_test: bool,
    pub(crate) uses: Vec<Use>,
    pub(crate) names: BTreeMap<Vec<String>, Names>,
    /// Modules that are declared under `#[cfg(test)]`.
    pub(crate) test_modules: Vec<Vec<String>>,
    /// Lines of modules for tests within the file.
    pub(crate) test_lines: usize,
    pub(crate) macros: Vec<Word>,
    pub(crate) tuple_parameters: Vec<TupleParameter>,
    pub(crate) schemas: Vec<Schema>,
    /// Identifiers and keywords, raw ones without `r#`.
    pub(crate) identifiers: Vec<Word>,
    /// Types of `static` items, as their tokens are written.
    pub(crate) statics: Vec<Word>,
}

/// Reads the syntax of a file.
pub(crate) fn read(file: &syn::File, module: &[String], is_test: bool) -> Syntax {
    let facts = Syntax { is_test, ..Syntax::default() };
    let mut reader = Reader { scope: module.to_vec(), is_test, facts };
    reader.names();
    reader.visit_file(file);
    reader.facts
}

/// All identifiers of a text, in macros and attributes as well; comments are none.
pub(crate) fn identifiers(tokens: TokenStream, found: &mut Vec<Word>) {
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => {
                found.push(Word { text: name_of(&ident), line: line_of(&ident) });
            }
            TokenTree::Group(group) => identifiers(group.stream(), found),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

/// A name without `r#`.
fn name_of(ident: &Ident) -> String {
    let name = ident.to_string();
    name.strip_prefix("r#").unwrap_or(&name).to_owned()
}

fn line_of(ident: &Ident) -> usize {
    ident.span().start().line
}

struct Reader {
    scope: Vec<String>,
    is_test: bool,
    facts: Syntax,
}

impl Reader {
    fn names(&mut self) -> &mut Names {
        self.facts.names.entry(self.scope.clone()).or_default()
    }

    fn push(&mut self, path: Vec<String>, line: usize, is_extern: bool) {
        let (scope, is_test) = (self.scope.clone(), self.is_test);
        self.facts.uses.push(Use { scope, path, line, is_test, is_extern });
    }

    fn import(&mut self, path: &[String], name: &str) {
        let imported = self.names().imported.entry(name.to_owned()).or_default();
        imported.push(path.to_vec());
    }

    /// Each leaf of a tree is an import.
    fn tree(&mut self, tree: &UseTree, before: &[String], is_extern: bool) {
        let with = |name: &Ident| match name_of(name) {
            name if name == "self" && !before.is_empty() => before.to_vec(),
            name => [before, &[name]].concat(),
        };
        match tree {
            UseTree::Path(it) => self.tree(&it.tree, &with(&it.ident), is_extern),
            UseTree::Group(it) => {
                it.items.iter().for_each(|it| self.tree(it, before, is_extern));
            }
            UseTree::Name(it) => {
                let path = with(&it.ident);
                self.import(&path, &path[path.len() - 1]);
                self.push(path, line_of(&it.ident), is_extern);
            }
            UseTree::Rename(it) => {
                let path = with(&it.ident);
                self.import(&path, &name_of(&it.rename));
                self.push(path, line_of(&it.ident), is_extern);
            }
            UseTree::Glob(it) => {
                self.names().globs.push(before.to_vec());
                self.push(before.to_vec(), it.star_token.span.start().line, is_extern);
            }
        }
    }

    /// Paths in tokens: names joined by `::`, with what braces after `::` hold, as in imports.
    fn tokens(&mut self, tokens: TokenStream, before: &[String]) {
        let mut path: Vec<String> = before.to_vec();
        let (mut colons, mut line) = (if before.is_empty() { 0 } else { 2 }, 0);
        for token in tokens {
            match token {
                TokenTree::Punct(it) if it.as_char() == ':' => colons += 1,
                TokenTree::Ident(ident) => {
                    if colons != 2 {
                        self.finish(&mut path, line);
                        path = if colons == 0 { before.to_vec() } else { Vec::new() };
                    }
                    colons = 0;
                    line = line_of(&ident);
                    path.push(name_of(&ident));
                }
                TokenTree::Group(group) => {
                    let is_list = colons == 2 && group.delimiter() == proc_macro2::Delimiter::Brace;
                    let inside = if is_list { path.clone() } else { Vec::new() };
                    self.finish(&mut path, line);
                    colons = 0;
                    self.tokens(group.stream(), &inside);
                }
                TokenTree::Literal(literal) => {
                    self.finish(&mut path, line);
                    colons = 0;
                    self.literal(&literal);
                }
                TokenTree::Punct(it) => {
                    self.finish(&mut path, line);
                    colons = 0;
                    if it.as_char() == ',' && !before.is_empty() {
                        (path, colons) = (before.to_vec(), 2);
                    }
                }
            }
        }
        self.finish(&mut path, line);
    }

    fn finish(&mut self, path: &mut Vec<String>, line: usize) {
        let path = std::mem::take(path);
        if path.len() > 1 {
            self.push(path, line, false);
        }
    }

    /// `#[serde(with = "crate::text")]` names a path, too.
    fn literal(&mut self, literal: &proc_macro2::Literal) {
        let line = literal.span().start().line;
        if let Ok(text) = syn::parse_str::<LitStr>(&literal.to_string())
            && let Ok(path) = text.parse_with(syn::Path::parse_mod_style)
            && path.segments.len() > 1
        {
            let path = path.segments.iter().map(|it| name_of(&it.ident)).collect();
            self.push(path, line, false);
        }
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast Item) {
        let was_test = self.is_test;
        self.is_test |= is_of_tests(attributes(item));
        visit::visit_item(self, item);
        self.is_test = was_test;
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let name = name_of(&item.ident);
        self.names().children.insert(name.clone());
        self.scope.push(name);
        if self.is_test && !self.facts.is_test {
            self.facts.test_modules.push(self.scope.clone());
        }
        if let Some((brace, _)) = &item.content {
            self.names();
            let parent = &self.scope[..self.scope.len() - 1];
            if self.is_test && !self.facts.test_modules.iter().any(|it| it == parent) {
                let end = brace.span.close().start().line;
                self.facts.test_lines += end + 1 - line_of(&item.ident);
            }
        }
        visit::visit_item_mod(self, item);
        self.scope.pop();
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.tree(&item.tree, &[], item.leading_colon.is_some());
        item.attrs.iter().for_each(|it| self.visit_attribute(it));
    }

    fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
        if !self.is_test {
            let words = signatures::type_names(&item.ty).join(" ");
            self.facts.statics.push(Word { text: words, line: line_of(&item.ident) });
        }
        visit::visit_item_static(self, item);
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.facts.schemas.extend(schemas::described(&item.attrs, &item.ident));
        visit::visit_item_struct(self, item);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.facts.schemas.extend(schemas::described(&item.attrs, &item.ident));
        visit::visit_item_enum(self, item);
    }

    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        if !self.is_test {
            self.facts.tuple_parameters.extend(signatures::tuple_parameters(signature));
        }
        visit::visit_signature(self, signature);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.segments.len() > 1 {
            let names = path.segments.iter().map(|it| name_of(&it.ident)).collect();
            self.push(names, line_of(&path.segments[0].ident), path.leading_colon.is_some());
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, it: &'ast syn::Macro) {
        if let Some(last) = it.path.segments.last().filter(|_| !self.is_test) {
            self.facts.macros.push(Word { text: name_of(&last.ident), line: line_of(&last.ident) });
        }
        visit::visit_macro(self, it);
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if !attribute.path().is_ident("doc") {
            visit::visit_attribute(self, attribute);
        }
    }

    fn visit_token_stream(&mut self, tokens: &'ast TokenStream) {
        self.tokens(tokens.clone(), &[]);
    }

    /// `pub(in crate::area)` imports nothing.
    fn visit_vis_restricted(&mut self, _: &'ast syn::VisRestricted) {}
}
