//! How much an instance may have before someone must look at it.
//!
//! Budgets decide while a command is handled, never when events are applied: what has happened stays so,
//! whatever the budgets are later.

use std::fmt;

use travertine_value::{Name, Value};

use crate::{
    journal::JournalEntry,
    plan::Plan,
    run::Run,
    state::ScopeKind,
    vocabulary::{Assignments, Event, Failure, FailureKind, Post, WaitFor},
};

/// How much an instance may have, and what one turn may write.
///
/// ```
/// # use travertine_kernel::Budgets;
/// let budgets = Budgets { tokens: 10_000, ..Budgets::default() };
/// assert!(budgets.tokens < Budgets::default().tokens);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budgets {
    /// How many tokens an instance may have at a time. `tv:tokenLimit` says otherwise for one process.
    pub tokens: usize,
    /// How many bytes the variables of an instance may have in all. `tv:dataLimit` says otherwise for one
    /// process.
    pub data_bytes: usize,
    /// How many variables may be set at once, or be in one layer.
    pub names: usize,
    /// How many bytes the name of a variable may have.
    pub name_bytes: usize,
    /// How many bytes of values a turn writes before it is cut. That is no limit: the next turn goes on.
    pub turn_bytes: usize,
    /// How many events a turn writes before it is cut.
    pub turn_events: usize,
    /// How many entries the journal of a function may have before its code begins anew.
    pub journal_entries: usize,
    /// How many bytes they may have in all.
    pub journal_bytes: usize,
}

impl Budgets {
    /// What holds where nobody says otherwise: an instance takes about a GiB of memory at most.
    pub(crate) const DEFAULT: Self = Self {
        tokens: 1 << 20,
        data_bytes: 128 << 20,
        names: 20_000,
        name_bytes: 4 << 10,
        turn_bytes: 4 << 20,
        turn_events: 100_000,
        journal_entries: 1_000_000,
        journal_bytes: 128 << 20,
    };

    /// These budgets, but for what a process wants otherwise.
    pub(crate) fn of(&self, plan: &Plan) -> Self {
        let wanted = |it: Option<u64>| it.map(|it| usize::try_from(it).unwrap_or(usize::MAX));
        Self {
            tokens: wanted(plan.tokens_max).unwrap_or(self.tokens),
            data_bytes: wanted(plan.data_max).unwrap_or(self.data_bytes),
            ..self.clone()
        }
    }
}

impl Default for Budgets {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// What an instance has too much of, or would have.
///
/// ```
/// # use travertine_kernel::Over;
/// assert_eq!(Over::Names(10).to_string(), "there are more than 10 variables");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// There are more of them than this.
    Names(usize),
    /// The name of one has more bytes than this.
    NameBytes(usize),
    /// All of them together have more bytes than this.
    Bytes(usize),
    /// There are more tokens than this.
    Tokens(usize),
    /// There are more open instances below the one that nobody called than this.
    Descendants(usize),
    /// The journal of a function has more entries than this.
    JournalEntries(usize),
    /// Its entries have more bytes than this.
    JournalBytes(usize),
}

impl fmt::Display for Over {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Names(max) => write!(f, "there are more than {max} variables"),
            Self::NameBytes(max) => write!(f, "the name of a variable has more than {max} bytes"),
            Self::Bytes(max) => write!(f, "all variables together have more than {max} bytes"),
            Self::Tokens(max) => write!(f, "there are more than {max} tokens"),
            Self::Descendants(max) => write!(f, "there are more than {max} instances below it"),
            Self::JournalEntries(max) => write!(f, "its journal has more than {max} entries"),
            Self::JournalBytes(max) => write!(f, "its journal has more than {max} bytes"),
        }
    }
}

/// Whether so much may come with a command.
pub(crate) fn check<'a>(
    variables: impl IntoIterator<Item = &'a (Name, Value)>,
    budgets: &Budgets,
) -> Result<(), Over> {
    let (mut names, mut bytes) = (0, 0_usize);
    for (name, value) in variables {
        names += 1;
        bytes = bytes.saturating_add(name.len() + weight(value));
        if name.len() > budgets.name_bytes {
            return Err(Over::NameBytes(budgets.name_bytes));
        }
        if names > budgets.names {
            return Err(Over::Names(budgets.names));
        }
        if bytes > budgets.data_bytes {
            return Err(Over::Bytes(budgets.data_bytes));
        }
    }
    Ok(())
}

/// About how many bytes a value has when it is stored.
#[inline]
fn weight(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 1,
        Value::Number(_) => 8,
        Value::String(text) => text.len() + 1,
        Value::List(_) | Value::Map(_) => weight_of_inside(value),
    }
}

/// About how many bytes a value with others inside has. Most of those have none themselves.
fn weight_of_inside(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
        Value::List(items) => items.iter().map(weight).sum::<usize>() + 1,
        Value::Map(fields) => {
            fields.iter().map(|(name, it)| name.len() + 1 + weight(it)).sum::<usize>() + 1
        }
    }
}

fn weight_of(variables: &Assignments) -> usize {
    variables.iter().map(|(name, it)| name.len() + weight(it)).sum()
}

