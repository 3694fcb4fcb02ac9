//! A whole instance: what there is one of, then its tokens, scopes, layers, waits, incidents, tokens
//! that are bound for somewhere, posts, and of a function the answers and the journal, each as a number and so
//! many of them.
//!
//! What has begun has numbers before its answers: how many were given out, then those of its tokens, of its
//! variables and of its incidents, each in the order of what has them. There were none at first, so what
//! has none is numbered anew.
//!
//! What can be worked out is not stored. Whether the rest fits together is for the kernel to say.

use std::sync::Arc;

use serde::Deserialize;
use travertine_kernel::{
    self as kernel, FlowId, LayerId, NodeId, Parts, PostId, ScopePart, TokenId, TokenPart, WaitId,
};
use travertine_value::{Name, time::Timestamp};

use super::{
    Fault, Out, Put,
    failure::{Ending, Incident},
    journal::{Answer, Journal, JournalEntry},
    offset,
    place::Destination,
    puts, read,
    scope::{Failing, ScopeKind},
    token::{Cue, Role, State},
    value::{Assignments, Value},
    wait::{Catches, Post, Slot, WaitFor},
};
use crate::codec::error::{DecodeError, Flaw};

/// The fewest bytes that one of them takes, which is a byte for each field.
const TOKEN_BYTES_MIN: usize = 9;
const SCOPE_BYTES_MIN: usize = 15;
const LAYER_BYTES_MIN: usize = 6;
const WAIT_BYTES_MIN: usize = 5;
const INCIDENT_BYTES_MIN: usize = 6;
const BOUND_BYTES_MIN: usize = 2;
const POST_BYTES_MIN: usize = 4;
const JOURNAL_ENTRY_BYTES_MIN: usize = 2;
const ANSWER_BYTES_MIN: usize = 3;

impl Put for kernel::Instance {
    fn put(&self, out: &mut Out) {
        self.parts().put(out);
    }
}

impl Put for Parts {
    fn put(&self, out: &mut Out) {
        let Self {
            phase,
            started,
            start,
            caller,
            steps,
            names,
            cues,
            numbers,
            tokens,
            scopes,
            layers,
            waits,
            incidents,
            bound,
            posts,
            journal,
            answers,
        } = self;
        let is_new = *phase == kernel::Phase::New;
        match phase {
            kernel::Phase::New => out.variant(0, ()),
            kernel::Phase::Running => out.variant(4, None::<&kernel::Ending>),
            kernel::Phase::Ended(ending) => out.variant(4, Some(ending)),
        }
        (started, start, caller).put(out);
        (steps, names, cues).put(out);
        (tokens, scopes, layers, waits).put(out);
        (incidents, bound, posts).put(out);
        // What has not begun has neither numbers nor answers.
        if !is_new {
            numbers.put(out);
            let visits: Vec<u64> = tokens.iter().map(|(_, it)| it.visit).collect();
            let variables = layers.iter().flat_map(|(_, it)| it.variables.numbers());
            let variables: Vec<u64> = variables.collect();
            let raised: Vec<u64> = incidents.iter().map(|(_, it)| it.number).collect();
            (visits, variables, raised).put(out);
            answers.put(out);
        }
        // Processes have none.
        if let Some(journal) = journal {
            journal.put(out);
        }
    }
}

/// Numbers stand apart from what has them.
impl Put for TokenPart {
    fn put(&self, out: &mut Out) {
        let Self { node, visit: _, via, scope, state, role, layer, status, cue } = self;
        (node, via, scope, state).put(out);
        (role, layer, status, cue).put(out);
    }
}

impl Put for kernel::Raised {
    fn put(&self, out: &mut Out) {
        self.incident.put(out);
    }
}

puts!(struct ScopePart {
    node,
    depth,
    kind,
    watched,
    compensations,
    queue,
    failing,
    performer,
    done,
    parked,
    inclusive,
    rounds,
    census,
});
puts!(struct kernel::Performer { busy, waiting });
puts!(struct kernel::Merged { values });
puts!(struct kernel::Layer { owner, parent, variables, transparent, run });

impl Put for kernel::Variables {
    fn put(&self, out: &mut Out) {
        out.list(self.iter());
    }
}

puts!(struct kernel::Wait { token, slot, on });

pub(in crate::codec) fn decode_instance(bytes: &[u8]) -> Result<kernel::Instance, DecodeError> {
    let parts = read_parts(bytes).map_err(|Fault { place, flaw }| DecodeError {
        event: None,
        offset: offset(bytes, place),
        flaw,
    })?;
    parts.assemble().map_err(|unsound| DecodeError {
        event: None,
        offset: bytes.len(),
        flaw: Flaw::Unsound(unsound),
    })
}

