//! Questions about what there is.

use std::{future::Future, sync::Arc};

use travertine_kernel::{Branch, tree};
use travertine_store::view::{InstanceRow, Page, Query, Row};

use super::{Engine, Pending};
use crate::{Definition, Error, InstanceId};

/// An instance in full.
#[derive(Clone, Debug)]
pub struct Look {
    /// Its row.
    pub row: InstanceRow,
    /// Its scopes and tokens, where it has any.
    pub tree: Option<Branch>,
    /// Why its tokens rest.
    pub reasons: Vec<travertine_kernel::Reason>,
    /// The process's own variables.
    pub variables: travertine_kernel::Assignments,
    /// What it runs.
    pub definition: Arc<Definition>,
    /// The kernel's state.
    pub state: travertine_kernel::Instance,
}

impl Engine {
    /// Rows that match. They show everything that was acknowledged before the question.
    pub fn query(&self, query: Query) -> impl Future<Output = Result<Page, Error>> + Send + use<> {
        let flushed = self.flush();
        let store = Arc::clone(self.store());
        async move {
            flushed.await?;
            Ok(shown(store.query(&query)?))
        }
    }

    /// The same, on a thread that may be blocked.
    pub fn query_now(&self, query: &Query) -> Result<Page, Error> {
        self.flush_now()?;
        Ok(shown(self.store().query(query)?))
    }

    /// An instance in full, as it is now.
    pub fn look(&self, instance: InstanceId) -> Pending<Look> {
        self.ask(self.shard_of(instance), move |shard| {
            let row = shard.row(instance)?;
            let live = shard.look(instance)?;
            Ok(Look {
                row,
                tree: tree(&live.definition.plan, &live.state),
                reasons: live.reasons(),
                variables: live.result(),
                definition: Arc::clone(&live.definition),
                state: live.state.clone(),
            })
        })
    }
}

/// Without the rows of messages that are only recognised, which nobody asks for.
fn shown(mut page: Page) -> Page {
    page.rows.retain(|it| !matches!(it, Row::Message(message) if message.body.is_empty()));
    page
}
