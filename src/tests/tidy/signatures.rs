//! Signatures: parameters have types with names.

use syn::{
    FnArg, GenericArgument, PathArguments, Signature, Type,
    visit::{self, Visit},
};

use crate::{
    at_most,
    sources::{Finding, Workspace},
};

const TUPLE_PARAMETERS_REMAINING: usize = 0;
const STATIC_SEMAPHORES_REMAINING: usize = 0;

/// Types that hold what they are given as it is.
const LISTS: [&str; 6] = ["Arc", "Box", "Cow", "Option", "Vec", "VecDeque"];

/// A parameter that is a tuple, or a list of tuples.
#[derive(Debug)]
pub(crate) struct TupleParameter {
    function: String,
    line: usize,
}

/// Whether a value of this type is a tuple, refers to one, or holds some. Arguments of closures are none.
fn has_tuple(of: &Type) -> bool {
    match of {
        Type::Tuple(it) => !it.elems.is_empty(),
        Type::Reference(it) => has_tuple(&it.elem),
        Type::Slice(it) => has_tuple(&it.elem),
        Type::Array(it) => has_tuple(&it.elem),
        Type::Paren(it) => has_tuple(&it.elem),
        Type::Group(it) => has_tuple(&it.elem),
        Type::Path(it) => it.path.segments.last().is_some_and(|it| {
            LISTS.iter().any(|list| it.ident == list) && in_arguments(&it.arguments)
        }),
        _ => false,
    }
}

fn in_arguments(arguments: &PathArguments) -> bool {
    let PathArguments::AngleBracketed(list) = arguments else { return false };
    list.args.iter().any(|argument| match argument {
        GenericArgument::Type(it) => has_tuple(it),
        _ => false,
    })
}

/// The tuples among the parameters of a function.
pub(crate) fn tuple_parameters(signature: &Signature) -> impl Iterator<Item = TupleParameter> {
    let typed = signature.inputs.iter().filter(|it| match it {
        FnArg::Typed(it) => has_tuple(&it.ty),
        FnArg::Receiver(_) => false,
    });
    typed.map(|_| TupleParameter {
        function: signature.ident.to_string(),
        line: signature.ident.span().start().line,
    })
}

/// The last names of the paths in a type.
pub(crate) fn type_names(of: &Type) -> Vec<String> {
    struct Names(Vec<String>);
    impl<'ast> Visit<'ast> for Names {
        fn visit_path(&mut self, path: &'ast syn::Path) {
            self.0.extend(path.segments.last().map(|it| it.ident.to_string()));
            visit::visit_path(self, path);
        }
    }
    let mut names = Names(Vec::new());
    names.visit_type(of);
    names.0
}

#[test]
fn parameters_are_no_tuples() {
    let mut found: Vec<Finding> = Vec::new();
    for source in Workspace::get().production() {
        let own = source.syntax.tuple_parameters.iter();
        found
            .extend(own.map(|it| source.finding(it.line, format!("a tuple into {}", it.function))));
    }
    at_most(TUPLE_PARAMETERS_REMAINING, "parameters that are tuples", found);
}

#[test]
fn no_semaphore_is_shared_by_the_whole_process() {
    let mut found = Vec::new();
    for source in Workspace::get().production() {
        let own = source.syntax.statics.iter().filter(|it| it.text.contains("Semaphore"));
        found.extend(own.map(|it| source.finding(it.line, "a static semaphore")));
    }
    at_most(STATIC_SEMAPHORES_REMAINING, "static semaphores", found);
}

#[test]
fn tuples_are_found_inside_of_other_types() {
    let text = "fn plain(a: (A, B)) {} fn listed(a: &[(A, B)], b: Vec<Option<(A, B)>>) {} \
                fn none(a: &A, b: (), c: impl Fn((A, B)), d: HashMap<A, (A, B)>) {} \
                #[cfg(test)] mod tests { fn tested(a: (A, B)) {} } static S: LazyLock<Arc<Semaphore>> = x;";
    let facts = crate::paths::read(&syn::parse_file(text).unwrap(), &["c".to_owned()], false);
    let names: Vec<&str> = facts.tuple_parameters.iter().map(|it| it.function.as_str()).collect();
    assert_eq!(names, ["plain", "listed", "listed"]);
    assert_eq!(facts.statics[0].text, "LazyLock Arc Semaphore");
}
