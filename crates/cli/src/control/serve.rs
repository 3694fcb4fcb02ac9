//! The process that has a store open, and does commands of others on it.

use std::{
    ffi::OsStr,
    fs::{self, Permissions},
    io::{self, Write},
    os::unix::{
        ffi::OsStrExt as _,
        fs::PermissionsExt as _,
        net::{UnixListener, UnixStream},
    },
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use clap::Parser as _;
use travertine_runtime::{Engine, Seen, engine::Observer};

use super::{
    Place, VERSION,
    frame::{self, Kind},
    socket,
};
use crate::{
    args::{Args, Command},
    caller::{self, Caller},
    paint::Paint,
    place,
    screen::Screen,
    status::Status,
    store,
};

/// So many commands are done at once; the rest is told to come again.
const AT_ONCE_MAX: usize = 64;

/// Who comes and says nothing for so long has no place among them any more.
const ASKED_WITHIN: Duration = Duration::from_secs(10);

/// Those who look on at an engine, as they come and go.
#[derive(Clone, Default)]
pub(crate) struct Lookers {
    all: Arc<Mutex<Vec<Looker>>>,
    /// How many there are, so that an engine that nobody looks at does not wait for the list.
    count: Arc<AtomicUsize>,
}

type Looker = Arc<dyn Fn(Seen<'_>) + Send + Sync>;

impl Lookers {
    /// What an engine is opened with, so that they see something.
    pub(crate) fn observer(&self) -> Observer {
        let lookers = self.clone();
        Observer(Arc::new(move |seen| lookers.show(seen)))
    }

    fn show(&self, seen: Seen<'_>) {
        if self.count.load(Ordering::Relaxed) == 0 {
            return;
        }
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for look in all {
            look(seen);
        }
    }

    /// Lets someone look on for good.
    pub(crate) fn add(&self, Observer(look): Observer) {
        self.change(|all| all.push(look));
    }

    /// Lets someone look on while something is done.
    pub(crate) fn with<T>(&self, look: Option<Observer>, act: impl FnOnce() -> T) -> T {
        let Some(Observer(look)) = look else { return act() };
        let look: Looker = look;
        self.change(|all| all.push(Arc::clone(&look)));
        let done = act();
        self.change(|all| all.retain(|it| !Arc::ptr_eq(it, &look)));
        done
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Looker>)) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut all);
        self.count.store(all.len(), Ordering::Relaxed);
    }
}

/// An engine that this process has open, for a command of another one.
#[derive(Clone)]
pub(crate) struct Served {
    pub(crate) engine: Engine,
    pub(crate) lookers: Lookers,
    /// Whether the other process has gone.
    gone: Arc<AtomicBool>,
}

impl Served {
    pub(crate) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }
}

/// Does commands of other processes until it is dropped.
pub(crate) struct Control {
    socket: Place,
    stopped: Arc<AtomicBool>,
}

impl Control {
    /// Begins. The store is held by this process, so a socket that is there is nobody's any more.
    fn begin(
        data: &Path,
        engine: &Engine,
        lookers: &Lookers,
        address: Option<String>,
    ) -> io::Result<Self> {
        place::local_made(data)?;
        let socket = socket(data)?;
        match fs::remove_file(&socket.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(&socket.path)?;
        fs::set_permissions(&socket.path, Permissions::from_mode(0o600))?;
        let stopped = Arc::new(AtomicBool::new(false));
        let hears = Hearing {
            engine: engine.clone(),
            lookers: lookers.clone(),
            address,
            under_way: Arc::default(),
            stopped: Arc::clone(&stopped),
        };
        thread::Builder::new().name("control".into()).spawn(move || hears.listen(&listener))?;
        Ok(Self { socket, stopped })
    }
}

impl Control {
    /// Begins. Where that fails people are told that commands of others find the store in use.
    pub(crate) fn begin_told(
        data: &Path,
        engine: &Engine,
        lookers: &Lookers,
        address: Option<String>,
        err: &Screen,
    ) -> Option<Self> {
        let begun = Self::begin(data, engine, lookers, address);
        let note = |error: io::Error| {
            err.line(format!("note: other commands cannot use this store meanwhile: {error}"));
        };
        begun.map_err(note).ok()
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::SeqCst);
        // Wakes the thread that listens. Where that fails it ends with the process.
        drop(UnixStream::connect(&self.socket.path));
        let _: io::Result<()> = fs::remove_file(&self.socket.path);
    }
}

struct Hearing {
    engine: Engine,
    lookers: Lookers,
    /// Where clients of other protocols reach this process.
    address: Option<String>,
    under_way: Arc<AtomicUsize>,
    stopped: Arc<AtomicBool>,
}

impl Hearing {
    fn listen(self, listener: &UnixListener) {
        for stream in listener.incoming() {
            if self.stopped.load(Ordering::SeqCst) {
                return;
            }
            let Ok(stream) = stream else { continue };
            if self.under_way.fetch_add(1, Ordering::SeqCst) >= AT_ONCE_MAX {
                self.under_way.fetch_sub(1, Ordering::SeqCst);
                refuse(&stream, "too many commands at once on this store; try again");
                continue;
            }
            let (engine, lookers) = (self.engine.clone(), self.lookers.clone());
            let address = self.address.clone();
            let permit = Permit(Arc::clone(&self.under_way));
            let spawned = thread::Builder::new().name("command".into()).spawn(move || {
                // Whoever asked may have gone in the middle.
                let _: io::Result<()> = answer(stream, engine, lookers, address);
                drop(permit);
            });
            // Without a thread the other process hears that nobody answers.
            drop(spawned);
        }
    }
}

