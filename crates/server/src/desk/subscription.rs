//! Who waits for messages: instances, whose rows are stored, and start events, which are deployed.

use std::{collections::BTreeMap, sync::Arc};

use travertine_kernel::WaitId;
use travertine_runtime::{Address, Definitions, InstanceId, Named, StartOn};
use travertine_store::{
    DefinitionKey, ShardId,
    search::{COUNT_MAX, Found, LIMIT_MAX, Place, Search, Source, Total, evaluate},
    view::{InstanceRow, InstanceState, Row, SubscriptionKind, SubscriptionRow, Table},
};
use travertine_value::Name;

use super::{Desk, Refusal, Seen};

/// A start event has a row like everybody who waits, of an instance that is none: its definition, counted from here.
/// No instance has such a number.
pub(crate) const STARTS: u64 = 1 << 62;

/// Rows of start events, and of what they are of.
#[derive(Default)]
struct Starts {
    rows: Vec<Row>,
    about: BTreeMap<u64, Arc<InstanceRow>>,
}

impl Source for Starts {
    fn instance(&self, id: u64) -> Option<&InstanceRow> {
        self.about.get(&id).map(|it| &**it)
    }

    fn any(&self, _: Table, _: u64, _: &dyn Fn(&Row) -> bool) -> bool {
        false
    }
}

impl Starts {
    fn of(definitions: &Definitions) -> Self {
        let mut all = Self::default();
        for it in definitions.latest().filter(|it| !it.is_function()) {
            let instance = STARTS + it.key.0;
            let at = definitions.deployed_as(it.key).map(|it| it.at).unwrap_or_default();
            for (nth, trigger) in (0..).zip(&it.starts) {
                let StartOn::Message(name) = &trigger.on else { continue };
                all.rows.push(Row::Subscription(SubscriptionRow {
                    instance,
                    wait: nth,
                    keeper: ShardId(0),
                    kind: SubscriptionKind::Message,
                    name: Name::clone(name),
                    element: Name::clone(&it.plan.node(trigger.node).name),
                    correlation: "{}".into(),
                    body: Vec::new(),
                    created: at,
                }));
                all.about.entry(instance).or_insert_with(|| {
                    Arc::new(InstanceRow {
                        id: instance,
                        business_id: None,
                        definition_key: it.key,
                        definition: Name::clone(&it.id),
                        definition_name: it.name(),
                        version: it.version,
                        version_tag: it.tag.clone(),
                        state: InstanceState::Running,
                        started: at,
                        ended: None,
                        parent: None,
                        root: instance,
                        incidents: 0,
                        reason: None,
                        result: None,
                        tags: None,
                        last: 0,
                    })
                });
            }
        }
        all
    }
}

/// What a row of a subscription is called.
pub(crate) fn subscription(instance: u64, wait: u64) -> Named {
    match instance.checked_sub(STARTS) {
        Some(definition) => Named::StartEvent(DefinitionKey(definition), wait),
        None => Named::Wait(Address { instance: InstanceId(instance), wait: WaitId(wait) }),
    }
}

impl Desk {
    /// Who waits for messages; start events wait, too.
    pub async fn subscriptions(&self, search: Search) -> Result<Found<Seen>, Refusal> {
        let search = self.narrowed(search);
        let mut starts = Starts::of(&self.engine.definitions());
        let all = Search { place: Place::First, limit: u32::MAX, ..search.clone() };
        starts.rows = evaluate(&all, &starts.rows, &starts).rows;
        let more = u32::try_from(starts.rows.len()).unwrap_or(u32::MAX);
        if more == 0 {
            return self.search(search).await;
        }
        let (mut stored, mut merged) = (search.clone(), search);
        if let Place::Skip(rows) = stored.place {
            // As many of those that are skipped may be start events.
            let between = rows.min(more);
            stored.place = Place::Skip(rows - between);
            stored.limit = stored.limit.saturating_add(between).min(LIMIT_MAX);
            merged.place = Place::Skip(between);
        }
        let found = self.search(stored).await?;
        let mut rows = starts.rows.clone();
        for Seen { row, about } in found.rows {
            starts.about.extend(about.map(|it| (it.id, it)));
            rows.push(row);
        }
        let Found { rows, start, end, has_more, .. } = evaluate(&merged, &rows, &starts);
        let total = found.total.map(|it| {
            let count = it.count.saturating_add(more);
            Total { count: count.min(COUNT_MAX), has_more: it.has_more || count > COUNT_MAX }
        });
        let seen = |row: Row| Seen { about: starts.about.get(&row.key().instance).cloned(), row };
        let rows = rows.into_iter().map(seen).collect();
        Ok(Found { rows, start, end, has_more: has_more || found.has_more, total })
    }
}
