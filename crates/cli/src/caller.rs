//! Whose files, standard input and environment a command means: those of this process, or of another one
//! that has asked this process to do it.

use std::{
    cell::RefCell,
    env,
    ffi::OsString,
    io::{self, Read},
    path::{Path, PathBuf},
};

/// Another process that has asked for a command.
pub(crate) struct Caller {
    /// Where it is: its relative paths begin there.
    pub(crate) directory: PathBuf,
    /// The store that its environment names.
    pub(crate) data: Option<OsString>,
    /// Reads its standard input.
    pub(crate) stdin: Box<dyn FnMut() -> io::Result<Vec<u8>>>,
}

thread_local! {
    static CALLER: RefCell<Option<Caller>> = const { RefCell::new(None) };
}

/// Does something on behalf of another process. A thread does so for one at a time.
pub(crate) fn on_behalf_of<T>(caller: Caller, act: impl FnOnce() -> T) -> T {
    CALLER.set(Some(caller));
    let done = act();
    CALLER.set(None);
    done
}

/// The path as this process can open it.
pub(crate) fn path(of: &Path) -> PathBuf {
    CALLER.with_borrow(|it| it.as_ref().map_or_else(|| of.to_owned(), |it| it.directory.join(of)))
}

/// What comes in on standard input.
pub(crate) fn stdin() -> Box<dyn Read> {
    let read = CALLER.with_borrow_mut(|it| it.as_mut().map(|it| (it.stdin)()));
    match read {
        None => Box::new(io::stdin()),
        Some(Ok(bytes)) => Box::new(io::Cursor::new(bytes)),
        Some(Err(error)) => Box::new(Broken(Some(error))),
    }
}

/// The store that the environment names in a variable.
pub(crate) fn data(variable: &str) -> Option<OsString> {
    let named = CALLER.with_borrow(|it| it.as_ref().map(|it| it.data.clone()));
    named.unwrap_or_else(|| env::var_os(variable)).filter(|it| !it.is_empty())
}

/// A source that cannot be read.
struct Broken(Option<io::Error>);

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}
