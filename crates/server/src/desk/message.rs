//! Messages and signals.

use std::time::Duration;

use travertine_bpmn::CORRELATION_KEY;
use travertine_kernel::Assignments;
use travertine_runtime::{InstanceId, Message, engine::PublishOptions};
use travertine_store::{
    search::MessageColumn,
    view::{Row, Table},
};
use travertine_value::Name;

use super::{Desk, Outcome, Refusal};

/// A message from outside.
#[derive(Clone, Debug)]
pub struct Publish {
    /// Its name.
    pub name: Name,
    /// Who it is for: those who wait with this key. Where it is empty, only instances that it starts.
    pub correlation_key: Name,
    /// How long it is kept for someone who does not wait yet.
    pub ttl: Duration,
    /// What its sender calls it. While it is kept no other may be called so.
    pub id: Option<Name>,
    /// What it brings.
    pub variables: Assignments,
}

impl Publish {
    fn message(self) -> Result<Message, Refusal> {
        let Self { name, correlation_key, ttl, id, variables } = self;
        if name.trim().is_empty() {
            return Err(Refusal::invalid("the name of the message is missing: name it"));
        }
        // Whoever waits has a key, which is none that is empty; what is started has none.
        let correlation = vec![(CORRELATION_KEY.into(), correlation_key.into())];
        Ok(Message { correlation, variables, id, ttl: Some(ttl), ..Message::new(&name) })
    }
}

impl Desk {
    /// Publishes a message. Answers with its number.
    pub async fn publish(&self, publish: Publish) -> Result<u64, Refusal> {
        self.may_name(&publish.name)?;
        let id = publish.id.clone();
        // Its id counts as long as it is kept, and no longer.
        let options = PublishOptions { known_for: Some(Duration::ZERO) };
        let published = self.engine.publish_with(publish.message()?, options).await?;
        published.number.ok_or_else(|| {
            let id = id.as_deref().unwrap_or_default();
            let detail =
                format!("a message with the id {id} was published before, and is still known");
            Refusal::new(Outcome::AlreadyExists, detail)
        })
    }

    /// Hands a message to someone who waits for it now. Answers with its number, and who took it.
    pub async fn correlate(&self, publish: Publish) -> Result<(u64, InstanceId), Refusal> {
        self.may_name(&publish.name)?;
        let (name, key) = (Name::clone(&publish.name), Name::clone(&publish.correlation_key));
        let taken = self.engine.correlate(publish.message()?).await?;
        taken.map(|it| (it.message, it.instance)).ok_or_else(|| {
            let detail =
                format!("nobody waits for message {name} with the correlation key {key:?}");
            Refusal::not_found(detail)
        })
    }

    /// Refuses a message that whoever asks may do nothing with.
    pub(crate) async fn may_message(
        &self,
        number: u64,
        missing: impl Fn() -> Refusal,
    ) -> Result<(), Refusal> {
        let found = self.whoever(Table::Messages, MessageColumn::Id.into(), number.into()).await?;
        match found.map(|it| it.row) {
            Some(Row::Message(row)) => self.may_sent(&row.name, missing),
            _ => Err(missing()),
        }
    }

    /// Broadcasts a signal. Answers with its number.
    pub async fn signal(&self, name: &str, variables: Assignments) -> Result<u64, Refusal> {
        if name.trim().is_empty() {
            return Err(Refusal::invalid("the name of the signal is missing: name it"));
        }
        self.may_name(name)?;
        Ok(self.engine.signal(name, variables).await?.number)
    }
}