/// About how many bytes of values an event has.
pub(crate) fn weight_of_event(event: &Event) -> usize {
    if let Event::VariableSet { value, .. } = event {
        weight(value)
    } else if let Event::WaitOpened { on, .. } = event {
        match &**on {
            WaitFor::Child { variables, .. } => weight_of(variables),
            WaitFor::Delivery(post) => weight_of_post(post),
            WaitFor::Work(_)
            | WaitFor::Timer { .. }
            | WaitFor::Message { .. }
            | WaitFor::Signal { .. }
            | WaitFor::Condition
            | WaitFor::Data { .. }
            | WaitFor::Gate(_)
            | WaitFor::Choice => 0,
        }
    } else if let Event::Posted { what, .. } = event {
        weight_of_post(what)
    } else if let Event::RunEnded { output: Some(output), .. } = event {
        weight(output)
    } else {
        0
    }
}

/// About how many bytes an entry of a journal has.
pub(crate) fn weight_of_entry(entry: &JournalEntry) -> usize {
    /// Its kind, its numbers, and how it is kept.
    const PLAIN: usize = 48;
    let more = match entry {
        JournalEntry::Asked { key, .. } | JournalEntry::Sent { key, .. } => key.len(),
        JournalEntry::Recorded { key, value } => key.len() + weight(value),
        JournalEntry::Done { outcome: Ok(variables), .. } => weight_of(variables),
        JournalEntry::Done { outcome: Err(failure), .. } => failure.message.len(),
        JournalEntry::Updated { name, input, id, .. } => {
            name.len() + weight(input) + id.as_ref().map_or(0, |it| it.len())
        }
        JournalEntry::Began { .. }
        | JournalEntry::Dropped { .. }
        | JournalEntry::Cancelled { .. } => 0,
    };
    PLAIN + more
}

fn weight_of_post(post: &Post) -> usize {
    match post {
        Post::Message { payload, .. } | Post::Signal { payload, .. } => weight_of(payload),
        Post::Escalation { variables, .. } | Post::Start { variables, .. } => weight_of(variables),
    }
}

impl Run<'_> {
    /// Whether there is room for so many tokens more.
    pub(crate) fn room_for(&self, tokens: usize, who: &str) -> Result<(), Failure> {
        let max = self.budgets.tokens;
        if self.instance.tokens.len().saturating_add(tokens) <= max {
            return Ok(());
        }
        Err(over(
            Over::Tokens(max),
            format!(
                "{who} would open {tokens} tokens more, and an instance may have {max}: make it fewer and retry, \
             or allow more by tv:tokenLimit"
            ),
        ))
    }

    /// What the instance has too much of, so that nothing goes on.
    pub(crate) fn exceeded(&mut self) -> Option<Failure> {
        let max = self.budgets.tokens;
        // Where one has found no room already, others would not either.
        let near = if self.instance.over > 0 { max - max / 16 } else { max };
        if self.instance.tokens.len() > near {
            return Some(over(
                Over::Tokens(max),
                format!(
                    "the instance has more than {max} tokens: cancel it, withdraw some of them and retry, or allow \
                 more by tv:tokenLimit"
                ),
            ));
        }
        if !self.must_weigh() {
            return None;
        }
        let Budgets { names, data_bytes, .. } = self.budgets;
        let mut bytes = 0_usize;
        for (_, layer) in &self.instance.layers {
            if layer.variables.len() > names {
                return Some(over(
                    Over::Names(names),
                    format!(
                        "the instance has more than {names} variables in one place: cancel it, or allow more"
                    ),
                ));
            }
            let all = layer.variables.iter().map(|(name, it)| name.len() + weight(it));
            bytes = bytes.saturating_add(all.sum());
        }
        for scope in self.instance.scopes.values() {
            if let ScopeKind::Each(each) = &scope.kind {
                bytes = bytes.saturating_add(each.outputs.iter().map(weight).sum());
            }
        }
        self.weighed(bytes);
        (bytes > data_bytes).then(|| {
            over(Over::Bytes(data_bytes), format!(
                "the variables of the instance have more than {data_bytes} bytes: set some of them to null and \
                 retry, cancel it, or allow more by tv:dataLimit"
            ))
        })
    }
}

fn over(what: Over, message: String) -> Failure {
    Failure::new(FailureKind::Budget(Some(what)), message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_much_as_may_come_does_and_one_more_does_not() {
        let all: Assignments = vec![("ab".into(), "cde".into()), ("f".into(), 1.into())];
        let budgets = Budgets { names: 2, name_bytes: 2, data_bytes: 15, ..Budgets::DEFAULT };
        assert_eq!(check(&all, &budgets), Ok(()));
        let names = Budgets { names: 1, ..budgets };
        assert_eq!(check(&all, &names), Err(Over::Names(1)));
        let name_bytes = Budgets { name_bytes: 1, ..budgets };
        assert_eq!(check(&all, &name_bytes), Err(Over::NameBytes(1)));
        let data_bytes = Budgets { data_bytes: 14, ..budgets };
        assert_eq!(check(&all, &data_bytes), Err(Over::Bytes(14)));
    }

    #[test]
    fn what_is_inside_a_value_is_counted_with_its_names() {
        let map: Value =
            [("ab".into(), Value::Null), ("c".into(), true.into())].into_iter().collect();
        assert_eq!(weight(&map), 1 + (2 + 1 + 1) + (1 + 1 + 1));
        assert_eq!(weight(&vec![map, 1.into()].into()), 1 + 8 + 8);
    }
}
