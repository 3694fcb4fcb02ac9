//! Long work that is to end since the program does.
//!
//! A thread may say by which flag others tell it that they want to end. Work that it began and that takes long then
//! unwinds with [`Interrupted`], as if it had never been begun. Whoever has set the flag catches that, and must
//! not take anything for done that the work was a part of.

use std::{
    cell::RefCell,
    panic::resume_unwind,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

thread_local! {
    static FLAG: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// What long work unwinds with that was told to end.
#[derive(Clone, Copy, Debug)]
pub struct Interrupted;

impl Interrupted {
    /// Unwinds with it. Nothing is printed.
    pub fn unwind() -> ! {
        resume_unwind(Box::new(Self))
    }
}

/// Has long work of this thread end once the flag is set.
pub fn interrupt_by(flag: Arc<AtomicBool>) {
    FLAG.with_borrow_mut(|it| *it = Some(flag));
}

/// Whether anyone may want work of this thread to end.
pub fn is_interruptible() -> bool {
    FLAG.with_borrow(Option::is_some)
}

/// Whether work of this thread is to end.
pub fn is_interrupted() -> bool {
    FLAG.with_borrow(|it| it.as_ref().is_some_and(|it| it.load(Ordering::Relaxed)))
}
