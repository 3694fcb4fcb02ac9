//! From a compiled model and inputs to the values of decisions.
//!
//! Nothing here fails for a wrong value: it becomes null, and the record notes why. Only limits end
//! an evaluation. `element` knows requirements, `boxed` and `table` the logic.

mod boxed;
mod element;
mod record;
mod table;

use std::{collections::BTreeMap, sync::Arc};

use travertine_lang::feel::{Context, FeelValue, Session};
use travertine_value::{Limit, Name};

use crate::{
    logic::Spot,
    model::{ElementId, Model},
    types::{Conform, TypeId},
};

pub(crate) use record::Record;

type Valued = Result<FeelValue, Limit>;

/// What all parts of one evaluation share. Functions of the model hold on to it.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) model: Arc<Model>,
    pub(crate) inputs: Context,
    pub(crate) record: Record,
}

/// An element, reached through these imports.
type Key = (Vec<Name>, ElementId);

/// Values of elements that are known: given by the caller of a decision service, or evaluated.
#[derive(Debug)]
pub(crate) struct Frame {
    known: BTreeMap<Key, FeelValue>,
    /// Whether the inputs of the whole evaluation count here.
    is_outermost: bool,
}

impl Frame {
    pub(crate) fn outermost() -> Self {
        Self { known: BTreeMap::new(), is_outermost: true }
    }
}

/// An evaluation in progress.
pub(crate) struct Run<'r, 's> {
    pub(crate) world: &'r Arc<World>,
    pub(crate) session: &'r mut Session<'s>,
}

impl Run<'_, '_> {
    fn model(&self) -> &Arc<Model> {
        &self.world.model
    }

    /// The value as one of a type; null where it is not, which is noted.
    fn coerce(
        &mut self,
        of: TypeId,
        value: FeelValue,
        spot: Option<&Spot>,
        what: impl FnOnce() -> String,
    ) -> Valued {
        Ok(self.fitting(of, value, spot, what)?.unwrap_or(FeelValue::Null))
    }

    /// The value as one of a type; none where it is not, which is noted.
    fn fitting(
        &mut self,
        of: TypeId,
        value: FeelValue,
        spot: Option<&Spot>,
        what: impl FnOnce() -> String,
    ) -> Result<Option<FeelValue>, Limit> {
        let World { model, record, .. } = &**self.world;
        let mut conform = Conform { types: &model.types, session: self.session, record };
        Ok(match conform.coerce(of, value)? {
            Ok(value) => Some(value),
            Err(mismatch) => {
                let name = &model.types.get(of).name;
                let message = format!("{} is not of type {name}: {mismatch}", what());
                record.problem(spot, message, self.session);
                None
            }
        })
    }

    /// Null, and the reason.
    fn null(&self, spot: &Spot, reason: impl Into<String>) -> FeelValue {
        self.world.record.problem(Some(spot), reason.into(), self.session);
        FeelValue::Null
    }
}
