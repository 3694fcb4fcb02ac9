//! How it went, as the exit status says it.

use std::process::ExitCode;

/// The exit status. `docs/cli.md` promises the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// The model can run, or the run is complete.
    Done,
    /// The model cannot be deployed.
    Rejected,
    /// What was asked makes no sense, or a file cannot be read.
    Usage,
    /// The run waits for something.
    Waiting,
    /// The run cannot go on until someone helps.
    Incident,
    /// The run has ended, but not as it should.
    Failed,
    /// Something else goes by that id already.
    Exists,
    /// Nobody knows whether it was done.
    Unknown,
    /// Someone pressed Ctrl-C.
    Interrupted,
}

const ALL: [Status; 9] = [
    Status::Done,
    Status::Rejected,
    Status::Usage,
    Status::Waiting,
    Status::Incident,
    Status::Failed,
    Status::Exists,
    Status::Unknown,
    Status::Interrupted,
];

impl Status {
    /// The one with that number.
    pub(crate) fn of(code: u8) -> Option<Self> {
        ALL.into_iter().find(|it| it.code() == code)
    }

    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Rejected => 1,
            Self::Usage => 2,
            Self::Waiting => 3,
            Self::Incident => 4,
            Self::Failed => 5,
            Self::Exists => 6,
            Self::Unknown => 7,
            // What shells say of a program that SIGINT has ended.
            Self::Interrupted => 130,
        }
    }
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        status.code().into()
    }
}
