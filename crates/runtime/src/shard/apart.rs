//! What functions start for itself. Nobody waits for it, so a start that is refused is kept as a dead
//! letter: people see why, and it is tried again when something is deployed or someone says so.

use travertine_expr::Name;
use travertine_kernel::Assignments;
use travertine_store::codec::record::Message;

use super::Shard;
use crate::{At, Begin, Error, InstanceId};

/// The name of such dead letters. What is started is a property, its id that of the message.
const START: &str = "$start";
const DEFINITION: &str = "definition";

/// Something that goes its own way.
pub(super) struct Apart {
    pub(super) definition: Name,
    pub(super) id: Name,
    pub(super) variables: Assignments,
}

impl Apart {
    /// What a dead letter was to start, where it was to start something.
    pub(super) fn of(message: &Message) -> Option<Self> {
        if &*message.name != START {
            return None;
        }
        let (_, definition) = message.correlation.iter().find(|(name, _)| &**name == DEFINITION)?;
        let (definition, id) = (definition.as_str()?.into(), message.id.clone()?);
        Some(Self { definition, id, variables: message.variables.clone() })
    }

    fn into_message(self) -> Message {
        Message {
            id: Some(self.id),
            correlation: vec![(DEFINITION.into(), (*self.definition).into())],
            variables: self.variables,
            ..Message::new(START)
        }
    }
}

impl Shard {
    /// Starts something, unless it is there already.
    pub(super) fn start_apart(&mut self, apart: Apart) {
        if let Err(error) = self.try_apart(&apart) {
            let Apart { definition, id, .. } = &apart;
            let reason = format!("{definition} cannot be started as {id}: {error}");
            tracing::error!(reason, "a start is kept as a dead letter");
            self.bury_new(apart.into_message(), self.now.as_millis(), None, &reason);
        }
    }

    pub(super) fn try_apart(&mut self, apart: &Apart) -> Result<InstanceId, Error> {
        let Apart { definition, id, variables } = apart;
        let found = self.definitions.find(definition);
        let key = found.ok_or_else(|| Error::no_such_definition(definition))?.key;
        let (business_id, variables) = (Some(Name::clone(id)), variables.clone());
        Ok(self.start(Begin { definition: key, business_id, at: At::Start, variables })?.0)
    }

    /// Tries again what could not be started before: it may be deployed by now.
    pub(super) fn try_refused_starts(&mut self) {
        let refused: Vec<(u64, Apart)> = self
            .dead_letters()
            .filter_map(|it| Some((it.number, Apart::of(&it.message)?)))
            .collect();
        for (number, apart) in refused {
            if self.try_apart(&apart).is_ok() {
                self.discard(number).expect("it was there a moment ago");
            }
        }
    }
}