fn read_parts(bytes: &[u8]) -> Result<Parts, Fault<'_>> {
    let (head, mut rest) = read::<Head<'_>>(bytes)?;
    let is_numbered = matches!(head.phase, Phase::Numbered(_));
    let has_answers = is_numbered || matches!(head.phase, Phase::Answered(_));
    let mut parts = Parts {
        tokens: read_all(&mut rest, TOKEN_BYTES_MIN, Token::lift)?,
        scopes: read_all(&mut rest, SCOPE_BYTES_MIN, Scope::lift)?,
        layers: read_all(&mut rest, LAYER_BYTES_MIN, Layer::lift)?,
        waits: read_all(&mut rest, WAIT_BYTES_MIN, Wait::lift)?,
        incidents: read_all(&mut rest, INCIDENT_BYTES_MIN, |(id, it): (_, Incident<'_>)| {
            Ok((TokenId(id), kernel::Raised { number: 0, incident: it.lift() }))
        })?,
        bound: read_all(&mut rest, BOUND_BYTES_MIN, Bound::lift)?,
        posts: read_all(&mut rest, POST_BYTES_MIN, |(id, it): (_, Post<'_>)| {
            Ok((PostId(id), Arc::new(it.lift()?)))
        })?,
        ..head.lift()
    };
    if is_numbered {
        let mut given = Vec::new();
        let (numbers, after) = read::<u64>(rest)?;
        (parts.numbers, rest) = (numbers, after);
        for count in [parts.tokens.len(), variables(&parts), parts.incidents.len()] {
            let place = rest;
            let these: Vec<u64> = read_all(&mut rest, 1, Ok)?;
            let wrong = Fault { place, flaw: Flaw::BadEncoding };
            given.extend(Some(these).filter(|it| it.len() == count).ok_or(wrong)?);
        }
        number(&mut parts, given.into_iter());
    } else {
        parts.numbers = number_anew(&mut parts);
    }
    if has_answers {
        parts.answers = read_all(&mut rest, ANSWER_BYTES_MIN, Answer::lift)?;
    }
    if !rest.is_empty() {
        let (journal, after) = read::<Journal>(rest)?;
        rest = after;
        let entries = read_all(&mut rest, JOURNAL_ENTRY_BYTES_MIN, JournalEntry::lift)?;
        let wrong = Fault { place: rest, flaw: Flaw::BadEncoding };
        parts.journal = Some(Box::new(journal.lift(entries).ok_or(wrong)?));
    }
    if rest.is_empty() { Ok(parts) } else { Err(Fault { place: rest, flaw: Flaw::TrailingBytes }) }
}

/// How many variables there are.
fn variables(parts: &Parts) -> usize {
    parts.layers.iter().map(|(_, it)| it.variables.len()).sum()
}

/// Gives numbers to tokens, variables and incidents.
fn number(parts: &mut Parts, mut numbers: impl Iterator<Item = u64>) {
    for ((_, token), visit) in parts.tokens.iter_mut().zip(&mut numbers) {
        token.visit = visit;
    }
    for (_, layer) in &mut parts.layers {
        layer.variables.renumber(&mut numbers);
    }
    for ((_, raised), number) in parts.incidents.iter_mut().zip(&mut numbers) {
        raised.number = number;
    }
}

/// Gives numbers to what was stored without, and answers with how many. The first token is the process's, which
/// has 0.
fn number_anew(parts: &mut Parts) -> u64 {
    let all = parts.tokens.len() + variables(parts) + parts.incidents.len();
    let first = u64::from(parts.tokens.is_empty());
    number(parts, first..);
    let given = u64::try_from(all).expect("a length has at most 64 bits");
    (first + given).saturating_sub(1)
}

/// They are lifted one by one, so that no more is held than was asked for.
fn read_all<'a, T: Deserialize<'a>, U>(
    rest: &mut &'a [u8],
    bytes_min: usize,
    lift: impl Fn(T) -> Result<U, Fault<'a>>,
) -> Result<Vec<U>, Fault<'a>> {
    let (count, after) = read::<u64>(rest)?;
    *rest = after;
    let count = usize::try_from(count)
        .ok()
        .filter(|it| *it <= after.len() / bytes_min)
        .ok_or(Fault { place: after, flaw: Flaw::TooMany(count) })?;
    let mut all = Vec::with_capacity(count);
    for _ in 0..count {
        let (it, after) = read(rest)?;
        *rest = after;
        all.push(lift(it)?);
    }
    Ok(all)
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct Head<'a> {
    phase: Phase<'a>,
    started_ms: Option<i64>,
    start: Vec<u32>,
    caller: Option<Catches<'a>>,
    steps: u64,
    names: u64,
    cues: u64,
}

