//! The variables of a rendering: the caller's, the template's own, and missing ones.

use std::{cell::RefCell, collections::BTreeSet, fmt, sync::Arc};

use liquid_core::{
    Error, Object, ObjectView, Renderable, Result, Runtime, Value, ValueCow, ValueView,
    model::{DisplayCow, KString, KStringCow, KStringRef, ScalarCow, State, try_find},
    runtime::{PartialStore, Registers},
};

use super::{
    RenderFault,
    filters::size_of,
    meter::{self, Meter},
};

/// The global variables of one rendering.
pub(super) struct Frame<'g> {
    globals: &'g Object,
    assigned: RefCell<Object>,
    counters: RefCell<Object>,
    registers: Registers,
}

impl fmt::Debug for Frame<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frame").finish_non_exhaustive()
    }
}

impl<'g> Frame<'g> {
    pub(super) fn new(globals: &'g Object, meter: Meter) -> Self {
        let registers = Registers::default();
        *registers.get_mut::<Meter>() = meter;
        let (assigned, counters) = (RefCell::default(), RefCell::default());
        Self { globals, assigned, counters, registers }
    }

    /// The limit that was reached.
    pub(super) fn fault(&self) -> Option<RenderFault> {
        self.registers.get_mut::<Meter>().fault()
    }

    fn find(&self, path: &[ScalarCow<'_>]) -> ValueCow<'_> {
        let Some(key) = path.first().map(ScalarCow::to_kstr) else { return missing() };
        for own in [&self.assigned, &self.counters] {
            let own = own.borrow();
            if own.contains_key(key.as_str()) {
                return lenient(own.as_value(), path).into_owned_or_missing();
            }
        }
        lenient(self.globals, path)
    }
}

/// Turns a borrowed answer into one that outlives its cell.
trait OwnedOrMissing {
    fn into_owned_or_missing(self) -> ValueCow<'static>;
}

impl OwnedOrMissing for ValueCow<'_> {
    fn into_owned_or_missing(self) -> ValueCow<'static> {
        if self.is_nil() { missing() } else { ValueCow::Owned(self.into_owned()) }
    }
}

/// The value at a path, or a missing value.
fn lenient<'v>(root: &'v dyn ValueView, path: &[ScalarCow<'_>]) -> ValueCow<'v> {
    match try_find(root, path) {
        Some(found) if !found.is_nil() => found,
        _ => missing(),
    }
}

/// The loop variable and the progress of the loop.
#[derive(Debug)]
pub(super) struct Scope<'r> {
    parent: Parent<'r>,
    locals: Object,
}

struct Parent<'r>(&'r dyn Runtime);

impl fmt::Debug for Parent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Parent")
    }
}

impl<'r> Scope<'r> {
    /// Variables that shadow those of `parent`.
    pub(super) fn new(parent: &'r dyn Runtime, locals: Object) -> Self {
        Self { parent: Parent(parent), locals }
    }
}

impl Runtime for Scope<'_> {
    fn partials(&self) -> &dyn PartialStore {
        self.parent.0.partials()
    }

    fn name(&self) -> Option<KStringRef<'_>> {
        None
    }

    fn roots(&self) -> BTreeSet<KStringCow<'_>> {
        self.parent.0.roots()
    }

    fn try_get(&self, path: &[ScalarCow<'_>]) -> Option<ValueCow<'_>> {
        self.get(path).ok()
    }

    fn get(&self, path: &[ScalarCow<'_>]) -> Result<ValueCow<'_>> {
        let is_local =
            path.first().is_some_and(|key| self.locals.contains_key(key.to_kstr().as_str()));
        if is_local { Ok(lenient(&self.locals, path)) } else { self.parent.0.get(path) }
    }

    fn set_global(&self, name: KString, value: Value) -> Option<Value> {
        self.parent.0.set_global(name, value)
    }

    fn set_index(&self, name: KString, value: Value) -> Option<Value> {
        self.parent.0.set_index(name, value)
    }

    fn get_index<'a>(&'a self, name: &str) -> Option<ValueCow<'a>> {
        self.parent.0.get_index(name)
    }

    fn registers(&self) -> &Registers {
        self.parent.0.registers()
    }
}

impl Runtime for Frame<'_> {
    fn partials(&self) -> &dyn PartialStore {
        &NoPartials
    }

    fn name(&self) -> Option<KStringRef<'_>> {
        None
    }

    fn roots(&self) -> BTreeSet<KStringCow<'_>> {
        BTreeSet::new()
    }

    fn try_get(&self, path: &[ScalarCow<'_>]) -> Option<ValueCow<'_>> {
        self.get(path).ok()
    }

    fn get(&self, path: &[ScalarCow<'_>]) -> Result<ValueCow<'_>> {
        meter::of(self).check()?;
        Ok(self.find(path))
    }

    fn set_global(&self, name: KString, value: Value) -> Option<Value> {
        // This function cannot fail; the next access to a variable will.
        if meter::of(self).keep(size_of(&value)).is_err() {
            return None;
        }
        self.assigned.borrow_mut().insert(name, value)
    }

    fn set_index(&self, name: KString, value: Value) -> Option<Value> {
        self.counters.borrow_mut().insert(name, value)
    }

    fn get_index<'a>(&'a self, name: &str) -> Option<ValueCow<'a>> {
        self.counters.borrow().get(name).map(|value| ValueCow::Owned(value.clone()))
    }

    fn registers(&self) -> &Registers {
        &self.registers
    }
}

/// Templates cannot include each other.
#[derive(Debug)]
struct NoPartials;

impl PartialStore for NoPartials {
    fn contains(&self, _: &str) -> bool {
        false
    }

    fn names(&self) -> Vec<&str> {
        Vec::new()
    }

    fn try_get(&self, _: &str) -> Option<Arc<dyn Renderable>> {
        None
    }

    fn get(&self, _: &str) -> Result<Arc<dyn Renderable>> {
        Err(Error::with_msg("templates cannot include others"))
    }
}

/// A missing value: nil, except that filters and `contains` see an empty text, so that they have the expected
/// result instead of failing.
#[derive(Debug)]
struct Missing;

fn missing() -> ValueCow<'static> {
    ValueCow::Borrowed(&Missing)
}

impl ValueView for Missing {
    fn as_debug(&self) -> &dyn fmt::Debug {
        self
    }

    fn render(&self) -> DisplayCow<'_> {
        DisplayCow::Borrowed(&"")
    }

    fn source(&self) -> DisplayCow<'_> {
        DisplayCow::Borrowed(&"nil")
    }

    fn type_name(&self) -> &'static str {
        "nil"
    }

    fn query_state(&self, state: State) -> bool {
        !matches!(state, State::Truthy)
    }

    fn to_kstr(&self) -> KStringCow<'_> {
        KStringCow::from_static("")
    }

    fn to_value(&self) -> Value {
        Value::Nil
    }

    fn as_scalar(&self) -> Option<ScalarCow<'_>> {
        Some(ScalarCow::new(""))
    }

    fn is_nil(&self) -> bool {
        true
    }
}
