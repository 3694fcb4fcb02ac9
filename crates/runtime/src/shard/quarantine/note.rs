//! What a process leaves to the next one: what it was about to do, and what is under suspicion.

use travertine_kernel::WaitId;
use travertine_store::{MailId, ShardId, record::StartKey};

use super::super::alarm::Alarm;
use crate::{Address, DefinitionKey, InstanceId, Timestamp};

/// How many bytes of what was asked a note has.
const ASKED_MAX: usize = 80;

const VERSION: u8 = 3;

/// Something that a shard does by itself, and again after a crash. What happens twice has two names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Case {
    /// A timer rings for a token: instance and wait.
    Timer(Address),
    /// A timer starts an instance: of which start event, and when it was due.
    Start(StartKey, Timestamp),
    /// A mail is there.
    Mail(MailId),
    /// An attempt at an activity has ended: instance and wait.
    Attempt(Address),
    /// An instance takes a turn: which, and how far it is.
    Turn(InstanceId, u64),
    /// A held message starts something.
    Held(u64),
    /// A start that was refused before is tried again: the number of the dead letter.
    Refused(u64),
    /// A worker of this process is at an activity: instance and wait.
    Activity(Address),
    /// Something that someone outside asks for, and that is no turn of an instance.
    Asked,
}

impl Case {
    pub(crate) fn attempt(job: Address) -> Self {
        Self::Attempt(job)
    }

    pub(in crate::shard) fn alarm(due: Timestamp, alarm: Alarm) -> Option<Self> {
        match alarm {
            Alarm::Wait(at) => Some(Self::Timer(at)),
            Alarm::Start(start) => Some(Self::Start(start, due)),
            Alarm::Attempt(at) => Some(Self::Attempt(at)),
            Alarm::Job(..) | Alarm::Message(_) | Alarm::Limit | Alarm::Throttle => None,
        }
    }

    /// The instance that it is about, where that is known beforehand.
    pub(super) fn instance(self) -> Option<InstanceId> {
        match self {
            Self::Timer(Address { instance, .. })
            | Self::Attempt(Address { instance, .. })
            | Self::Turn(instance, _)
            | Self::Activity(Address { instance, .. }) => Some(instance),
            Self::Start(..) | Self::Mail(_) | Self::Held(_) | Self::Refused(_) | Self::Asked => {
                None
            }
        }
    }

    fn numbers(self) -> (u8, [u64; 3]) {
        match self {
            Self::Timer(Address { instance, wait }) => (0, [instance.0, wait.0, 0]),
            Self::Start(StartKey { definition, node, position }, due) => {
                let place = u64::from(node) << 32 | u64::from(position);
                (1, [definition.0, place, due.as_millis().cast_unsigned()])
            }
            Self::Mail(MailId { from, number }) => (2, [u64::from(from.0), number, 0]),
            Self::Attempt(Address { instance, wait }) => (3, [instance.0, wait.0, 0]),
            Self::Turn(instance, position) => (4, [instance.0, position, 0]),
            Self::Held(number) => (5, [number, 0, 0]),
            Self::Refused(number) => (6, [number, 0, 0]),
            Self::Activity(Address { instance, wait }) => (7, [instance.0, wait.0, 0]),
            Self::Asked => (8, [0; 3]),
        }
    }

    fn of_numbers(kind: u8, [one, two, three]: [u64; 3]) -> Option<Self> {
        Some(match kind {
            0 => Self::Timer(Address { instance: InstanceId(one), wait: WaitId(two) }),
            1 => {
                let node = u32::try_from(two >> 32).ok()?;
                let position = u32::try_from(two & u64::from(u32::MAX)).ok()?;
                let due = Timestamp::from_millis(three.cast_signed());
                Self::Start(StartKey { definition: DefinitionKey(one), node, position }, due)
            }
            2 => Self::Mail(MailId { from: ShardId(u16::try_from(one).ok()?), number: two }),
            3 => Self::Attempt(Address { instance: InstanceId(one), wait: WaitId(two) }),
            4 => Self::Turn(InstanceId(one), two),
            5 => Self::Held(one),
            6 => Self::Refused(one),
            7 => Self::Activity(Address { instance: InstanceId(one), wait: WaitId(two) }),
            8 => Self::Asked,
            _ => return None,
        })
    }
}