impl Head<'_> {
    fn lift(self) -> Parts {
        Parts {
            phase: self.phase.lift(),
            started: self.started_ms.map(Timestamp::from_millis),
            start: self.start.into_iter().map(NodeId).collect(),
            caller: self.caller.map(Catches::lift),
            steps: self.steps,
            names: self.names,
            cues: self.cues,
            numbers: 0,
            tokens: Vec::new(),
            scopes: Vec::new(),
            layers: Vec::new(),
            waits: Vec::new(),
            incidents: Vec::new(),
            bound: Vec::new(),
            posts: Vec::new(),
            journal: None,
            answers: Vec::new(),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
enum Phase<'a> {
    New,
    Running,
    Ended(Ending<'a>),
    /// Of a function that has answered updates with an id: how it has ended, where it has.
    Answered(Option<Ending<'a>>),
    /// With numbers and with answers: how it has ended, where it has. All that is written today and has begun
    /// is this.
    Numbered(Option<Ending<'a>>),
}

impl Phase<'_> {
    fn lift(self) -> kernel::Phase {
        match self {
            Self::New => kernel::Phase::New,
            Self::Running | Self::Answered(None) | Self::Numbered(None) => kernel::Phase::Running,
            Self::Ended(ending) | Self::Answered(Some(ending)) | Self::Numbered(Some(ending)) => {
                kernel::Phase::Ended(ending.lift())
            }
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct Token<'a> {
    id: u64,
    node: u32,
    via: Option<u32>,
    scope: Option<u64>,
    state: State,
    role: Role,
    layer: u64,
    status: Option<Assignments<'a>>,
    cue: Option<(u64, Cue)>,
}

impl<'a> Token<'a> {
    fn lift(self) -> Result<(TokenId, TokenPart), Fault<'a>> {
        let token = TokenPart {
            node: NodeId(self.node),
            visit: 0,
            via: self.via.map(FlowId),
            scope: self.scope.map(TokenId),
            state: self.state.lift(),
            role: self.role.lift(),
            layer: LayerId(self.layer),
            status: Assignments::lift_status(self.status)?,
            cue: self.cue.map(|(turn, it)| (turn, it.lift())),
        };
        Ok((TokenId(self.id), token))
    }
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct Scope<'a> {
    host: u64,
    node: u32,
    depth: u32,
    kind: ScopeKind<'a>,
    watched: bool,
    compensations: Vec<u64>,
    queue: Vec<u64>,
    failing: Option<Failing<'a>>,
    busy: Option<u64>,
    waiting: Vec<u64>,
    done: Vec<(&'a str, Option<Value<'a>>)>,
    parked: Vec<u64>,
    inclusive: Vec<u32>,
    rounds: Vec<(u32, Vec<u32>)>,
    census: bool,
}

impl<'a> Scope<'a> {
    fn lift(self) -> Result<(TokenId, ScopePart), Fault<'a>> {
        let merged = |(name, value): (&str, Option<Value<'a>>)| {
            Ok((Name::from(name), value.map(Value::lift).transpose()?))
        };
        let flows = |flows: Vec<u32>| flows.into_iter().map(FlowId).collect();
        let scope = ScopePart {
            node: NodeId(self.node),
            depth: self.depth,
            kind: self.kind.lift()?,
            watched: self.watched,
            compensations: tokens(self.compensations),
            queue: tokens(self.queue),
            failing: self.failing.map(Failing::lift).transpose()?,
            performer: kernel::Performer {
                busy: self.busy.map(TokenId),
                waiting: tokens(self.waiting),
            },
            done: kernel::Merged {
                values: self.done.into_iter().map(merged).collect::<Result<_, _>>()?,
            },
            parked: tokens(self.parked),
            inclusive: self.inclusive.into_iter().map(NodeId).collect(),
            rounds: self.rounds.into_iter().map(|(node, it)| (NodeId(node), flows(it))).collect(),
            census: self.census,
        };
        Ok((TokenId(self.host), scope))
    }
}

fn tokens<C: FromIterator<TokenId>>(numbers: Vec<u64>) -> C {
    numbers.into_iter().map(TokenId).collect()
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct Layer<'a> {
    id: u64,
    owner: u64,
    parent: Option<u64>,
    variables: Assignments<'a>,
    transparent: bool,
    run: bool,
}

impl<'a> Layer<'a> {
    fn lift(self) -> Result<(LayerId, kernel::Layer), Fault<'a>> {
        let layer = kernel::Layer {
            owner: TokenId(self.owner),
            parent: self.parent.map(LayerId),
            variables: self.variables.lift_map()?.into_iter().map(unnumbered).collect(),
            transparent: self.transparent,
            run: self.run,
        };
        Ok((LayerId(self.id), layer))
    }
}

fn unnumbered(
    (name, value): (Name, travertine_value::Value),
) -> (Name, travertine_value::Value, u64) {
    (name, value, 0)
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct Wait<'a> {
    id: u64,
    token: u64,
    slot: Slot,
    on: WaitFor<'a>,
}

impl<'a> Wait<'a> {
    fn lift(self) -> Result<(WaitId, kernel::Wait), Fault<'a>> {
        let wait = kernel::Wait {
            token: TokenId(self.token),
            slot: self.slot.lift(),
            on: Arc::new(self.on.lift()?),
        };
        Ok((WaitId(self.id), wait))
    }
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct Bound<'a> {
    token: u64,
    to: Vec<Destination<'a>>,
}

impl<'a> Bound<'a> {
    fn lift(self) -> Result<(TokenId, Vec<kernel::Destination>), Fault<'a>> {
        let to = self.to.into_iter().map(Destination::lift).collect::<Result<_, _>>()?;
        Ok((TokenId(self.token), to))
    }
}
