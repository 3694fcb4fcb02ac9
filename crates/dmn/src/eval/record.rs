//! What is worth knowing about an evaluation besides its value.

use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use travertine_lang::feel::{FeelValue, Session};
use travertine_value::{Limit, Name};

use crate::{
    logic::Spot,
    result::{EvaluatedDecision, EvaluatedTable, LogicKind, Problem},
};

/// More tables than these are not kept: a function in a loop can evaluate one very often.
const TABLES_MAX: usize = 1_000;
const PROBLEMS_MAX: usize = 100;

/// Notes what happens. Functions that the model defines note too, wherever they are called from.
#[derive(Debug, Default)]
pub(crate) struct Record {
    notes: Mutex<Notes>,
    /// How many owners there are, to be asked without a lock.
    owned: AtomicUsize,
}

#[derive(Debug, Default)]
struct Notes {
    /// To whom the warnings of the session belong, one by one.
    owners: Vec<Owner>,
    /// Our own, each with how many warnings the session had before it.
    problems: Vec<(usize, Problem)>,
    tables: usize,
    /// Decisions that are being evaluated, innermost last.
    open: Vec<(Name, Vec<EvaluatedTable>)>,
    decisions: Vec<EvaluatedDecision>,
}

#[derive(Clone, Debug)]
enum Owner {
    /// An expression that is still being evaluated.
    Unknown,
    /// Nobody wants to know.
    Nobody,
    Text {
        spot: Spot,
        decision: Option<Name>,
    },
}

impl Record {
    /// Evaluates a text, so that what becomes null in it is known by its place.
    pub(crate) fn watch<'s, T>(
        &self,
        spot: &Spot,
        session: &mut Session<'s>,
        run: impl FnOnce(&mut Session<'s>) -> Result<T, Limit>,
    ) -> Result<T, Limit> {
        let owner = |decision| Owner::Text { spot: spot.clone(), decision };
        self.own(owner, session, run)
    }

    /// Evaluates something that may well become null.
    pub(crate) fn ignore<'s, T>(
        &self,
        session: &mut Session<'s>,
        run: impl FnOnce(&mut Session<'s>) -> Result<T, Limit>,
    ) -> Result<T, Limit> {
        self.own(|_| Owner::Nobody, session, run)
    }

    /// The session keeps warnings in a row and may drop its end again; owners follow suit. Most
    /// evaluations leave no warning, and then nothing is done: a table has thousands of them.
    fn own<'s, T>(
        &self,
        owner: impl FnOnce(Option<Name>) -> Owner,
        session: &mut Session<'s>,
        run: impl FnOnce(&mut Session<'s>) -> Result<T, Limit>,
    ) -> Result<T, Limit> {
        let start = session.warnings().len();
        if self.owned.load(Ordering::Relaxed) > start {
            self.notes().owners.truncate(start);
            self.owned.store(start, Ordering::Relaxed);
        }
        let value = run(session)?;
        let end = session.warnings().len();
        if end > start {
            let notes = &mut *self.notes();
            let owner = owner(notes.open.last().map(|(name, _)| Name::clone(name)));
            notes.owners.resize(end, Owner::Unknown);
            let mine = notes.owners[start..].iter_mut();
            for it in mine.filter(|it| matches!(it, Owner::Unknown)) {
                *it = owner.clone();
            }
            self.owned.store(end, Ordering::Relaxed);
        }
        Ok(value)
    }

    /// Notes that something became null.
    pub(crate) fn problem(&self, spot: Option<&Spot>, message: String, session: &Session<'_>) {
        let notes = &mut *self.notes();
        let decision = notes.open.last().map(|(name, _)| Name::clone(name));
        if notes.problems.len() < PROBLEMS_MAX {
            notes.problems.push((session.warnings().len(), Problem::new(decision, spot, message)));
        }
    }

    pub(crate) fn table(&self, table: EvaluatedTable) {
        let notes = &mut *self.notes();
        notes.tables += 1;
        if let Some((_, tables)) = notes.open.last_mut()
            && notes.tables <= TABLES_MAX
        {
            tables.push(table);
        }
    }

    pub(crate) fn begin(&self, decision: Name) {
        self.notes().open.push((decision, Vec::new()));
    }

    pub(crate) fn end(&self, id: Option<&str>, logic: LogicKind, value: &FeelValue) {
        let notes = &mut *self.notes();
        let (name, tables) = notes.open.pop().expect("what ends has begun");
        let (id, value) = (id.map(str::to_owned), value.clone());
        notes.decisions.push(EvaluatedDecision { id, name, logic, value, tables });
    }

    /// Everything that was noted.
    pub(crate) fn finish(
        &self,
        session: &mut Session<'_>,
    ) -> (Vec<EvaluatedDecision>, Vec<Problem>) {
        let notes = std::mem::take(&mut *self.notes());
        let owners = notes.owners.into_iter().chain(std::iter::repeat(Owner::Unknown));
        let mut own = notes.problems.into_iter().peekable();
        let mut problems = Vec::new();
        for (index, (warning, owner)) in session.take_warnings().into_iter().zip(owners).enumerate()
        {
            while let Some((_, problem)) = own.next_if(|(before, _)| *before <= index) {
                problems.push(problem);
            }
            match owner {
                Owner::Nobody => {}
                Owner::Unknown => problems.push(Problem::new(None, None, warning.message)),
                Owner::Text { spot, decision } => {
                    let spot = spot.at(warning.place.line, warning.place.column);
                    problems.push(Problem::new(decision, Some(&spot), warning.message));
                }
            }
        }
        problems.extend(own.map(|(_, problem)| problem));
        (notes.decisions, problems)
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