/// A case during which the process has died.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Suspect {
    pub(super) case: Case,
    /// How often it died while this was all that was noted, in all shards.
    pub(super) deaths: u8,
    /// How often it died while this was noted with others.
    pub(super) shared: u8,
    /// What is not to be started for it, since the process has died of that.
    pub(super) barred: Vec<DefinitionKey>,
}

impl Suspect {
    pub(super) fn new(case: Case) -> Self {
        Self { case, deaths: 0, shared: 0, barred: Vec::new() }
    }
}

/// Whose turn it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Turning {
    /// The instance; 0 for one that is being started.
    pub(super) instance: InstanceId,
    pub(super) definition: DefinitionKey,
    /// What is asked of it.
    pub(super) asked: String,
}

/// What a process leaves to the next one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Note {
    pub(super) suspects: Vec<Suspect>,
    /// What is being done, or one of these.
    pub(super) cases: Vec<Case>,
    /// What workers of this process are at.
    pub(super) activities: Vec<Case>,
    pub(super) turning: Option<Turning>,
}

impl Note {
    pub(super) fn encode(&self, to: &mut Vec<u8>) {
        let count = |it: usize| u16::try_from(it).unwrap_or(0).to_le_bytes();
        to.push(VERSION);
        to.extend(count(self.suspects.len()));
        for it in &self.suspects {
            encode_case(it.case, to);
            to.extend([it.deaths, it.shared]);
            to.extend(count(it.barred.len()));
            it.barred.iter().for_each(|it| to.extend(it.0.to_le_bytes()));
        }
        to.extend(count(self.cases.len()));
        for case in &self.cases {
            encode_case(*case, to);
        }
        to.extend(count(self.activities.len()));
        for case in &self.activities {
            encode_case(*case, to);
        }
        if let Some(it) = &self.turning {
            to.extend(it.instance.0.to_le_bytes());
            to.extend(it.definition.0.to_le_bytes());
            to.extend(&it.asked.as_bytes()[..it.asked.len().min(ASKED_MAX)]);
        }
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut bytes = Bytes(bytes);
        if bytes.take::<1>()? != [VERSION] {
            return None;
        }
        let mut note = Self::default();
        for _ in 0..u16::from_le_bytes(bytes.take()?) {
            let (case, [deaths, shared]) = (bytes.case()?, bytes.take()?);
            let mut barred = Vec::new();
            for _ in 0..u16::from_le_bytes(bytes.take()?) {
                barred.push(DefinitionKey(bytes.number()?));
            }
            note.suspects.push(Suspect { case, deaths, shared, barred });
        }
        for _ in 0..u16::from_le_bytes(bytes.take()?) {
            note.cases.push(bytes.case()?);
        }
        for _ in 0..u16::from_le_bytes(bytes.take()?) {
            note.activities.push(bytes.case()?);
        }
        if !bytes.0.is_empty() {
            let (instance, definition) =
                (InstanceId(bytes.number()?), DefinitionKey(bytes.number()?));
            let asked = String::from_utf8_lossy(bytes.0).into_owned();
            note.turning = Some(Turning { instance, definition, asked });
        }
        Some(note)
    }
}

fn encode_case(case: Case, to: &mut Vec<u8>) {
    let (kind, numbers) = case.numbers();
    to.push(kind);
    for number in numbers {
        to.extend(number.to_le_bytes());
    }
}

struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }

    fn number(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn case(&mut self) -> Option<Case> {
        let [kind] = self.take()?;
        Case::of_numbers(kind, [self.number()?, self.number()?, self.number()?])
    }
}