/// The right to do one of the commands that are done at once.
struct Permit(Arc<AtomicUsize>);

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn refuse(mut stream: &UnixStream, why: &str) {
    let _: io::Result<()> = frame::write(&mut stream, Kind::Refused, why.as_bytes());
}

/// What another process asks for.
#[derive(Default)]
struct Asked {
    version: String,
    directory: PathBuf,
    data: Option<std::ffi::OsString>,
    words: Vec<std::ffi::OsString>,
    colours: [bool; 2],
}

enum Asking {
    Command(Asked),
    Where,
}

fn asked(stream: &mut UnixStream) -> io::Result<Option<Asking>> {
    let mut asked = Asked::default();
    let text = |bytes: &[u8]| OsStr::from_bytes(bytes).to_owned();
    while let Some((kind, bytes)) = frame::read(stream)? {
        match kind {
            Kind::Version => asked.version = String::from_utf8_lossy(&bytes).into_owned(),
            Kind::Directory => asked.directory = text(&bytes).into(),
            Kind::Data => asked.data = Some(text(&bytes)),
            Kind::Word => asked.words.push(text(&bytes)),
            Kind::Colours => {
                asked.colours = [0, 1].map(|it| bytes.get(it).is_some_and(|it| *it != 0));
            }
            Kind::Where => return Ok(Some(Asking::Where)),
            Kind::Go => return Ok(Some(Asking::Command(asked))),
            _ => return Err(io::ErrorKind::InvalidData.into()),
        }
    }
    Ok(None)
}

fn answer(
    mut stream: UnixStream,
    engine: Engine,
    lookers: Lookers,
    address: Option<String>,
) -> io::Result<()> {
    stream.set_read_timeout(Some(ASKED_WITHIN))?;
    let asked = asked(&mut stream)?;
    stream.set_read_timeout(None)?;
    let asked = match asked {
        Some(Asking::Command(asked)) => asked,
        Some(Asking::Where) => {
            let Some(address) = address else { return Ok(()) };
            return frame::write(&mut stream, Kind::Out, address.as_bytes());
        }
        None => return Ok(()),
    };
    if asked.version != VERSION {
        let theirs = &asked.version;
        refuse(
            &stream,
            &format!(
                "the process that has this store open is travertine {VERSION}, and this is {theirs}; use the same \
                 version for both"
            ),
        );
        return Ok(());
    }
    let to = Arc::new(Mutex::new(stream.try_clone()?));
    let [out, err] =
        [(Kind::Out, asked.colours[0]), (Kind::Err, asked.colours[1])].map(|(kind, on)| {
            Screen::new(Box::new(Paper { to: Arc::clone(&to), kind }), Paint::of(on))
        });
    let name = "travertine".into();
    let args = match Args::try_parse_from(std::iter::once(name).chain(asked.words)) {
        Ok(args) => args,
        // It was parsed over there a moment ago, by the same rules.
        Err(error) => {
            refuse(&stream, &error.to_string());
            return Ok(());
        }
    };
    let gone = Arc::new(AtomicBool::new(false));
    let input = listen_for_input(stream, Arc::clone(&gone))?;
    let wants = Arc::clone(&to);
    let stdin = move || {
        let mut to = wants.lock().unwrap_or_else(PoisonError::into_inner);
        frame::write(&mut *to, Kind::WantInput, &[])?;
        drop(to);
        input.recv().map_err(|_| io::ErrorKind::UnexpectedEof.into())
    };
    let caller = Caller { directory: asked.directory, data: asked.data, stdin: Box::new(stdin) };
    let served = Served { engine, lookers, gone };
    let status = caller::on_behalf_of(caller, || done(&args.command, &served, &out, &err));
    let mut to = to.lock().unwrap_or_else(PoisonError::into_inner);
    frame::write(&mut *to, Kind::Exit, &[status.code()])
}

fn done(command: &Command, served: &Served, out: &Screen, err: &Screen) -> Status {
    let done = match command {
        Command::Store(command) => store::run(command, Some(served), out, err),
        Command::Draw(draw) => crate::draw::draw(draw, Some(served), out, err),
        _ => Err(anyhow::anyhow!("this command is not one on a store")),
    };
    crate::conclude(done, out, err)
}

/// Hears when the other process goes, and what stands on its standard input.
fn listen_for_input(
    mut stream: UnixStream,
    gone: Arc<AtomicBool>,
) -> io::Result<mpsc::Receiver<Vec<u8>>> {
    let (send, input) = mpsc::channel();
    thread::Builder::new().name("caller".into()).spawn(move || {
        while let Ok(Some((Kind::Input, bytes))) = frame::read(&mut stream) {
            if send.send(bytes).is_err() {
                break;
            }
        }
        gone.store(true, Ordering::Relaxed);
    })?;
    Ok(input)
}

/// The standard output or standard error of the other process.
struct Paper {
    to: Arc<Mutex<UnixStream>>,
    kind: Kind,
}

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut to = self.to.lock().unwrap_or_else(PoisonError::into_inner);
        frame::write(&mut *to, self.kind, bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
