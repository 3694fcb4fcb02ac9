//! What updates with an id were answered with: who sends one again is told the same.

use std::collections::BTreeMap;

use travertine_value::{Name, Value};

use crate::state::InstanceState;

/// How many answers outlive the journal that they belong to.
const KEPT_MAX: u64 = 1_000;

/// What updates of a function were answered with, by the ids that their senders gave them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answers {
    all: BTreeMap<Name, Answer>,
    /// How many were given.
    given: u64,
}

/// What an update was answered with.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// How many were given when it was, with this one.
    pub number: u64,
    /// The answer, as whoever runs the code writes it.
    pub said: Value,
}

impl Answers {
    /// What the update of that id was answered with.
    pub fn find(&self, id: &str) -> Option<&Value> {
        self.all.get(id).map(|it| &it.said)
    }

    /// All of them, by id.
    pub fn iter(&self) -> impl Iterator<Item = (&Name, &Answer)> {
        self.all.iter()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(crate) fn give(&mut self, id: &Name, said: &Value) {
        self.given += 1;
        self.all.insert(Name::clone(id), Answer { number: self.given, said: said.clone() });
    }

    /// Forgets all but the latest: the journal is gone, and a function that begins anew for years must
    /// not grow by this.
    pub(crate) fn keep_latest(&mut self) {
        let before = self.given.saturating_sub(KEPT_MAX);
        if before > 0 {
            self.all.retain(|_, it| it.number > before);
        }
    }
}

impl FromIterator<(Name, Answer)> for Answers {
    fn from_iter<I: IntoIterator<Item = (Name, Answer)>>(all: I) -> Self {
        let all: BTreeMap<_, _> = all.into_iter().collect();
        let given = all.values().map(|it| it.number).max().unwrap_or(0);
        Self { all, given }
    }
}

impl InstanceState {
    /// What the update of that id was answered with.
    pub fn answer(&self, id: &str) -> Option<&Value> {
        self.answers.find(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_outlive_their_journal() {
        let mut answers = Answers::default();
        for number in 0..KEPT_MAX + 5 {
            answers.give(&number.to_string().into(), &Value::from(1));
        }
        assert!(answers.find("0").is_some(), "as long as there is the journal");
        answers.keep_latest();
        assert_eq!(answers.find("4"), None);
        assert_eq!(answers.find("5"), Some(&Value::from(1)));
        let parts = answers.iter().map(|(id, it)| (Name::clone(id), it.clone()));
        assert_eq!(parts.collect::<Answers>(), answers);
    }
}
