//! `/callbacks/*`: what providers, mail servers and recipients tell of messages after they left.
//!
//! Each proves who he is by his own scheme. What is said is acted on before it is answered, so that nothing
//! that was acknowledged can be lost; where that fails, the answer asks for another try, which is harmless.

pub mod api;
pub mod inbound;
pub mod model;
pub mod ops;
mod sources;

pub use self::sources::CallbackSources;

mod state;

pub use self::state::CallbackState;
