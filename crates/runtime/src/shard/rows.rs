//! The rows of one instance as they are now, whether they are stored or not.

use std::collections::BTreeMap;

use travertine_store::view::{Row, Table};

use super::{
    Live, Shard,
    checkpoint::{element_row, incident_row, instance_row, variable_row, wait_row},
};
use crate::InstanceId;

/// How many rows are made for one question. Whoever asks about more waits until they are stored.
const ROWS_MAX: usize = 10_000;

/// What a shard has of an instance.
#[derive(Clone, Debug, PartialEq)]
pub enum Rows {
    /// These rows.
    Here {
        /// All that it has in the tables that were asked for, and its own.
        rows: Vec<Row>,
        /// Tokens whose elements are among them, but not since when: stored rows tell.
        undated: Vec<u64>,
    },
    /// Those that are stored.
    Stored,
    /// Those that are stored after what waits to be.
    Behind,
    /// None: it is not kept any more, although rows of it are still stored.
    Gone,
}

impl Shard {
    /// The rows of an instance in these tables. Those of subscriptions are kept by others.
    pub(super) fn rows_of(&self, instance: InstanceId, tables: &[Table]) -> Rows {
        let id = instance;
        // What is over is stored and forgotten here.
        if tables.iter().any(|it| Table::PAST.contains(it)) {
            return if self.views.is_going(id) { Rows::Gone } else { Rows::Behind };
        }
        if let Some(live) = self.instances.lives.get(&id) {
            return rows_of(live, tables);
        }
        if let Some(closed) = self.instances.closing.get(id) {
            let row = closed.row().cloned().map(Row::Instance);
            return row.map_or(Rows::Behind, |it| Rows::Here { rows: vec![it], undated: vec![] });
        }
        if self.views.is_going(id) { Rows::Gone } else { Rows::Stored }
    }
}

fn rows_of(live: &Live, tables: &[Table]) -> Rows {
    // The rows of one that is halted stay as they were.
    if live.halted.is_some() || live.damage.is_some() {
        return Rows::Behind;
    }
    let mut rows = vec![Row::Instance(instance_row(live))];
    let mut undated = Vec::new();
    if live.has_ended() {
        return Rows::Here { rows, undated };
    }
    let state = &live.state;
    let variables = state.layers.values().map(|it| it.variables.keys().count()).sum::<usize>();
    if state.tokens.len() + state.waits.len() + variables > ROWS_MAX {
        return Rows::Behind;
    }
    let wants = |table| tables.contains(&table);
    if wants(Table::Elements) {
        let since: BTreeMap<_, _> = live.touched.tokens.iter().copied().collect();
        for token in state.tokens.keys() {
            let known = since.get(token).copied();
            let Some(row) = element_row(live, *token, known.unwrap_or_default()) else { continue };
            if known.is_none() {
                undated.push(token.0);
            }
            rows.push(Row::Element(row));
        }
    }
    if [Table::Jobs, Table::Tasks, Table::Timers].into_iter().any(wants) {
        let waits = state.waits.keys().filter_map(|it| wait_row(live, *it));
        rows.extend(waits.filter(|it| wants(it.table())));
    }
    if wants(Table::Variables) {
        for (id, layer) in &state.layers {
            rows.extend(layer.variables.keys().filter_map(|it| variable_row(live, *id, layer, it)));
        }
    }
    if wants(Table::Incidents) {
        rows.extend(state.incidents.keys().filter_map(|it| incident_row(live, *it)));
    }
    Rows::Here { rows, undated }
}
