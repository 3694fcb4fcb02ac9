//! What a durable function sees of the engine.

use std::rc::Rc;

/// The surroundings of a durable function.
#[derive(Clone, Debug)]
pub struct Context {
    _core: Rc<()>,
}
