//! Starts that nobody waits for: what functions start for itself, and start events that have had all
//! triggers they need. One that is refused is kept as a dead letter: people see why, and it is tried again
//! when something is deployed or someone says so. One that the process died of is tried only when someone says so.

use std::iter;

use travertine_kernel::Assignments;
use travertine_store::record::{Letter, Message};
use travertine_value::Name;

use super::{Case, Shard};
use crate::{At, Begin, Error, InstanceId, is_own, message::START};

/// What is started is a property of such a dead letter, and where; its id is that of the message.
const DEFINITION: &str = "definition";
const ELEMENT: &str = "element";
/// Set where it is not tried again by itself.
const BY_HAND: &str = "byHand";

/// Something that goes its own way.
#[derive(Clone)]
pub(super) struct Apart {
    pub(super) definition: Name,
    /// The start event, where it is not the plain one.
    pub(super) at: Option<Name>,
    pub(super) id: Option<Name>,
    pub(super) variables: Assignments,
}

impl Apart {
    /// What a dead letter was to start, where it was to start something.
    pub(super) fn of(message: &Message) -> Option<Self> {
        if &*message.name != START {
            return None;
        }
        let property = |wanted: &str| {
            let (_, value) = message.correlation.iter().find(|(name, _)| &**name == wanted)?;
            value.as_str().map(Name::from)
        };
        Some(Self {
            definition: property(DEFINITION)?,
            at: property(ELEMENT),
            id: message.id.clone(),
            variables: message.variables.clone(),
        })
    }

    fn into_message(self) -> Message {
        let element = self.at.map(|it| (ELEMENT.into(), (*it).into()));
        let definition = (DEFINITION.into(), (*self.definition).into());
        Message {
            id: self.id,
            correlation: iter::once(definition).chain(element).collect(),
            variables: self.variables,
            ..Message::new(START)
        }
    }
}

impl Shard {
    /// Starts something, unless it is there already.
    pub(super) fn start_apart(&mut self, apart: Apart) {
        if let Err(error) = self.try_apart(&apart) {
            self.bury_start(apart, &error);
        }
    }

    /// Starts what a function starts for itself, when this second has room for it.
    pub(super) fn start_sent(&mut self, definition: Name, id: Name, variables: Assignments) {
        let key = self.env.definitions.find(&definition).map(|it| it.key);
        let admitted = key.map_or(Ok(true), |key| self.admits(key));
        if let (Ok(false), Some(key)) = (&admitted, key) {
            return self.start_later(key, Letter::Start { definition, id, variables });
        }
        let apart = Apart { definition, at: None, id: Some(id), variables };
        match admitted {
            Ok(_) => self.start_apart(apart),
            Err(error) => self.bury_start(apart, &error),
        }
    }

    /// Keeps what could not be started.
    pub(super) fn bury_start(&mut self, apart: Apart, error: &Error) {
        if let Error::Store(error) = error {
            // That it could not be looked for is no reason to refuse it: nothing of this batch is written.
            return self.env.fail(error);
        }
        let Apart { definition, at, id, .. } = &apart;
        let at = at.as_ref().map_or(String::new(), |it| format!(" at {it}"));
        let id = id.as_ref().map_or(String::new(), |it| format!(" as {it}"));
        let reason = format!("{definition} cannot be started{at}{id}: {error}");
        tracing::error!(reason, "a start is kept as a dead letter");
        let mut message = apart.into_message();
        if let Error::Deadly { .. } = error {
            message.correlation.push((BY_HAND.into(), true.into()));
        }
        self.bury_new(message, self.now, None, &reason);
    }

    pub(super) fn try_apart(&mut self, apart: &Apart) -> Result<InstanceId, Error> {
        let Apart { definition, at, id, variables } = apart.clone();
        let found = self.env.definitions.find(&definition).filter(|it| !is_own(&it.id));
        let key = found.ok_or_else(|| Error::no_such_definition(&definition))?.key;
        self.check_chain(key)?;
        let at = at.map_or(At::Start, |it| At::Elements(vec![it]));
        let begin = Begin { definition: key, business_id: id, at, variables, ..Begin::default() };
        Ok(self.start(begin)?.0)
    }

    /// Tries again what could not be started before: it may be deployed by now.
    pub(super) fn try_refused_starts(&mut self) {
        let refused: Vec<(u64, Apart)> = self
            .dead_letters()
            .filter(|it| !is_by_hand(&it.message))
            .filter_map(|it| Some((it.number, Apart::of(&it.message)?)))
            .collect();
        for (number, apart) in refused {
            self.agenda.quarantine.begin(Case::Refused(number), iter::empty());
            let tried = self.try_apart(&apart);
            if let Ok(_) | Err(Error::Deadly { .. }) = tried {
                self.discard(number).expect("it was there a moment ago");
            }
            if let Err(error @ Error::Deadly { .. }) = tried {
                self.bury_start(apart, &error);
            }
        }
        self.agenda.quarantine.end();
    }
}

/// Whether a dead letter is tried again only when someone says so.
fn is_by_hand(message: &Message) -> bool {
    message
        .correlation
        .iter()
        .any(|(name, value)| &**name == BY_HAND && value.as_bool() == Some(true))
}
